"""What a transcript has loaded, which part of it is widgets, and where words are found: plain data, no Textual."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from store.limits import PAGE_ROWS, ROWS_MOUNTED
from store.rows import AnyRow, ChangeRow, LookRow, MemoryRow, NoticeRow, PermissionRow, ProcessRow, SaidRow, ToolRow
from store.text import fold


class Loaded:
    """Row models in order of seq, and the window [low, high) of them that is mounted."""

    def __init__(self) -> None:
        self.rows: dict[str, AnyRow] = {}
        self.order: list[str] = []
        self.earlier = 0  # rows the store has before the first loaded one
        self.low = 0
        self.high = 0

    @property
    def window(self) -> list[str]:
        """The keys that are to be widgets."""
        return self.order[self.low : self.high]

    @property
    def hidden_above(self) -> int:
        """How many rows are above the window, loaded or not."""
        return self.earlier + self.low

    @property
    def at_end(self) -> bool:
        """Whether the window reaches the newest row."""
        return self.high == len(self.order)

    def reset(self, rows: Sequence[AnyRow], earlier: int) -> None:
        """Begin anew with the last rows."""
        self.rows = {row.key: row for row in rows}
        self.order = list(self.rows)
        self.earlier = earlier
        self.tail()

    def prepend(self, rows: Sequence[AnyRow], earlier: int) -> int:
        """Older rows came before the loaded ones; the window stays on its rows. Answers how many were new."""
        fresh = [row for row in rows if row.key not in self.rows]
        self.rows.update((row.key, row) for row in fresh)
        self.order[:0] = [row.key for row in fresh]
        self.low += len(fresh)
        self.high += len(fresh)
        self.earlier = earlier
        return len(fresh)

    def put(self, row: AnyRow) -> AnyRow | None:
        """A new or changed row, at its place by seq; answers the model it replaces."""
        old = self.rows.get(row.key)
        self.rows[row.key] = row
        if old is not None and old.seq == row.seq:
            return old
        if old is not None:
            self._forget(row.key)
        at = len(self.order)
        while at and self.rows[self.order[at - 1]].seq > row.seq:
            at -= 1
        was_at_end = self.at_end
        self.order.insert(at, row.key)
        if at < self.low:
            self.low += 1
        if at < self.high or was_at_end:
            self.high += 1
        return old

    def drop(self, key: str) -> bool:
        """Take a row out."""
        if self.rows.pop(key, None) is None:
            return False
        self._forget(key)
        return True

    def _forget(self, key: str) -> None:
        at = self.order.index(key)
        del self.order[at]
        self.low -= at < self.low
        self.high -= at < self.high

    def tail(self) -> None:
        """The window on the last page."""
        self.low, self.high = max(0, len(self.order) - PAGE_ROWS), len(self.order)

    def trim(self) -> bool:
        """At the end: when too many rows are mounted, keep the last page."""
        if self.high - self.low <= ROWS_MOUNTED:
            return False
        self.low = self.high - PAGE_ROWS
        return True

    def cap(self) -> None:
        """Not at the end: newer rows wait below rather than being mounted without a bound."""
        self.high = min(self.high, self.low + ROWS_MOUNTED)

    def above(self) -> bool:
        """Half a page further up; False when nothing loaded is there."""
        if self.low == 0:
            return False
        self.low = max(0, self.low - PAGE_ROWS // 2)
        self.high = min(self.high, self.low + ROWS_MOUNTED)
        return True

    def below(self) -> bool:
        """Half a page further down; False at the end."""
        if self.at_end:
            return False
        self.high = min(len(self.order), self.high + PAGE_ROWS // 2)
        self.low = max(self.low, self.high - ROWS_MOUNTED)
        return True

    def around(self, key: str) -> bool:
        """The window so that it holds the row; False when it does already."""
        at = self.order.index(key)
        if self.low <= at < self.high:
            return False
        self.low = max(0, min(at - PAGE_ROWS // 2, len(self.order) - PAGE_ROWS))
        self.high = min(len(self.order), self.low + PAGE_ROWS)
        return True


class Finds:
    """The places of some words in the loaded rows, and the current one."""

    def __init__(self) -> None:
        self.words = ""
        self.places: list[tuple[str, int]] = []  # row key, nth place in it
        self.at = -1

    def look(self, words: str, rows: Iterable[AnyRow]) -> None:
        """Look for `words` anew; the current place stays if it is still there."""
        current = self.current
        self.words = words
        folded = fold(words)
        self.places = []
        if folded:
            for row in rows:
                times = fold(text_of(row)).count(folded)
                self.places.extend((row.key, nth) for nth in range(times))
        self.at = self.places.index(current) if current in self.places else -1

    @property
    def current(self) -> tuple[str, int] | None:
        """The place that stands out."""
        return self.places[self.at] if 0 <= self.at < len(self.places) else None

    def step(self, by: int) -> tuple[str, int] | None:
        """The next place, or the one before, round the ends."""
        if not self.places:
            return None
        self.at = (self.at + by) % len(self.places) if self.at >= 0 else (0 if by > 0 else len(self.places) - 1)
        return self.current

    def first_in(self, key: str) -> tuple[str, int] | None:
        """The first place in a row, made the current one; None when there is none."""
        at = next((i for i, (row, _) in enumerate(self.places) if row == key), -1)
        if at >= 0:
            self.at = at
            return self.current
        return None


def text_of(row: AnyRow) -> str:
    """What find looks through in a row."""
    match row:
        case SaidRow() | NoticeRow():
            return row.text
        case ToolRow():
            return row.label or row.name
        case LookRow():
            return row.query or ""
        case PermissionRow():
            return row.request.summary if row.request else ""
        case ChangeRow():
            return row.label
        case ProcessRow():
            return row.command
        case MemoryRow():
            return row.content
        case _:
            return ""
