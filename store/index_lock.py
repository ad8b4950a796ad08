"""One writer of an index: whoever holds its lock keeps it up to date, other processes only read it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from store.limits import INDEX_TURN_SECONDS


class IndexLock:
    """The right to write in an index folder, freed by the OS when the process dies."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "writer.lock"
        self._lock: object | None = None

    def take(self, *, wait: Callable[[], bool]) -> bool:
        """Take it; while another has it, try again as long as `wait()` says so. False: it can't be had."""
        from filelock import FileLock, Timeout

        lock = FileLock(self._path, timeout=0, mode=0o600, thread_local=False)
        while True:
            try:
                lock.acquire()
            except Timeout:
                if not wait():
                    return False
                time.sleep(INDEX_TURN_SECONDS)
            except OSError:
                return False  # a folder that can't be written to
            else:
                self._lock = lock
                return True

    def __enter__(self) -> IndexLock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()  # type: ignore[attr-defined]
