"""Protocols and plain values between the rooms of `app/`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
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
    must_call: bool = False  # words alone are no answer: one of the tools has to be called


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
    """The wire waits before it tries again; `seconds` left, and why in words.

    `slowed`: the provider asked for less. Told once a pause, with its whole length in seconds.
    """

    seconds: float
    why: str
    slowed: float | None = None


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
    chain: str | None = None  # of the running turn
    trigger: Trigger = "person"
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


@dataclass(frozen=True, slots=True)
class Joining:
    """What joins a step, and all that must become durable with it: marks first, then the words, in one batch."""

    parts: tuple[Joined, ...] = ()
    taints: tuple[TaintSource, ...] = ()  # of this chat; written before `step.started`, those it has are left out
    events: tuple[tuple[str, Event], ...] = ()  # (chat, event), such as cards that now say "read"
    changes: tuple[Any, ...] = ()  # store.log.Change


class Inbox(Protocol):
    """What joins a chat's next step: forwarded words, notes, messages."""

    async def take(self, turn: Turn, step: int) -> Joining:
        """What to join, once each. It counts as read only when the step's batch is durable: until then it stays."""


@dataclass(frozen=True, slots=True)
class Start:
    """A reply that is due without the person having written. `chain` None: the chat's own goes on."""

    trigger: Trigger
    chain: str | None = None
    attended: bool = True
    changes: tuple[Any, ...] = ()  # store.log.Change, made with its `turn.started`


class Starter(Protocol):
    """Knows of replies that are due: read from the store's tables each time, so that a restart forgets none."""

    def due(self, chat: str) -> Start | None:
        """The reply that is to start in the chat as soon as none runs there."""

    def chats(self) -> Sequence[str]:
        """Every chat in which one is due."""


class ChatPort(Protocol):
    """All that `together` and `tasks` may do to other chats; `session` implements it."""

    def running(self, chat: str) -> Turn | None:
        """The chat's running turn."""

    def working(self, chat: str) -> bool:
        """Whether a reply runs in the chat or will start by itself: one that is due, or one a restart broke."""

    def going(self) -> set[str]:
        """Every chat that `working` is true of, in a few look-ups. May be asked from a thread."""

    def nudge(self, chat: str) -> None:
        """Something may have become due in the chat: a reply is started if none runs. Returns at once."""

    async def interrupt(self, chat: str) -> bool:
        """End the chat's reply as the person's Stop does; False: none runs."""

    async def delete(self, chat: str) -> None:
        """Remove a chat for ever, as the person's own deletion does: what runs in it ends first."""

    async def answer(self, chat: str, permission: str, decision: Literal["allow", "deny"]) -> bool:
        """Answer a question on a task's card as the person pressed it; False: it isn't open any more."""

    def listen_slowed(self, told: Callable[[str, float], None]) -> None:
        """Call `told` with a model's name and seconds whenever its provider asks for a pause inside a reply."""

    def listen_chain(self, told: Callable[[str], Awaitable[list[str]]]) -> None:
        """Call `told` when the person stops a chain: it ends what of it would start by itself, and answers where."""

    async def end_chain(self, chain: str) -> list[str]:
        """Tell those that listen; the chats in which something was ended."""

    def listen(self, told: Callable[[str], None]) -> None:
        """Call `told` on the event loop with a chat's id whenever its reply began, ended, asks, or it was deleted."""


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
    place: str = "computer"  # where its commands run; the only value so far
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


# -- what rooms bring


@dataclass(frozen=True, slots=True)
class Extension:
    """What `together`, `tasks` and the like bring to the program, built by their `build.py`."""

    tools: tuple[Any, ...] = ()  # app.tools.base.Tool
    inboxes: tuple[Inbox, ...] = ()
    starters: tuple[Starter, ...] = ()
    handlers: Mapping[str, Callable[[Any], Awaitable[dict[str, Any]]]] = field(default_factory=dict)  # by `do`
    ticks: tuple[Callable[[], Awaitable[None]], ...] = ()  # a manual clock moved
    ready: tuple[Callable[[], Awaitable[None]], ...] = ()  # the program is there
    leaving: tuple[Callable[[str], Awaitable[None]], ...] = ()  # a chat is about to be deleted
    close: tuple[Callable[[], Awaitable[None]], ...] = ()


def joined_extensions(parts: Sequence[Extension]) -> Extension:
    """Several as one, in their order."""
    return Extension(
        tools=tuple(x for part in parts for x in part.tools),
        inboxes=tuple(x for part in parts for x in part.inboxes),
        starters=tuple(x for part in parts for x in part.starters),
        handlers={do: handler for part in parts for do, handler in part.handlers.items()},
        ticks=tuple(x for part in parts for x in part.ticks),
        ready=tuple(x for part in parts for x in part.ready),
        leaving=tuple(x for part in parts for x in part.leaving),
        close=tuple(x for part in parts for x in part.close),
    )
