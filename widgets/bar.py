"""One line with words at its two ends."""

from __future__ import annotations

from collections.abc import Iterable

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from .line import Piece, spread
from .palette import palette, styled


class Bar(Widget):
    """A title, foot or status line; its text is harmless already."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's own
        super().__init__(id=id, classes=classes)
        self._left: tuple[Piece, ...] = ()
        self._right: tuple[Piece, ...] = ()

    def say(self, left: Iterable[Piece], right: Iterable[Piece] = ()) -> None:
        """Show these; the left is cut first."""
        ends = tuple(left), tuple(right)
        if ends != (self._left, self._right):
            self._left, self._right = ends
            self.refresh()

    @property
    def plain(self) -> str:
        """What it says."""
        return "".join(text for text, _ in (*self._left, *self._right))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One."""
        return 1

    def render_line(self, y: int) -> Strip:
        """The line."""
        width = self.content_size.width
        styles = palette(self.app)
        pieces = spread(self._left, self._right, width).pieces if y == 0 else ()
        strip = Strip([Segment(text, styled(styles, style)) for text, style in pieces if text])
        return strip.adjust_cell_length(width).apply_style(self.rich_style)
