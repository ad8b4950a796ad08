"""What a search found, by section; drawn line by line, so that its length doesn't matter."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from store.models import ChatSummary, SearchAnswer, Span
from store.text import safe_text

from .line import Line, Piece, fit_pieces, spread
from .line_list import Item, LineList
from .marked import marked
from .marks import ago, count
from .names import title_of

OTHER_HITS: Final = 54  # characters of a chat's second and third line


@dataclass(frozen=True, slots=True)
class Target:
    """What choosing a result means: a chat (at a message, with find filled), or an action of the screen's by name."""

    chat: str = ""
    message: str = ""
    find: str = ""
    action: str = ""
    nth: int = 0  # tells equal ones apart


@dataclass(frozen=True, slots=True)
class Result:
    """One line to choose, or (with `target` None) one to read."""

    target: Target | None
    left: tuple[Piece, ...]
    right: str = ""
    under: tuple[Piece, ...] = ()  # a second line


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its results."""

    name: str
    results: tuple[Result, ...]


class Results(LineList):
    """The sections of a search; the selection stays on the best until it is moved."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "column", "In a new column", id="results.column", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """Open this; `column` in a column of its own."""

        target: Target
        column: bool = False

    def on_mount(self) -> None:
        """The search box has the focus; the selection moves from there."""
        self.lively = True

    def show(self, sections: Sequence[Section]) -> None:
        """Show these sections; empty ones are left out."""
        items: list[Item] = []
        for section in sections:
            if not section.results:
                continue
            items.append(Item(None, 1, section.name))
            items.extend(Item(found.target, 2 if found.under else 1, found) for found in section.results)
        self.set_items(items)
        if not self.moved:
            self.scroll_home(animate=False, immediate=True)
        self.post_message(self.Moved(self.selected))

    def restart(self) -> None:
        """A new query: the selection is on the best again."""
        self.moved = False

    @property
    def target(self) -> Target | None:
        """What is selected."""
        return self.selected if isinstance(self.selected, Target) else None

    def draw(self, item: Item, nth: int, width: int) -> Line:
        """A heading, a result, or its second line."""
        found = item.data
        if not isinstance(found, Result):
            return Line(((str(found), "muted"),))
        if nth:
            return Line(fit_pieces([("  ", ""), *found.under], width))
        right: list[Piece] = [(found.right, "muted")] if found.right else []
        return spread(found.left, right, width)

    def chosen(self, value: Hashable) -> None:
        """Open it."""
        if isinstance(value, Target):
            self.post_message(self.Chosen(value))

    def action_column(self) -> None:
        """Open it in a column of its own."""
        if self.target is not None:
            self.post_message(self.Chosen(self.target, column=True))


def chat_results(chats: Iterable[tuple[ChatSummary, Sequence[Span]]], now_ms: int) -> tuple[Result, ...]:
    """Chats found by title (with the matched ranges of it), or recent ones."""
    out = []
    for chat, ranges in chats:
        where = " · archived" if chat.archived_at else ""
        pieces = marked(chat.title or "New chat", ranges)
        if chat.private:
            pieces.append((" · private", "muted"))
        out.append(Result(Target(chat.id), (*pieces, (where, "muted")), ago(chat.last_active, now_ms)))
    return tuple(out)


def message_results(answer: SearchAnswer, now_ms: int) -> tuple[Result, ...]:
    """A group a chat: its title with "N matches · when" over its best line, then its other lines."""
    out: list[Result] = []
    for group in answer.groups:
        chat = group.chat
        meta = [word for word, yes in (("archived", chat.archived_at), ("private", chat.private)) if yes]
        title: list[Piece] = [(title_of(chat.title), "strong")]
        title.extend((f" · {word}", "muted") for word in meta)
        for nth, hit in enumerate(group.hits):
            text = marked(hit.snippet, hit.ranges)
            find = _matched(hit.snippet, hit.ranges) if answer.match == "close" else answer.query
            target = Target(chat.id, hit.anchor, find, nth=nth)
            if nth:
                out.append(Result(target, fit_pieces([("   ", ""), *text], OTHER_HITS)))
                continue
            when = ago(hit.at, now_ms)
            many = count(group.matches, "match", "matches") if group.matches > 1 else ""
            out.append(Result(target, tuple(title), " · ".join(word for word in (many, when) if word), tuple(text)))
    return tuple(out)


def _matched(snippet: str, ranges: Sequence[Span]) -> str:
    """The text that matched, which for a close match isn't what was typed."""
    return safe_text(snippet[ranges[0][0] : ranges[0][1]], one_line=True) if ranges else ""


def action_results(actions: Iterable[tuple[str, str, str]]) -> tuple[Result, ...]:
    """Actions as (name, words, key)."""
    return tuple(Result(Target(action=name), ((words, ""),), key) for name, words, key in actions)


def this_chat(query: str, chat: str) -> tuple[Result, ...]:
    """Find the words in the open chat."""
    words = safe_text(query, one_line=True, limit=60)
    return (Result(Target(chat, find=query, action="find"), ((f"Find “{words}” in this chat", ""),)),)
