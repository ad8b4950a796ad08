"""What one look at a waited-for thing gave, how often to look, and spans and cycles: pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from store.events import TaintSource, WaitPart
from store.events.together import Tone
from store.limits import WAIT_PACE_GROWTH, WAIT_PACE_JITTER

Spec = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Look:
    """One look. `blip`: it failed, the next may not; `fatal`: it can't be watched, in a sentence.

    `words` are Shoal's own lines on how it ended; `quoted` others' words, filtered and fenced, left out where a person
    came into the waiting chat. `headline` stands on its row in place of “Waited for …”.
    """

    settled: bool = False
    status: str = ""
    tone: Tone | None = None
    parts: tuple[WaitPart, ...] = ()
    words: str = ""
    quoted: str = ""
    headline: str = ""
    taints: tuple[TaintSource, ...] = ()
    hint: float | None = None  # seconds until the next look, as the other side asked
    blip: bool = False
    fatal: str | None = None


def next_pause(
    pace: tuple[float, float], before: float, *, changed: bool, hint: float | None, chance: random.Random
) -> float:
    """Seconds to the next look: the base after a change, else longer each time; ±15 %, never under half the base."""
    base, most = pace
    if hint is not None:
        return max(base / 2, hint)
    wanted = base if changed or before <= 0 else min(most, before * WAIT_PACE_GROWTH)
    return max(base / 2, wanted * chance.uniform(1 - WAIT_PACE_JITTER, 1 + WAIT_PACE_JITTER))


def span(seconds: float) -> str:
    """A span in words, to the larger unit: 40 seconds, 3 minutes, 2 hours."""
    whole = max(0, round(seconds))
    for size, name in ((3_600, "hour"), (60, "minute"), (1, "second")):
        if whole >= size:
            n = whole // size
            return f"{n} {name}{'' if n == 1 else 's'}"
    return "0 seconds"


def makes_cycle(waits: Iterable[tuple[str, str]], chat: str, target: str) -> bool:
    """Whether `chat` waiting for `target` would close a ring of (waiting, waited-for) chats, however long."""
    towards: dict[str, set[str]] = {}
    for waiting, awaited in waits:
        towards.setdefault(waiting, set()).add(awaited)
    seen: set[str] = set()
    ahead = [target]
    while ahead:
        at = ahead.pop()
        if at == chat:
            return True
        if at not in seen:
            seen.add(at)
            ahead += towards.get(at, ())
    return False
