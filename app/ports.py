"""Protocols and plain values between the rooms of `app/`; no behaviour."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from store.events import Event, Mode, Origin, TaintSource, Usage

# -- one model request


@dataclass(frozen=True, slots=True)
class PersonMessage:
    """What goes to the model as the user's turn: the person's words, with what was joined in front of them."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model wrote it; `args` is its raw JSON text."""

    id: str
    name: str
    args: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """An earlier answer of the model."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """What a call gave."""

    id: str
    name: str
    text: str
    error: bool = False


Message = PersonMessage | AssistantMessage | ToolReturn


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request: system text (the same for the whole session), messages, tools."""

    model: str  # "openai:NAME", "anthropic:NAME", "google:NAME", "offline", "scripted:NAME"
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    chat: str = ""  # for the offline assistant and scripted wires only; never sent


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """Words the model thinks in; shown folded, never indexed."""

    text: str


@dataclass(frozen=True, slots=True)
class CallReady:
    """A whole tool call."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class RetryWait:
    """The wire waits before it tries again; `seconds` left, and why in words."""

    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class StepDone:
    """The request ended. reason: stop, tool-calls, length, filter, cut, empty, unknown."""

    reason: str
    usage: Usage = field(default_factory=Usage)


StepEvent = TextDelta | ThinkingDelta | CallReady | RetryWait | StepDone


class WireError(Exception):
    """A request that failed: one clean, filtered sentence, and a code.

    Codes: auth, model, rate, overloaded, server, connect, timeout, cut, malformed, empty, context, refused,
    cert, setup.
    """

    def __init__(self, sentence: str, code: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code


class Wire(Protocol):
    """One way to a model. Retries inside (yielding `RetryWait`); raises `WireError`; closes cleanly when cancelled."""

    def stream(self, request: ModelRequest) -> AsyncIterator[StepEvent]:
        """Run one request."""

    def context_tokens(self, model: str) -> int:
        """The model's window, or a careful guess."""


class Wires(Protocol):
    """Finds the wire of a model name."""

    def wire(self, model: str) -> Wire:
        """The wire; raises WireError(code "setup") with a sentence when it can't be had."""


# -- tools


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What a turn is, for its tools; read anew at each call."""

    chat: str
    turn_id: str
    mode: Mode
    origin: Origin | None
    taints: tuple[TaintSource, ...] | None  # None: can't say what the chat read (the worst case)
    attended: bool = True
    folder: str = ""
    private: bool = False
    tool_scope: tuple[str, ...] | None = None  # a task's own list


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What running a tool gave. Events, taints and changes go in the same batch as `tool.finished`."""

    text: str
    ok: bool = True
    events: tuple[Event, ...] = ()
    taints: tuple[TaintSource, ...] = ()
    changes: tuple[Any, ...] = ()  # store.log.Change


class Toolbox(Protocol):
    """The tools of one turn."""

    def offered(self) -> Sequence[ToolSpec]:
        """What the model may call at this step."""

    def effect(self, name: str) -> Literal["read", "write"]:
        """Reads may run side by side; writes run in order."""

    async def call(self, call: ToolCall) -> ToolReturn:
        """Run one call by the one path; everything is committed when it returns; never raises but CancelledError."""


class Asker(Protocol):
    """Puts a question to the person and waits."""

    async def ask(self, request: Event) -> Literal["allow", "allow-always", "deny", "expired"]:
        """The decision; both events are committed by the asker."""


class Inbox(Protocol):
    """What joins a chat's next step: forwarded words, notes, messages."""

    async def take(self, chat: str, turn_id: str) -> Sequence[Any]:
        """`store.events.Joined` parts, once each."""
