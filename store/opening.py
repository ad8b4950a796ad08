"""Opening a store's file: what can be wrong with it, and what is then done; nothing is ever deleted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from store import db, tables
from store.clock import Clock, iso
from store.errors import StoreBroken, StoreFull, StoreLocked, StoreNewer

READ_ONLY_NOTICE = "Shoal's folder is read-only, so chats can be read but nothing can be saved or sent."
FULL_NOTICE = "The disk is full, so chats can be read but nothing can be saved. Make some space, then start again."
OLDER_WORDS = "These chats were written by an older Shoal. Start Shoal once, so that it brings them up to date."
UNREADABLE_WORDS = "Shoal may not read the file with your chats. Give yourself the right to read it, then start again."
ALIEN_NOTICE = "A journal beside your chats didn't belong to them, so it wasn't used; it is kept as {name}."
BROKEN_NOTICE = "The file with your chats {fault}. It is kept as {name}, in Shoal's folder; {then}."
MISSING_NOTICE = (
    "The file with your chats was missing, so Shoal starts without chats; the journal of it is kept as {name}."
)
FINISHED_NOTICE = "Bringing your chats back from a damaged file was cut off last time; it is finished now."
THOROUGH_BYTES = 32 * 1024 * 1024  # up to here its indexes are compared with its tables too, in ≤ 0.3 s
CHECKED_BYTES = 512 * 1024 * 1024  # a larger file isn't checked page by page at start (`doctor` does)
BIG_WAL_BYTES = 16 * 1024 * 1024
JOURNALS = ("-wal", "-shm")


@dataclass(slots=True)
class Opened:
    """An opened file: how to get a reading connection, and the writing one unless it is read-only."""

    reader: Callable[[], db.Connection]
    writer: db.Connection | None = None
    notices: list[str] = field(default_factory=list)
    careful: bool = False  # it wasn't closed in order, or was changed since
    let_go: Callable[[], None] = lambda: None  # after the last connection was closed


def for_reading(path: Path) -> Opened:
    """A store that somebody else may write; one that isn't there yet reads as empty. Raises StoreError, in words."""
    if not path.exists():
        return Opened(_empty)
    try:
        opened = _read_only(path)
        conn = opened.reader()
        try:
            have = tables.version(conn)
            if have > len(tables.MIGRATIONS):
                raise StoreNewer(tables.NEWER_WORDS)
            if have < len(tables.MIGRATIONS):
                raise StoreBroken(OLDER_WORDS if have else db.BROKEN_WORDS)
        finally:
            conn.close()
    except (db.Error, OSError) as error:
        raise db.explain(error) from error
    return opened


def for_writing(path: Path, clock: Clock) -> Opened:
    """The store of a home whose lock is held, mended if need be; where nothing can be saved it opens for reading.

    Raises StoreNewer (nothing was changed), StoreLocked, StoreFull or StoreBroken, in words.
    """
    if not _writable(path):
        opened = for_reading(path)
        opened.notices.append(READ_ONLY_NOTICE)
        return opened
    try:
        return _for_writing(path, clock)
    except (db.Error, OSError) as error:
        explained = db.explain(error)
        if isinstance(explained, StoreFull) and path.exists():
            opened = for_reading(path)
            opened.notices.append(FULL_NOTICE)
            return opened
        raise explained from error


def _for_writing(path: Path, clock: Clock) -> Opened:
    notices: list[str] = []
    closed = _closed_in_order(path)
    _mend(path, closed, _stamp(clock, path), notices)
    conn = db.connect(path)
    try:
        tables.migrate(conn)
        conn.execute(f"PRAGMA journal_size_limit={BIG_WAL_BYTES}")
        if _size(_beside(path, "-wal")) > BIG_WAL_BYTES:
            checkpoint(conn)
    except BaseException:
        conn.close()
        raise
    _mark(path).unlink(missing_ok=True)
    for name in ("", *JOURNALS):
        _private(_beside(path, name), 0o600)
    return Opened(lambda: db.connect(path, readonly=True), db.lenient(conn), notices, careful=not closed)


def checkpoint(conn: db.Connection) -> bool:
    """Bring the WAL into the file and empty it; False while somebody still reads an older state."""
    return int(conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]) == 0


def closed_now(path: Path) -> None:
    """Note that the file was left in order, and how it looks, so that the next start need not check it."""
    if _size(_beside(path, "-wal")) == 0:
        found = path.stat()
        handle = os.open(_mark(path), os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w") as mark:
            json.dump([found.st_size, found.st_mtime_ns], mark)


def suspect(path: Path) -> None:
    """Note that the file must be checked at the next start."""
    _mark(path).unlink(missing_ok=True)


def _closed_in_order(path: Path) -> bool:
    try:
        found = path.stat()
        return bool(json.loads(_mark(path).read_text()) == [found.st_size, found.st_mtime_ns])
    except (OSError, ValueError):
        return False


def _mend(path: Path, closed: bool, stamp: str, notices: list[str]) -> None:
    """Leave a sound file at `path`, whatever lay there."""
    recovered = path.with_name(path.name + ".recovered")
    if not path.exists():
        if recovered.exists():
            notices.append(FINISHED_NOTICE)
            os.replace(recovered, path)
        elif name := _aside(path, stamp, JOURNALS):
            notices.append(MISSING_NOTICE.format(name=name))
        if not path.exists():
            tables.create(path)
        return
    if not os.access(path, os.R_OK):
        raise StoreBroken(UNREADABLE_WORDS)
    wal = _size(_beside(path, "-wal"))
    fault = "has a journal of another file" if closed and wal else _fault(path, careful=not closed)
    if fault is None:
        return
    if wal:
        name = _aside(path, stamp, JOURNALS)
        if (alone := _fault(path, careful=True)) is None:
            notices.append(ALIEN_NOTICE.format(name=name))
            return
        fault = alone
    recovered.unlink(missing_ok=True)
    from store import recover  # seldom needed, so not loaded at each start

    result = recover.recover(path, _aside_name(path, stamp, "-wal") if wal else None, recovered)
    name = _aside(path, stamp, ("", *JOURNALS))
    os.replace(recovered, path)
    tables.sync(path.parent)
    notices.append(BROKEN_NOTICE.format(fault=fault, name=name, then=result.words()))


def _fault(path: Path, *, careful: bool) -> str | None:
    """What is wrong with the file, as the middle of a sentence; None when it is sound."""
    if path.is_dir():
        return "is a folder"
    with path.open("rb") as file:
        head = file.read(16)
    if not head:
        return "was empty (0 bytes)"
    if head != b"SQLite format 3\0":
        return "isn't a database any more"
    conn: db.Connection | None = None
    try:
        conn = db.connect(path, readonly=True)
        have = tables.version(conn)
        if have > len(tables.MIGRATIONS):
            raise StoreNewer(tables.NEWER_WORDS)
        if have < 1:
            return "isn't one that Shoal can read"
        uuid = conn.execute("SELECT value FROM meta WHERE key='store_uuid'").fetchone()
        conn.execute("SELECT blob FROM event LIMIT 0")
        if careful and path.stat().st_size <= CHECKED_BYTES:
            check = "integrity_check" if path.stat().st_size <= THOROUGH_BYTES else "quick_check"
            if conn.execute(f"PRAGMA {check}(1)").fetchone()[0] != "ok":
                return "is damaged"
            if _uuid_of_file(path) not in (uuid, None):
                return "has a journal of another file"
    except db.READ_ERRORS as error:
        if db.is_busy(error):
            raise StoreLocked(db.LOCKED_WORDS) from error
        return (
            "is damaged"
            if isinstance(error, UnicodeDecodeError) or db.is_damage(error)
            else "isn't one that Shoal can read"
        )
    finally:
        if conn is not None:
            conn.close()
    return None


def _uuid_of_file(path: Path) -> object:
    """The uuid without the journal; None where a kill in the middle of a checkpoint left it unreadable alone."""
    conn = db.connect_file_only(path)
    try:
        return conn.execute("SELECT value FROM meta WHERE key='store_uuid'").fetchone()
    except db.READ_ERRORS:
        return None
    finally:
        conn.close()


def _aside(path: Path, stamp: str, parts: tuple[str, ...]) -> str | None:
    """Rename the file's parts that exist; answers the new name of the first.

    Only an empty journal and the `-shm`, which is a cache of the journal and holds nothing, aren't kept.
    """
    told: str | None = None
    for part in parts:
        old = _beside(path, part)
        if not old.exists():
            continue
        if part == "-shm" or (part == "-wal" and _size(old) == 0):
            old.unlink()
            continue
        new = _aside_name(path, stamp, part)
        os.replace(old, new)
        told = told or new.name
    return told


def _aside_name(path: Path, stamp: str, part: str) -> Path:
    return path.with_name(f"{path.name}.broken-{stamp}{part}")


def _stamp(clock: Clock, path: Path) -> str:
    """The date for set-aside names; none that was used already."""
    date = iso(clock.now_ms())[:19].replace("-", "").replace(":", "").replace("T", "-")
    used = {p.name for p in path.parent.glob(f"{path.name}.broken-{date}*")}
    again = [f"{date}-{n}" for n in range(2, len(used) + 3)]
    return next(s for s in [date, *again] if not any(u.startswith(f"{path.name}.broken-{s}") for u in used))


def _read_only(path: Path) -> Opened:
    """For a file whose folder may be read-only too, where SQLite can't keep its `-shm` beside it."""
    try:
        conn = db.connect(path, readonly=True)
        try:
            tables.version(conn)
        finally:
            conn.close()
    except db.OperationalError:
        if _size(_beside(path, "-wal")) == 0:
            return Opened(lambda: db.connect_file_only(path))
        from tempfile import TemporaryDirectory

        from store import recover

        folder = TemporaryDirectory(prefix="shoal-read-")
        copied = recover.copy_for_reading(path, Path(folder.name))
        return Opened(lambda: db.connect(copied, readonly=True), let_go=folder.cleanup)
    return Opened(lambda: db.connect(path, readonly=True))


def _empty() -> db.Connection:
    conn = db.connect_nothing()
    tables.migrate(conn)
    return conn


def _writable(path: Path) -> bool:
    return os.access(path.parent, os.W_OK | os.X_OK) and (not path.exists() or os.access(path, os.W_OK))


def _private(path: Path, mode: int) -> None:
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(mode)
    except OSError:
        return


def _beside(path: Path, part: str) -> Path:
    return path.with_name(path.name + part)


def _mark(path: Path) -> Path:
    return path.with_name(path.name + ".closed")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
