"""How quickly the index follows what is said, in figures only: kept in its `meta`, for `shoal doctor`."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import Final

from store import db, index
from store.limits import INDEX_PACE_SECONDS

KEY: Final = "pace"


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds a drain took (the last, the longest), the most chats that waited for one, and the last whole build."""

    drains: int = 0
    last: float = 0.0
    longest: float = 0.0
    queue: int = 0
    built: float | None = None


class PaceKeeper:
    """Counts on the index's thread; what is written down is at most a minute old, and whole after a close."""

    def __init__(self) -> None:
        self.now = Pace()
        self._kept = self.now
        self._written = -INDEX_PACE_SECONDS

    def drained(self, seconds: float, queue: int) -> None:
        """One drain of so many chats."""
        p = self.now
        self.now = Pace(p.drains + 1, seconds, max(p.longest, seconds), max(p.queue, queue), p.built)

    def built(self, seconds: float) -> None:
        """The whole index was made anew."""
        p = self.now
        self.now = Pace(p.drains, p.last, p.longest, p.queue, seconds)

    def read(self, conn: db.Connection) -> None:
        """Take over what a file says, unless something was counted here; what can't be read counts as nothing."""
        if self.now != self._kept:
            return
        try:
            told = json.loads(index.read_meta(conn).get(KEY, "{}"))
            self.now = self._kept = Pace(**{k: v for k, v in told.items() if k in Pace.__slots__})
        except (ValueError, TypeError, AttributeError):
            return

    def write(self, conn: db.Connection, *, last: bool = False) -> None:
        """Write it down where it is due."""
        due = last or time.monotonic() - self._written > INDEX_PACE_SECONDS
        if self.now != self._kept and due:
            rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(self.now).items()}
            index.write_meta(conn, {KEY: json.dumps(rounded)})
            self._kept, self._written = self.now, time.monotonic()
