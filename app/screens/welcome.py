"""The first start: what Shoal is, and what was found here, each a key away. Nothing is sent before a press."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.keys import BY_ID, show
from store.text import safe_text
from widgets.line import Line, Piece, wrap
from widgets.row import Row


class Welcome(Row):
    """Shown above the first chat's message box until something is said."""

    DEFAULT_CSS = "Welcome { margin: 1 1; }"  # no padding: a row draws its whole region itself

    def __init__(self, keymap: dict[str, str], found: Sequence[Any] | None = None, imports: int = 0) -> None:
        super().__init__("-welcome")
        self.can_focus = False
        self._keymap = keymap
        self.ways = found
        self.imports = imports

    def set_found(self, found: Sequence[Any], imports: int) -> None:
        """What was found meanwhile."""
        self.ways, self.imports = found, imports
        self.changed()

    def _key(self, name: str) -> str:
        return show(self._keymap.get(name, BY_ID[name].keys))

    def make(self, width: int) -> list[Line]:
        """Plain lines."""
        out = [
            *wrap([("Many chats side by side, that remember each other.", "strong")], width),
            Line(),
            *wrap(
                [
                    (
                        "This chat answers offline: no key, no network. It finds and quotes what was said in your ",
                        "muted",
                    ),
                    ("chats, and says so where it can't do more. Just write.", "muted"),
                ],
                width,
            ),
            Line(),
        ]
        out += self._models(width)
        out += self._files(width)
        out += [Line(), *self._hint("search.open", "finds any line of any chat", width)]
        out += self._hint("leader", "opens columns, archives, forks …", width)
        out += self._hint("help.open", "shows every key", width)
        return out

    def _models(self, width: int) -> list[Line]:
        if self.ways is None:
            return wrap([("Looking what is on this computer…", "muted")], width)
        ways = [f for f in self.ways if f.kind != "program"]
        programs = [f for f in self.ways if f.kind == "program"]
        out = [Line((("Found on this computer" if self.ways else "No model server or key was found", "title"),))]
        for way in ways:
            first: Piece = (f"  {self._key('chat.model'):<4}", "key")
            out += wrap([(safe_text(way.words, one_line=True, limit=200), "")], width, first=first)
        for program in programs:
            out += wrap([(safe_text(program.words, one_line=True, limit=200), "muted")], width, first=("      ", ""))
        if not ways:
            words = "connects a model; OPENAI_API_KEY, ANTHROPIC_API_KEY or a local server are found by themselves"
            out += self._hint("chat.model", words, width)
        return out

    def _files(self, width: int) -> list[Line]:
        if self.imports:
            files = f"{self.imports} file{'s' if self.imports > 1 else ''} in the import folder"
            return wrap([(files, ""), (" · /import FILE takes one in", "muted")], width, first=("      ", ""))
        return wrap([("/import FILE", "key"), (" takes chats in from a file", "muted")], width, first=("  ", ""))

    def _hint(self, name: str, words: str, width: int) -> list[Line]:
        return wrap([(words, "muted")], width, first=(f"  {self._key(name):<4}", "key"))
