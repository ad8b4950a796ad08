"""The kinds of rows; `widget_for` picks the one of a model."""

from __future__ import annotations

from store.rows import (
    AnyRow,
    ChangeRow,
    ExploredRow,
    LookRow,
    MemoryRow,
    MessageRow,
    NoticeRow,
    OtherChatsRow,
    PermissionRow,
    ProcessRow,
    SaidRow,
    TaskRow,
    ToolRow,
    UnknownRow,
    WaitRow,
)
from widgets.row import Row

from .acting_row import ActingRow
from .answered_row import Answered
from .change_row import Change
from .chat_message_card import ChatMessageCard
from .explore_card import ExploreCard
from .memory_row import Memory
from .notice_row import Notice
from .other_chats_look import OtherChatsLook
from .past_chats_look import PastChatsLook
from .process_row import Process
from .said import Said
from .task_card import TaskCard
from .tool_row import ToolCall
from .unknown_row import Unknown
from .waiting_row import WaitingRow


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
        case OtherChatsRow():
            return OtherChatsLook(model)
        case MessageRow():
            return ChatMessageCard(model)
        case WaitRow():
            return WaitingRow(model)
        case TaskRow():
            return TaskCard(model)
        case ExploredRow():
            return ExploreCard(model, now_ms)


__all__ = [
    "ActingRow",
    "Answered",
    "Change",
    "ChatMessageCard",
    "ExploreCard",
    "Memory",
    "Notice",
    "OtherChatsLook",
    "PastChatsLook",
    "Process",
    "Said",
    "TaskCard",
    "ToolCall",
    "Unknown",
    "WaitingRow",
    "widget_for",
]
