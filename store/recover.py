"""Bringing back what can be read of a damaged store, into a new file beside it; the damaged one isn't touched."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from store import db, derived, ids, salvage, tables
from store.blobs import Blobs
from store.events import Notice

CHUNK = 2_000  # ids read at once while all goes well
MOST_IDS = 2_000_000_000
MOST_FAILURES = 5_000
LOST_WORDS = "Part of this chat was in a damaged file and couldn't be brought back."
_COLUMNS = "id, chat, seq, at, type, v, row, body, blob"


@dataclass(slots=True)
class Recovered:
    """How much came back."""

    chats: int = 0
    damaged: int = 0

    def words(self) -> str:
        """As the end of a sentence."""
        if not self.chats:
            return "no chat in it could be read, so Shoal starts without chats"
        whole = f"{self.chats} {'chat was' if self.chats == 1 else 'chats were'} brought back"
        return whole + (f", {self.damaged} of them with parts missing" if self.damaged else "")


def recover(broken: Path, wal: Path | None, into: Path) -> Recovered:
    """Write what can be read of `broken` (with its set-aside `wal`) as a whole store at `into`."""
    beside = into.with_name(into.name + ".new")
    beside.unlink(missing_ok=True)
    new = db.connect_rebuilding(beside)
    try:
        tables.migrate(new)
        result = Recovered()
        with tempfile.TemporaryDirectory(dir=into.parent, prefix="recovering-") as folder:
            for copy in _ways(broken, wal, Path(folder)):
                result = _bring_back(copy, new, broken)
                if result.chats:
                    break
    finally:
        new.close()
    tables.settle(beside, into)
    return result


def copy_for_reading(path: Path, folder: Path) -> Path:
    """A copy of a store and its journal in `folder`, where a journal can be read."""
    for part in ("", "-wal"):
        shutil.copyfile(path.with_name(path.name + part), folder / (path.name + part))
    return folder / path.name


def _ways(broken: Path, wal: Path | None, folder: Path) -> Iterator[Path]:
    """Copies to read from, the likeliest first: with its journal, and alone (with a new first page if need be)."""
    if not broken.is_file() or broken.stat().st_size == 0:
        return
    copy = folder / "store.db"
    shutil.copyfile(broken, copy)
    if wal is not None and wal.exists():
        shutil.copyfile(wal, folder / "store.db-wal")
        yield copy
    for part in ("-wal", "-shm"):
        (folder / f"store.db{part}").unlink(missing_ok=True)
    shutil.copyfile(broken, copy)
    if not _has_tables(copy):
        _new_first_page(copy)
    yield copy


def _has_tables(copy: Path) -> bool:
    conn = db.connect_file_only(copy)
    try:
        conn.execute("SELECT chat FROM event LIMIT 0")
    except db.READ_ERRORS:
        return False
    finally:
        conn.close()
    return True


def _new_first_page(copy: Path) -> None:
    """The first page says where each table lies; all stores made by one version have the tables in the same places."""
    donor = copy.with_name("donor.db")
    tables.create(donor)
    page = int.from_bytes(donor.read_bytes()[16:18], "big")
    size = copy.stat().st_size
    if size < 2 * page:
        return
    with donor.open("rb") as source, copy.open("r+b") as target:
        first = bytearray(source.read(page))
        first[28:32] = (size // page).to_bytes(4, "big")
        target.write(first)
        target.truncate(size // page * page)


def _bring_back(copy: Path, new: db.Connection, broken: Path) -> Recovered:
    try:
        old = db.lenient(db.connect(copy, readonly=True))
    except db.READ_ERRORS:
        return Recovered()
    blobs = Blobs(broken.parent / "blobs")
    new.execute("BEGIN")
    try:
        gone = {r[0] for r in _rows(old, new, "tombstone", 2)}
        for row in chain(_events(old, copy), salvage.event_rows(copy)):
            if _sound(row) and row[1] not in gone:
                new.execute(f"INSERT OR IGNORE INTO event({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", row)
        for table, width in _SMALL_TABLES:
            _rows(old, new, table, width)
        expected = _expected(old)
        chats = new.execute("SELECT chat, max(seq), count(*) FROM event GROUP BY chat").fetchall()
        damaged = [(c, n) for c, last, n in chats if n != last + 1 or expected.get(c, -1) > last]
        for chat, count in damaged:
            _close_gaps(new, chat)
            _say_lost(new, chat, count)
        for chat, _, _ in chats:
            derived.rebuild(new, chat, blobs.get)
        derived.note_last(new)
        new.execute("COMMIT")
        return Recovered(len(chats), len(damaged))
    finally:
        if new.in_transaction:
            new.execute("ROLLBACK")
        old.close()


_SMALL_TABLES = (
    ("state", 3),
    ("live_text", 4),
    ("blob_ref", 2),
    ("message", 7),
    ("chain", 3),
    ("wait", 4),
    ("task", 5),
    ("routine", 2),
)


def _close_gaps(new: db.Connection, chat: str) -> None:
    """Number a chat's events anew from 0, in their order."""
    found = new.execute("SELECT id, seq FROM event WHERE chat=? ORDER BY seq", (chat,)).fetchall()
    moved = [(n, id_) for n, (id_, seq) in enumerate(found) if n != seq]
    new.executemany("UPDATE event SET seq=? WHERE id=?", moved)


def _say_lost(new: db.Connection, chat: str, seq: int) -> None:
    at = new.execute("SELECT max(at) FROM event WHERE chat=?", (chat,)).fetchone()[0]
    event = Notice(notice_id=ids.new_id("n"), text=LOST_WORDS, level="warning")
    new.execute(
        "INSERT INTO event(chat, seq, at, type, v, row, body) VALUES (?,?,?,?,?,?,?)",
        (chat, seq, at, event.type, event.v, event.row(), event.model_dump_json()),
    )


def _rows(old: db.Connection, new: db.Connection, table: str, width: int) -> list[tuple[Any, ...]]:
    """Copy a small table as far as it can be read; answers the rows."""
    out: list[tuple[Any, ...]] = []
    try:
        for row in old.execute(f"SELECT * FROM {table}"):
            if len(row) == width:
                new.execute(f"INSERT OR IGNORE INTO {table} VALUES ({','.join('?' * width)})", row)
                out.append(row)
    except db.READ_ERRORS:
        return out  # what was read before the damage is kept
    return out


def _expected(old: db.Connection) -> dict[str, int]:
    """The last seq of each chat, as far as its summaries can be read."""
    out: dict[str, int] = {}
    try:
        for chat, body in old.execute("SELECT id, body FROM chat"):
            out[chat] = int(json.loads(body).get("last_seq", -1))
    except (*db.READ_ERRORS, ValueError, TypeError, AttributeError):
        return out
    return out


def _events(old: db.Connection, copy: Path) -> Iterator[tuple[Any, ...]]:
    """Event rows by id; a part that can't be read is halved until only the unreadable is left out.

    Where too much can't be, it ends: `salvage` reads the rest.
    """
    highest, failures = _highest(old, copy), 0
    columns = _COLUMNS if _has_blobs(old) else _COLUMNS.replace("blob", "NULL")
    for start in range(1, highest + 1, CHUNK):
        stack = [(start, min(start + CHUNK - 1, highest))]
        while stack and failures < MOST_FAILURES:
            low, high = stack.pop()
            try:
                found = old.execute(
                    f"SELECT {columns} FROM event WHERE id BETWEEN ? AND ? ORDER BY id", (low, high)
                ).fetchall()
            except db.READ_ERRORS:
                failures += 1
                if low < high:
                    middle = (low + high) // 2
                    stack += [(middle + 1, high), (low, middle)]
                continue
            yield from found


def _highest(old: db.Connection, copy: Path) -> int:
    guesses = [0]
    for sql in (
        "SELECT max(id) FROM event",
        "SELECT seq FROM sqlite_sequence WHERE name='event'",
        "SELECT max(last_id) FROM chat",
        "SELECT value FROM meta WHERE key='last_event'",
    ):
        try:
            guesses += [int(r[0]) for r in old.execute(sql) if r[0] is not None]
        except (*db.READ_ERRORS, ValueError):
            continue
    return min(max(guesses), MOST_IDS)


def _has_blobs(old: db.Connection) -> bool:
    try:
        old.execute("SELECT blob FROM event LIMIT 0")
    except db.READ_ERRORS:
        return False
    return True


def _sound(row: tuple[Any, ...]) -> bool:
    id_, chat, seq, at, type_, v, key, body, blob = row
    return (
        all(isinstance(x, int) for x in (id_, seq, at, v))
        and 0 < id_ <= MOST_IDS
        and 0 <= seq <= MOST_IDS
        and all(isinstance(x, str) for x in (chat, type_, body))
        and all(x is None or isinstance(x, str) for x in (key, blob))
        and (blob is not None or body.startswith("{"))
    )
