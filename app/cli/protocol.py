"""The commands of `headless` beside those a session takes, what each answers, and how a line becomes a command."""

from __future__ import annotations

import json
import math
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.commands import AnyCommand, Command, CommandError
from store.importers.lines import mended
from store.limits import CHAT_ID_CHARS, SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX, SETTLE_SECONDS
from store.models import Who
from store.text import safe_text

PROTOCOL = 1
YEAR_SECONDS = 366 * 86_400


class SearchChats(Command):
    """Find lines; the core's answer, uncut."""

    do: Literal["search"] = "search"
    query: str
    limit: int = Field(SEARCH_LIMIT_DEFAULT, ge=1, le=SEARCH_LIMIT_MAX, strict=True)
    after: str | None = None
    before: str | None = None
    who: Who | None = None
    chat: str | None = Field(None, max_length=CHAT_ID_CHARS)
    project: str | None = None


class ListChats(Command):
    """All chats, newest first."""

    do: Literal["chats"] = "chats"


class ReplayEvents(Command):
    """Events with a higher id than `after`, as `{"ref","event"}` lines before the reply."""

    do: Literal["events"] = "events"
    after: int = Field(ge=0, strict=True)
    chat: str | None = None


class Settle(Command):
    """Answers once no turn runs or is queued and the index has caught up; `timeout` is real seconds."""

    do: Literal["settle"] = "settle"
    chat: str | None = None
    timeout: float = Field(SETTLE_SECONDS, ge=0, le=86_400)


class Tick(Command):
    """Move the clock (only with SHOAL_CLOCK=manual)."""

    do: Literal["tick"] = "tick"
    seconds: float = Field(ge=0, le=YEAR_SECONDS)


class Quit(Command):
    """Cancel, commit, exit."""

    do: Literal["quit"] = "quit"


HeadlessCommand = SearchChats | ListChats | ReplayEvents | Settle | Tick | Quit
COMMANDS: dict[str, type[Command]] = {
    cls.model_fields["do"].default: cls for cls in (*get_args(AnyCommand), *get_args(HeadlessCommand))
}


class Refused(Exception):
    """A line that is no command: the reply's `ref`, code and sentence."""

    def __init__(self, ref: str | None, message: str, code: str = "bad-command") -> None:
        super().__init__(message)
        self.ref = ref
        self.code = code
        self.message = message


def command_of(line: bytes) -> tuple[str | None, Command]:
    """The `ref` and the command of a line. Raises Refused with one sentence."""
    try:
        body = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refused(None, "This line isn't JSON.") from None
    if not isinstance(body, dict):
        raise Refused(None, "A command is one JSON object.")
    ref = body.pop("ref", None)
    if ref is not None and not isinstance(ref, str):
        raise Refused(None, "“ref” must be a string.")
    do = body.get("do")
    cls = COMMANDS.get(do) if isinstance(do, str) else None
    if cls is None:
        what = f"There is no command “{safe_text(do, one_line=True, limit=40)}”" if isinstance(do, str) else "No “do”"
        raise Refused(ref, f"{what}; the commands are {', '.join(sorted(COMMANDS))}.")
    try:
        return ref, cls.model_validate(mended(body))
    except ValidationError as error:
        raise Refused(ref, _words(error)) from None
    except RecursionError:
        raise Refused(ref, "This command is nested too deeply.") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _words(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    field = safe_text(".".join(str(p) for p in problem["loc"]), one_line=True, limit=60)
    if problem["type"] == "extra_forbidden":
        return f"There is no field “{field}” here."
    if problem["type"] == "missing":
        return f"“{field}” is missing."
    return f"“{field}”: {problem['msg'].removeprefix('Value error, ')}."


def finite(value: float) -> float:
    """Seconds a clock can be moved by. Raises CommandError."""
    if not math.isfinite(value):
        raise CommandError("bad-command", "“seconds” must be a number.")
    return value


# -- what is answered (the schema, and the tests, check replies against these)


class Ok(BaseModel):
    """An `ok` object; later versions add fields."""

    model_config = ConfigDict(extra="allow", defer_build=True)


class LastIdOk(Ok):
    """`last_id`: the store's highest event id before the command's own batch."""

    last_id: int


class NewOk(LastIdOk):
    """The new chat."""

    chat: str


class SendOk(LastIdOk):
    """Committed; the end of the turn is `turn.completed`."""

    chat: str
    message_id: str
    queued: bool


class StopOk(Ok):
    """Whether a turn was running."""

    stopping: bool


class AnswerOk(Ok):
    """The answer that holds."""

    permission: str
    decision: Literal["allow", "allow-always", "deny"]


class ForwardOk(LastIdOk):
    """The forwarded message."""

    message_id: str


class RestoredOk(LastIdOk):
    """The files that were put back, as their change set names them."""

    files: list[str]


class FoundLineOk(Ok):
    """A line that was found."""

    message: str
    who: Who
    when: str
    text: str
    name: str | None = None


class FoundChatOk(Ok):
    """A chat with its lines."""

    chat: str
    title: str
    last_active: str
    matches: int
    lines: list[FoundLineOk]
    archived: bool | None = None
    private: bool | None = None
    from_: str | None = Field(None, alias="from")
    others: str | None = None
    untrusted: bool | None = None


class SearchOk(Ok):
    """The core's answer."""

    query: str
    match: Literal["exact", "close", "none", "too-short"]
    chats: list[FoundChatOk]
    total: int
    hidden: int
    capped: bool | None = None
    catching_up: bool | None = None
    note: str | None = None


class ChatsOk(Ok):
    """Every chat."""

    chats: list[dict[str, Any]]


class SettleOk(Ok):
    """Permissions that wait for an answer."""

    waiting: list[str]


class EmptyOk(Ok):
    """Done."""


class MemoryOk(LastIdOk):
    """The state that holds afterwards."""

    memory: str
    state: Literal["kept", "pending", "forgotten"]


class StateOk(Ok):
    """message, wait: the state it is in now."""

    state: str


class TaskOk(LastIdOk):
    """task: the state it is in now."""

    state: str


class ChainOk(LastIdOk):
    """chain: the chats whose replies were stopped."""

    stopped: list[str]


class ReportOk(Ok):
    """explore: the report."""

    query: str
    outcome: Literal["complete", "no_match", "partial"]
    summary: str
    findings: list[dict[str, Any]]
    conflicts: list[dict[str, Any]]
    missing_coverage: list[str]
    index_status: Literal["ready", "indexing"]
    confidence: Literal["high", "medium", "low"]
    action: str
    archival_content: bool
    partial_reason: str | None = None


REPLIES: dict[str, type[Ok]] = {
    "explore": ReportOk,
    "consent": EmptyOk,
    "message": StateOk,
    "wait": StateOk,
    "task": TaskOk,
    "chain": ChainOk,
    "new": NewOk,
    "send": SendOk,
    "retry": LastIdOk,
    "stop": StopOk,
    "answer": AnswerOk,
    "forward": ForwardOk,
    "archive": LastIdOk,
    "rename": LastIdOk,
    "pin": LastIdOk,
    "delete": LastIdOk,
    "fork": NewOk,
    "set": LastIdOk,
    "queue": LastIdOk,
    "memory": MemoryOk,
    "vault": EmptyOk,
    "clear": LastIdOk,
    "undo": RestoredOk,
    "redo": RestoredOk,
    "stop-process": EmptyOk,
    "search": SearchOk,
    "chats": ChatsOk,
    "events": LastIdOk,
    "settle": SettleOk,
    "tick": EmptyOk,
    "quit": EmptyOk,
}
