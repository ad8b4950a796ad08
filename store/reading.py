"""What can be read of a store: summaries, events, pages, state; sync and quick, from any thread."""

from __future__ import annotations

import asyncio
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from store import db, derived, together
from store.batch import Page
from store.blobs import Blobs
from store.decode import COLUMNS, stored_of
from store.errors import StoreError
from store.events import Stored
from store.limits import PAGE_ROWS
from store.models import ChatSummary
from store.open_turns import OpenTurn, open_turn
from store.pages import Pages
from store.state import LiveText, read_live_texts, read_state, read_states, read_states_under
from store.summaries import Summaries
from store.writer import CLOSED_WORDS

T = TypeVar("T")
K = TypeVar("K", bound=together.Row)
_LAST_ID = 2**62
READ_AT_ONCE = 500  # events a read holds its transaction for


class Reads:
    """Every reading method of `Store`. A damaged file is told as StoreBroken, in words."""

    def __init__(self, reader: Callable[[], db.Connection], blobs: Blobs, *, kept: bool) -> None:
        self.blobs = blobs
        self._new_reader = reader
        self._local = threading.local()
        self._open_readers: list[db.Connection] = []
        self._closed = False
        self._summaries = Summaries(self._query, kept=kept)
        self._pages = Pages(self._query, self._stored)
        self._readers = ThreadPoolExecutor(2, "store-read")

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
        # a chat's events are found by seq, so that those before `after` aren't walked over
        where, place = ("id > ?", after) if chat is None else ("chat = ? AND seq > ?", self._seq_at(chat, after))
        args, order = ((), "id") if chat is None else ((chat,), "seq")
        while limit:
            most = READ_AT_ONCE if limit < 0 else min(limit, READ_AT_ONCE)
            sql = f"SELECT {COLUMNS} FROM event WHERE {where} ORDER BY {order} LIMIT ?"
            rows = self._query(sql, (*args, place, most))
            for row in rows:
                yield self._stored(row)
            if len(rows) < most:
                return
            place = rows[-1][0 if chat is None else 2]
            limit = limit - len(rows) if limit > 0 else limit

    def by_time(self, types: Sequence[str]) -> Iterator[Stored]:
        """Every event of these types, oldest `at` first, as they are when they are reached; for the index's rebuild."""
        marks = ",".join("?" * len(types))
        sql = f"SELECT id FROM event WHERE type IN ({marks}) ORDER BY at, id"
        in_order = self._explained(lambda conn: array("q", (r[0] for r in conn.execute(sql, tuple(types)))))
        for start in range(0, len(in_order), READ_AT_ONCE):
            part = in_order[start : start + READ_AT_ONCE].tolist()
            marks = ",".join("?" * len(part))
            rows = {r[0]: r for r in self._query(f"SELECT {COLUMNS} FROM event WHERE id IN ({marks})", part)}
            yield from (self._stored(rows[i]) for i in part if i in rows)

    def events_of_types(
        self, types: Sequence[str], before_id: int | None = None, limit: int = READ_AT_ONCE, chat: str | None = None
    ) -> list[Stored]:
        """The newest `limit` events of these types with an id below `before_id` (None: of all), newest first."""
        marks = ",".join("?" * len(types))
        before = _LAST_ID if before_id is None else before_id
        where, args, order = ("", (), "id") if chat is None else ("chat=? AND ", (chat,), "seq")
        sql = f"SELECT {COLUMNS} FROM event WHERE {where}id < ? AND type IN ({marks}) ORDER BY {order} DESC LIMIT ?"
        return [self._stored(row) for row in self._query(sql, (*args, before, *types, limit))]

    def events_of_row(self, chat: str, row: str) -> list[Stored]:
        """The events of one row of a chat, in order."""
        sql = f"SELECT {COLUMNS} FROM event WHERE chat=? AND row=? ORDER BY seq"
        return [self._stored(found) for found in self._query(sql, (chat, row))]

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

    def states_under(self, prefix: str) -> dict[str, Any]:
        """The app's own values whose key begins with `prefix` (it ends in a slash), by the rest of the key."""
        return read_states_under(self._query, prefix)

    def kept(self, kind: type[K], where: str = "1", *args: Any) -> list[K]:
        """Rows of `store/together.py` that match an SQL condition with `?` for `args`, in the order of their ids."""
        return together.read(self._query, kind, where, args)

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
        return [open_turn(s, self.since_turn(s.id), tuple(t for t in live if t.chat == s.id)) for s in chats.values()]

    def verify(self) -> set[str]:
        """The chats whose summary or rows disagree with their events; reads every event."""
        return self._explained(lambda conn: derived.verify(conn, self.blobs.get))

    def since_turn(self, chat: str) -> list[Stored]:
        """The chat's events from its last `turn.started` on (all it has where there is none)."""
        rows = self._query(
            f"SELECT {COLUMNS} FROM event WHERE chat=:c AND seq >= coalesce("
            "(SELECT seq FROM event WHERE chat=:c AND type='turn.started' ORDER BY seq DESC LIMIT 1), 0) ORDER BY seq",
            {"c": chat},
        )
        return [self._stored(r) for r in rows]

    def _seq_at(self, chat: str, id_: int) -> int:
        """The seq of the chat's last event up to an id: a walk back from its end over what is newer."""
        if id_ <= 0:
            return -1
        found = self._query("SELECT seq FROM event WHERE chat=? AND id <= ? ORDER BY seq DESC LIMIT 1", (chat, id_))
        return int(found[0][0]) if found else -1

    def _stored(self, row: tuple[Any, ...]) -> Stored:
        return stored_of(row, self.blobs.get)

    def _query(self, sql: str, args: Any = ()) -> list[Any]:
        return self._explained(lambda conn: conn.execute(sql, args).fetchall())

    def _explained(self, read: Callable[[db.Connection], T]) -> T:
        """Read on this thread's connection, with the store's own sentences for what goes wrong."""
        try:
            conn: db.Connection | None = getattr(self._local, "conn", None)
            if conn is None:
                if self._closed:
                    raise StoreError(CLOSED_WORDS)
                conn = self._local.conn = db.lenient(self._new_reader())
                self._open_readers.append(conn)
            return read(conn)
        except db.Error as error:
            if self._closed:
                raise StoreError(CLOSED_WORDS) from error
            self._failed(error)
            raise db.explain(error) from error

    def _failed(self, error: BaseException) -> None:
        """Told of every failure, so that damage is looked into at the next start."""

    def _close_readers(self) -> None:
        self._readers.shutdown()
        for conn in self._open_readers:
            conn.close()
