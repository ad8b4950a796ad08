"""`explore_chat_history`: the tool, the person's own command, and what both leave in the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from app.aio import TaskSet
from app.commands import CommandError, Explore, SetConsent
from app.guard.may import NOT_HERE, may_look
from app.guard.taint import looked_at, new_sources
from app.history.away import Away, away_of
from app.history.explorer.child import Child, Lock, NotAllowed
from app.history.explorer.entitlement import TOOLS, Consents, Entitlements
from app.history.explorer.evidence import Registry, chats_of
from app.history.explorer.extractive import RuleDriver
from app.history.explorer.record import record
from app.history.explorer.report import Report
from app.history.explorer.runner import Driver, ModelDriver, explore
from app.history.surface import EXPLORE, SurfaceGate
from app.history.tool import Searcher
from app.ports import TurnContext, WireError, Wires
from store.clock import Clock
from store.events import ContextCompacted, HistoryExplored, Taint, TaintSource, TurnCompleted, TurnStarted
from store.ids import LOOK, new_id
from store.limits import EXPLORE_INDEX_SECONDS
from store.log import Batch, Change, Store
from store.models import Line
from store.state import KeepState

log = logging.getLogger("shoal.explorer")

PENDING_KEY: Final = "exploring"
BROKE: Final = "Something went wrong inside Shoal while it explored; the details are in the log."
PHASES: Final = {
    "start": "Searching prior chats…",
    "search": "Searching prior chats… {searches} searched",
    "read": "Reading {chats}… {searches} searched, {reads} read",
    "check": "Checking conflicting decisions… {searches} searched, {reads} read",
    "write": "Synthesizing evidence… {searches} searched, {reads} read",
}


@dataclass(frozen=True, slots=True)
class Explored:
    """A run that ended: its report (None: it failed), the last event, and the marks it brings."""

    report: Report | None
    event: HistoryExplored
    taints: tuple[TaintSource, ...]
    changes: tuple[Change, ...]
    sentence: str = ""


class Explorer:
    """Runs them. One object for the tool, the command line and headless."""

    def __init__(
        self,
        store: Store,
        search: Any,
        clock: Clock,
        wires: Wires,
        clean: Callable[[str], str],
        entitlements: Entitlements,
        gate: SurfaceGate,
        consents: Consents,
    ) -> None:
        self._store = store
        self._search: Searcher = search
        self._settle: Callable[[float], Any] = search.caught_up
        self._clock = clock
        self._wires = wires
        self._clean = clean
        self.entitlements = entitlements
        self.gate = gate
        self.consents = consents
        self._tasks = TaskSet()

    async def run(
        self, ctx: TurnContext, query: str, call_id: str | None, progress: Callable[[str], None] = lambda words: None
    ) -> Explored:
        """Show the card, explore, and say how it ended.

        Raises NotAllowed before anything is shown, and CancelledError, having said that it was cancelled.
        """
        if refused := self._refused(ctx.chat):
            raise NotAllowed(refused)
        explore_id = new_id(LOOK)
        query = self._clean(query)
        engine = self.entitlements.whole().engine
        pending = HistoryExplored(explore_id=explore_id, call_id=call_id, query=query, engine=engine)
        keep = KeepState(ctx.chat, PENDING_KEY, explore_id)
        forget = KeepState(ctx.chat, PENDING_KEY, None)
        begun = self._clock.steady()
        registry = Registry(self._clean)
        child = Child(self._search, Lock(ctx.folder, ctx.chat, self._store.summary), registry, self._clean)
        try:
            await self._store.commit(Batch.of(ctx.chat, pending, changes=[keep]))
            progress(PHASES["start"])
            child.lock = await self.lock(ctx)

            def told(phase: str, searches: int, reads: int) -> None:
                many = f"{len(child.chats)} relevant discussion{'' if len(child.chats) == 1 else 's'}"
                progress(PHASES[phase].format(chats=many, searches=searches, reads=reads))

            child.told = told
            report, run = await explore(
                query,
                child,
                self._driver(engine),
                engine=engine,
                extractive=engine == "offline",
                told=told,
                settle=lambda: self._settle(EXPLORE_INDEX_SECONDS),
            )
            if refused := self._refused(ctx.chat):
                raise NotAllowed(refused)
        except Exception as error:
            if not isinstance(error, WireError | NotAllowed):
                log.error("an exploration in %s broke: %s", ctx.chat, type(error).__name__, exc_info=error)
            words = self._clean(error.sentence) if isinstance(error, WireError | NotAllowed) else BROKE
            failed = pending.model_copy(update={"state": "failed", "partial_reason": words})
            return Explored(None, failed, (), (forget, record(self._clock, begun, failed, child)), words)
        except BaseException:
            cancelled = pending.model_copy(update={"state": "cancelled"})
            ended = record(self._clock, begun, cancelled, child)
            self._tasks.spawn(self._store.commit(Batch.of(ctx.chat, cancelled, changes=[forget, ended])))
            raise
        event = report.event(explore_id, call_id, run)
        observed = report.cited if report.evidence_only else tuple(registry.seen())
        taints = tuple(looked_at(title) for chat, title in sorted(chats_of(observed).items()) if chat != ctx.chat)
        return Explored(report, event, taints, (forget, record(self._clock, begun, event, child, report)))

    def _driver(self, engine: str) -> Driver:
        if engine == "offline":
            return RuleDriver()
        return ModelDriver(self._wires.wire(engine), engine)

    async def lock(self, ctx: TurnContext) -> Lock:
        """What a run for this turn is bound to."""
        own, here = await self._store.read(self._here, ctx.chat)
        refused = partial(self._refused, ctx.chat)
        return Lock(ctx.folder, ctx.chat, self._store.summary, own, here, self._digest, refused)

    def _refused(self, chat: str) -> str | None:
        """Why a chat may not explore as it is now, whoever asks: plan, engine, and what it has read."""
        whole = self.entitlements.whole()
        if not whole.pro:
            return whole.why
        return may_look(self._context(chat)) if self._store.summary(chat) is not None else NOT_HERE

    def _here(self, chat: str) -> tuple[frozenset[str], Away]:
        """The messages of the reply being written with the one it answers, and what came before them in the chat."""
        turn = [s.event for s in self._store.since_turn(chat)]
        if any(isinstance(e, TurnCompleted) for e in turn) or not any(isinstance(e, TurnStarted) for e in turn):
            own = frozenset[str]()
        else:
            answers = {e.message_id for e in turn if isinstance(e, TurnStarted) and e.message_id}
            own = frozenset({row for e in turn if (row := e.row())} | answers)
        return own, away_of(self._store.events(chat=chat), own, whole=True)

    async def _digest(self, chat: str) -> Line | None:
        """The newest summary that was made of a chat."""
        made = await self._store.read(lambda: self._store.events_of_types(("context.compacted",), limit=1, chat=chat))
        if not made or not isinstance(event := made[0].event, ContextCompacted):
            return None
        return Line(event.compact_id, "assistant", made[0].at, event.summary)

    # -- commands of the person's

    async def command(self, command: Explore) -> dict[str, Any]:
        """Headless `explore`: every check of its chat."""
        if self._store.summary(command.chat) is None:
            raise CommandError("unknown-chat", "There is no such chat.")
        ctx = self._context(command.chat)
        refused = NOT_HERE if self.consents.of(EXPLORE) == "never" else self.gate.refusal(EXPLORE, ctx)
        return await self._asked(ctx, command.query, refused)

    async def by_hand(self, chat: str, query: str) -> dict[str, Any]:
        """`shoal explore`: plan and engine are needed, and a chat that may look; consent is given by the command."""
        return await self._asked(self._context(chat), query, None)

    async def _asked(self, ctx: TurnContext, query: str, refused: str | None) -> dict[str, Any]:
        if refused is not None:
            raise CommandError("not-allowed", refused)
        try:
            done = await self.run(ctx, query, None)
        except NotAllowed as error:
            raise CommandError("not-allowed", error.sentence) from None
        had = self._store.summary(ctx.chat)
        marks = [Taint(source=s) for s in new_sources(had.taints if had else (), done.taints)]
        await self._store.commit(Batch.of(ctx.chat, *marks, done.event, changes=done.changes))
        if done.report is None:
            raise CommandError("failed", done.sentence)
        return done.report.to_json()

    def _context(self, chat: str) -> TurnContext:
        s = self._store.summary(chat)
        assert s is not None
        return TurnContext(chat, "", s.mode, s.origin, s.taints, folder=s.folder, private=s.private, tool_scope=s.tools)

    async def consent(self, command: SetConsent) -> dict[str, Any]:
        """What the person chose for one of the two tools; kept in the settings."""
        if command.tool not in TOOLS:
            raise CommandError("bad-command", f"“tool” is one of {', '.join(TOOLS)}.")
        await asyncio.to_thread(self.consents.set, command.tool, command.value)
        return {}

    # -- restarts

    async def ready(self) -> None:
        """Runs that a kill broke are cancelled: no card stays pending."""
        for chat, explore_id in self._store.states(PENDING_KEY).items():
            found = self._store.events_of_row(chat, str(explore_id))
            last = found[-1].event if found else None
            forget = KeepState(chat, PENDING_KEY, None)
            if isinstance(last, HistoryExplored) and last.state == "pending":
                cancelled = last.model_copy(update={"state": "cancelled"})
                await self._store.commit(Batch.of(chat, cancelled, changes=[forget]))
            else:
                await self._store.commit(Batch(changes=[forget]))

    async def close(self) -> None:
        """Nothing is on its way any more."""
        await self._tasks.close(1.0)
