"""Filters typed in the search box: `after:2026-09 before:yesterday who:you chat:"wedding" in:~/web`."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.screens import titles
from store.models import ChatSummary, Who
from store.text import fold

NAMES: Final = ("after", "before", "who", "chat", "in")
_FILTER = re.compile(r'(?:^|(?<=\s))(after|before|who|chat|in|project):("[^"]*"?|\S*)', re.IGNORECASE)
_WHO: Final[dict[str, Who]] = {
    "you": "you",
    "me": "you",
    "assistant": "assistant",
    "asst": "assistant",
    "ai": "assistant",
    "them": "them",
    "others": "them",
    "step": "step",
    "steps": "step",
}
_AGO = re.compile(r"(\d{1,4})([dwmy])\Z")
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?\Z")
_DAYS: Final = [d.lower() for d in calendar.day_name]


@dataclass(frozen=True, slots=True)
class Filtered:
    """The words left over, the filters as values, and a sentence for the first that can't be read."""

    words: str
    after: int | None = None
    before: int | None = None
    who: Who | None = None
    chat: str | None = None
    chats: frozenset[str] = frozenset()  # several whose titles have the words of chat:
    project: str | None = None
    problem: str | None = None

    @property
    def any(self) -> bool:
        """Whether there is a filter."""
        return any((self.after, self.before, self.who, self.chat, self.chats, self.project))

    def fits(self, chat: ChatSummary) -> bool:
        """Whether lines of this chat may be found, as far as a summary tells."""
        if self.after is not None and chat.last_active < self.after:
            return False
        if self.before is not None and chat.created_at >= self.before:
            return False
        if self.project is not None and chat.folder != self.project:
            return False
        return chat.id in self.chats if self.chats else self.chat in (None, chat.id)


def read(typed: str, now_ms: int, chats: Callable[[], Iterable[ChatSummary]]) -> Filtered:
    """Take the filters out of what was typed; one still being typed (`after:`) is left out without a word."""
    values: dict[str, str] = {}
    for found in _FILTER.finditer(typed):
        name = found[1].lower()
        values["in" if name == "project" else name] = found[2].strip('"').strip()
    words = " ".join(_FILTER.sub(" ", typed).split())
    after, before, problem = None, None, None
    for name in ("after", "before"):
        if values.get(name):
            at = when(values[name], now_ms)
            if at is None:
                problem = f"{name}: takes a date such as 2026-09-12, 2026-09, yesterday, monday or 3w"
            elif name == "after":
                after = at
            else:
                before = at
    who = _WHO.get(values.get("who", "").lower())
    if values.get("who") and who is None:
        problem = "who: takes you, assistant or them"
    if after is not None and before is not None and after >= before:
        problem = "after: isn't before before:, so no line can be between"
    named = _named(values["chat"], chats()) if values.get("chat") else []
    if values.get("chat") and not named:
        problem = f"chat: no chat's title fits “{values['chat'][:40]}”"
    project = _folder(values["in"], chats()) if values.get("in") else None
    if values.get("in") and project is None:
        problem = f"in: no chat works in “{values['in'][:40]}”"
    one = named[0] if len(named) == 1 else None
    return Filtered(words, after, before, who, one, frozenset() if one else frozenset(named), project, problem)


def _named(title: str, chats: Iterable[ChatSummary]) -> list[str]:
    """The chat of this title; else all whose titles have the words in them; else the one that comes nearest."""
    held, wanted = list(chats), fold(title)
    exact = [c for c in held if fold(c.title) == wanted]
    if exact:
        return [max(exact, key=lambda c: c.last_active).id]
    having = [c.id for c in held if all(word in fold(c.title) for word in wanted.split())]
    return having or [hit.chat.id for hit in titles.find(title, held, 1)]


def _folder(typed: str, chats: Iterable[ChatSummary]) -> str | None:
    """The work folder of a chat that is meant by a path, or by the end of one; the newest of several."""
    whole, end = str(Path(typed).expanduser().resolve()), "/" + typed.strip("/").casefold()
    held = sorted((c for c in chats if c.folder), key=lambda c: -c.last_active)
    found = [c.folder for c in held if c.folder == whole] or [
        c.folder for c in held if c.folder.casefold().endswith(end)
    ]
    return found[0] if found else None


def when(word: str, now_ms: int) -> int | None:
    """The start of the day, month or year meant, as epoch ms in the person's own zone; None when it isn't a date."""
    today = dt.datetime.fromtimestamp(now_ms / 1000).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    word = word.lower()
    day: dt.datetime | None = None
    if word in ("today", "yesterday"):
        day = today - dt.timedelta(days=word == "yesterday")
    elif len(word) >= 3 and (fits := [i for i, name in enumerate(_DAYS) if name.startswith(word)]):
        day = today - dt.timedelta(days=(today.weekday() - fits[0]) % 7 or 7)
    elif ago := _AGO.match(word):
        days = int(ago[1]) * {"d": 1, "w": 7, "m": 30, "y": 365}[ago[2]]
        day = today - dt.timedelta(days=min(days, 36_500))
    elif date := _DATE.match(word):
        try:
            day = dt.datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1)).astimezone()
        except (ValueError, OverflowError):
            return None
    return int(day.timestamp() * 1000) if day else None


def with_next(typed: str) -> tuple[str, int]:
    """Tab: the text with the next filter's name put in (or the cursor after the next one there), and the cursor."""
    present = {m[1].lower() for m in _FILTER.finditer(typed)}
    missing = [name for name in NAMES if name not in present]
    trailing = re.search(r"(?:^|\s)(after|before|who|chat|in):$", typed.rstrip(), re.IGNORECASE)
    if trailing:  # an empty one at the end is exchanged for the next
        order = list(NAMES)
        name = order[(order.index(trailing[1].lower()) + 1) % len(order)]
        text = typed.rstrip()[: -len(trailing[1]) - 1] + f"{name}:"
        return text, len(text)
    if not missing:
        return typed, len(typed)
    text = (typed.rstrip() + " " if typed.strip() else "") + f"{missing[0]}:"
    return text, len(text)
