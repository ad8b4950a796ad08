"""What of a chat its own model no longer sees, and reading in it: for `read_chat` and for the explorer's child."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from app.history.tool import Searcher
from store.events import ContextCleared, ContextCompacted, Stored
from store.models import Slice

_SAID = frozenset({"user.message", "forwarded.message", "assistant.done", "tool.started"})


@dataclass(frozen=True, slots=True)
class Away:
    """Row keys up to the newest cut, the last of them, and the first row after it; `cut`: there was one."""

    rows: frozenset[str] = frozenset()
    last: str | None = None
    following: str | None = None
    cut: bool = False


NOTHING_AWAY: Final = Away()


def away_of(events: Iterable[Stored], own: Collection[str] = (), *, whole: bool = False) -> Away:
    """What a chat's events, in order, say was cut off; `own` rows, of the reply being written, are never part of it.

    `whole`: where nothing was cut off, all that was said before the reply.
    """
    through = -1
    said: list[tuple[int, str]] = []
    for stored in events:
        if isinstance(stored.event, ContextCompacted):
            through = max(through, stored.event.through_seq)
        elif isinstance(stored.event, ContextCleared):
            through = max(through, stored.seq)
        elif stored.event.type in _SAID and (row := stored.event.row()):
            said.append((stored.seq, row))
    gone = [row for seq, row in said if seq <= through and row not in own]
    cut = bool(gone)
    if whole and not cut:
        gone = [row for _, row in said if row not in own]
    there = frozenset(gone)
    following = next((row for _, row in said if row not in there), None)
    return Away(there, gone[-1] if gone else None, following, cut)


async def slice_away(
    search: Searcher,
    chat: str,
    away: Away,
    message: str | None = None,
    direction: Literal["around", "before", "after"] = "around",
    count: int = 12,
) -> Slice:
    """A stretch of only what is away: at a message of it, else how that part ended (with `after`: how it began)."""
    found = message in away.rows
    at, toward = message, direction
    if not found:
        start = direction == "after" and message is None
        at, toward = (None, "after") if start else (away.following, "before" if away.following else "around")
    stretch = await search.slice(chat, at, toward, count)
    kept = tuple(line for line in stretch.lines if line.anchor in away.rows)
    later = len(kept) == len(stretch.lines) and bool(kept) and kept[-1].anchor != away.last
    return replace(stretch, lines=kept, later=later, found=found or message is None)
