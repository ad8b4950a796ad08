"""The transcript of one chat: a window of rows over what is loaded, paged, followed, searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from store.rows import AnyRow, SaidRow

from .loaded import Finds
from .paged_view import NEAR, PagedView
from .row import Row
from .rows import widget_for

LIT_SECONDS: Final = 2.0
LAST: Final = 1 << 60  # the seq of a row that isn't in the log yet


class Transcript(PagedView):
    """Rows are put in by key; at most `ROWS_MOUNTED` are widgets, the rest wait as models."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "row(-1)", "Row above", id="transcript.up", show=False),
        Binding("down,j", "row(1)", "Row below", id="transcript.down", show=False),
        Binding("home,g", "first", "Beginning", id="transcript.first", show=False),
        Binding("end,G", "last", "End", id="transcript.last", show=False),
        Binding("n", "find(1)", "Next find", id="transcript.next", show=False),
        Binding("N", "find(-1)", "Find before", id="transcript.previous", show=False),
        Binding("tab,escape", "leave", "Message box", id="transcript.leave", show=False),
    ]

    @dataclass
    class WantRow(Message):
        """`go_to` was asked for a row that isn't loaded."""

        key: str

    @dataclass
    class FindState(Message):
        """Where the find stands: the `current` (from 1) of `total`; both 0 when there is none."""

        words: str
        current: int
        total: int

    @dataclass
    class Leave(Message):
        """The person wants back to the message box."""

    def __init__(self, *, id: str | None = None, now_ms: int = 0) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.now_ms = now_ms
        self.finds = Finds()
        self._waiting: dict[str, AnyRow] = {}  # changes of this frame
        self._flushing = False
        self._wanted = ""  # `go_to` came before the view was there

    # what the screen calls

    def show_page(self, rows: Sequence[AnyRow], earlier: int) -> None:
        """Begin anew with the last rows; `earlier` more lie before them."""
        self.loaded.reset(rows, earlier)
        self._asked = ""
        self._waiting.clear()
        self._hold = None
        for key in list(self._widgets):
            if key in self.loaded.rows:
                self._renew(key)
        self._mount_window()
        self._follow()
        self._refind()

    def prepend(self, rows: Sequence[AnyRow], earlier: int) -> None:
        """Older rows came; the line being read stays where it is."""
        fresh = self.loaded.prepend(rows, earlier)
        self._asked = ""
        if fresh and self._ready and self.scroll_y <= NEAR:
            self._more_above()
        else:
            self._say_above()
        self._refind()

    def put(self, row: AnyRow) -> None:
        """A new or changed row; several changes of one frame are drawn once."""
        self._waiting[row.key] = row
        if not self._flushing and self._ready:
            self._flushing = True
            self.call_later(self._flush)

    def stream(self, key: str, text_so_far: str, thinking: str = "", at: int = 0) -> None:
        """The text of a reply that is being written; its row appears with the first letters."""
        old = self._waiting.get(key) or self.loaded.rows.get(key)
        if not isinstance(old, SaidRow):
            self.put(SaidRow(key, at, LAST, "assistant", text_so_far, thinking=thinking, live=True))
        elif old.live:  # else it ended already; a late signal changes nothing
            self.put(replace(old, text=text_so_far, thinking=thinking or old.thinking))

    def drop(self, key: str) -> None:
        """A live row that came to nothing."""
        self._waiting.pop(key, None)
        if self.loaded.drop(key) and (widget := self._widgets.pop(key, None)):
            widget.remove()

    def go_to(self, key: str) -> bool:
        """Show the row, lit for a moment; False (and `WantRow`) when it isn't loaded."""
        self._flush()
        if key not in self.loaded.rows:
            self.post_message(self.WantRow(key))
            return False
        if not self._ready:
            self._wanted = key
            return True
        self._bring(key)
        widget = self._widgets[key]
        widget.add_class("-lit")
        self.set_timer(LIT_SECONDS, lambda: widget.remove_class("-lit"))
        current = self.finds.first_in(key)
        if current:
            self._mark_finds()
            self._tell_find()
        self._reveal(widget, widget.find_line(current[1]) if current else 0)
        return True

    def find(self, words: str) -> int:
        """Mark `words` in all loaded rows and go to the last place; answers how many there are. "" ends it."""
        self.finds.at = -1
        self.finds.look(words.strip(), self._models())
        if self.finds.step(-1):
            self._show_find()
        else:
            self._mark_finds()
        self._tell_find()
        return len(self.finds.places)

    # from events to rows

    def on_mount(self) -> None:
        """Show what came before the view was there, and follow the end."""
        self._ready = True
        self._mount_window()
        self._flush()
        self._follow()
        if self._wanted:
            self.go_to(self._wanted)

    def _models(self) -> list[AnyRow]:
        return [self.loaded.rows[key] for key in self.loaded.order]

    def make_row(self, key: str) -> Row:
        """The widget of a row, with the find's marks."""
        widget = widget_for(self.loaded.rows[key], self.now_ms)
        if self.finds.words:
            current = self.finds.current
            widget.look_for(self.finds.words, current[1] if current and current[0] == key else -1)
        return widget

    def _renew(self, key: str) -> bool:
        """Give a row's widget the newest model; True when it needs another widget and the old one went."""
        model, widget = self.loaded.rows[key], self._widgets[key]
        if not isinstance(model, widget.kind):
            self._widgets.pop(key).remove()
            return True
        widget.show(model)
        return False

    def _flush(self) -> None:
        """Take in the changes of this frame."""
        self._flushing = False
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        moved = False
        for key, model in waiting.items():
            old = self.loaded.rows.get(key)
            self.loaded.put(model)
            widget = self._widgets.get(key)
            if widget is None or old is None:
                moved = True
            elif old.seq != model.seq:
                moved = True
                self._widgets.pop(key).remove()
            else:
                moved = self._renew(key) or moved
        if moved:
            if self.at_bottom:
                self.loaded.trim()
            else:
                self.loaded.cap()
            self._mount_window()
        if self.finds.words:
            self._refind()

    # the row cursor

    def on_focus(self) -> None:
        """The focus belongs to a row."""
        if self._hold is None:
            self.find_focus()

    def find_focus(self) -> None:
        """To the last row at the end, else to the first in view."""
        rows = self._focusable()
        if rows:
            top = self.scroll_offset.y
            last = self.at_bottom
            self._focus(rows[-1] if last else next((r for r in rows if r.virtual_region.y >= top), rows[-1]))

    def _focusable(self) -> list[Row]:
        rows: list[Row] = [self._above] if self._above.display else []
        rows.extend(self._widgets[key] for key in self.loaded.window if key in self._widgets)
        return [row for row in rows if row.can_focus]

    def _focus(self, row: Row) -> None:
        row.focus(scroll_visible=False)
        if not row.size.height:
            return  # not laid out yet: it comes in at its place
        at = row.virtual_region.y + row.cursor_line()
        if at < self.scroll_offset.y or at >= self.scroll_offset.y + self.size.height:
            self.release_anchor()
            self.scroll_to(y=max(0, at - self.size.height // 2), animate=False, immediate=True)
            self._check_end()

    def action_row(self, by: int) -> None:
        """To the next target of the row, or the next row; a long row is scrolled first."""
        row = self.screen.focused
        rows = self._focusable()
        if not isinstance(row, Row) or row not in rows:
            if rows:
                self._focus(rows[-1])
            return
        if row.move(by):
            self._focus(row)
            return
        region, top, height = row.virtual_region, self.scroll_offset.y, self.size.height
        if (by > 0 and region.bottom > top + height) or (by < 0 and region.y < top):
            self.scroll_relative(y=by * 3, animate=False)
            return
        at = rows.index(row) + by
        if 0 <= at < len(rows):
            rows[at].enter_from(by)
            self._focus(rows[at])
        elif by > 0 and self.loaded.at_end:
            self.post_message(self.Leave())
        elif by > 0:
            self._more_below()
        else:
            self._more_above()

    def action_first(self) -> None:
        """To the top of what is mounted, which fetches more."""
        self.release_anchor()
        self.scroll_home(animate=False, immediate=True)
        self._more_above()

    def action_last(self) -> None:
        """To the end, and follow it."""
        self._hold = None
        self.loaded.tail()
        self._mount_window()
        self._follow()
        rows = self._focusable()
        if rows and isinstance(self.screen.focused, Row):
            rows[-1].focus(scroll_visible=False)

    def action_leave(self) -> None:
        """Back to the message box."""
        self.post_message(self.Leave())

    # find

    def action_find(self, by: int) -> None:
        """To the next find or the one before, round the ends."""
        if self.finds.step(by):
            self._show_find()
        self._tell_find()

    def _refind(self) -> None:
        if self.finds.words:
            self.finds.look(self.finds.words, self._models())
            self._mark_finds()

    def _mark_finds(self) -> None:
        key, nth = self.finds.current or ("", -1)
        for row, widget in self._widgets.items():
            widget.look_for(self.finds.words, nth if row == key else -1)

    def _show_find(self) -> None:
        current = self.finds.current
        if current is not None and self._ready:
            self._bring(current[0])
            self._mark_finds()
            widget = self._widgets[current[0]]
            self._reveal(widget, widget.find_line(current[1]))

    def _tell_find(self) -> None:
        self.post_message(self.FindState(self.finds.words, self.finds.at + 1, len(self.finds.places)))
