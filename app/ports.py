"""Protocols and plain values between the rooms of `app/`; no behaviour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from store.events import (
    Decision,
    Event,
    Joined,
    Mode,
    Origin,
    Outcome,
    PermissionRequested,
    TaintSource,
    Usage,
)

# -- one model request


@dataclass(frozen=True, slots=True)
class PersonMessage:
    """What goes to the model as the user's turn: the person's words, with what was joined in front of them."""

    text: str
    words: str = ""  # the person's own words alone, for the offline assistant; never sent beside `text`


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


Trigger = Literal["person", "retry", "resume", "message", "wait", "routine", "task", "ask"]
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
    stop: asyncio.Event | None = None  # set when the turn is asked to end; long tools watch it
    progress: Callable[[str, str], None] | None = None  # (call id, words): shown live, never stored


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What running a tool gave. Events, taints and changes go in the same batch as `tool.finished`."""

    text: str
    ok: bool = True
    events: tuple[Event, ...] = ()
    taints: tuple[TaintSource, ...] = ()
    changes: tuple[Any, ...] = ()  # store.log.Change
    elsewhere: tuple[tuple[str, Event], ...] = ()  # events of other chats, in the same batch


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What a call would do: told by its tool, judged by the guard. Pure data; paths are resolved and absolute."""

    name: str
    family: str
    effect: Literal["read", "write"]
    summary: str = ""  # what will happen, one line
    preview: str = ""  # the exact command or diff, whole
    place: str = ""  # the folder, the full resolved path, or the host
    command: str | None = None  # of shell tools, also input to a running process
    folder: str = ""  # where the command runs
    paths: tuple[str, ...] = ()  # what it would read or write
    outside: tuple[str, ...] = ()  # those outside the chat's work folder
    url: str | None = None
    sandboxed: bool = False  # said on the card; lifts nothing
    carries_out: bool = False  # may carry words out of the computer (a search, a fetch with data)
    never: str | None = None  # a refusal that no mode and no card lifts (Shoal's own home, settings, store)
    consent: bool = False  # asks in every mode, Full trust too
    once: bool = False  # "Always allow" isn't offered


class Toolbox(Protocol):
    """The tools of one turn."""

    def offered(self) -> Sequence[ToolSpec]:
        """What the model may call at this step."""

    def effect(self, name: str) -> Literal["read", "write"]:
        """Reads may run side by side; writes run in order."""

    def prompts(self) -> Sequence[str]:
        """The system sections of the tools offered now, in the registry's order."""

    async def call(self, call: ToolCall) -> ToolReturn:
        """Run one call by the one path; everything is committed when it returns; never raises but CancelledError."""

    async def refuse(self, call: ToolCall, sentence: str) -> ToolReturn:
        """Answer a call that never reaches a tool; committed as well."""

    def close(self) -> None:
        """The turn ended: nothing a late tool gives is written any more."""


class Asker(Protocol):
    """Puts a question to the person and waits."""

    async def ask(
        self,
        chat: str,
        request: PermissionRequested,
        *,
        attended: bool,
        intent: Sequence[Event] = (),
        always: Sequence[Any] = (),
        full: bool = False,
    ) -> Decision:
        """The decision. The asker commits the request, and the answer with `intent` beside it where it is a yes.

        `always`: store.log.Change, committed with the answer "Always allow". `full`: Full trust wouldn't have asked.
        """


class Inbox(Protocol):
    """What joins a chat's next step: forwarded words, notes, messages."""

    async def take(self, turn: Turn, step: int) -> Sequence[Joined]:
        """The parts to join, once each. They count as read when the step's batch is durable."""


# -- turns


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply: fixed when it starts (`turn.started` holds the same)."""

    chat: str
    turn_id: str
    model: str
    mode: Mode = "auto"
    trigger: Trigger = "person"
    attended: bool = True
    chain: str | None = None
    message_id: str | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event, compare=False)


@dataclass(frozen=True, slots=True)
class LiveMessage:
    """A message that streams, as far as it came."""

    message_id: str
    text: str
    thinking: str = ""


class Engine(Protocol):
    """Runs whole turns: our own loop, or a program that owns its loop."""

    async def run(self, turn: Turn) -> Outcome:
        """Run to the end; `turn.completed` is durable when it returns, and also when it was cancelled."""

    async def finish(self, turn: Turn, outcome: Outcome, error: str | None = None, code: str | None = None) -> None:
        """Close what is open of the turn and write `turn.completed`; does nothing when that is done already."""

    def live(self, chat: str) -> LiveMessage | None:
        """The message that streams in a chat now."""

    async def close(self) -> None:
        """Nothing runs any more."""
