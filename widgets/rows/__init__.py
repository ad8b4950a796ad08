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
from .notice_row import Notice
from .past_chats_look import PastChatsLook
from .said import Said
from .tool_row import ToolCall
from .unknown_row import Unknown


def widget_for(model: AnyRow, now_ms: int = 0) -> Row:
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
        case ChangeRow() | ProcessRow() | MemoryRow():
            return Unknown(UnknownRow(model.key, model.at, model.seq, type(model).__name__))


__all__ = ["Answered", "Notice", "PastChatsLook", "Said", "ToolCall", "Unknown", "widget_for"]
