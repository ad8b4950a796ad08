"""Names, a line each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType

from store.text import safe_text

from .line import Line, fit
from .line_list import Item, LineList


class NameList(LineList, inherit_bindings=False):
    """Letters belong to the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "edge(1)", "First", show=False),
        Binding("end", "edge(-1)", "Last", show=False),
    ]

    def show(self, names: Iterable[str]) -> None:
        """Show these."""
        self.set_items([Item(name, 1, safe_text(name, one_line=True)) for name in names])

    def draw(self, item: Item, nth: int, width: int) -> Line:
        """A name."""
        return Line(((" ", ""), (fit(str(item.data), width - 1), "")))

    def chosen(self, value: Hashable) -> None:
        """A click only selects."""
