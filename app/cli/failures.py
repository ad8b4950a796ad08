"""What went wrong, as one sentence and an exit code; a traceback only ever goes into a crash file."""

from __future__ import annotations

import errno
import sys

from app.cli import BROKEN, FAILED, HELD, USAGE
from app.diagnostics import write_crash
from app.guard.secrets import clean
from app.paths import Home
from app.settings import SettingsError
from store.errors import StoreBroken, StoreError, StoreHeld
from store.importers.base import ImportFailed
from store.text import safe_text

_UNWRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})  # what the output's end may answer
NO_HOME = "Shoal's folder, where your chats are kept, can't be made or opened"


class CliError(Exception):
    """A command that can't be done: one sentence, and the exit code."""

    def __init__(self, sentence: str, code: int = FAILED) -> None:
        super().__init__(sentence)
        self.code = code


def code_of(error: BaseException) -> int:
    """The exit code of an expected error."""
    match error:
        case CliError(code=code):
            return code
        case StoreBroken():
            return BROKEN
        case StoreHeld():
            return HELD
        case SettingsError():
            return USAGE
    return FAILED


def say(sentence: str) -> None:
    """One line on the error stream, filtered and harmless."""
    print(f"shoal: {safe_text(clean(sentence), one_line=True, limit=2_000)}", file=sys.stderr)


def said(error: BaseException) -> int:
    """Tell the person; what wasn't expected also leaves a crash file."""
    if isinstance(error, CliError | StoreError | SettingsError | ImportFailed):
        say(str(error))
        return code_of(error)
    if isinstance(error, OSError) and error.errno in _UNWRITTEN and error.filename is None:
        say(f"not all of the answer could be written ({(error.strerror or 'it failed').lower()}).")
        return FAILED
    if isinstance(error, OSError) and not Home.default().root.is_dir():
        say(f"{NO_HOME} ({(error.strerror or type(error).__name__).lower()}). Set SHOAL_HOME to a folder of yours.")
        return BROKEN
    path = write_crash(Home.default(), error, clean)
    where = f"; what happened is in {path.name} in the logs folder" if path else ""
    say(f"something went wrong inside Shoal ({type(error).__name__}){where}. Nothing that was saved is lost.")
    return FAILED
