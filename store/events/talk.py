"""What was said."""

from __future__ import annotations

from typing import Literal

from .base import Event, Part


class Attachment(Part):
    """Something sent with a message; a photo has only its caption."""

    kind: Literal["photo", "file", "text"] = "photo"
    caption: str = ""


class UserMessage(Event):
    """The person's words, raw; `author` names another person in an imported or channel chat (then *them*)."""

    row_of = "message_id"
    type: Literal["user.message"] = "user.message"
    message_id: str
    text: str
    author: str | None = None
    them: bool = False  # the author isn't the person
    attachments: tuple[Attachment, ...] = ()


class ForwardedMessage(Event):
    """Someone else's words the person put in by /forward; never theirs, starts no turn."""

    row_of = "message_id"
    type: Literal["forwarded.message"] = "forwarded.message"
    message_id: str
    name: str
    text: str


class CallMade(Part):
    """A tool call as the model wrote it, in an assistant message."""

    call_id: str
    name: str
    input: str  # the raw JSON text, kept byte for byte so that the next request can be rebuilt


class AssistantDone(Event):
    """One whole assistant message (a step's text), with the calls it ended in."""

    row_of = "message_id"
    type: Literal["assistant.done"] = "assistant.done"
    message_id: str
    text: str
    thinking: str = ""
    calls: tuple[CallMade, ...] = ()
    unfinished: bool = False  # cut off; the text is what had come
    model: str = ""


class ContextCompacted(Event):
    """Everything up to `through_seq` now goes to the model as this summary; it stays searchable."""

    row_of = "compact_id"
    type: Literal["context.compacted"] = "context.compacted"
    compact_id: str
    summary: str
    through_seq: int
    messages: int = 0


class ContextCleared(Event):
    """The model starts afresh after this; nothing is deleted."""

    row_of = "compact_id"
    type: Literal["context.cleared"] = "context.cleared"
    compact_id: str
