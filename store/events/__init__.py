"""The union of all event types, and the one way a stored body becomes an event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import chat, explored, talk, together, tools, turn, work
from .base import (
    MODES,
    ChatStatus,
    Decision,
    Effect,
    Event,
    Mode,
    Outcome,
    Part,
    Stored,
    TaintKind,
    ToolStatus,
    UnknownEvent,
)
from .chat import (
    VAULT_LOCKED,
    ChatArchived,
    ChatCreated,
    ChatForked,
    ChatPinned,
    ImportAdded,
    Notice,
    OptionsChanged,
    Origin,
    StatusChanged,
    TitleChanged,
)
from .explored import Disagreement, Evidence, ExploreState, Finding, HistoryExplored
from .talk import (
    AssistantDone,
    Attachment,
    CallMade,
    ContextCleared,
    ContextCompacted,
    ForwardedMessage,
    UserMessage,
)
from .together import (
    ChatMessage,
    ChatName,
    ChatsListed,
    ChatState,
    MessageState,
    OtherChat,
    PartState,
    Task,
    TaskAsking,
    TaskKind,
    TaskState,
    TaskStep,
    TaskWaiting,
    Tone,
    Wait,
    WaitKind,
    WaitNote,
    WaitPart,
    WaitState,
    Worktree,
)
from .tools import (
    ChatsLooked,
    LookChat,
    LookLine,
    PermissionRequested,
    PermissionResolved,
    Taint,
    TaintSource,
    ToolFinished,
    ToolStarted,
)
from .turn import Joined, StepFinished, StepStarted, TurnCompleted, TurnStarted, Usage
from .work import (
    FileChange,
    FilesChanged,
    FilesRestored,
    MemoryDecided,
    MemoryForgotten,
    MemorySaved,
    ProcessEnded,
    ProcessStarted,
)

EVENT_TYPES: Mapping[str, type[Event]] = {
    cls.model_fields["type"].default: cls
    for family in (chat, talk, turn, tools, work, together, explored)
    for cls in vars(family).values()
    if isinstance(cls, type) and issubclass(cls, Event) and cls is not Event
}


def event_from(body: Mapping[str, Any]) -> Event:
    """The event of a JSON body (already at the newest `v`); an unknown type or a body that doesn't fit is kept raw."""
    cls = EVENT_TYPES.get(str(body.get("type")))
    if cls is not None:
        try:
            event = cls.model_validate(body)
            if event.v <= cls.model_fields["v"].default:
                return event
        except ValueError:
            pass  # a body this version can't read is shown as unknown, and stays in the log as it is
    v = body.get("v")
    return UnknownEvent(type=str(body.get("type")), v=v if isinstance(v, int) else 1, raw=dict(body))


__all__ = [
    "EVENT_TYPES",
    "MODES",
    "VAULT_LOCKED",
    "AssistantDone",
    "Attachment",
    "CallMade",
    "ChatArchived",
    "ChatCreated",
    "ChatForked",
    "ChatMessage",
    "ChatName",
    "ChatPinned",
    "ChatState",
    "ChatStatus",
    "ChatsListed",
    "ChatsLooked",
    "ContextCleared",
    "ContextCompacted",
    "Decision",
    "Disagreement",
    "Effect",
    "Event",
    "Evidence",
    "ExploreState",
    "FileChange",
    "FilesChanged",
    "FilesRestored",
    "Finding",
    "ForwardedMessage",
    "HistoryExplored",
    "ImportAdded",
    "Joined",
    "LookChat",
    "LookLine",
    "MemoryDecided",
    "MemoryForgotten",
    "MemorySaved",
    "MessageState",
    "Mode",
    "Notice",
    "OptionsChanged",
    "Origin",
    "OtherChat",
    "Outcome",
    "Part",
    "PartState",
    "PermissionRequested",
    "PermissionResolved",
    "ProcessEnded",
    "ProcessStarted",
    "StatusChanged",
    "StepFinished",
    "StepStarted",
    "Stored",
    "Taint",
    "TaintKind",
    "TaintSource",
    "Task",
    "TaskAsking",
    "TaskKind",
    "TaskState",
    "TaskStep",
    "TaskWaiting",
    "TitleChanged",
    "Tone",
    "ToolFinished",
    "ToolStarted",
    "ToolStatus",
    "TurnCompleted",
    "TurnStarted",
    "UnknownEvent",
    "Usage",
    "UserMessage",
    "Wait",
    "WaitKind",
    "WaitNote",
    "WaitPart",
    "WaitState",
    "Worktree",
    "event_from",
]
