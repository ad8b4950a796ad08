"""Pages of a transcript: index look-ups only, however long the chat is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from store.batch import Page
from store.decode import COLUMNS
from store.events import Stored
from store.summaries import Query

_COLUMNS = ", ".join(f"e.{c}" for c in COLUMNS.split(", "))


class Pages:
    """Reads pages through the `row` table, where row number n of each chat has its key and first seq."""

    def __init__(self, query: Query, stored: Callable[[tuple[Any, ...]], Stored]) -> None:
        self._query = query
        self._stored = stored

    def count(self, chat: str) -> int:
        """How many row keys a chat has."""
        return int(self._query("SELECT coalesce(max(n) + 1, 0) FROM row WHERE chat=?", (chat,))[0][0])

    def place(self, chat: str, key: str) -> int | None:
        """A row's number in its chat, from 0."""
        found = self._query("SELECT n FROM row WHERE chat=? AND row=?", (chat, key))
        return int(found[0][0]) if found else None

    def between(self, chat: str, start: int, end: int) -> Page:
        """The rows number `start` to `end` (not counted in) and all their events, in order."""
        where = (chat, max(start, 0), end)
        keys = self._query("SELECT row, n FROM row WHERE chat=? AND n >= ? AND n < ? ORDER BY n", where)
        if not keys:
            return Page((), None)
        found = self._query(
            f"SELECT {_COLUMNS} FROM row r CROSS JOIN event e ON e.chat=r.chat AND e.row=r.row "
            "WHERE r.chat=? AND r.n >= ? AND r.n < ? ORDER BY e.seq",
            where,
        )
        later = self.count(chat) - keys[-1][1] - 1
        return Page(tuple(self._stored(r) for r in found), keys[0][0], keys[0][1], keys[-1][0], later)
