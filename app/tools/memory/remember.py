"""`remember`: keep something the person said of themselves, for every chat."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, Field

from app.guard import redactor, secrets
from app.guard.may import may_learn
from app.ports import CallFacts, ToolOutcome, TurnContext
from app.tools.base import ToolArgs
from app.tools.memory.book import MemoryBook
from store import words
from store.clock import Clock
from store.events import MemorySaved
from store.ids import MEMORY, new_id
from store.limits import MEMORIES_MOST, MEMORY_CHARS
from store.memory import Memory
from store.text import safe_text

PROMPT = """\
Memories. What the person's own words taught you in any chat is kept as memories; some come before their message in a
frame <memories>. Use recall first for facts about the person. When they tell you something of lasting use about
themselves, their people, projects or wishes, remember it in one plain sentence; never what others wrote, never secrets.
They see every memory and can undo it. Use forget when they ask for it."""
ONLY_A_SECRET = "That is a secret, and memories keep none. The person can put it in the vault, under a name."
NOTHING_LEFT = "There is nothing in it to remember."
KNOWN = "That is remembered already ({id})."
TOO_MANY = f"There are {MEMORIES_MOST:,} memories already; forget some first."
SAVED = "Remembered as {id}. The person sees it and can undo it."
WAITS = (
    "It waits for the person's yes, since this chat read things from outside and nobody is there. "
    "Until then it isn't used."
)
_LABELS = frozenset(
    (  # noqa: SIM905 - words read best as words
        "password passwd passcode passphrase pass pwd pin code secret token api key keys access private client login "
        "credentials number card user"
    ).split()
)
_MASKS = re.compile(f"{re.escape(secrets.MASK)}|{re.escape(redactor.MASK)}")


class RememberArgs(ToolArgs):
    """Arguments of `remember`."""

    content: str = Field(min_length=1, max_length=MEMORY_CHARS, description="One plain sentence, in their words.")
    kind: Literal["preference", "person", "project", "fact"] = "fact"


class Remember:
    """Shows in the chat with Undo; waits for a yes where nobody is there and the chat read from outside."""

    name = "remember"
    description = "Keep something of lasting use that the person said about themselves, for all their chats."
    args: type[BaseModel] = RememberArgs
    family = "memory"
    effect: Literal["read", "write"] = "write"
    prompt: str | None = PROMPT

    def __init__(self, book: MemoryBook, clock: Clock, clean: Callable[[str], str]) -> None:
        self._book = book
        self._clock = clock
        self._clean = clean

    def refusal(self, ctx: TurnContext) -> str | None:
        """Only the person's own words teach."""
        return may_learn(ctx)

    def label(self, args: RememberArgs) -> str:
        """What the call does."""
        return f"Remember: {short(self._clean(args.content))}"

    async def facts(self, args: RememberArgs, ctx: TurnContext) -> CallFacts:
        """For the guard: a write inside Shoal's own store, which Undo takes back."""
        words_ = self._clean(args.content)
        return CallFacts(self.name, self.family, self.effect, f"Remember: {short(words_)}", preview=words_)

    async def run(self, args: RememberArgs, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """The event and the memory go in the call's result batch."""
        content = safe_text(self._clean(args.content), limit=MEMORY_CHARS).strip()
        refused = self._refused(content)
        if refused is not None:
            return ToolOutcome(refused, ok=False)
        same = next((m for m in self._book.all() if m.content and words.fold(m.content) == words.fold(content)), None)
        if same is not None:
            return ToolOutcome(KNOWN.format(id=same.id) if same.state == "kept" else WAITS)
        pending = bool(ctx.taints) and not ctx.attended
        memory = Memory(
            new_id(MEMORY),
            args.kind,
            content,
            self._clock.now_ms(),
            "pending" if pending else "kept",
            (ctx.chat,),
            "pending" if pending else "kept",
        )
        saved = MemorySaved(memory_id=memory.id, kind=args.kind, content=content, pending=pending)
        text = WAITS if pending else SAVED.format(id=memory.id)
        return ToolOutcome(text, events=(saved,), changes=(memory.keep(),))

    def _refused(self, content: str) -> str | None:
        if not words.tokens(content):
            return NOTHING_LEFT
        if only_a_secret(content):
            return ONLY_A_SECRET
        return TOO_MANY if len(self._book.kept()) >= MEMORIES_MOST else None


def only_a_secret(filtered: str) -> bool:
    """Whether hardly anything but a mask and its label is left of a filtered text."""
    if not _MASKS.search(filtered):
        return False
    left = [w for w in words.tokens(_MASKS.sub(" ", filtered)) if w not in words.STOP_WORDS and w not in _LABELS]
    return len(left) < 2  # such as "my wifi password is"


def short(text: str) -> str:
    """A memory in a line's worth of words."""
    return safe_text(text, one_line=True, limit=120)
