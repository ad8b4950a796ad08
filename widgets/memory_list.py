"""What is remembered, a line each: first what waits for the person."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from .line import Line, Piece, fit, spread
from .line_list import Item, LineList
from .marks import NEEDS_YOU

WAITING, KEPT = "WAITING FOR YOU", "KEPT"
WIDE = 44  # cells from which the note shows


@dataclass(frozen=True, slots=True)
class Remembered:
    """One memory; its texts are harmless already."""

    id: str
    words: str
    note: str = ""
    waits: bool = False


class MemoryList(LineList, inherit_bindings=False):
    """Letters belong to the screen: they keep, forget and bring back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "edge(1)", "First", show=False),
        Binding("end", "edge(-1)", "Last", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """A click: read this one."""

        id: str

    def show(self, memories: Iterable[Remembered]) -> None:
        """Show these; where the selected one is gone, its neighbour is selected."""
        before = [item.value for item in self.items if item.value is not None]
        at = before.index(self.selected) if self.selected in before else 0
        items: list[Item] = []
        held = list(memories)
        for waits, group in groupby(held, key=lambda m: m.waits):
            if any(m.waits for m in held):
                items.append(Item(None, 1, WAITING if waits else KEPT))
            items.extend(Item(memory.id, 1, memory) for memory in group)
        gone = bool(before) and self.moved and self.selected not in {m.id for m in held}
        self.set_items(items)
        if gone and held:
            self.moved = True
            self.select(held[min(at, len(held) - 1)].id)

    def draw(self, item: Item, nth: int, width: int) -> Line:
        """A heading or a memory."""
        memory = item.data
        if not isinstance(memory, Remembered):
            return Line(((fit(str(memory), width), "muted"),))
        mark: Piece = (f"{NEEDS_YOU} ", "warn") if memory.waits else ("  ", "")
        right: list[Piece] = [(f"  {memory.note}", "muted")] if memory.note and width >= WIDE else []
        return spread([mark, (memory.words, "")], right, width)

    def chosen(self, value: Hashable) -> None:
        """Read it."""
        self.post_message(self.Chosen(str(value)))
