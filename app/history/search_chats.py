"""`search_chats`: the assistant finds what Ctrl+K finds, in the same order, without the chat it asks from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from app.guard.may import NO_SUCH_CHAT
from app.history.answers import (
    QUERY_CUT,
    RECENT,
    Found,
    FoundChat,
    cut,
    found_of,
    line_of,
    one_line,
    settled,
    settled_chat,
)
from app.history.budget import fit_search
from app.history.dates import parse_range
from app.history.looked import carried, looked
from app.history.surface import PAST_CHATS_PROMPT, SEARCH
from app.history.tool import BAD_TEXT, BROKEN, THIS_CHAT, Chats, HistoryTool
from app.ports import ToolOutcome, TurnContext
from app.tools.base import ToolArgs, compact
from store.limits import (
    CHAT_ID_CHARS,
    LINES_PER_CHAT,
    MODEL_QUERY_CHARS,
    SNIPPET_CHARS,
    TOOL_CHATS_DEFAULT,
    TOOL_CHATS_MAX,
)
from store.models import SearchAnswer, SearchQuery, Slice, Who

BAD_LIMIT = f"must be a whole number from 1 to {TOOL_CHATS_MAX}"  # the toolbox puts the field's name before it
BAD_WHO = "must be one of you, assistant, them, step"
NO_QUERY = "Say what to look for in `query`, or give `after` or `before` to list the chats of a time."

DESCRIPTION = (
    "Search the person's earlier chats. Search for distinctive words that were probably said, not for a whole "
    "question; parts of words match, and quotes keep a phrase together. This chat is left out; archived chats are in. "
    "`after` and `before` are ISO dates (`before` is not included), `who` is you (the person), assistant, them (other "
    "people) or step (something the assistant ran), `chat` keeps to one chat. An empty query with a date lists the "
    "chats of that time. Returns chats, best first, with the lines that match; read around a line with read_chat."
)


class SearchArgs(ToolArgs):
    """What to look for. A longer query is cut, and the answer's note says so."""

    query: str = Field(
        "",
        description="Distinctive words that were probably said; empty only with `after` or `before`",
        json_schema_extra={"maxLength": MODEL_QUERY_CHARS},
    )
    limit: int = Field(
        TOOL_CHATS_DEFAULT,
        description="How many chats at most",
        json_schema_extra={"minimum": 1, "maximum": TOOL_CHATS_MAX},
    )
    after: str | None = Field(None, description="ISO date or time: only lines from then on")
    before: str | None = Field(None, description="ISO date or time: only lines before it")
    who: Literal["you", "assistant", "them", "step"] | None = Field(None, description="Only lines of this speaker")
    chat: str | None = Field(
        None, description="Only this chat (its id)", json_schema_extra={"maxLength": CHAT_ID_CHARS}
    )

    @field_validator("limit", mode="before")
    @classmethod
    def _limit(cls, value: Any) -> Any:
        if value is None:
            return TOOL_CHATS_DEFAULT
        if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
            value = int(value.strip()[:6])
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= TOOL_CHATS_MAX:
            raise ValueError(BAD_LIMIT)
        return value

    @field_validator("query", mode="before")
    @classmethod
    def _query(cls, value: Any) -> Any:
        if value is None:
            return ""
        if not isinstance(value, str):
            raise ValueError(BAD_TEXT)
        return value.strip()

    @field_validator("after", "before", "chat", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        if value is not None and not isinstance(value, str):
            raise ValueError(BAD_TEXT)
        return value

    @field_validator("who", mode="before")
    @classmethod
    def _who(cls, value: Any) -> Any:
        if value in (None, ""):
            return None
        if value not in ("you", "assistant", "them", "step"):
            raise ValueError(BAD_WHO)
        return value


class SearchChats(HistoryTool[Chats]):
    """The tool."""

    name = SEARCH
    description = DESCRIPTION
    args: type[BaseModel] = SearchArgs
    prompt: str | None = PAST_CHATS_PROMPT

    def label(self, args: BaseModel) -> str:
        """Plain words for what is going on; never what is looked for."""
        return "Looking through your chats"

    async def run(self, args: BaseModel, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """One search; a refusal or a failure is a sentence and leaves nothing in the log."""
        assert isinstance(args, SearchArgs)
        if refused := self.refusal(ctx):
            return ToolOutcome(refused, ok=False)
        try:
            after, before = parse_range(args.after, args.before)
        except ValueError as error:
            return ToolOutcome(str(error), ok=False)
        if not args.query and after is None and before is None:
            return ToolOutcome(NO_QUERY, ok=False)
        if args.chat == ctx.chat:
            return ToolOutcome(THIS_CHAT)
        if args.chat is not None and not await self._reachable(args.chat):
            return ToolOutcome(NO_SUCH_CHAT)
        if args.query:
            found = await self._look(args, ctx, after, before)
        else:
            found = await self._recent(args, ctx, after, before)
        if isinstance(found, str):
            return ToolOutcome(BROKEN.format(why=found))
        found = await self._store.read(self._fitted, found)
        event = looked("search", found.chats, call_id, query=found.query, close=found.match == "close")
        return ToolOutcome(compact(found.to_json()), events=(event,), taints=carried(found.chats))

    def _fitted(self, found: Found) -> Found:
        """Within the budget, and such that the toolbox's own filter finds nothing more to do in it."""
        chats = tuple(settled_chat(chat, self._clean) for chat in found.chats)
        found = fit_search(replace(found, query=settled(found.query, self._clean), chats=chats))
        text = compact(found.to_json())
        return found if self._clean(text) == text else replace(found, missing=(), read_as=())

    async def _reachable(self, chat: str) -> bool:
        if not chat or len(chat) > CHAT_ID_CHARS:
            return False
        summary = await self._store.read(self._store.summary, chat)
        return summary is not None and not summary.private

    async def _found(
        self, text: str, args: SearchArgs, ctx: TurnContext, after: int | None, before: int | None
    ) -> SearchAnswer:
        """What the one search finds outside the asking chat; never a private chat."""
        query = SearchQuery(
            text=text,
            limit=args.limit,
            after=after,
            before=before,
            who=args.who,
            chat=args.chat,
            without=frozenset({ctx.chat}),
            private=False,
        )
        return await self._search.search(query, lane="tools")

    async def _look(self, args: SearchArgs, ctx: TurnContext, after: int | None, before: int | None) -> Found | str:
        answer = await self._found(args.query[:MODEL_QUERY_CHARS], args, ctx, after, before)
        if answer.broken:
            return answer.broken
        found: Found = await self._store.read(self._shape, answer, ctx.chat)
        echo = cut(one_line(args.query, self._clean), MODEL_QUERY_CHARS)
        notes = (QUERY_CUT.format(most=MODEL_QUERY_CHARS),) if len(args.query) > MODEL_QUERY_CHARS else ()
        return replace(found, query=echo, chats=found.chats[: args.limit], first_notes=notes)

    def _shape(self, answer: SearchAnswer, own: str) -> Found:
        found = found_of(answer, self._clean, now=self._store.summary, query_most=MODEL_QUERY_CHARS)
        chats = tuple(replace(c, lines=c.lines[:LINES_PER_CHAT]) for c in found.chats if c.id != own)
        return replace(found, chats=chats, match=found.match if chats or found.match == "too-short" else "none")

    async def _recent(self, args: SearchArgs, ctx: TurnContext, after: int | None, before: int | None) -> Found | str:
        """The chats of a time, newest first, each with its last lines of that time."""
        answer = await self._found("", args, ctx, after, before)
        if answer.broken:
            return answer.broken
        lo, hi = after if after is not None else -(2**62), before if before is not None else 2**62
        found: Found = await self._store.read(self._shape, answer, ctx.chat)
        chats = []
        for chat in found.chats[: args.limit]:
            stretch = await self._search.slice(chat.id, count=LINES_PER_CHAT)
            if stretch.broken:
                return stretch.broken
            chats.append(self._ended(chat, stretch, lo, hi, args.who))
        return replace(found, chats=tuple(chats), first_notes=(RECENT,) if chats else ())

    def _ended(self, chat: FoundChat, stretch: Slice, lo: int, hi: int, who: Who | None) -> FoundChat:
        lines = [
            line_of(line, self._clean)
            for line in stretch.lines
            if line.at is not None and lo <= line.at < hi and who in (None, line.who)
        ]
        return replace(chat, lines=tuple(replace(x, text=cut(" ".join(x.text.split()), SNIPPET_CHARS)) for x in lines))
