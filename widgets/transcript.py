"""The transcript of one chat: a window of rows over what is loaded, paged, followed, searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, cast

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.message import Message
from textual.reactive import Reactive, ReactiveType
from textual.widget import Widget

from store.limits import PAGE_ROWS, ROWS_MOUNTED
from store.rows import AnyRow, LookRow, NoticeRow, PermissionRow, SaidRow, ToolRow
from store.text import fold

from .line import Line
from .marks import MORE, count
from .row import Row
from .rows import widget_for

LIT_SECONDS: Final = 2.0
NEAR: Final = 3  # lines from an edge where the next rows are fetched


class EarlierRow(Row):
    """Says how much is above; Enter or a click fetches it."""

    @dataclass
    class Pressed(Message):
        """Earlier rows are wanted."""

    def __init__(self) -> None:
        super().__init__("-earlier")
        self.hidden_rows = 0

    def say(self, hidden: int) -> None:
        """How many rows are above."""
        if hidden != self.hidden_rows:
            self.hidden_rows = hidden
            self.display = hidden > 0
            self.changed()

    def make(self, width: int) -> list[Line]:
        """One quiet line."""
        words = f"{MORE}{count(self.hidden_rows, 'earlier message')}"
        return [Line(((words, "muted"),), quiet=True)]

    def press(self) -> None:
        """Fetch them."""
        self.post_message(self.Pressed())


class Transcript(VerticalScroll, can_focus=True, can_focus_children=False):
    """Rows are put in by key; at most `ROWS_MOUNTED` are widgets, the rest wait as models."""

    DEFAULT_CSS = """
    Transcript { layout: stream; height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        scrollbar-color: $foreground 20%; scrollbar-color-hover: $foreground 30%; scrollbar-background: $background; }
    """
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
    class WantEarlier(Message):
        """The view came to the top of what is loaded; `before` is the oldest loaded row's key."""

        before: str

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
        self.earlier = 0  # rows the store has before the first loaded one
        self._models: dict[str, AnyRow] = {}
        self._order: list[str] = []
        self._low = 0  # the mounted window is _order[_low:_high]
        self._high = 0
        self._widgets: dict[str, Row] = {}
        self._hold: tuple[Widget, int] | None = None  # a row, and how far below the view's top it stays
        self._asked = ""
        self._waiting: dict[str, AnyRow] = {}  # changes of this frame
        self._flushing = False
        self._finds: list[tuple[str, int]] = []
        self._find_at = -1
        self._words = ""

    # what the screen calls

    def show_page(self, rows: Sequence[AnyRow], earlier: int) -> None:
        """Begin anew with the last rows; `earlier` more lie before them."""
        self._models = {row.key: row for row in rows}
        self._order = [row.key for row in rows]
        self.earlier = earlier
        self._asked = ""
        self._waiting.clear()
        self._window(max(0, len(rows) - PAGE_ROWS), len(rows))
        self.anchor()
        self._anchor_released = False
        self.find(self._words)

    def prepend(self, rows: Sequence[AnyRow], earlier: int) -> None:
        """Older rows came; the line being read stays where it is."""
        fresh = [row for row in rows if row.key not in self._models]
        self._models.update((row.key, row) for row in fresh)
        self._order[:0] = [row.key for row in fresh]
        self._low += len(fresh)
        self._high += len(fresh)
        self.earlier = earlier
        self._asked = ""
        if fresh and self.scroll_y <= NEAR:
            self._more_above()
        else:
            self._say_earlier()
        if self._words:
            self._refind()

    def put(self, row: AnyRow) -> None:
        """A new or changed row; several changes of one frame are drawn once."""
        self._waiting[row.key] = row
        if not self._flushing:
            self._flushing = True
            self.call_later(self._flush)

    def put_all(self, rows: Sequence[AnyRow]) -> None:
        """Several at once."""
        for row in rows:
            self.put(row)

    def stream(self, key: str, text_so_far: str, thinking: str = "", at: int = 0) -> None:
        """The text of a reply that is being written; its row appears with the first letters."""
        old = self._waiting.get(key) or self._models.get(key)
        if isinstance(old, SaidRow) and not old.live:
            return  # it ended already; a late signal changes nothing
        if isinstance(old, SaidRow):
            self.put(replace(old, text=text_so_far, thinking=thinking or old.thinking))
        else:
            self.put(SaidRow(key, at, 1 << 60, "assistant", text_so_far, thinking=thinking, live=True))

    def drop(self, key: str) -> None:
        """A live row that came to nothing."""
        self._waiting.pop(key, None)
        if self._models.pop(key, None) is None:
            return
        index = self._order.index(key)
        self._order.remove(key)
        self._low -= index < self._low
        self._high -= index < self._high
        if widget := self._widgets.pop(key, None):
            widget.remove()

    def go_to(self, key: str) -> bool:
        """Show the row, lit for a moment; False (and `WantRow`) when it isn't loaded."""
        self._flush()
        if key not in self._models:
            self.post_message(self.WantRow(key))
            return False
        self._bring(key)
        widget = self._widgets[key]
        widget.add_class("-lit")
        self.set_timer(LIT_SECONDS, lambda: widget.remove_class("-lit"))
        self._reveal(widget, 0)
        return True

    def find(self, words: str) -> int:
        """Mark `words` in all loaded rows and go to the last find; answers how many there are. "" ends it."""
        self._words = words.strip()
        self._refind()
        if self._finds:
            self._find_at = len(self._finds) - 1
            self._show_find()
        else:
            self._find_at = -1
            self._mark_finds()
        self._tell_find()
        return len(self._finds)

    def find_in(self, words: str, key: str) -> int:
        """As `find`, but the current one is the first in the row `key`."""
        total = self.find(words)
        at = next((i for i, (row, _) in enumerate(self._finds) if row == key), -1)
        if at >= 0:
            self._find_at = at
            self._show_find()
            self._tell_find()
        return total

    def rows_loaded(self) -> list[AnyRow]:
        """The models, oldest first."""
        return [self._models[key] for key in self._order]

    @property
    def at_bottom(self) -> bool:
        """Whether new rows are followed."""
        return not self._anchor_released and self._high == len(self._order)

    # the window

    def compose(self) -> list[Widget]:
        """The row that says how much is above."""
        self._earlier = EarlierRow()
        self._earlier.display = False
        return [self._earlier]

    def on_mount(self) -> None:
        """Follow the end."""
        self.anchor()
        if self._order:
            self._window(self._low, self._high)

    def _window(self, low: int, high: int) -> None:
        """Make exactly the rows [low, high) widgets."""
        self._low, self._high = low, high
        if not self.is_mounted:
            return
        wanted = self._order[low:high]
        keep = set(wanted)
        gone = [key for key in self._widgets if key not in keep]
        if gone:
            dead = [self._widgets.pop(key) for key in gone]
            self.remove_children(dead)
        fresh: list[Row] = []
        after: Widget = self._earlier
        for key in wanted:
            widget = self._widgets.get(key)
            if widget is not None:
                if fresh:
                    self.mount_all(fresh, after=after)
                    fresh = []
                after = widget
                continue
            widget = self._widgets[key] = self._make(key)
            fresh.append(widget)
        if fresh:
            self.mount_all(fresh, after=after)
        self._say_earlier()

    def _make(self, key: str) -> Row:
        widget = widget_for(self._models[key], self.now_ms)
        if self._words:
            widget.look_for(self._words)
        return widget

    def _say_earlier(self) -> None:
        if self.is_mounted:
            self._earlier.say(self.earlier + self._low)

    def _flush(self) -> None:
        """Take in the changes of this frame."""
        self._flushing = False
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        follow = self._high == len(self._order)
        for key, model in waiting.items():
            new = key not in self._models
            old = self._models.get(key)
            self._models[key] = model
            if new:
                self._insert(key, model)
            elif type(old) is not type(model) and key in self._widgets:
                self._replace(key)
            elif widget := self._widgets.get(key):
                widget.show(model)
        if follow and self._high != len(self._order):
            self._window(max(self._low, self._trimmed(len(self._order))), len(self._order))
        if self._words:
            self._refind()

    def _insert(self, key: str, model: AnyRow) -> None:
        """A row's place is by seq; a live one has none yet and stands last."""
        at = len(self._order)
        while at and self._models[self._order[at - 1]].seq > model.seq:
            at -= 1
        self._order.insert(at, key)
        if at < self._low:
            self._low += 1
            self._high += 1
        elif at < self._high:
            self._high += 1
            self._window(self._low, self._high)

    def _replace(self, key: str) -> None:
        old = self._widgets.pop(key)
        new = self._widgets[key] = self._make(key)
        self.mount(new, before=old)
        old.remove()

    def _trimmed(self, high: int) -> int:
        """The lowest row that may stay mounted while the end is followed."""
        if self._anchor_released:
            return self._low
        return high - PAGE_ROWS if high - self._low > ROWS_MOUNTED else self._low

    def _more_above(self) -> None:
        """Mount the rows above (or ask for them), the view staying on its line."""
        if self._low == 0:
            if self.earlier and self._order and self._asked != self._order[0]:
                self._asked = self._order[0]
                self.post_message(self.WantEarlier(self._order[0]))
            return
        self._keep_place()
        low = max(0, self._low - PAGE_ROWS // 2)
        self._window(low, min(self._high, low + ROWS_MOUNTED))

    def _more_below(self) -> None:
        if self._high >= len(self._order):
            return
        self._keep_place()
        high = min(len(self._order), self._high + PAGE_ROWS // 2)
        self._window(max(self._low, high - ROWS_MOUNTED), high)

    def _keep_place(self) -> None:
        """Remember the first row in view; `arrange` puts it back at its place in the same frame."""
        top = self.scroll_offset.y
        keep = set(self._order[self._low : self._high])
        for key in self._order[self._low : self._high]:
            widget = self._widgets.get(key)
            if widget is not None and key in keep and widget.virtual_region.bottom > top and widget.size.height:
                self._hold = (widget, widget.virtual_region.y - top)
                return

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """As Textual's, and a held row stays where it was on screen."""
        result = super().arrange(size, optimal)
        if self._hold is not None:
            widget, below = self._hold
            place = next((item for item in result.placements if item.widget is widget), None)
            if place is not None and widget.is_attached:
                scroll = max(0, place.region.y - below)
                self._anchor_released = True
                self.set_reactive(Widget.scroll_y, float(scroll))
                self.set_reactive(Widget.scroll_target_y, float(scroll))
                self.call_after_refresh(self._let_go)
        return result

    def set_reactive(self, reactive: Reactive[ReactiveType], value: ReactiveType) -> None:
        """As Textual's; its anchor would push a transcript shorter than the view down to the view's end."""
        if reactive is Widget.scroll_y or reactive is Widget.scroll_target_y:
            value = cast(ReactiveType, max(0.0, cast(float, value)))
        super().set_reactive(reactive, value)

    def _let_go(self) -> None:
        self._hold = None

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Fetch what is near the edge."""
        super().watch_scroll_y(old_value, new_value)
        if self._hold is not None or not self.is_mounted:
            return
        if new_value < old_value and new_value <= NEAR:
            self.call_later(self._more_above)
        elif new_value > old_value and new_value >= self.max_scroll_y - NEAR:
            self.call_later(self._more_below)

    def _bring(self, key: str) -> None:
        index = self._order.index(key)
        if not self._low <= index < self._high:
            low = max(0, min(index - PAGE_ROWS // 2, len(self._order) - PAGE_ROWS))
            self._window(low, min(len(self._order), low + PAGE_ROWS))

    def _reveal(self, widget: Row, at_line: int) -> None:
        """Scroll so that a line of the row is in view, a third from the top."""
        self.release_anchor()

        def scroll() -> None:
            if widget.is_attached:
                y = widget.virtual_region.y + at_line - self.size.height // 3
                self.scroll_to(y=y, animate=False, immediate=True)
                self._check_anchor()

        self.call_after_refresh(scroll)

    # the row cursor

    def on_focus(self) -> None:
        """The focus belongs to a row."""
        rows = self._focusable()
        if rows:
            self._focus(rows[-1] if self.at_bottom else self._first_in_view(rows))

    def _focusable(self) -> list[Row]:
        rows: list[Row] = [self._earlier] if self._earlier.display else []
        rows.extend(self._widgets[key] for key in self._order[self._low : self._high] if key in self._widgets)
        return [row for row in rows if row.can_focus]

    def _first_in_view(self, rows: list[Row]) -> Row:
        top = self.scroll_offset.y
        return next((row for row in rows if row.virtual_region.y >= top), rows[-1])

    def _focus(self, row: Row) -> None:
        row.focus(scroll_visible=False)
        at = row.virtual_region.y + row.cursor_line()
        if at < self.scroll_offset.y or at >= self.scroll_offset.y + self.size.height:
            self.release_anchor()
            self.scroll_to(y=max(0, at - self.size.height // 2), animate=False, immediate=True)
            self._check_anchor()

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
        elif by > 0:
            self.post_message(self.Leave())
        else:
            self._more_above()

    def action_first(self) -> None:
        """To the top of what is mounted, which fetches more."""
        self.release_anchor()
        self.scroll_home(animate=False)
        self._more_above()

    def action_last(self) -> None:
        """To the end, and follow it."""
        self._window(max(0, len(self._order) - PAGE_ROWS), len(self._order))
        self._hold = None
        self.anchor()
        self._anchor_released = False
        rows = self._focusable()
        if rows and isinstance(self.screen.focused, Row):
            rows[-1].focus(scroll_visible=False)

    def action_leave(self) -> None:
        """Back to the message box."""
        self.post_message(self.Leave())

    def on_earlier_row_pressed(self, event: EarlierRow.Pressed) -> None:
        """Fetch what is above."""
        event.stop()
        self._more_above()

    # find

    def action_find(self, by: int) -> None:
        """To the next find or the one before, round the ends."""
        if self._finds:
            self._find_at = (self._find_at + by) % len(self._finds)
            self._show_find()
        self._tell_find()

    def _refind(self) -> None:
        words = fold(self._words)
        current = self._finds[self._find_at] if 0 <= self._find_at < len(self._finds) else None
        self._finds = []
        if words:
            for key in self._order:
                times = fold(text_of(self._models[key])).count(words)
                self._finds.extend((key, nth) for nth in range(times))
        self._find_at = self._finds.index(current) if current in self._finds else -1

    def _mark_finds(self) -> None:
        current = self._finds[self._find_at] if self._find_at >= 0 else ("", -1)
        for key, widget in self._widgets.items():
            widget.look_for(self._words, current[1] if key == current[0] else -1)

    def _show_find(self) -> None:
        key, nth = self._finds[self._find_at]
        self._bring(key)
        self._mark_finds()
        widget = self._widgets[key]
        self._reveal(widget, widget.find_line(nth))

    def _tell_find(self) -> None:
        self.post_message(self.FindState(self._words, self._find_at + 1, len(self._finds)))


def text_of(model: AnyRow) -> str:
    """What find looks through in a row."""
    match model:
        case SaidRow():
            return model.text
        case ToolRow():
            return model.label or model.name
        case LookRow():
            return model.query or ""
        case NoticeRow():
            return model.text
        case PermissionRow():
            return model.request.summary if model.request else ""
        case _:
            return ""
