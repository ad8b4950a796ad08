"""The kinds of rows; `widget_for` picks the one of a model."""

from __future__ import annotations

from store.rows import (
    AnyRow,
    ChangeRow,
    LookRow,
    MemoryRow,
    NoticeRow,
    PermissionRow,
    ProcessRow,
    SaidRow,
    ToolRow,
    UnknownRow,
)
from widgets.row import Row

from .answered_row import Answered
from .change_row import Change
from .memory_row import Memory
from .notice_row import Notice
from .past_chats_look import PastChatsLook
from .process_row import Process
from .said import Said
from .tool_row import ToolCall
from .unknown_row import Unknown


def widget_for(model: AnyRow, now_ms: int = 0) -> Row:  # noqa: PLR0911 - one match, a case a kind
    """The row widget of a model."""
    match model:
        case SaidRow():
            return Said(model)
        case ToolRow():
            return ToolCall(model)
        case LookRow():
            return PastChatsLook(model, now_ms)
        case PermissionRow():
            return Answered(model)
        case NoticeRow():
            return Notice(model)
        case UnknownRow():
            return Unknown(model)
        case ChangeRow():
            return Change(model)
        case ProcessRow():
            return Process(model)
        case MemoryRow():
            return Memory(model)


__all__ = [
    "Answered",
    "Change",
    "Memory",
    "Notice",
    "PastChatsLook",
    "Process",
    "Said",
    "ToolCall",
    "Unknown",
    "widget_for",
]
