"""Tool calls, questions to the person, and what was read from outside."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, Field

from .base import Decision, Effect, Event, Part, TaintKind, ToolStatus


class ToolStarted(Event):
    """The effect journal's first half: what is about to run. `input` is raw."""

    row_of = "call_id"
    type: Literal["tool.started"] = "tool.started"
    call_id: str
    name: str
    input: dict[str, Any] = {}
    label: str = ""  # plain words
    effect: Effect = "read"
    family: str = ""
    message_id: str | None = None


class ToolFinished(Event):
    """The second half. `output` is filtered. `unknown`: it may have run (a kill came between)."""

    row_of = "call_id"
    type: Literal["tool.finished"] = "tool.finished"
    call_id: str
    status: ToolStatus
    output: str = ""
    duration_ms: int = 0
    name: str = ""  # for calls that were refused before they started


class PermissionRequested(Event):
    """A question to the person; the turn waits."""

    row_of = "permission_id"
    type: Literal["permission.requested"] = "permission.requested"
    permission_id: str
    call_id: str | None = None
    tool_name: str = ""
    input: dict[str, Any] = {}
    summary: str = ""
    detail: str = ""
    preview: str = ""  # the exact command or diff, whole; filtered
    place: str = ""  # the folder, the full resolved path, or the host
    taint: str | None = None
    lasting: bool = False
    once: bool = False


class PermissionResolved(Event):
    """The answer."""

    row_of = "permission_id"
    type: Literal["permission.resolved"] = "permission.resolved"
    permission_id: str
    decision: Decision


class TaintSource(Part):
    """Where words came from; label at most 120 characters, filtered."""

    kind: TaintKind
    label: str


class Taint(Event):
    """The chat read something from outside; one event a source, written before the model reads."""

    type: Literal["taint"] = "taint"
    source: TaintSource
    call_id: str | None = None


class LookLine(Part):
    """A line a look found; text ≤ 240 characters, filtered."""

    message: str
    who: Literal["you", "assistant", "them", "step"]
    at: int | None = None
    text: str = ""
    name: str | None = None
    marks: tuple[tuple[int, int], ...] = ()  # matched ranges of `text`


class LookChat(Part):
    """A chat a look found."""

    id: str
    title: str
    archived: bool | None = None
    from_: str | None = Field(  # `from` in the log; `from_` is read too
        None, validation_alias=AliasChoices("from", "from_"), serialization_alias="from"
    )
    last_active: int | None = None
    lines: tuple[LookLine, ...] = ()


class ChatsLooked(Event):
    """The assistant looked through earlier chats (ADR 0059 §5)."""

    row_of = "look_id"
    type: Literal["chats.looked"] = "chats.looked"
    look_id: str
    call_id: str | None = None
    action: Literal["search", "read"]
    query: str | None = None
    close: bool | None = None
    chats: tuple[LookChat, ...] = ()
