"""Where each line is, in memory: joining the table of lines costs more than ranking what was found."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Final

from store import db
from store.beginnings import Beginnings

LOAD: Final = 5_000  # lines read in one go, about 5 ms
Place = tuple[int, int, int, int]  # chat, place in the chat, who, words


class Places:
    """Chat, place, who and words of the lines of one index file, by id; 13 bytes a line, and 8 for how its words begin.

    Ids below `end` are known. Only the index's writer fills it, before it commits: a reader that sees a line finds it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.whole = False  # every line of the file is known; from then on each new one must be added
        self.end = 1  # ids are counted from 1
        self.beginnings = Beginnings()
        self._columns = array("I", [0]), array("I", [0]), array("B", [0]), array("I", [0])

    def load(self, conn: db.Connection) -> bool:
        """Read some more of the file; answers whether all is known. Lines must not be written meanwhile."""
        rows = conn.execute(
            "SELECT id, chat, pos, who, len FROM msg WHERE id>=? ORDER BY id LIMIT ?", (self.end, LOAD)
        ).fetchall()
        if rows:
            ids, *columns = zip(*rows, strict=True)
            if ids[-1] - self.end + 1 == len(ids):  # no gap: in one go
                for have, more in zip(self._columns, columns, strict=True):
                    have.extend(more)
                self.end = ids[-1] + 1
            else:
                for docid, place in zip(ids, zip(*columns, strict=True), strict=True):
                    self._put(docid, place)
        self.whole = len(rows) < LOAD
        if self.whole:
            self.beginnings.start(conn, self.end)
        return self.whole

    def add(self, docid: int, place: Place, terms: Iterable[str]) -> None:
        """A line that is about to be written, with the words the index will hold for it."""
        if self.whole:
            self.beginnings.add(docid, terms)
            self._put(docid, place)

    def of(self, docids: Sequence[int]) -> tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]:
        """Chats, places, who and words of lines, one at least; all below `end`."""
        pick = itemgetter(*docids, docids[0])  # one more, as a single one wouldn't come as a tuple
        chats, places, who, lengths = (pick(column)[:-1] for column in self._columns)
        return chats, places, who, lengths

    def _put(self, docid: int, place: Sequence[int]) -> None:
        for column, value in zip(self._columns, place, strict=True):
            column.extend([0] * (docid + 1 - len(column)))  # ids of lines that were taken out stay empty
            column[docid] = value
        self.end = max(self.end, docid + 1)
