"""Diagnostic logs and crash files in `logs/`: small, only for the person, and filtered like everything that leaves."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import logging.handlers
import os
import traceback
from collections.abc import Callable
from pathlib import Path

from app.paths import Home
from store.clock import Clock, SystemClock
from store.limits import CRASH_FILES, LOG_BYTES, LOG_FILES

Clean = Callable[[str], str]


class FilteredFormatter(logging.Formatter):
    """Every line of the log, its traceback too, goes through `clean`."""

    def __init__(self, clean: Clean) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._clean = clean

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return self._clean(super().format(record))


class _Private(logging.handlers.RotatingFileHandler):
    """Rotates by size; files are 0600; a full or read-only disk never disturbs the program."""

    def _open(self):  # type: ignore[no-untyped-def]  # the base class's own return type is an internal one
        descriptor = os.open(self.baseFilename, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="replace")

    def handleError(self, record: logging.LogRecord) -> None:
        """Said nowhere: there is no place left."""


def start_log(home: Home, clean: Clean) -> None:
    """Send everything `logging` gets to `logs/shoal.log`; nothing ever goes to the terminal."""
    root = logging.getLogger()
    for old in list(root.handlers):
        if isinstance(old, _Private | logging.NullHandler):
            root.removeHandler(old)
            old.close()
    handler: logging.Handler = logging.NullHandler()
    with contextlib.suppress(OSError):
        home.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        handler = _Private(home.logs / "shoal.log", maxBytes=LOG_BYTES, backupCount=LOG_FILES)
        handler.setFormatter(FilteredFormatter(clean))
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)  # a library's warning would be drawn over the screen
    logging.getLogger("shoal").setLevel(logging.INFO)


def write_crash(home: Home, error: BaseException, clean: Clean, clock: Clock | None = None) -> Path | None:
    """Keep a traceback, filtered, as a file of its own (the newest few stay); None when it can't be written."""
    now = dt.datetime.fromtimestamp((clock or SystemClock()).now_ms() / 1000)
    path = home.logs / f"crash-{now:%Y%m%d-%H%M%S}-{os.getpid()}.txt"
    text = clean("".join(traceback.format_exception(error)))
    try:
        home.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in sorted(home.logs.glob("crash-*.txt"))[: -CRASH_FILES + 1 or None]:
            old.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text.encode("utf-8", "replace").decode())
    except OSError:
        return None
    return path
