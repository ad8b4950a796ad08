"""The lines around a find, beside the results."""

from __future__ import annotations

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from store.models import Line as ChatLine
from store.models import Preview as PreviewModel

from .line import BLANK, Line, Piece, wrap
from .marked import marked
from .marks import CURSOR, clock_time, count, day
from .names import person, title_of
from .palette import palette, styled


class Preview(ScrollView, can_focus=False):
    """Chat, date and count; the neighbours; the found line with a bar."""

    DEFAULT_CSS = """
    Preview { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; overflow-x: hidden;
        scrollbar-color: $foreground 20%; scrollbar-background: $background; }
    Preview:ansi { scrollbar-color: ansi_bright_black; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.now_ms = 0
        self._model: PreviewModel | None = None
        self._tips: tuple[str, ...] = ()
        self._lines: list[Line] = []
        self._focus_line = 0
        self._width = 0

    def show(self, model: PreviewModel | None, now_ms: int, tips: tuple[str, ...] = ()) -> None:
        """Show a preview; without one, the tips."""
        self._model, self.now_ms, self._tips = model, now_ms, tips
        self._lay_out()

    def on_resize(self) -> None:
        """Another width, other lines."""
        if self.scrollable_content_region.width != self._width:
            self._lay_out()

    def _lay_out(self) -> None:
        self._width = self.scrollable_content_region.width
        if not self._width:
            return
        self._lines = self._make(self._width)
        self.virtual_size = Size(0, len(self._lines))
        height = self.scrollable_content_region.height
        top = max(0, self._focus_line - height // 3)
        self.scroll_to(y=top, animate=False, immediate=True)
        if self.scroll_offset.y != top:  # it has no size yet
            self.call_after_refresh(self.scroll_to, y=top, animate=False, immediate=True)
        self.refresh()

    def _make(self, width: int) -> list[Line]:
        self._focus_line = 0
        model = self._model
        if model is None or model.chat is None:
            return [item for tip in self._tips for item in wrap([(tip, "muted")], width)]
        meta = f" · {count(model.messages, 'message')}" if model.messages else ""
        title = title_of(model.chat.title)
        when = day(model.chat.last_active, self.now_ms)
        out = [*wrap([(title, "strong"), (f" · {when}{meta}", "muted")], width), BLANK]
        column = max((len(self._who(item)) for item in model.lines), default=0)
        for index, item in enumerate(model.lines):
            if index == model.focus:
                self._focus_line = len(out)
            out.extend(self._line(item, index == model.focus, column, width))
        return out

    def _who(self, item: ChatLine) -> str:
        name = {"you": "you", "assistant": "asst", "step": "step"}.get(item.who)
        return name or person(item.name, 12) or "other"

    def _line(self, item: ChatLine, found: bool, column: int, width: int) -> list[Line]:
        bar: Piece = (f"{CURSOR} ", "accent") if found else ("  ", "")
        time = clock_time(item.at) if item.at else "     "
        head = f"{self._who(item).ljust(column)}  {time}  "
        ranges = self._model.ranges if found and self._model else ()
        style = "" if found else "muted"
        text = marked(item.text, ranges, style)
        lines = wrap(text, max(8, width - 2 - (len(head) if width > 40 else 0)))
        if width <= 40:
            return [
                Line((bar, (head.rstrip(), "muted"))),
                *(Line((bar, *part.pieces)) for part in lines),
            ]
        return [
            Line((bar, (head if not nth else " " * len(head), "you" if item.who == "you" else "muted"), *part.pieces))
            for nth, part in enumerate(lines)
        ]

    def render_line(self, y: int) -> Strip:
        """One drawn line."""
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        styles = palette(self.app)
        pieces = self._lines[at].pieces if at < len(self._lines) else ()
        strip = Strip([Segment(text, styled(styles, style)) for text, style in pieces if text])
        return strip.adjust_cell_length(width).apply_style(self.rich_style)
