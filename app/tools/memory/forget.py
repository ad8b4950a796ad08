"""`forget`: a memory goes; only its own Undo brings it back."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from app.guard.may import may_learn
from app.ports import CallFacts, ToolOutcome, TurnContext
from app.tools.base import ToolArgs
from app.tools.memory.book import MemoryBook
from app.tools.memory.remember import PROMPT, short
from store.events import MemoryForgotten

NO_SUCH = "There is no such memory; recall lists them with their ids."
NOBODY_THERE = "This chat read things from outside and nobody is there, so no memory is forgotten here."
FORGOTTEN = "Forgotten. The person sees it and can undo it."


class ForgetArgs(ToolArgs):
    """Arguments of `forget`."""

    memory: str = Field(min_length=1, max_length=64, description="The memory's id, as recall or <memories> names it.")


class Forget:
    """Leaves a tombstone; the words go from the memories, the files and every later message."""

    name = "forget"
    description = "Forget a memory when the person asks for it."
    args: type[BaseModel] = ForgetArgs
    family = "memory"
    effect: Literal["read", "write"] = "write"
    prompt: str | None = PROMPT

    def __init__(self, book: MemoryBook) -> None:
        self._book = book

    def refusal(self, ctx: TurnContext) -> str | None:
        """Others' words don't make anything forgotten either."""
        return may_learn(ctx) or (NOBODY_THERE if ctx.taints and not ctx.attended else None)

    def label(self, args: ForgetArgs) -> str:
        """What the call does."""
        memory = self._book.get(args.memory)
        return f"Forget: {short(memory.content)}" if memory is not None and memory.content else "Forget a memory"

    async def facts(self, args: ForgetArgs, ctx: TurnContext) -> CallFacts:
        """For the guard: a write inside Shoal's own store, which Undo takes back."""
        return CallFacts(self.name, self.family, self.effect, self.label(args))

    async def run(self, args: ForgetArgs, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """The tombstone and the events, in this chat and in those that show the memory, go in one batch."""
        memory = self._book.get(args.memory)
        if memory is None or memory.state == "forgotten":
            return ToolOutcome(NO_SUCH, ok=False)
        here = ctx.chat in memory.chats
        gone = MemoryForgotten(memory_id=memory.id, by="assistant")
        shown = gone if here else gone.model_copy(update={"kind": memory.kind, "content": memory.content})
        others = tuple((chat, gone) for chat in self._book.there(memory) if chat != ctx.chat)
        return ToolOutcome(FORGOTTEN, events=(shown,), changes=(memory.forgotten(ctx.chat).keep(),), elsewhere=others)
