"""What one column shows, read from the log: rows folded from events, older ones as they are wanted."""

from __future__ import annotations

from dataclasses import replace

from store import events as ev
from store.log import Store
from store.rows import AnyRow, NoticeRow, PermissionRow, Rows, SaidRow, WaitRow, fold


class ColumnFeed:
    """The loaded rows of a chat. Reads run on a worker thread; what arrives meanwhile waits its turn."""

    def __init__(self, store: Store, chat: str) -> None:
        self._store = store
        self.chat = chat
        self.rows: Rows = {}
        self.earlier = 0
        self.loaded = False
        self._early: list[ev.Stored] = []  # events that came before the first page

    async def load(self) -> list[AnyRow]:
        """The last page, oldest row first."""
        self.loaded = False
        page = await self._store.read(self._store.page, self.chat)
        self.rows = folded(page.events)
        self.earlier = page.earlier_rows
        self.loaded = True
        early, self._early = self._early, []
        for stored in early:
            fold(self.rows, stored)
        _only_the_last_retries(self.rows)
        return ordered(self.rows)

    async def older(self, before: str) -> list[AnyRow]:
        """The page before a row."""
        page = await self._store.read(self._store.page, self.chat, before)
        return self._take_in(page.events, page.earlier_rows)

    async def reach(self, key: str) -> list[AnyRow] | None:
        """Everything from a little before row `key` to what is loaded; None when the chat has no such row."""
        first = next(iter(ordered(self.rows)), None)
        around = await self._store.read(self._store.page_around, self.chat, key, 20)
        if not any(stored.event.row() == key for stored in around.events):
            return None
        between: list[ev.Stored] = list(around.events)
        earlier = around.earlier_rows
        if first is not None and around.first_row is not None:
            start = around.earlier_rows
            count = max(0, self.earlier - start)
            page = await self._store.read(self._store.page, self.chat, first.key, count)
            between = list(page.events) or between
            earlier = page.earlier_rows if page.events else earlier
        return self._take_in(between, earlier)

    def _take_in(self, events: list[ev.Stored] | tuple[ev.Stored, ...], earlier: int) -> list[AnyRow]:
        new = folded(events)
        fresh = {
            key: replace(row, retry=False) if isinstance(row, NoticeRow) else row  # later replies came after it
            for key, row in new.items()
            if key not in self.rows
        }
        self.rows = {**fresh, **self.rows}
        self.earlier = earlier
        return ordered(fresh)

    def take(self, stored: ev.Stored) -> AnyRow | None:
        """One event from the bus; the row that changed."""
        if not self.loaded:
            self._early.append(stored)
            return None
        key = fold(self.rows, stored)
        return self.rows.get(key) if key is not None else None

    @property
    def asks(self) -> list[PermissionRow]:
        """The open questions, oldest first."""
        return [row for row in self.rows.values() if isinstance(row, PermissionRow) and row.decision is None]

    @property
    def waiting(self) -> str:
        """What a wait that let go waits for; "" when there is none."""
        waits = [row.wait for row in self.rows.values() if isinstance(row, WaitRow) and row.wait is not None]
        return next((w.title for w in waits if w.wakes and w.state == "watching"), "")

    def said(self) -> list[str]:
        """The person's words, newest first."""
        rows = reversed(ordered(self.rows))
        return [row.text for row in rows if isinstance(row, SaidRow) and row.who == "you" and row.text]

    def last_answer(self) -> str:
        """The assistant's newest words; "" when there are none."""
        rows = reversed(ordered(self.rows))
        return next((r.text for r in rows if isinstance(r, SaidRow) and r.who == "assistant" and r.text), "")


def folded(events: list[ev.Stored] | tuple[ev.Stored, ...]) -> Rows:
    """Rows of events."""
    rows: Rows = {}
    for stored in events:
        fold(rows, stored)
    return rows


def _only_the_last_retries(rows: Rows) -> None:
    """A page has no beginnings of replies: where something was said after a failure, another one began."""
    past = False
    for row in reversed(ordered(rows)):
        if isinstance(row, NoticeRow) and row.retry:
            if past:
                rows[row.key] = replace(row, retry=False)
            past = True
        past = past or (isinstance(row, SaidRow) and row.who in ("you", "assistant"))


def ordered(rows: Rows) -> list[AnyRow]:
    """By place in the chat."""
    return sorted(rows.values(), key=lambda row: row.seq)
