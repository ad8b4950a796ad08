"""One writer a home: an OS lock, which a dying process lets go of, and a note of who holds it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from store import db
from store.clock import Clock, SystemClock, iso
from store.errors import StoreHeld

HELD_WORDS = "Another Shoal (process {pid}, since {since}) has these chats open. Close it first, then try again."
HELD_UNKNOWN_WORDS = "Another Shoal has these chats open. Close it first, then try again."


class HomeLock:
    """The right to write to a home. The OS lock is the truth; the note beside it only gives the words."""

    def __init__(self, root: Path, clock: Clock | None = None) -> None:
        self._path = root / "writer.lock"
        self._note = root / "writer.json"
        self._clock = clock or SystemClock()
        self._lock: object | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._lock is not None

    def acquire(self) -> HomeLock:
        """Take the lock, at once. Raises StoreHeld with who holds it, StoreReadOnly or StoreFull."""
        from filelock import FileLock, Timeout

        if self._lock is not None:
            return self
        lock = FileLock(self._path, timeout=0, mode=0o600, thread_local=False, preserve_lock_file=True)
        try:
            lock.acquire()
        except Timeout:
            raise StoreHeld(self.holder() or HELD_UNKNOWN_WORDS) from None
        except OSError as error:
            raise db.explain(error) from error
        self._lock = lock
        me = {"pid": os.getpid(), "started": _started(os.getpid()), "since": self._clock.now_ms()}
        try:
            handle = os.open(self._note, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "w") as note:
                json.dump(me, note)
        except OSError:
            self._note.unlink(missing_ok=True)  # a full disk: the lock holds without the note
        return self

    def release(self) -> None:
        """Let go."""
        lock, self._lock = self._lock, None
        if lock is not None:
            self._note.unlink(missing_ok=True)
            lock.release()  # type: ignore[attr-defined]

    def holder(self) -> str | None:
        """The sentence naming who holds it, by the note; None when the note is missing or of a dead process."""
        try:
            note = json.loads(self._note.read_text())
            pid, since = int(note["pid"]), int(note["since"])
            if _started(pid) != note["started"]:
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return HELD_WORDS.format(pid=pid, since=iso(since)[:16].replace("T", " "))

    def __enter__(self) -> HomeLock:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def _started(pid: int) -> str | None:
    """When a process began, as the system counts it, so that a reused pid isn't taken for it; None if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return None
    if os.name == "nt":  # there `os.kill` would end it
        return "?"
    try:
        os.kill(pid, 0)
    except PermissionError:
        return "?"
    except OSError:
        return None
    return "?"
