"""A turn and its steps."""

from __future__ import annotations

from typing import Literal

from .base import Event, Mode, Outcome, Part


class Usage(Part):
    """Tokens and money; None is unknown, never guessed."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


class TurnStarted(Event):
    """A reply begins."""

    type: Literal["turn.started"] = "turn.started"
    turn_id: str
    trigger: Literal["person", "retry", "resume", "message", "wait", "routine", "task", "ask"] = "person"
    mode: Mode = "auto"
    model: str = ""
    place: str = "computer"
    chain: str | None = None
    attended: bool = True
    message_id: str | None = None  # the message it answers


class Joined(Part):
    """Words that were put in front of a step, verbatim; never shown as the person's."""

    kind: Literal["person", "note", "now", "message", "memory", "forwarded"]
    text: str
    ref: str | None = None  # message id
    chain: str | None = None  # of a message between chats


class StepStarted(Event):
    """One model request begins, with the exact words joined to it."""

    type: Literal["step.started"] = "step.started"
    turn_id: str
    step: int
    joined: tuple[Joined, ...] = ()


class StepFinished(Event):
    """One model request ended. `reason`: stop, tool-calls, length, filter, cut, empty, unknown."""

    type: Literal["step.finished"] = "step.finished"
    turn_id: str
    step: int
    reason: str = "stop"
    usage: Usage = Usage()


class TurnCompleted(Event):
    """A reply ended. `error` is one sentence for the person; `code` is machine-readable (`auth`, `rate`, `cut`, …).

    `paused`: ended as a success by the turn watch or the step limit; `error` says why, and it can be carried on.
    """

    row_of = "turn_id"
    type: Literal["turn.completed"] = "turn.completed"
    turn_id: str
    outcome: Outcome
    error: str | None = None
    code: str | None = None
    paused: bool = False
    restarted: bool = False
    usage: Usage = Usage()
