"""F1: every key on one page, and the `/` commands, as they are set now."""

from __future__ import annotations

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
        page.border_subtitle = Content("Esc closes · each is changed in settings.toml under [keys] by the name in F10")
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
        across = max(1, min(3, width // 44))
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
            keys = self._keymap.get(key.id, key.keys)
            both = " ".join(show(k) for k in keys.split(",")[:2])
            found.setdefault(key.section, []).append((both, key.words))
        commands = [(f"/{s.name}", f"{s.words}" + (f" · {s.hint}" if s.hint else "")) for s in SLASHES]
        return [*found.items(), ("In the message box", commands)]

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
    import textwrap

    return textwrap.wrap(words, max(8, width)) or [""]


def _pad(cell: Content, width: int) -> Content:
    return cell.pad_right(max(0, width - cell.cell_length))


def _spread(blocks: list[Block], across: int) -> list[Block]:
    """Blocks in order over `across` columns of about the same height; no block is torn."""
    goal = sum(len(b) for b in blocks) / across
    columns: list[Block] = [[] for _ in range(across)]
    at = 0
    for block in blocks:
        if columns[at] and at < across - 1 and len(columns[at]) + len(block) / 2 > goal:
            at += 1
        columns[at].extend(block)
    return columns
