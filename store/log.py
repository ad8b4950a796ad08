"""The append-only log: `Store.commit` is the only write, and what it acknowledged survives a kill."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from store import db, derived, opening, summaries
from store.apply import Apply, Removed
from store.batch import Batch, BatchKind, Change, Committed, NewEvent, Page, batch_of
from store.blobs import Blobs
from store.clock import Clock, SystemClock
from store.decode import COLUMNS, stored_of
from store.errors import StoreError, StoreReadOnly
from store.events import Stored
from store.limits import PAGE_ROWS
from store.lock import HomeLock
from store.models import ChatSummary
from store.open_turns import OpenTurn, open_turn
from store.pages import Pages
from store.state import LiveText, read_live_texts, read_state, read_states
from store.writer import CLOSED_WORDS, Hooks, Job, Writer

T = TypeVar("T")
Listener = Callable[[tuple[Stored, ...]], None]

log = logging.getLogger("shoal.store")
REBUILT_NOTICE = "The list of chats didn't agree with what was said in them; {n} {entries} made anew."
READ_AT_ONCE = 500  # events a read holds its transaction for


class Store:
    """The truth of one home. Reads are sync and quick; `await store.read(f, …)` runs one on a worker thread."""

    def __init__(
        self, path: Path, clock: Clock | None = None, *, readonly: bool = False, lock: HomeLock | None = None
    ) -> None:
        self.path = path
        self.clock = clock or SystemClock()
        self.blobs = Blobs(path.parent / "blobs")
        self.on_trouble: Callable[[str | None], None] | None = None  # a sentence while waiting, None when it's over
        self._lock = lock
        self._listeners: list[Listener] = []
        self._deleted: list[Callable[[str], None]] = []
        self._local = threading.local()
        self._open_readers: list[db.Connection] = []
        self._closed = False
        self._sound = True
        try:
            opened = opening.for_reading(path) if readonly else opening.for_writing(path, self.clock)
        except (db.Error, OSError) as error:
            raise db.explain(error) from error
        self.notices = opened.notices
        self.readonly = opened.writer is None
        self._new_reader = opened.reader
        self._summaries = summaries.Summaries(self._query, kept=not self.readonly)
        self._apply = Apply(self.clock, self.blobs, self._summaries)
        self._pages = Pages(self._query, self._stored)
        self._readers = concurrent.futures.ThreadPoolExecutor(2, "store-read")
        self._writer: Writer | None = None
        if opened.writer is not None:
            hooks = Hooks(
                derived.note_last, self._apply.committed, self._apply.rolled_back, self._trouble, self._failed
            )
            self._writer = Writer(opened.writer, path, hooks)
            if opened.careful or derived.ends_apart(opened.writer):
                self._heal(opened.writer)

    @classmethod
    def open(cls, home_root: Path, clock: Clock | None = None, readonly: bool = False) -> Store:
        """The store of a home, made if need be; for writing it takes the home's lock and lets go at `close`.

        Raises StoreHeld (another Shoal writes), StoreNewer, StoreLocked or StoreReadOnly. Where nothing can be
        written it opens for reading (`readonly` is then True). `notices` says in words what had to be done.
        """
        if readonly:
            return cls(home_root / "store.db", clock, readonly=True)
        lock: HomeLock | None = None
        try:
            home_root.mkdir(parents=True, exist_ok=True, mode=0o700)
            if home_root.stat().st_mode & 0o077:
                with contextlib.suppress(PermissionError):
                    home_root.chmod(0o700)
            with contextlib.suppress(StoreReadOnly):  # then nobody can write; it opens for reading below
                lock = HomeLock(home_root, clock).acquire()
            return cls(home_root / "store.db", clock, lock=lock)
        except BaseException as error:
            if lock is not None:
                lock.release()
            if isinstance(error, OSError):
                raise db.explain(error) from error
            raise

    # -- writing

    def listen(self, listener: Listener) -> None:
        """Call `listener` on the writer thread with every commit's events, in order, before it is acknowledged."""
        self._listeners.append(listener)

    def listen_deleted(self, listener: Callable[[str], None]) -> None:
        """Call `listener` on the writer thread with the id of every chat that was deleted."""
        self._deleted.append(listener)

    async def commit(self, batch: Batch) -> Committed:
        """Write a batch; returns once it is durable. A cancel is raised only after the write has ended."""
        return await _whole(self._submit_batch(batch))

    def commit_sync(self, batch: Batch) -> Committed:
        """`commit` for code without an event loop."""
        return self._submit_batch(batch).result()

    async def delete(self, chat: str) -> bool:
        """Remove a chat for ever: events, rows, state and blobs; a tombstone stays. False: there was none."""
        return await _whole(self._submit_delete(chat)) is not None

    def delete_sync(self, chat: str) -> bool:
        """`delete` for code without an event loop."""
        return self._submit_delete(chat).result() is not None

    def verify(self) -> set[str]:
        """The chats whose summary or rows disagree with their events; reads every event."""
        try:
            return derived.verify(self._reader(), self.blobs.get)
        except db.Error as error:
            self._failed(error)
            raise db.explain(error) from error

    def rebuild_derived(self, chats: set[str]) -> None:
        """Make the summaries and rows of `chats` anew from their events."""
        self._submit(lambda conn: self._apply.rebuild(conn, chats), lambda _: self._summaries.forget()).result()

    def _submit_batch(self, batch: Batch) -> concurrent.futures.Future[Committed]:
        return self._submit(lambda conn: self._apply.batch(conn, batch), lambda done: self._tell(done.events))

    def _submit_delete(self, chat: str) -> concurrent.futures.Future[Removed | None]:
        return self._submit(lambda conn: self._apply.remove(conn, chat), self._removed)

    def _submit(self, run: Callable[[db.Connection], T], after: Callable[[T], None]) -> concurrent.futures.Future[T]:
        if self._writer is None:
            refused: concurrent.futures.Future[T] = concurrent.futures.Future()
            refused.set_exception(StoreReadOnly(db.READ_ONLY_WORDS))
            return refused
        return cast("concurrent.futures.Future[T]", self._writer.submit(Job(run, after)))

    # -- on the writer thread

    def _tell(self, events: tuple[Stored, ...]) -> None:
        if events:
            for listener in self._listeners:
                try:
                    listener(events)
                except Exception:  # one listener's fault is neither the commit's nor another's
                    log.exception("a listener of commits")

    def _removed(self, removed: Removed | None) -> None:
        if removed is None or self._writer is None:
            return
        for listener in self._deleted:
            try:
                listener(removed.chat)
            except Exception:  # the chat is gone all the same
                log.exception("a listener of deletes")
        with contextlib.suppress(db.Error):  # busy readers: the next checkpoint does it
            opening.checkpoint(self._writer.conn)
        self.blobs.remove(removed.blobs)

    def _trouble(self, words: str | None) -> None:
        if self.on_trouble is not None:
            self.on_trouble(words)

    def _failed(self, error: BaseException) -> None:
        if db.is_damage(error):
            opening.suspect(self.path)
            self._sound = False

    # -- reading

    async def read(self, fn: Callable[..., T], *args: Any) -> T:
        """Run a reading function on a worker thread."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, fn, *args)

    def summary(self, chat: str) -> ChatSummary | None:
        """One chat's summary; None for an unknown or deleted one."""
        return self._summaries.one(chat)

    def summaries(self) -> list[ChatSummary]:
        """Every chat, newest first."""
        return self._summaries.all()

    def recent(self, limit: int, archived: bool = False) -> list[ChatSummary]:
        """The newest `limit` chats that aren't archived (or are)."""
        return self._summaries.recent(limit, archived=archived)

    def working(self) -> list[ChatSummary]:
        """The chats whose turn runs or waits for the person; from memory, in microseconds."""
        return self._summaries.working()

    def last_id(self) -> int:
        """The highest event id."""
        return int(self._query("SELECT coalesce(max(id), 0) FROM event")[0][0])

    def store_uuid(self) -> str:
        """Which store this is; a recovered one is another."""
        return str(self._query("SELECT value FROM meta WHERE key='store_uuid'")[0][0])

    def is_deleted(self, chat: str) -> bool:
        """Whether the chat was deleted: no import or rebuild may bring it back."""
        return bool(self._query("SELECT 1 FROM tombstone WHERE id=?", (chat,)))

    def events(self, after: int = 0, chat: str | None = None, limit: int = -1) -> Iterator[Stored]:
        """Events with a higher id, in order; of one chat or of all. No read lock is held between two of them."""
        where, order = ("", "id") if chat is None else ("chat = :chat AND ", "seq")
        while limit:
            most = READ_AT_ONCE if limit < 0 else min(limit, READ_AT_ONCE)
            rows = self._query(
                f"SELECT {COLUMNS} FROM event WHERE {where}id > :after ORDER BY {order} LIMIT :n",
                {"chat": chat, "after": after, "n": most},
            )
            for row in rows:
                yield self._stored(row)
            if len(rows) < most:
                return
            after, limit = rows[-1][0], limit - len(rows) if limit > 0 else limit

    def by_time(self, types: Sequence[str]) -> Iterator[Stored]:
        """Every event of these types, oldest `at` first, as they are when they are reached; for the index's rebuild."""
        try:
            found = self._reader().execute(
                f"SELECT id FROM event WHERE type IN ({','.join('?' * len(types))}) ORDER BY at, id", tuple(types)
            )
            in_order = array("q", (r[0] for r in found))
        except db.Error as error:
            self._failed(error)
            raise db.explain(error) from error
        for start in range(0, len(in_order), READ_AT_ONCE):
            part = in_order[start : start + READ_AT_ONCE].tolist()
            marks = ",".join("?" * len(part))
            rows = {r[0]: r for r in self._query(f"SELECT {COLUMNS} FROM event WHERE id IN ({marks})", part)}
            yield from (self._stored(rows[i]) for i in part if i in rows)

    def page(self, chat: str, before: str | None = None, rows: int = PAGE_ROWS, *, after: str | None = None) -> Page:
        """The last `rows` row keys (or those before or after a row), and all events of those keys, in order."""
        if after is not None:
            place = self._pages.place(chat, after)
            return Page((), None) if place is None else self._pages.between(chat, place + 1, place + 1 + rows)
        end = self._pages.count(chat) if before is None else self._pages.place(chat, before) or 0
        return self._pages.between(chat, end - rows, end)

    def page_around(self, chat: str, row: str, rows: int = PAGE_ROWS) -> Page:
        """`rows` row keys with `row` in their middle; the last page when the chat has no such row."""
        place, count = self._pages.place(chat, row), self._pages.count(chat)
        start = max(0, min(count if place is None else place - rows // 2, count - rows))
        return self._pages.between(chat, start, start + rows)

    def count_rows(self, chat: str) -> int:
        """How many row keys a chat has."""
        return self._pages.count(chat)

    def state(self, chat: str, key: str) -> Any:
        """A value of `KeepState`; None when there is none. "" is the app."""
        return read_state(self._query, chat, key)

    def states(self, key: str) -> dict[str, Any]:
        """One key's value of every chat that has it."""
        return read_states(self._query, key)

    def live_texts(self, chat: str | None = None) -> tuple[LiveText, ...]:
        """The texts so far of messages that stream, or streamed when the program was killed."""
        return read_live_texts(self._query, chat)

    def open_turns(self) -> list[OpenTurn]:
        """What a kill left open; ask it before any turn is started."""
        live = self.live_texts()
        chats = {s.id: s for s in self.working()}
        for text in live:
            if text.chat not in chats and (summary := self.summary(text.chat)) is not None:
                chats[text.chat] = summary
        return [open_turn(s, self._since_turn(s.id), tuple(t for t in live if t.chat == s.id)) for s in chats.values()]

    def close(self) -> None:
        """Finish what waits, then close and let the home's lock go."""
        if self._closed:
            return
        self._closed = True
        emptied = False
        if self._writer is not None:
            self._writer.close()
        self._readers.shutdown()
        for conn in self._open_readers:
            conn.close()
        if self._writer is not None:
            here = self._writer.at_home()
            with contextlib.suppress(db.Error):
                emptied = opening.checkpoint(self._writer.conn)
            with contextlib.suppress(db.Error):
                self._writer.conn.close()
            if emptied and here and self._sound:
                with contextlib.suppress(OSError):  # then the next start looks more carefully
                    opening.closed_now(self.path)
        if self._lock is not None:
            self._lock.release()

    def _heal(self, conn: db.Connection) -> None:
        wrong = derived.disagree(conn)
        if wrong:
            self.rebuild_derived(wrong)
            words = REBUILT_NOTICE.format(n=len(wrong), entries="entry was" if len(wrong) == 1 else "entries were")
            log.warning(words)
            self.notices.append(words)

    def _since_turn(self, chat: str) -> list[Stored]:
        rows = self._query(
            f"SELECT {COLUMNS} FROM event WHERE chat=:c AND seq >= coalesce("
            "(SELECT seq FROM event WHERE chat=:c AND type='turn.started' ORDER BY seq DESC LIMIT 1), 0) ORDER BY seq",
            {"c": chat},
        )
        return [self._stored(r) for r in rows]

    def _stored(self, row: tuple[Any, ...]) -> Stored:
        return stored_of(row, self.blobs.get)

    def _reader(self) -> db.Connection:
        conn: db.Connection | None = getattr(self._local, "conn", None)
        if conn is None:
            conn = self._local.conn = self._new_reader()
            self._open_readers.append(conn)
        return conn

    def _query(self, sql: str, args: Any = ()) -> list[Any]:
        try:
            return self._reader().execute(sql, args).fetchall()
        except db.Error as error:
            if self._closed:
                raise StoreError(CLOSED_WORDS) from error
            self._failed(error)
            raise db.explain(error) from error


async def _whole(job: concurrent.futures.Future[T]) -> T:
    """Wait for a write to end, whatever is cancelled meanwhile; a cancel is raised afterwards."""
    done = asyncio.wrap_future(job)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        while not done.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([done])
        done.cancelled() or done.exception()
        raise


__all__ = ["Batch", "BatchKind", "Change", "Committed", "NewEvent", "Page", "Store", "batch_of"]
