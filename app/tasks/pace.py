"""What holds tasks back for a while: a provider that asked to slow down, memory that was short. Times are steady."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from store.limits import (
    ROOM_CALM_SECONDS,
    ROOM_PAUSE_LEAST_SECONDS,
    ROOM_PAUSE_MOST_SECONDS,
    ROOM_PAUSE_SECONDS,
    ROOM_RECOVERY_SECONDS,
    ROOM_RECOVERY_SLOT_SECONDS,
)

Provider = Literal["remote", "local", "program"]


@dataclass(frozen=True, slots=True)
class Pace:
    """How many tasks a provider takes at once; until `retry_at` (steady) it takes no new one."""

    most: int
    retry_at: float | None = None


FIRST_PACE: Final = {"remote": 8, "program": 6, "local": 1}


@dataclass(slots=True)
class _Provider:
    most: int
    start: int
    pause: float = ROOM_PAUSE_SECONDS / 2
    retry_at: float | None = None
    calm_since: float = 0.0


@dataclass(slots=True)
class Paces:
    """How many tasks each provider takes: halved when it asks to slow down, given back one a minute when it is calm.

    In memory only (CB §2.6). Times by the steady clock.
    """

    _providers: dict[str, _Provider] = field(default_factory=dict)

    def slowed(self, provider: str, kind: Provider, now: float, asked: float | None = None) -> None:
        """It asked to slow down, for `asked` seconds where it said how long; else 20 s, doubling to 2 minutes."""
        one = self._of(provider, kind)
        one.most = max(1, one.most // 2)
        one.pause = min(ROOM_PAUSE_MOST_SECONDS, one.pause * 2)
        one.retry_at = now + max(ROOM_PAUSE_LEAST_SECONDS, asked if asked is not None else one.pause)
        one.calm_since = one.retry_at

    def now(self, provider: str, kind: Provider, now: float) -> Pace:
        """What holds now."""
        one = self._of(provider, kind)
        if one.most < one.start and now - one.calm_since >= ROOM_CALM_SECONDS:
            back = 1 + int((now - one.calm_since - ROOM_CALM_SECONDS) // 60)
            given = min(one.start - one.most, back)
            one.most += given
            one.calm_since += 60 * given
            if one.most == one.start:
                one.pause = ROOM_PAUSE_SECONDS / 2
        return Pace(one.most, one.retry_at if one.retry_at is not None and one.retry_at > now else None)

    def _of(self, provider: str, kind: Provider) -> _Provider:
        start = FIRST_PACE[kind]
        return self._providers.setdefault(provider, _Provider(start, start))


@dataclass(slots=True)
class Recovery:
    """After memory was short: so long there has to be headroom, then one task starts at a time (CB §2.8)."""

    _from: float | None = None

    def short(self, now: float) -> None:
        """A task waits for memory."""
        self._from = now + ROOM_RECOVERY_SECONDS

    def started(self, now: float) -> None:
        """One started."""
        if self._from is not None:
            self._from = max(self._from, now + ROOM_RECOVERY_SLOT_SECONDS)

    def over(self) -> None:
        """Nothing waits any more."""
        self._from = None

    def begins(self) -> float | None:
        """From when on the next may start; None: memory wasn't short."""
        return self._from
