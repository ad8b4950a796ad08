"""A terminal that went away (a closed window, a lost line) must not hold Shoal: what can't be written is dropped."""

from __future__ import annotations

import contextlib
import os
from typing import Any


def has_terminal(fd: int = 0) -> bool:
    """Whether there is a terminal to read from. One that was closed is none any more."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


class ForgivingFile:
    """The terminal's file, but for a write that fails: Textual's writing thread would die, and the queue to it fill up
    until the screen waits for ever, before what was typed is kept (faults.md K02)."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, or drop the words where nobody is there to read them."""
        with contextlib.suppress(OSError, ValueError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with contextlib.suppress(OSError, ValueError):
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def forgiving(driver: type[Any]) -> type[Any]:
    """A driver class that writes through a `ForgivingFile`, where it has a file at all."""

    class ForgivingDriver(driver):  # type: ignore[misc]
        """The system's driver, and a terminal that may be gone."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            if (file := vars(self).get("_file")) is not None:
                self._file: Any = ForgivingFile(file)

    return ForgivingDriver
