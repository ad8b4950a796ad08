"""What was retrieved: two answers made one, and whether an answer is one at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from store import grouping, query, ranking
from store.limits import LINES_PER_CHAT
from store.models import Match

FLOOR: Final = 0.2  # of what the query's words weigh, the best line must have; else nothing was said about it
FLOOR_WORDS: Final = 3  # shorter queries are answered with whatever is near
FLOOR_CHATS: Final = 20
SHOWN_CHATS: Final = 8
THEIRS: Final = 0.7  # of what a question's words weigh, some line of whom it names must have


@dataclass(slots=True)
class Retrieved:
    """Chats best first, and what was done to find them."""

    chats: Sequence[grouping.FoundChat] = ()
    lines: grouping.Lines | None = None
    groups: list[query.Group] = field(default_factory=list)  # the words behind each line's `finds`
    idfs: list[float] = field(default_factory=list)
    match: Match = "none"
    total: int = 0
    capped: bool = False
    read_as: list[tuple[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # words that are nowhere
    theirs: Sequence[bool] = ()  # per line, whether someone the query names wrote it; empty where it names nobody
    naming: frozenset[int] = frozenset()  # which groups are those names


def or_nothing(found: Retrieved) -> Retrieved:
    """Nothing, where the best line has next to nothing of what was asked: then nothing was said about it."""
    known = len(found.groups)
    if found.lines is None or found.match != "close" or found.read_as or known + len(found.missing) < FLOOR_WORDS:
        return found
    nowhere = ranking.idf(found.lines.finds.lines, 0)
    whole = sum(found.idfs[:known]) + nowhere * len(found.missing)
    parts = list(zip(found.lines.finds.columns[:known], found.idfs, strict=False))
    best = max(sum(w for c, w in parts if c[r]) for chat in found.chats[:FLOOR_CHATS] for r in chat.rows[:3])
    return found if best >= FLOOR * whole else Retrieved(groups=found.groups, missing=found.missing)


def of_another(found: Retrieved, parsed: query.Parsed) -> Retrieved:
    """A question about someone, whose words are together in a line, but only in what others wrote: that is close."""
    lines, naming = found.lines, found.naming
    if found.match != "exact" or lines is None or not found.theirs or not query.is_question(parsed):
        return found
    said = [i for i in range(len(found.groups)) if i not in naming]
    parts = [(lines.finds.columns[i], found.idfs[i]) for i in said]
    rows = [r for chat in found.chats[:SHOWN_CHATS] for r in chat.rows[:LINES_PER_CHAT] if found.theirs[r]]
    best = max((sum(w for c, w in parts if c[r]) for r in rows), default=0.0)
    return found if best >= THEIRS * sum(w for _, w in parts) else replace(found, match="close")


def merged(first: Retrieved, loose: Retrieved) -> Retrieved:
    """The relaxed answer, with the chats that have a line with every word first."""
    if not loose.chats:
        return first
    whole = {c.no for c in first.chats}
    chats = [c for c in loose.chats if c.no in whole] + [c for c in loose.chats if c.no not in whole]
    return replace(loose, chats=chats, match=first.match if whole else "close", read_as=first.read_as)


def after(first: Retrieved, wider: Retrieved) -> Retrieved:
    """What the words as typed found, then what they may have meant."""
    if len(wider.chats) <= len(first.chats):
        return first
    known = {c.no for c in first.chats}
    chats = [c for c in wider.chats if c.no in known] + [c for c in wider.chats if c.no not in known]
    return replace(wider, chats=chats, match=first.match if known else "close")
