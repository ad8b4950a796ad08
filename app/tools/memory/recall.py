"""`recall`: the memories a question is about."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from app.guard.may import may_look
from app.ports import ToolOutcome, TurnContext
from app.tools.base import ToolArgs
from app.tools.memory.book import MemoryBook
from app.tools.memory.joining import listed
from app.tools.memory.remember import PROMPT, short
from store.clock import Clock
from store.limits import MEMORY_RECALLED, MEMORY_RECALLED_MOST, MODEL_QUERY_CHARS
from store.memory import ranked

NOTHING = "No memory is about that."
NO_MEMORIES = "Nothing is remembered yet."


class RecallArgs(ToolArgs):
    """Arguments of `recall`."""

    query: str = Field("", description="A few words of what you want to know about the person; none: the newest.")
    limit: int = Field(MEMORY_RECALLED, ge=1, le=MEMORY_RECALLED_MOST)


class Recall:
    """Ranked like the index: word forms, typos, a little freshness."""

    name = "recall"
    description = "Find what is remembered about the person: preferences, people, projects, facts."
    args: type[BaseModel] = RecallArgs
    family = "memory"
    effect: Literal["read", "write"] = "read"
    prompt: str | None = PROMPT

    def __init__(self, book: MemoryBook, clock: Clock) -> None:
        self._book = book
        self._clock = clock

    def refusal(self, ctx: TurnContext) -> str | None:
        """As with earlier chats: never where someone else's words are."""
        return may_look(ctx)

    def label(self, args: RecallArgs) -> str:
        """What the call does."""
        return f"Recall “{short(args.query)}”" if args.query.strip() else "Recall what is remembered"

    async def run(self, args: RecallArgs, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """The best memories, a line each; pending and forgotten ones are never among them."""
        kept = self._book.kept()
        if not kept:
            return ToolOutcome(NO_MEMORIES)
        query = args.query[:MODEL_QUERY_CHARS].strip()
        newest = sorted(kept, key=lambda m: m.at, reverse=True)
        found = ranked(query, kept, self._clock.now_ms()) if query else newest
        if not found:
            return ToolOutcome(NOTHING)
        return ToolOutcome(listed(found[: args.limit]))
