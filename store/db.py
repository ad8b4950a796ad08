"""SQLite, in one place: connections, pragmas, and which failures mean what."""

from __future__ import annotations

import errno
import os
import sqlite3
from functools import partial
from pathlib import Path

from store.errors import StoreBroken, StoreError, StoreFull, StoreLocked, StoreMoved, StoreReadOnly

Connection = sqlite3.Connection
Error = sqlite3.Error
DatabaseError = sqlite3.DatabaseError
OperationalError = sqlite3.OperationalError
IntegrityError = sqlite3.IntegrityError
READ_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)  # what reading a damaged file can raise

FULL_WORDS = "The disk is full, so this couldn't be saved; nothing was half written. Make some space, then try again."
READ_ONLY_WORDS = "Nothing can be saved: Shoal's store is read-only. Make its folder writable, then start Shoal again."
LOCKED_WORDS = (
    "Another program kept Shoal's store locked, so this couldn't be saved. Close what has it open, then try again."
)
BROKEN_WORDS = (
    "Part of Shoal's store can't be read. Close Shoal and start it again: "
    "it sets the damaged file aside and brings back what can be read."
)
MOVED_WORDS = (
    "Shoal's folder was deleted or moved while Shoal was running, so nothing can be saved. "
    "Put it back, or close Shoal and start it again."
)


def connect(path: Path, *, readonly: bool = False, full_sync: bool = True) -> Connection:
    """A connection in autocommit mode (transactions are begun by hand), WAL, file mode 0600."""
    if readonly:
        return _reading(path, "mode=ro")
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    conn = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        conn.execute("PRAGMA busy_timeout=5000")
        conn.execute("PRAGMA journal_mode=WAL")
        conn.execute(f"PRAGMA synchronous={'FULL' if full_sync else 'NORMAL'}")
    except sqlite3.Error:
        conn.close()
        raise
    return conn


def lenient(conn: Connection) -> Connection:
    """Bytes that rotted on the disk are read as replacement marks instead of making their whole chat unreadable."""
    conn.text_factory = partial(str, encoding="utf-8", errors="replace")
    return conn


def connect_file_only(path: Path) -> Connection:
    """Reads the database file alone: no lock, no WAL, nothing written. Only for a file that nobody writes."""
    return _reading(path, "immutable=1")


def connect_rebuilding(path: Path) -> Connection:
    """A file that is written beside the real one and thrown away when the work is cut off; WAL-free, unsynced."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    conn = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    conn.execute("PRAGMA journal_mode=MEMORY")
    conn.execute("PRAGMA synchronous=OFF")
    return conn


def connect_nothing() -> Connection:
    """An empty database in memory."""
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


def _reading(path: Path, how: str) -> Connection:
    conn = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, check_same_thread=False)
    conn.execute("PRAGMA busy_timeout=5000")
    return conn


def is_busy(error: BaseException) -> bool:
    """Whether someone else holds the database's lock."""
    return isinstance(error, sqlite3.Error) and _code(error) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_damage(error: BaseException) -> bool:
    """Whether the error says that the file's content is broken."""
    return isinstance(error, sqlite3.Error) and _code(error) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def explain(error: BaseException) -> BaseException:
    """The error as one sentence of the store's, where its cause is known; else the error itself."""
    if isinstance(error, StoreError):
        return error
    found = _of_sqlite(error) if isinstance(error, sqlite3.Error) else _of_system(error)
    if found is None:
        return error
    found.__cause__ = error
    return found


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", None) or 0)


def _of_sqlite(error: sqlite3.Error) -> StoreError | None:
    if is_busy(error):
        return StoreLocked(LOCKED_WORDS)
    if is_damage(error):
        return StoreBroken(BROKEN_WORDS)
    match _code(error) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return StoreFull(FULL_WORDS)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return StoreReadOnly(READ_ONLY_WORDS)
        case sqlite3.SQLITE_CANTOPEN:
            return StoreMoved(MOVED_WORDS)
        case sqlite3.SQLITE_IOERR:  # a quota or a file-size limit shows as a failed write, not as "full"
            return StoreFull(FULL_WORDS.replace("is full", "is full or failing"))
    return None


def _of_system(error: BaseException) -> StoreError | None:
    if not isinstance(error, OSError):
        return None
    if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        return StoreFull(FULL_WORDS)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreReadOnly(READ_ONLY_WORDS)
    if error.errno == errno.ENOENT:
        return StoreMoved(MOVED_WORDS)
    return None
