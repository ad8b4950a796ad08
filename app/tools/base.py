"""What a tool is, and who lets a call through."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from app.ports import CallFacts, ToolOutcome, ToolSpec, TurnContext
from store.events import Event, PermissionRequested
from store.log import Change


class ToolArgs(BaseModel):
    """What a call is given. Errors never repeat the words; built at its first use, which keeps the start quick."""

    model_config = ConfigDict(hide_input_in_errors=True, defer_build=True)


class Tool(Protocol):
    """One thing the assistant can do. Texts it returns from other chats are filtered and fenced by itself.

    May also have `async def facts(self, args, ctx) -> CallFacts`: what the call would do, for the guard.
    """

    name: str
    description: str
    args: type[BaseModel]  # validated strictly: a number as text is refused, unknown fields are ignored
    family: str
    effect: Literal["read", "write"]
    prompt: str | None  # a static section of the system text, only where the tool is offered

    def refusal(self, ctx: TurnContext) -> str | None:
        """Why this turn may not use the tool, in a sentence; None: it may. Asked when offered and again when run."""

    def label(self, args: Any) -> str:
        """What the call does, in plain words."""

    async def run(self, args: Any, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Do it. May raise: the model then reads that it failed."""


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The call may not run; the sentence goes to the model."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Ask:
    """The person is asked first.

    `key`: what "Always allow" would allow from then on; None: it can't. `full`: Full trust wouldn't have asked.
    """

    request: PermissionRequested
    key: str | None = None
    full: bool = False


class Gate(Protocol):
    """Judges every call in every mode, after validation and the offered test."""

    async def judge(self, tool: Tool, args: Any, ctx: TurnContext, call_id: str) -> Allow | Refuse | Ask:
        """What is to happen with the call."""


class Tracker(Protocol):
    """Looks at the work folder around commands, and tells what they changed."""

    async def before(self, ctx: TurnContext, call_id: str) -> None:
        """The command is about to run."""

    async def after(self, ctx: TurnContext, call_id: str, label: str) -> tuple[Sequence[Event], Sequence[Change]]:
        """It has ended: what goes in the batch of its result."""

    def dropped(self, ctx: TurnContext, call_id: str) -> None:
        """It was broken off; there is no result."""


class OpenGate:
    """Lets every call through (tests of what isn't the guard)."""

    async def judge(self, tool: Tool, args: Any, ctx: TurnContext, call_id: str) -> Allow | Refuse | Ask:
        """Always `Allow`."""
        return Allow()


_TO_COME = {
    "Wrote": "Write",
    "Edited": "Edit",
    "Listed": "List",
    "Looked": "Look",
    "Searched": "Search",
    "Stopped": "Stop",
}


def to_come(label: str) -> str:
    """What a label says was done, as what a card asks about."""
    first, space, rest = label.partition(" ")
    return _TO_COME.get(first, first) + space + rest


async def facts_of(tool: Tool, args: Any, ctx: TurnContext) -> CallFacts:
    """What the call would do, as the tool tells it; a tool that tells nothing has its family and effect only."""
    told = getattr(tool, "facts", None)
    if told is None:
        return CallFacts(tool.name, tool.family, tool.effect, summary=to_come(tool.label(args)))
    facts: CallFacts = await told(args, ctx)
    return facts


def spec_of(tool: Tool) -> ToolSpec:
    """The tool as the model is told of it; the same bytes every time."""
    schema = slim(tool.args.model_json_schema())
    schema.pop("description", None)
    return ToolSpec(tool.name, tool.description, schema)


def slim(schema: Any) -> Any:
    """A JSON Schema without what tells a model nothing: generated titles, "or null", and defaults of null."""
    if isinstance(schema, list):
        return [slim(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):  # names of fields, not words of a schema
            out[key] = {name: slim(one) for name, one in value.items()}
        elif key != "title" and not (key == "default" and value is None):
            out[key] = slim(value)
    some = out.get("anyOf")
    if isinstance(some, list) and {"type": "null"} in some and len(some) == 2:
        del out["anyOf"]
        out = next(one for one in some if one != {"type": "null"}) | out
    return out


def compact(answer: Mapping[str, Any]) -> str:
    """JSON without a space too many."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
