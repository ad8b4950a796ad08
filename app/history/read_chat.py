"""`read_chat`: a stretch of one earlier chat, around a line or from its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field, field_validator

from app.guard.may import NO_SUCH_CHAT
from app.history.answers import CAUTION, Clean, FoundChat, FoundLine, chat_of, line_of, settled_chat
from app.history.away import Away, away_of, slice_away
from app.history.budget import fit_lines, fit_read
from app.history.looked import carried, looked
from app.history.surface import READ, SurfaceGate
from app.history.tool import BAD_TEXT, BROKEN, THIS_CHAT, Chats, HistoryTool, Searcher
from app.ports import CallFacts, ToolOutcome, TurnContext
from app.settings import MODEL_GETS
from app.tools.base import ToolArgs, compact
from store.events import Stored
from store.limits import CHAT_ID_CHARS, MESSAGE_ID_CHARS, READ_LINES
from store.models import ChatSummary, Slice

Direction = Literal["around", "before", "after"]

BAD_DIRECTION = "must be one of around, before, after"
NOT_THERE = "That message isn't in this chat; this is how the chat ended."
NOTHING_THERE = "Nothing was said there."
SHORTENED = "This is the part of this chat that was summarised or cleared away; you have the rest."

DESCRIPTION = (
    "Read a stretch of one earlier chat: twelve messages around a line that {found}, or the twelve `before` "
    "or `after` it to read on, or how the chat ended when no message is given (with `after`: how it began)."
)


class ReadArgs(ToolArgs):
    """Which chat, and where in it. Ids are taken as they are: an odd one is an unknown one."""

    chat: str = Field(
        description="The chat's id, as it was given to you",
        json_schema_extra={"minLength": 1, "maxLength": CHAT_ID_CHARS},
    )
    message: str | None = Field(
        None, description="The line's `message`", json_schema_extra={"maxLength": MESSAGE_ID_CHARS}
    )
    direction: Direction = Field("around", description="around the message, or the messages before or after it")

    @field_validator("chat", "message", mode="before")
    @classmethod
    def _text(cls, value: Any, info: Any) -> Any:
        if isinstance(value, str) or (value is None and info.field_name == "message"):
            return value or (None if info.field_name == "message" else "")
        raise ValueError(BAD_TEXT)

    @field_validator("direction", mode="before")
    @classmethod
    def _direction(cls, value: Any) -> Any:
        if value in (None, ""):
            return "around"
        if value not in ("around", "before", "after"):
            raise ValueError(BAD_DIRECTION)
        return value


class Log(Chats, Protocol):
    """What reading needs of the store."""

    def events(self, after: int = 0, chat: str | None = None, limit: int = -1) -> Iterator[Stored]:
        """Events in order."""


class ReadChat(HistoryTool[Log]):
    """The tool; one for both surfaces. On `explorer` only chats of the asking chat's project can be read."""

    name = READ
    description = DESCRIPTION.format(found="search_chats found")
    args: type[BaseModel] = ReadArgs

    def __init__(self, store: Log, search: Searcher, clean: Clean, gate: SurfaceGate | None = None) -> None:
        super().__init__(store, search, clean, gate)
        if self._gate.surface == "explorer":  # where no model is told of a tool that it can't have
            self.description = DESCRIPTION.format(found="explore_chat_history quoted")

    def label(self, args: BaseModel) -> str:
        """Plain words for what is going on."""
        return "Reading an earlier chat"

    async def facts(self, args: BaseModel, ctx: TurnContext) -> CallFacts:
        """On the explorer surface it may be one that asks, in every mode; on the direct one it never does."""
        asks = self._gate.surface == "explorer" and self._gate.consent(self.name) == "ask"
        summary = f"Read an earlier chat. {MODEL_GETS}" if asks else self.label(args)
        return CallFacts(self.name, self.family, self.effect, summary, consent=asks)

    async def run(self, args: BaseModel, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """One read; a refusal, a failure and "that's this chat" are sentences and leave nothing in the log."""
        assert isinstance(args, ReadArgs)
        if refused := self.refusal(ctx):
            return ToolOutcome(refused, ok=False)
        if args.chat == ctx.chat:
            return await self._own(args, call_id)
        summary = await self._store.read(self._summary, args.chat)
        if summary is None or not self._in_reach(summary, ctx):
            return ToolOutcome(NO_SUCH_CHAT)
        stretch = await self._search.slice(args.chat, _message(args), args.direction, READ_LINES)
        if stretch.broken:
            return ToolOutcome(BROKEN.format(why=stretch.broken))
        if stretch.chat is None:
            return ToolOutcome(NO_SUCH_CHAT)
        outcome: ToolOutcome = await self._store.read(self._answer, summary, stretch, args, call_id)
        return outcome

    def _summary(self, chat: str) -> ChatSummary | None:
        return self._store.summary(chat) if 0 < len(chat) <= CHAT_ID_CHARS else None

    def _in_reach(self, summary: ChatSummary, ctx: TurnContext) -> bool:
        if summary.private:
            return False
        return self._gate.surface != "explorer" or summary.folder == ctx.folder

    def _answer(self, summary: ChatSummary, stretch: Slice, args: ReadArgs, call_id: str, *notes: str) -> ToolOutcome:
        message = _message(args)
        lines = [line_of(line, self._clean) for line in stretch.lines]
        focus = next((at for at, line in enumerate(lines) if line.message == message), None)
        chat = settled_chat(chat_of(summary, self._clean), self._clean)
        words = [*notes]
        if message is not None and not stretch.found:
            words.append(NOT_THERE)
        if not lines:
            words.append(NOTHING_THERE)
        if chat.untrusted:
            words.append(CAUTION)
        note = " ".join(words)

        def write(kept: Sequence[FoundLine], earlier: bool, later: bool) -> str:
            return compact(_json(replace(chat, lines=tuple(kept)), earlier, later, note))

        # Lines read on from an anchor are nearest to it at their start (after) or their end (before).
        at_start = args.direction == "after" and stretch.found
        fit = settled_chat(replace(chat, lines=fit_lines(lines, focus)), self._clean).lines
        kept, earlier, later = fit_read(
            fit, write, focus=focus, keep_start=at_start, flags=(stretch.earlier, stretch.later)
        )
        shown = next((line for line in kept if line.message == message), kept[0] if kept else None)
        event_chat = replace(chat, lines=(shown,) if shown else ())
        return ToolOutcome(
            write(kept, earlier, later),
            events=(looked("read", [event_chat], call_id),),
            taints=carried([event_chat]),
        )

    async def _own(self, args: ReadArgs, call_id: str) -> ToolOutcome:
        """This chat: only what was cut off may be read, since the rest is before the model already."""
        away = await self._store.read(self._away, args.chat)
        summary = await self._store.read(self._summary, args.chat)
        if not away.rows or summary is None:
            return ToolOutcome(THIS_CHAT)
        stretch = await slice_away(self._search, args.chat, away, _message(args), args.direction, READ_LINES)
        if stretch.broken:
            return ToolOutcome(BROKEN.format(why=stretch.broken))
        # Its own words bring no mark along: the chat carries them already.
        outcome: ToolOutcome = await self._store.read(self._answer, summary, stretch, args, call_id, SHORTENED)
        return replace(outcome, taints=())

    def _away(self, chat: str) -> Away:
        return away_of(self._store.events(chat=chat))


def _message(args: ReadArgs) -> str | None:
    """The anchor as the core is asked for it; one that is too long for an id is one that isn't there."""
    return args.message if args.message is None else args.message[: MESSAGE_ID_CHARS + 1]


def _json(chat: FoundChat, earlier: bool, later: bool, note: str) -> dict[str, Any]:
    out = chat.to_json() | {"earlier": earlier, "later": later}
    return out | {"note": note} if note else out
