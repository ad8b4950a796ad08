"""What was done in every chat, a line each under its day; read further back as the end comes near."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import groupby

from textual.message import Message

from .line import Line, Piece, fit, spread
from .line_list import Item, LineList
from .marks import NEEDS_YOU, clock_time, day

NEAR = 8  # lines from the end at which more is wanted
TITLE = 22  # cells of a chat's title
WIDE = 76  # cells from which the title shows


@dataclass(frozen=True, slots=True)
class Doing:
    """One entry; its texts are harmless already."""

    id: int
    at: int
    words: str
    title: str
    note: str = ""
    waits: bool = False
    private: bool = False
    bad: bool = False


class Doings(LineList):
    """Days and their entries, newest first."""

    @dataclass
    class Chosen(Message):
        """Open the chat at this entry; `column` in a column of its own."""

        id: int

    @dataclass
    class WantEarlier(Message):
        """The end is near."""

    def __init__(self, now_ms: int, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._now = now_ms

    def show(self, doings: Iterable[Doing], end: str) -> None:
        """Show these; `end` is the last line: that there is more, or nothing."""
        items: list[Item] = []
        for name, group in groupby(doings, key=lambda d: day(d.at, self._now)):
            items.append(Item(None, 1, name))
            items.extend(Item(doing.id, 1, doing) for doing in group)
        items.append(Item(None, 1, end))
        self.set_items(items)

    def follow(self, doings: Iterable[Doing], end: str, now_ms: int) -> None:
        """Show these instead: the cursor stays on its entry and, once scrolled, the view on its lines."""
        before, top = self._starts.get(self.selected), self.scroll_offset.y
        self._now = now_ms
        self.moved = self.moved or self.selected is not None
        self.show(doings, end)
        after = self._starts.get(self.selected)
        if before is None or after is None:
            return
        if top:
            self.scroll_to(y=top + after - before, animate=False, immediate=True)
        else:
            self._into_view()

    def draw(self, item: Item, nth: int, width: int) -> Line:
        """A day, an entry, or the end."""
        doing = item.data
        if not isinstance(doing, Doing):
            return Line(((fit(str(doing), width), "muted"),))
        mark: Piece = (f"{NEEDS_YOU} ", "warn") if doing.waits else ("  ", "")
        left = [(f" {clock_time(doing.at)} ", "muted"), mark, (doing.words, "")]
        right: list[Piece] = []
        if doing.note:
            right.append((f" · {doing.note}", "warn" if doing.waits else "bad" if doing.bad else "muted"))
        if width >= WIDE:
            title = f"{fit(doing.title, TITLE)}{' · private' if doing.private else ''}"
            right.append((f" · {title}", "muted"))
        return spread(left, right, width)

    def chosen(self, value: Hashable) -> None:
        """Open it."""
        if isinstance(value, int):
            self.post_message(self.Chosen(value))

    def select(self, value: Hashable | None) -> None:
        """Select an entry; near the end, more is wanted."""
        super().select(value)
        line = self._starts.get(value) if value is not None else None
        if line is not None and line >= len(self._flat) - NEAR:
            self.post_message(self.WantEarlier())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The wheel came near the end, too."""
        super().watch_scroll_y(old_value, new_value)
        if new_value + self.size.height >= len(self._flat) - NEAR:
            self.post_message(self.WantEarlier())
