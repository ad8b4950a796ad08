"""How the list of chats is ordered: its sections, a routine's runs under its name, tasks under their chat. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Final

from store.models import ChatSummary

from .marks import local
from .names import title_of

FOLDED_NAMES: Final = ("IMPORTED", "ARCHIVED")
ROUTINE: Final = "ROUTINE · "  # before the routine's own name, which is what the heading shows


def folds(section: str) -> bool:
    """Whether a section is folded until the person opens it."""
    return section in FOLDED_NAMES or section.startswith(ROUTINE)


def tasks_of(chats: Iterable[ChatSummary]) -> dict[str, list[ChatSummary]]:
    """The tasks that stand under the chat they came from, oldest first, by that chat.

    One that needs the person, is pinned, or whose chat isn't listed stands by itself.
    """
    held = list(chats)
    tasks = [c for c in held if c.origin is not None and c.origin.kind == "task" and c.origin.chat]
    if not tasks:
        return {}
    ids = {c.id for c in held}
    out: dict[str, list[ChatSummary]] = {}
    for task in sorted(tasks, key=lambda c: (c.created_at, c.id)):
        parent = task.origin.chat if task.origin else None
        if parent in ids and parent != task.id and task.status != "awaiting-permission" and not task.pinned:
            out.setdefault(str(parent), []).append(task)
    return out


def sections_of(chats: Iterable[ChatSummary], now_ms: int) -> list[tuple[str, Sequence[ChatSummary]]]:
    """The sections from top to bottom with their chats, newest first; empty ones are left out.

    Tasks that stand under their chat aren't among them.
    """
    today = local(now_ms).date()
    held_chats = list(chats)
    nested = {task.id for tasks in tasks_of(held_chats).values() for task in tasks}
    named: dict[str, list[ChatSummary]] = {}
    months: dict[tuple[int, int], list[ChatSummary]] = {}
    for chat in sorted(held_chats, key=lambda c: c.last_active, reverse=True):
        if chat.id in nested:
            continue
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
    out.extend((name, named[name]) for name in sorted(named) if name.startswith(ROUTINE))
    out.extend((name, named[name]) for name in FOLDED_NAMES if name in named)
    return out


def _section(chat: ChatSummary, today: dt.date) -> str:
    """The section's name, or "" for one by month."""
    if chat.status == "awaiting-permission":
        return "NEEDS YOU"
    if chat.origin is not None and chat.origin.kind == "routine" and not chat.pinned:
        return ROUTINE + title_of(chat.origin.name or chat.title)
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
