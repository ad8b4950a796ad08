"""The append-only log: `Store.commit` is the only write, and what it acknowledged survives a kill."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from pydantic import TypeAdapter

from store import db, upcast
from store.clock import Clock, SystemClock
from store.events import Event, Stored, event_from
from store.limits import PAGE_ROWS
from store.models import ChatSummary
from store.summary import fold_summary

T = TypeVar("T")
BatchKind = Literal["send", "step", "ask", "intent", "result", "end", "chat", "import", "recover"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS event(id INTEGER PRIMARY KEY AUTOINCREMENT, chat TEXT NOT NULL, seq INTEGER NOT NULL,
  at INTEGER NOT NULL, type TEXT NOT NULL, v INTEGER NOT NULL, row TEXT, body TEXT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS event_chat ON event(chat, seq);
CREATE INDEX IF NOT EXISTS event_row ON event(chat, row) WHERE row IS NOT NULL;
CREATE TABLE IF NOT EXISTS chat(id TEXT PRIMARY KEY, last_active INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tombstone(id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS live_text(chat TEXT NOT NULL, message_id TEXT NOT NULL, kind TEXT NOT NULL,
  text TEXT NOT NULL, PRIMARY KEY(chat, message_id, kind)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state(chat TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY(chat, key)) WITHOUT ROWID;
"""


class Change(Protocol):
    """A table change that goes in a batch beside events (see `store/state.py`)."""

    def apply(self, conn: db.Connection) -> None:
        """Make the change inside the batch's savepoint."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to write; `at` only where it isn't now (imports)."""

    chat: str
    event: Event
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What becomes durable together. `kind` is for tests and traces."""

    events: Sequence[NewEvent] = ()
    changes: Sequence[Change] = ()
    kind: BatchKind = "chat"

    @classmethod
    def of(cls, chat: str, *events: Event, changes: Sequence[Change] = (), kind: BatchKind = "chat") -> Batch:
        """A batch for one chat."""
        return cls([NewEvent(chat, e) for e in events], changes, kind)


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit wrote; `last_id` is the store's highest event id after it."""

    events: tuple[Stored, ...]
    last_id: int


@dataclass(frozen=True, slots=True)
class Page:
    """Events of up to 40 rows, in order, and how many row keys lie before them."""

    events: tuple[Stored, ...]
    first_row: str | None
    earlier_rows: int = 0


Listener = Callable[[tuple[Stored, ...]], None]
_SUMMARY = TypeAdapter(ChatSummary)


@dataclass(slots=True)
class _Waiting:
    batch: Batch
    done: concurrent.futures.Future[Committed] = field(default_factory=concurrent.futures.Future)


class Store:
    """The truth of one home. Reads are sync and quick; `await store.read(f, …)` runs one on a worker thread."""

    def __init__(self, path: Path, clock: Clock | None = None, *, readonly: bool = False) -> None:
        self.path = path
        self.clock = clock or SystemClock()
        self.readonly = readonly
        self._listeners: list[Listener] = []
        self._local = threading.local()
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._readers = concurrent.futures.ThreadPoolExecutor(2, "store-read")
        if not readonly:
            self._conn = db.connect(path)
            self._conn.executescript(SCHEMA)
            self._thread = threading.Thread(target=self._write_loop, name="store-write", daemon=True)
            self._thread.start()

    # -- writing

    def listen(self, listener: Listener) -> None:
        """Call `listener` on the writer thread with every commit's events, in order, before it is acknowledged."""
        self._listeners.append(listener)

    async def commit(self, batch: Batch) -> Committed:
        """Write a batch; returns once it is durable. Can't be cancelled half way: the write goes on."""
        waiting = _Waiting(batch)
        self._queue.put(waiting)
        return await asyncio.shield(asyncio.wrap_future(waiting.done))

    def commit_sync(self, batch: Batch) -> Committed:
        """`commit` for code without an event loop."""
        waiting = _Waiting(batch)
        self._queue.put(waiting)
        return waiting.done.result()

    def _write_loop(self) -> None:
        while (first := self._queue.get()) is not None:
            group = [first]
            closing = False
            while not self._queue.empty():
                more = self._queue.get()
                if more is None:
                    closing = True
                    break
                group.append(more)
            self._write(group)
            if closing:
                return

    def _write(self, group: list[_Waiting]) -> None:
        conn = self._conn
        results: list[Committed | BaseException] = []
        conn.execute("BEGIN IMMEDIATE")
        for waiting in group:
            conn.execute("SAVEPOINT batch")
            try:
                results.append(self._apply(waiting.batch))
                conn.execute("RELEASE batch")
            except Exception as error:  # noqa: BLE001 - handed to the caller that waits for this batch
                conn.execute("ROLLBACK TO batch")
                conn.execute("RELEASE batch")
                results.append(error)
        conn.execute("COMMIT")
        for waiting, result in zip(group, results, strict=True):
            if isinstance(result, Committed):
                for listener in self._listeners:
                    listener(result.events)
                waiting.done.set_result(result)
            else:
                waiting.done.set_exception(result)

    def _apply(self, batch: Batch) -> Committed:
        conn = self._conn
        out: list[Stored] = []
        summaries: dict[str, ChatSummary] = {}
        for new in batch.events:
            summary = summaries.get(new.chat) or self._summary(conn, new.chat) or ChatSummary(new.chat)
            seq, at = summary.last_seq + 1, self.clock.now_ms() if new.at is None else new.at
            body = new.event.model_dump_json(exclude_none=True)
            cursor = conn.execute(
                "INSERT INTO event(chat, seq, at, type, v, row, body) VALUES (?,?,?,?,?,?,?)",
                (new.chat, seq, at, new.event.type, new.event.v, new.event.row(), body),
            )
            stored = Stored(int(cursor.lastrowid or 0), new.chat, seq, at, new.event)
            summaries[new.chat] = fold_summary(summary, stored)
            out.append(stored)
        for chat, summary in summaries.items():
            conn.execute(
                "INSERT INTO chat(id, last_active, body) VALUES (?,?,?) "
                "ON CONFLICT(id) DO UPDATE SET last_active=excluded.last_active, body=excluded.body",
                (chat, summary.last_active, _SUMMARY.dump_json(summary, exclude_defaults=True).decode()),
            )
        for change in batch.changes:
            change.apply(conn)
        last = out[-1].id if out else int(conn.execute("SELECT coalesce(max(id), 0) FROM event").fetchone()[0])
        return Committed(tuple(out), last)

    # -- reading

    def _reader(self) -> db.Connection:
        conn = getattr(self._local, "conn", None)
        if conn is None:
            conn = self._local.conn = db.connect(self.path, readonly=True)
        return conn

    async def read(self, fn: Callable[..., T], *args: Any) -> T:
        """Run a reading function on a worker thread."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, fn, *args)

    @staticmethod
    def _summary(conn: db.Connection, chat: str) -> ChatSummary | None:
        found = conn.execute("SELECT body FROM chat WHERE id=?", (chat,)).fetchone()
        return _SUMMARY.validate_json(found[0]) if found else None

    def summary(self, chat: str) -> ChatSummary | None:
        """One chat's summary; None for an unknown or deleted one."""
        return self._summary(self._reader(), chat)

    def summaries(self) -> list[ChatSummary]:
        """Every chat, newest first."""
        rows = self._reader().execute("SELECT body FROM chat ORDER BY last_active DESC, id").fetchall()
        return [_SUMMARY.validate_json(r[0]) for r in rows]

    def last_id(self) -> int:
        """The highest event id."""
        return int(self._reader().execute("SELECT coalesce(max(id), 0) FROM event").fetchone()[0])

    def events(self, after: int = 0, chat: str | None = None, limit: int = -1) -> Iterator[Stored]:
        """Events with a higher id, in order; of one chat or of all."""
        where, args = ("id > ?", [after]) if chat is None else ("chat = ? AND id > ?", [chat, after])
        rows = self._reader().execute(
            f"SELECT id, chat, seq, at, body FROM event WHERE {where} ORDER BY id LIMIT ?", [*args, limit]
        )
        for row in rows:
            yield _stored(row)

    def page(self, chat: str, before: str | None = None, rows: int = PAGE_ROWS) -> Page:
        """The last `rows` row keys (or those before row `before`), and all events of those keys, in order."""
        conn = self._reader()
        first = "SELECT row, min(seq) AS s FROM event WHERE chat=:c AND row IS NOT NULL GROUP BY row"
        below = "WHERE s < (SELECT min(seq) FROM event WHERE chat=:c AND row=:b)" if before else ""
        keys = conn.execute(
            f"SELECT row, s FROM ({first}) {below} ORDER BY s DESC LIMIT :n", {"c": chat, "b": before, "n": rows}
        ).fetchall()
        if not keys:
            return Page((), None)
        marks = ",".join("?" * len(keys))
        found = conn.execute(
            f"SELECT id, chat, seq, at, body FROM event WHERE chat=? AND row IN ({marks}) ORDER BY seq",
            [chat, *(k[0] for k in keys)],
        ).fetchall()
        counted = conn.execute(f"SELECT count(*) FROM ({first}) WHERE s < :s", {"c": chat, "s": keys[-1][1]})
        return Page(tuple(_stored(r) for r in found), keys[-1][0], int(counted.fetchone()[0]))

    def close(self) -> None:
        """Finish what waits, then close."""
        if not self.readonly:
            self._queue.put(None)
            self._thread.join()
            self._conn.close()
        self._readers.shutdown()


def _stored(row: tuple[Any, ...]) -> Stored:
    id_, chat, seq, at, body = row
    return Stored(id_, chat, seq, at, event_from(upcast.newest(json.loads(body))))


def batch_of(items: Iterable[tuple[str, Event]], kind: BatchKind = "chat", changes: Sequence[Change] = ()) -> Batch:
    """A batch for several chats."""
    return Batch([NewEvent(c, e) for c, e in items], changes, kind)


__all__ = ["Batch", "BatchKind", "Change", "Committed", "NewEvent", "Page", "Store", "batch_of"]
