"""The one place that asks the system what time it is."""

from __future__ import annotations

import datetime as dt
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for display, steady time for limits; `ManualClock` moves both by hand."""

    def now_ms(self) -> int:
        """Epoch milliseconds, for `at`; never used for order."""

    def steady(self) -> float:
        """Seconds of a clock that never jumps, for limits and waits."""


class SystemClock:
    """The computer's own clock."""

    def now_ms(self) -> int:
        """Epoch milliseconds."""
        return int(time.time() * 1000)

    def steady(self) -> float:
        """Seconds since some fixed point."""
        return time.monotonic()


class ManualClock:
    """A clock that moves only when `tick` is called (`SHOAL_CLOCK=manual`, and tests)."""

    def __init__(self, start_ms: int = 1_790_000_000_000) -> None:
        self._ms = start_ms
        self._steady = 0.0

    def now_ms(self) -> int:
        """Epoch milliseconds."""
        return self._ms

    def steady(self) -> float:
        """Seconds ticked so far."""
        return self._steady

    def tick(self, seconds: float) -> None:
        """Move both clocks forward."""
        self._ms += int(seconds * 1000)
        self._steady += seconds


def iso(at_ms: int | None) -> str:
    """`at` as ISO 8601 with the local zone, seconds precision; "" when unknown (None, or 0 in imports)."""
    if not at_ms:
        return ""
    return dt.datetime.fromtimestamp(at_ms / 1000).astimezone().isoformat(timespec="seconds")
