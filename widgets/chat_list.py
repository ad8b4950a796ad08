"""The list of all chats: sections, states in words and marks, quick for 20,000 of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from store.models import ChatSummary

from .line import Line, Piece, spread
from .line_list import Item, LineList
from .marks import FOLDED, IDLE, NEEDS_YOU, OPEN, STOPPED, WORKING, age, local
from .names import title_of

Act = Literal["menu", "column", "pin", "archive", "rename", "delete"]
LONG_AGE: Final = 6  # letters of a day in this year
WIDE_WORDS: Final = 34  # in a narrower list a long state stands on a line of its own

STATES: Final = {
    "needs-you": (NEEDS_YOU, "warn", "Needs you"),
    "working": (WORKING, "accent", ""),
    "unfinished": (STOPPED, "bad", "Didn't finish"),
    "new": (IDLE, "strong", "New"),
    "idle": (IDLE, "muted", ""),
}


def state_of(chat: ChatSummary, unread: bool = False) -> str:
    """One state for one mark: needs-you, working, unfinished, new, idle; in this order."""
    if chat.status == "awaiting-permission":
        return "needs-you"
    if chat.status == "running":
        return "working"
    if chat.status == "error":
        return "unfinished"
    return "new" if unread else "idle"


def mark_of(chat: ChatSummary, unread: bool = False) -> Piece:
    """The state's mark with its style."""
    mark, style, _ = STATES[state_of(chat, unread)]
    return mark, style


class ChatList(LineList):
    """Give it summaries and the time; it sends what the person wants."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "act('column')", "New column", id="list.column", show=False),
        Binding("m", "act('menu')", "Menu", id="list.menu", show=False),
        Binding("p", "act('pin')", "Pin", id="list.pin", show=False),
        Binding("e", "act('archive')", "Archive", id="list.archive", show=False),
        Binding("r", "act('rename')", "Rename", id="list.rename", show=False),
        Binding("delete", "act('delete')", "Delete", id="list.delete", show=False),
        Binding("space", "choose", "Open", show=False),
    ]

    @dataclass
    class Open(Message):
        """Open the chat."""

        chat: str

    @dataclass
    class Menu(Message):
        """Something else with the chat; `act` is "menu" for the whole list of what can be done."""

        chat: str
        act: Act

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.now_ms = 0
        self.current: str | None = None
        self._chats: dict[str, ChatSummary] = {}
        self._unread: frozenset[str] = frozenset()
        self._opened: set[str] = set()  # folded sections the person opened

    def set_chats(
        self, chats: Iterable[ChatSummary], now_ms: int, unread: Iterable[str] = (), current: str | None = None
    ) -> None:
        """All chats in any order."""
        self.now_ms = now_ms
        self._unread = frozenset(unread)
        self._chats = {chat.id: chat for chat in chats}
        if current != self.current:
            self.current = current
            if current is not None and not self.has_focus:
                self.selected, self.moved = current, True
        self._rebuild()

    def toggle(self, section: str) -> None:
        """Open or fold IMPORTED or ARCHIVED."""
        self._opened ^= {section}
        self._rebuild()

    def _rebuild(self) -> None:
        sections = sections_of(self._chats.values(), self.now_ms)
        width = self.scrollable_content_region.width or 30
        items: list[Item] = []
        for name, chats in sections:
            folds = name in ("IMPORTED", "ARCHIVED")
            opened = not folds or name in self._opened
            words = f"{OPEN if opened else FOLDED} {name} {len(chats):,}" if folds else name
            items.append(Item(f"\0{name}" if folds else None, 1, words))
            if opened:
                items.extend(Item(chat.id, self._height(chat, width), chat) for chat in chats)
        self.set_items(items)

    def _height(self, chat: ChatSummary, width: int) -> int:
        return 2 if width < WIDE_WORDS and len(STATES[state_of(chat)][2]) > 9 else 1

    def draw(self, item: Item, nth: int, width: int) -> Line:
        """A heading, or a chat."""
        if not isinstance(item.data, ChatSummary):
            return Line(((str(item.data), "muted"),))
        return self._chat(item.data, nth, item.height, width)

    def _chat(self, chat: ChatSummary, nth: int, height: int, width: int) -> Line:
        state = state_of(chat, chat.id in self._unread)
        mark, style, word = STATES[state]
        if nth:
            return Line(((f"  {word}", style),))
        title = title_of(chat.title)
        bold = "strong" if state == "new" or chat.id == self.current else ""
        if height == 2 or (word == "Needs you" and width < WIDE_WORDS):
            word = ""
        since = chat.doing_since if state == "working" and chat.doing_since else chat.last_active
        right = word or age(since, self.now_ms)
        if state == "working" and width >= WIDE_WORDS:
            right = f"working {right}".rstrip()
        private = [("∅ ", "muted")] if chat.private else []
        left: list[Piece] = [(f"{mark} ", style), *private, (title, bold)]
        if not word and len(right) > LONG_AGE and sum(cell_len(text) for text, _ in left) + len(right) >= width:
            right = ""  # a day of another year; the title says more
        return spread(left, [(right, style if word else "muted")] if right else [], width)

    def chosen(self, value: object) -> None:
        """Open the chat, or a folded section."""
        name = str(value)
        if name.startswith("\0"):
            self.toggle(name[1:])
        else:
            self.post_message(self.Open(name))

    def action_act(self, act: Act) -> None:
        """Something with the selected chat."""
        if self.selected in self._chats:
            self.post_message(self.Menu(str(self.selected), act))


def sections_of(chats: Iterable[ChatSummary], now_ms: int) -> list[tuple[str, Sequence[ChatSummary]]]:
    """The sections from top to bottom with their chats, newest first; empty ones are left out."""
    today = local(now_ms).date()
    named: dict[str, list[ChatSummary]] = {}
    months: dict[tuple[int, int], list[ChatSummary]] = {}
    for chat in sorted(chats, key=lambda c: c.last_active, reverse=True):
        name = _section(chat, today)
        if name:
            named.setdefault(name, []).append(chat)
        else:
            then = local(chat.last_active)
            months.setdefault((then.year, then.month), []).append(chat)
    if "PINNED" in named:
        named["PINNED"].sort(key=lambda c: c.pinned)
    order = ["NEEDS YOU", "PINNED", "TODAY", "YESTERDAY", "PREVIOUS 7 DAYS", "PREVIOUS 30 DAYS"]
    out: list[tuple[str, Sequence[ChatSummary]]] = [(name, named[name]) for name in order if name in named]
    for (year, month), held in months.items():
        words = f"{dt.date(year, month, 1):%B}".upper()
        out.append((words if year == today.year else f"{words} {year}", held))
    out.extend((name, named[name]) for name in ("IMPORTED", "ARCHIVED") if name in named)
    return out


def _section(chat: ChatSummary, today: dt.date) -> str:
    """The section's name, or "" for one by month."""
    if chat.status == "awaiting-permission":
        return "NEEDS YOU"
    if chat.archived_at:
        return "ARCHIVED"
    if chat.origin is not None and chat.origin.kind == "import":
        return "IMPORTED"
    if chat.pinned:
        return "PINNED"
    days = (today - local(chat.last_active).date()).days
    for most, name in ((0, "TODAY"), (1, "YESTERDAY"), (7, "PREVIOUS 7 DAYS"), (30, "PREVIOUS 30 DAYS")):
        if days <= most:
            return name
    return ""
