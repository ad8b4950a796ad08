"""F1: every key on one page, and the `/` commands, as they are set now."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from app.keys import KEYS, show
from app.screens.slash import SLASHES

Block = list[Content]
_ORDER = (
    "Everywhere",
    "Chats and columns",
    "Writing",
    "The chat list",
    "Search",
    "Activity",
    "Memories",
    "Passwords",
    "After F8",
    "Rows",
    "In the message box",
    "Questions and cards",
)


class HelpScreen(ModalScreen[None]):
    """All keys by section, in as many columns as fit."""

    BINDINGS = [Binding("escape,f1,q,enter", "leave", show=False, priority=True)]

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        """One scrolling page."""
        with VerticalScroll(id="page"):
            yield Static(id="keys")

    def on_mount(self) -> None:
        """Fill it."""
        page = self.query_one("#page")
        page.border_title = Content("Keys")
        page.border_subtitle = Content("Esc closes · F10 changes any of them")
        page.focus()
        self._draw()

    def on_resize(self) -> None:
        """Lay it out anew."""
        self._draw()

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)

    def _draw(self) -> None:
        width = max(20, self.size.width - 10)
        across = max(1, min(3, width // 38))
        each = width // across
        blocks = [self._block(title, pairs, each) for title, pairs in self._sections()]
        columns = _spread(blocks, across)
        height = max(len(c) for c in columns)
        lines = []
        for row in range(height):
            cells = [c[row] if row < len(c) else Content("") for c in columns]
            lines.append(Content("").join(_pad(cell, each) for cell in cells))
        self.query_one("#keys", Static).update(Content("\n").join(lines))

    def _sections(self) -> list[tuple[str, list[tuple[str, str]]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for key in KEYS:
            if key.id.startswith("column.") and key.id[7:].isdigit():
                if key.id == "column.1":
                    found.setdefault(key.section, []).append(("1–9", "Go to that column"))
                continue
            found.setdefault(key.section, []).append((show(self._keymap.get(key.id, key.keys)), key.words))
        commands = [(f"/{s.name}", f"{s.words}" + (f" · {s.hint}" if s.hint else "")) for s in SLASHES]
        found["In the message box"] = commands
        return [(title, found[title]) for title in sorted(found, key=_ORDER.index)]

    @staticmethod
    def _block(title: str, pairs: list[tuple[str, str]], width: int) -> Block:
        lines = [Content.styled(title, "bold $text-accent")]
        keys = min(14, max(len(k) for k, _ in pairs) + 2)
        for key, words in pairs:
            for index, part in enumerate(_wrapped(words, width - keys - 3)):
                head = (key if index == 0 else "").ljust(keys)
                lines.append(Content.assemble((" " + head, "bold"), (part, "$foreground")))
        lines.append(Content(""))
        return lines


def _wrapped(words: str, width: int) -> list[str]:
    return textwrap.wrap(words, max(8, width)) or [""]


def _pad(cell: Content, width: int) -> Content:
    return cell.pad_right(max(0, width - cell.cell_length))


def _spread(blocks: list[Block], across: int) -> list[Block]:
    """Blocks in order over `across` columns, none torn, the tallest as short as can be."""
    best: tuple[int, list[Block]] | None = None
    for cuts in itertools.combinations(range(1, len(blocks)), min(across, len(blocks)) - 1):
        edges = [0, *cuts, len(blocks)]
        columns = [list(itertools.chain(*blocks[a:b])) for a, b in itertools.pairwise(edges)]
        tallest = max(map(len, columns))
        if best is None or tallest < best[0]:
            best = (tallest, columns)
    return best[1] if best else []
