"""The guard at the door of every call: a tool's facts go in, a verdict with its card comes out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from app.guard import permissions, reasons
from app.guard.commands import parse
from app.guard.counts import MESSAGE_TOOL, Counts, of_turn
from app.guard.judge import Question, Refused, Situation, Verdict, judge
from app.ports import CallFacts, TurnContext
from app.tools.base import Allow, Ask, Refuse, Tool, facts_of
from store.events import ChatForked, PermissionRequested, Stored, TurnStarted, UserMessage
from store.ids import PERMISSION, new_id
from store.limits import JUDGED_AT_ONCE_CHARS, LEAD_UP_MESSAGES, MESSAGES_WITHIN_MS
from store.log import Store
from store.together import SentMessage

log = logging.getLogger("shoal.guard")

PERSONS_TURNS = ("person", "retry", "resume")


class Told(Protocol):
    """What the gate reads of the chat."""

    async def read(self, ctx: TurnContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The person's words of the turn's lead-up, and all they said in the chat."""

    async def allowed(self, chat: str, key: str) -> bool:
        """Whether the person said "Always allow" of it."""

    async def counts(self, ctx: TurnContext, facts: CallFacts, given: Mapping[str, Any]) -> Counts:
        """What the call adds to: of its turn, and of the chat's day."""


class ToldByLog:
    """`Told` from the store: only `user.message` events of the person, never what was carried in."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._clock = store.clock

    async def read(self, ctx: TurnContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Read anew at each question; a turn that the person didn't start has no lead-up."""
        events = await self._store.read(lambda: list(self._store.events(chat=ctx.chat)))
        return words_of(events, ctx.turn_id)

    async def allowed(self, chat: str, key: str) -> bool:
        """Looked up anew each time, so that it holds after a restart and ends with the chat."""
        return bool(await self._store.read(self._store.state, chat, permissions.state_key(key)) == key)

    async def counts(self, ctx: TurnContext, facts: CallFacts, given: Mapping[str, Any]) -> Counts:
        """Counted anew from the log and the sent messages at each call that may write, so that a restart forgets none.

        A reply that a restart broke begins to count its own again; the messages of the day go on.
        """
        if facts.effect != "write":
            return Counts()
        return await self._store.read(self._counted, ctx, facts, given)

    def _counted(self, ctx: TurnContext, facts: CallFacts, given: Mapping[str, Any]) -> Counts:
        sent = 0
        if facts.name == MESSAGE_TOOL:
            since = self._clock.now_ms() - MESSAGES_WITHIN_MS
            found = self._store.kept(SentMessage, "sender=? AND at>?", ctx.chat, since)
            sent = sum(not one.stop for one in found)  # the reason of a stop is no message
        turn = [stored.event for stored in self._store.since_turn(ctx.chat)]
        return of_turn(turn, facts.name, given, facts.command, sent)


class GuardGate:
    """Implements `app.tools.base.Gate`. `own`: Shoal's own folders; `clean`: the filter for what a card shows."""

    def __init__(
        self,
        told: Told | None = None,
        *,
        clean: Callable[[str], str] = lambda text: text,
        home: str = "",
        own: Sequence[str] = (),
    ) -> None:
        self._told = told
        self._clean = clean
        self._home = home
        self._own = tuple(own)

    async def judge(self, tool: Tool, args: Any, ctx: TurnContext, call_id: str) -> Allow | Refuse | Ask:
        """What is to happen with the call. What can't be judged isn't run."""
        try:
            facts = await facts_of(tool, args, ctx)
            verdict = await self._verdict(facts, ctx, args.model_dump(mode="json", exclude_unset=True))
        except Exception as error:
            log.error("no verdict on %s in %s: %s", tool.name, ctx.chat, type(error).__name__, exc_info=error)
            return Refuse(reasons.NO_FACTS)
        match verdict:
            case Refused(sentence):
                return Refuse(sentence)
            case Question():
                return Ask(self._request(facts, verdict, args, call_id), verdict.key, verdict.full_allows)
        return Allow()

    async def _verdict(self, facts: CallFacts, ctx: TurnContext, given: Mapping[str, Any]) -> Verdict:
        counts = Counts() if self._told is None else await self._told.counts(ctx, facts, given)
        now = Situation(
            ctx.mode,
            ctx.taints,
            ctx.origin,
            ctx.attended,
            folder=ctx.folder,
            home=self._home,
            own=self._own,
            counts=counts,
        )
        verdict = await _judged(facts, now)
        if not isinstance(verdict, Question) or self._told is None:
            return verdict
        if verdict.words_may_lift or facts.url is not None:
            lead_up, said = await self._told.read(ctx)
            now = replace(now, words=lead_up, said=said)
            verdict = await _judged(facts, now)
        key = verdict.key if isinstance(verdict, Question) else None
        if key is not None and await self._told.allowed(ctx.chat, key):
            verdict = await _judged(facts, replace(now, allowed=frozenset((key,))))
        return verdict

    def _request(self, facts: CallFacts, asked: Question, args: Any, call_id: str) -> PermissionRequested:
        """The card: filtered whole, never cut."""
        return PermissionRequested(
            permission_id=new_id(PERMISSION),
            call_id=call_id,
            tool_name=facts.name,
            input=args.model_dump(mode="json", exclude_unset=True),
            summary=self._clean(facts.summary),
            detail=self._clean(asked.detail),
            preview=self._clean(facts.preview or facts.command or ""),
            place=self._clean(facts.place),
            taint=asked.reason or None,
            lasting=asked.key is not None,
            once=asked.once,
        )


async def _judged(facts: CallFacts, now: Situation) -> Verdict:
    """At once, or in a thread where the command is long: hostile ones may take a second."""
    if len(facts.command or "") <= JUDGED_AT_ONCE_CHARS:
        return judge(facts, now)
    return await asyncio.to_thread(judge, facts, now)


def words_of(events: Sequence[Stored], turn_id: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The person's words: of the lead-up to a turn (its newest few before it began), and all of them.

    What came out of an imported file isn't theirs: whoever wrote the file could name a host, or a command, in it.
    """
    said: list[str] = []
    lead_up: tuple[str, ...] = ()
    imported = 0
    for stored in events:
        match stored.event:
            case ChatForked(imported=imported):
                continue
            case UserMessage() if imported > 0:
                imported -= 1
            case UserMessage(author=None, them=False, text=text):
                said.append(text)
            case TurnStarted() as turn if turn.turn_id == turn_id and turn.trigger in PERSONS_TURNS:
                lead_up = tuple(said[-LEAD_UP_MESSAGES:])
    return lead_up, tuple(said)


def warm_up() -> None:
    """Load the parser, so that the first command's verdict is as quick as the next; any thread."""
    parse("true")
