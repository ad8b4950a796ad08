"""Which lines have a word that begins so, for the beginnings that most lines have: a bit a line and beginning.

"heron th…" asks for few lines with a word and for half of all lines with a beginning. SQLite walks the whole second
list; here the few are looked up.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

from store import db

LETTERS: Final = 3  # of a beginning; two are typed through in a moment, and more begin fewer words
MOST: Final = 64
COMMON: Final = 0.12  # of the lines, counting words; below, the list is soon walked
LINES_MOST: Final = 300_000  # reading in takes a second of the worker's time for 100,000


class Beginnings:
    """Filled by the index's writer only, before it commits, and only for lines that places are known of."""

    def __init__(self) -> None:
        self.whole = False
        self._bits: dict[str, int] = {}
        self._marks = array("Q")
        self._left: list[str] = []

    def start(self, conn: db.Connection, end: int) -> None:
        """Choose the beginnings; lines with ids below `end` are to be read in, those above are added."""
        self._marks = array("Q", bytes(8 * end))
        if end > LINES_MOST:
            self.whole = True
            return
        rows = conn.execute(
            "SELECT substr(term, 1, ?) AS head, sum(df) AS n FROM vocab WHERE length(term) >= ? "
            "GROUP BY head HAVING n >= ? ORDER BY n DESC LIMIT ?",
            (LETTERS, LETTERS, COMMON * end, MOST),
        )
        self._left = [head for head, _ in rows.fetchall() if head.isascii() and head.isalpha()]
        self._bits = {head: 1 << i for i, head in enumerate(self._left)}

    def load(self, conn: db.Connection) -> None:
        """Read in the lines of one more beginning, about 20 ms for 100,000 lines."""
        if self._left:
            head = self._left[-1]
            bit, marks = self._bits[head], self._marks
            for (docid,) in conn.execute("SELECT docid FROM f WHERE f MATCH ?", (f'"{head}*"',)).fetchall():
                marks[docid] |= bit
            self._left.pop()
        self.whole = not self._left

    def add(self, docid: int, terms: Iterable[str]) -> None:
        """A line that is about to be written."""
        marks, bits = self._marks, self._bits
        marks.extend([0] * (docid + 1 - len(marks)))
        marks[docid] = 0
        for head in {t[:LETTERS] for t in terms}:
            marks[docid] |= bits.get(head, 0)

    def have(self, head: str) -> bool:
        """Whether this beginning is one of them."""
        return self.whole and head in self._bits

    def among(self, docids: Iterable[int], head: str) -> list[bool]:
        """Per line whether it has a word with this beginning. Lines must be known."""
        bit, marks = self._bits[head], self._marks
        return [marks[d] & bit != 0 for d in docids]
