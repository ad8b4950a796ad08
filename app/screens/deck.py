"""Which chats stand side by side: pure, so that every move can be tested without a screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from store.limits import COLUMN_MIN_WIDTH, COLUMNS_MOST, DRAWER_UNDER

LIST_WIDTH = 27  # the chat list with its border


@dataclass(frozen=True, slots=True)
class Deck:
    """The open columns, left to right, and which has the focus."""

    chats: tuple[str, ...] = ()
    focus: int = 0

    @property
    def focused(self) -> str | None:
        """The chat that has the focus."""
        return self.chats[self.focus] if self.chats else None

    def show(self, chat: str) -> Deck:
        """Open `chat` in the focused column; where it is open already, only go there."""
        if chat in self.chats:
            return self.go(self.chats.index(chat))
        if not self.chats:
            return Deck((chat,), 0)
        chats = list(self.chats)
        chats[self.focus] = chat
        return replace(self, chats=tuple(chats))

    def beside(self, chat: str) -> Deck:
        """Open `chat` in a new column right of the focused one."""
        if chat in self.chats:
            return self.go(self.chats.index(chat))
        place = self.focus + 1 if self.chats else 0
        return Deck((*self.chats[:place], chat, *self.chats[place:]), place)

    def close(self, chat: str) -> Deck:
        """Take the chat's column away; the focus goes to the right neighbour, else the left."""
        if chat not in self.chats:
            return self
        place = self.chats.index(chat)
        chats = self.chats[:place] + self.chats[place + 1 :]
        focus = self.focus - 1 if place < self.focus else self.focus
        return Deck(chats, max(0, min(focus, len(chats) - 1)))

    def go(self, column: int) -> Deck:
        """Focus a column, 0-based; a number past the ends goes to the end."""
        return replace(self, focus=max(0, min(column, len(self.chats) - 1)))

    def move(self, by: int) -> Deck:
        """Move the focused column left (-1) or right (1)."""
        to = self.focus + by
        if not self.chats or not 0 <= to < len(self.chats):
            return self
        chats = list(self.chats)
        chats[self.focus], chats[to] = chats[to], chats[self.focus]
        return Deck(tuple(chats), to)

    def to_json(self) -> dict[str, Any]:
        """As it is kept between runs."""
        return {"chats": list(self.chats), "focus": self.focus}

    @classmethod
    def from_json(cls, value: object, known: frozenset[str]) -> Deck:
        """What was kept, less the chats that are gone; anything odd gives an empty deck."""
        if not isinstance(value, Mapping):
            return cls()
        raw = value.get("chats")
        chats = tuple(dict.fromkeys(c for c in raw if c in known)) if isinstance(raw, list) else ()
        focus = value.get("focus")
        return cls(chats).go(focus if isinstance(focus, int) else 0)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the deck fits a window: column width in cells, how many show at once, whether the list is a drawer."""

    width: int
    shown: int
    drawer: bool
    strip: bool  # one column with a strip of the others' marks and titles


def layout(window: int, columns: int, list_open: bool) -> Layout:
    """The layout of `columns` columns in a window of so many cells."""
    drawer = window < DRAWER_UNDER
    room = window if drawer or not list_open else window - LIST_WIDTH
    shown = max(1, min(COLUMNS_MOST, room // COLUMN_MIN_WIDTH, max(columns, 1)))
    if drawer:
        shown = 1
    return Layout(max(1, room // shown), shown, drawer, drawer and columns > 1)
