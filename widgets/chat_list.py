"""The list of all chats: sections, states in words and marks, quick for 20,000 of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from store.models import ChatSummary

from .chat_sections import ROUTINE, folds, sections_of, tasks_of
from .line import Line, Piece, spread
from .line_list import Item, LineList
from .marks import FOLDED, IDLE, NEEDS_YOU, OPEN, STOPPED, WORKING, age, clock_time, count, day, local
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


@dataclass(frozen=True, slots=True)
class Entry:
    """A chat as it stands in the list. `under`: a task below its chat; `hidden`: its tasks that aren't shown."""

    chat: ChatSummary
    under: str = ""
    run: bool = False
    hidden: int = 0


class ChatList(LineList):
    """Give it summaries and the time; it sends what the person wants."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "act('column')", "New column", id="list.column", show=False),
        Binding("m", "act('menu')", "Menu", id="list.menu", show=False),
        Binding("p", "act('pin')", "Pin", id="list.pin", show=False),
        Binding("e", "act('archive')", "Archive", id="list.archive", show=False),
        Binding("r", "act('rename')", "Rename", id="list.rename", show=False),
        Binding("t", "tasks", "Its tasks", id="list.tasks", show=False),
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
        self._tasks_opened: set[str] = set()  # chats whose ended tasks the person wants to see

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
        """Open or fold a section such as ARCHIVED."""
        self._opened ^= {section}
        self._rebuild()

    def _rebuild(self) -> None:
        tasks = tasks_of(self._chats.values())
        width = self.scrollable_content_region.width or 30
        items: list[Item] = []
        for name, chats in sections_of(self._chats.values(), self.now_ms):
            opened = not folds(name) or name in self._opened
            items.append(self._heading(name, chats, opened))
            for chat in chats if opened else ():
                runs = name.startswith(ROUTINE)
                shown, hidden = self._shown(chat, tasks.get(chat.id, ()))
                items.append(Item(chat.id, self._height(chat, width), Entry(chat, run=runs, hidden=hidden)))
                items.extend(Item(t.id, 1, Entry(t, under="└" if t is shown[-1] else "├")) for t in shown)
        self.set_items(items)

    def _heading(self, name: str, chats: Sequence[ChatSummary], opened: bool) -> Item:
        if not folds(name):
            return Item(None, 1, name)
        fold = OPEN if opened else FOLDED
        if not name.startswith(ROUTINE):
            return Item(f"\0{name}", 1, f"{fold} {name} {len(chats):,}")
        works = f"{WORKING} " if any(state_of(c) == "working" for c in chats) else ""
        return Item(f"\0{name}", 1, f"{fold} {works}{name.removeprefix(ROUTINE)} {len(chats):,}")

    def _shown(self, chat: ChatSummary, tasks: Sequence[ChatSummary]) -> tuple[list[ChatSummary], int]:
        """The tasks that stand under a chat: those that work, or all where they were asked for; how many don't."""
        if chat.id in self._tasks_opened:
            return list(tasks), 0
        shown = [t for t in tasks if state_of(t) == "working" or t.id in (self.current, self.selected)]
        return shown, len(tasks) - len(shown)

    def _height(self, chat: ChatSummary, width: int) -> int:
        return 2 if width < WIDE_WORDS and len(STATES[state_of(chat)][2]) > 9 else 1

    def draw(self, item: Item, nth: int, width: int) -> Line:
        """A heading, or a chat."""
        if not isinstance(item.data, Entry):
            return Line(((str(item.data), "muted"),))
        return self._chat(item.data, nth, item.height, width)

    def _chat(self, entry: Entry, nth: int, height: int, width: int) -> Line:
        chat = entry.chat
        state = state_of(chat, chat.id in self._unread)
        mark, style, word = STATES[state]
        if nth:
            return Line(((f"  {word}", style),))
        bold = "strong" if state == "new" or chat.id == self.current else ""
        if height == 2 or entry.under or (word == "Needs you" and width < WIDE_WORDS):
            word = ""
        since = chat.doing_since if state == "working" and chat.doing_since else chat.last_active
        right = word or age(since, self.now_ms)
        if state == "working" and width >= WIDE_WORDS:
            right = f"working {right}".rstrip()
        private = [("∅ ", "muted")] if chat.private else []
        left: list[Piece] = [(f"{mark} ", style), *private, (self._title(entry), bold)]
        if entry.under:
            left = [
                (f"  {entry.under} ", "muted"),
                (f"{mark} ", style),
                ("task: ", "muted"),
                (self._title(entry), bold),
            ]
        elif entry.hidden:
            left.append((f" · {count(entry.hidden, 'task')}", "muted"))
        if not word and len(right) > LONG_AGE and sum(cell_len(text) for text, _ in left) + len(right) >= width:
            right = ""  # a day of another year; the title says more
        return spread(left, [(right, style if word else "muted")] if right else [], width)

    def _title(self, entry: Entry) -> str:
        """A routine's run is named by when it began: its section has the name."""
        if not entry.run:
            return title_of(entry.chat.title)
        began = entry.chat.created_at
        today = local(began).date() == local(self.now_ms).date()
        return clock_time(began) if today else f"{day(began, self.now_ms)} {clock_time(began)}"

    def chosen(self, value: object) -> None:
        """Open the chat, or a folded section."""
        name = str(value)
        if name.startswith("\0"):
            self.toggle(name[1:])
        else:
            self.post_message(self.Open(name))

    def action_tasks(self) -> None:
        """Show or hide the tasks of the selected chat, those that ended too."""
        chat = self._chats.get(str(self.selected))
        if chat is None:
            return
        parent = chat.origin.chat if chat.origin is not None and chat.origin.kind == "task" else None
        self._tasks_opened ^= {parent or chat.id}
        if parent is not None and parent not in self._tasks_opened:
            self.selected = parent
        self._rebuild()

    def action_act(self, act: Act) -> None:
        """Something with the selected chat."""
        if self.selected in self._chats:
            self.post_message(self.Menu(str(self.selected), act))
