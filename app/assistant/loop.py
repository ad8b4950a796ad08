"""The assistant's loop: steps of one model request and its tool calls, until there is nothing left to call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from app.aio import TaskSet
from app.assistant import compact
from app.assistant.answer import Answer, collect, fault, said
from app.assistant.boundary import Boundary
from app.assistant.calls import Planned, groups, plan
from app.assistant.chatlog import ChatLog, ChatLogs
from app.assistant.closing import closing, spent, total
from app.assistant.context import live_events, messages_of, tokens_of
from app.assistant.prompts import SystemTexts
from app.assistant.saying import Saying, Signal
from app.assistant.turn_watch import TurnWatch
from app.guard.quoting import host_line
from app.guard.taint import new_sources
from app.ports import (
    Joining,
    LiveMessage,
    ModelRequest,
    Toolbox,
    ToolReturn,
    Turn,
    Wire,
    WireError,
    Wires,
)
from store import events as ev
from store.limits import CLOSE_LATE_SECONDS, CONTEXT_KEEP_SHARE, CONTEXT_UNSEEN_SHARE, STEPS_A_TURN, STOP_CHILD_SECONDS
from store.log import Batch, BatchKind, Change, Store, batch_of
from store.state import KeepLiveText

log = logging.getLogger("shoal.loop")
T = TypeVar("T")

TOO_MANY_STEPS = f"Paused after {STEPS_A_TURN} steps without an end. Carry on to let it go on."


class Stopped(Exception):
    """The turn was asked to end."""


@dataclass(slots=True)
class _Run:
    """What one running turn holds in memory; all of it can be lost."""

    turn: Turn
    toolbox: Toolbox
    log: ChatLog
    tasks: TaskSet = field(default_factory=TaskSet)
    children: set[asyncio.Task[Any]] = field(default_factory=set)
    saying: Saying | None = None
    shortened: bool = False
    watch: TurnWatch = field(default_factory=TurnWatch)
    extra: list[ev.Usage] = field(default_factory=list)  # of summaries made on the way


class StepLoop:
    """Implements `app.ports.Engine` over any Wire. One object runs the turns of all chats."""

    def __init__(
        self,
        *,
        store: Store,
        wires: Wires,
        toolbox: Callable[[Turn], Toolbox],
        boundary: Boundary,
        signal: Signal,
        texts: SystemTexts | None = None,
    ) -> None:
        self._store = store
        self._wires = wires
        self._toolbox = toolbox
        self._boundary = boundary
        self._signal = signal
        self._texts = texts or SystemTexts()
        self._logs = ChatLogs(store)
        self._runs: dict[str, _Run] = {}
        self._tasks = TaskSet()

    # -- the turn

    async def run(self, turn: Turn) -> ev.Outcome:
        """Run to the end. Stop, cancel and every WireError end in `turn.completed`; other faults are raised."""
        run = self._runs[turn.turn_id] = _Run(turn, self._toolbox(turn), ChatLog(turn.chat, 0))
        try:
            return await self._steps(run)
        except (Stopped, asyncio.CancelledError):
            await self.finish(turn, "interrupted")
            return "interrupted"
        except WireError as error:
            await self.finish(turn, "error", error.sentence, error.code)
            return "error"

    async def _steps(self, run: _Run) -> ev.Outcome:
        wire = self._wires.wire(run.turn.model)
        run.log = await self._logs.open(run.turn.chat)
        for step in range(1, STEPS_A_TURN + 1):
            answer = await self._step(run, wire, step)
            bad = fault(answer)
            planned = [] if bad else plan(answer.calls, self._used_ids(run), short=run.log.cut)
            closed = said(answer, run.turn, step, planned, unfinished=bad is not None)
            if bad or not planned:
                outcome: ev.Outcome = "error" if bad else "success"
                sentence, code = bad or (None, None)
                await self._end(run, closed, outcome, sentence, code)
                return outcome
            await self._commit(run, "step", closed, [answer.saying.forget()])
            run.saying = None
            await self._call(run, planned)
            if (repeats := run.watch.paused()) is not None:
                return await self._pause(run, repeats, "repeats")
        return await self._pause(run, TOO_MANY_STEPS, "steps")

    async def _pause(self, run: _Run, sentence: str, code: str) -> ev.Outcome:
        """A pause is no failure: what was done is kept, and the person may let it carry on."""
        await self._end(run, [], "success", sentence, code, paused=True)
        return "success"

    async def _end(
        self,
        run: _Run,
        said: Sequence[ev.Event],
        outcome: ev.Outcome,
        error: str | None,
        code: str | None,
        *,
        paused: bool = False,
    ) -> None:
        usage = self._usage(run, said)
        completed = ev.TurnCompleted(
            turn_id=run.turn.turn_id, outcome=outcome, error=error, code=code, paused=paused, usage=usage
        )
        changes: list[Change] = [run.saying.forget()] if run.saying else []
        await self._commit(run, "end", [*said, completed], [*changes, *spent(run.turn.chain, usage)])
        run.toolbox.close()
        self._runs.pop(run.turn.turn_id, None)
        self._logs.keep(run.log)

    # -- one step

    async def _step(self, run: _Run, wire: Wire, step: int) -> Answer:
        """The boundary, the request, and its answer; a context that is too long is shortened once and asked again."""
        if run.turn.stop.is_set():
            raise Stopped
        await self._logs.refresh(run.log)
        system, new = self._texts.sections(run.turn.chat, run.toolbox.prompts())
        notes = [host_line(note)] if (note := run.watch.note()) else []
        joining = await self._boundary.join(run.turn, step, run.log.events, new, notes)
        await self._begin_step(run, step, joining)
        await self._logs.refresh(run.log)
        await self._fit(run, wire, system, CONTEXT_KEEP_SHARE)
        while True:
            run.saying = Saying(run.turn.chat, self._store, self._signal)
            try:
                return await self._unless_stopped(run, self._stream(run, wire, system, run.saying))
            except WireError as error:
                if error.code != "context" or run.shortened or run.saying.text():
                    raise
                run.shortened = True
                if not await self._fit(run, wire, system, CONTEXT_KEEP_SHARE / 2, force=True):
                    raise

    async def _begin_step(self, run: _Run, step: int, joining: Joining) -> None:
        """One batch: the marks first, then the words that joined, and whatever counts as read with them."""
        turn, summary = run.turn, self._store.summary(run.turn.chat)
        marks = new_sources(summary.taints if summary else (), joining.taints)
        started = ev.StepStarted(turn_id=turn.turn_id, step=step, joined=joining.parts)
        mine = [(turn.chat, event) for event in (*(ev.Taint(source=source) for source in marks), started)]
        await self._store.commit(batch_of([*mine, *joining.events], "step", joining.changes))

    async def _stream(self, run: _Run, wire: Wire, system: str, saying: Saying) -> Answer:
        turn = run.turn
        messages = tuple(messages_of(live_events(run.log.events)))
        request = ModelRequest(turn.model, system, messages, tuple(run.toolbox.offered()), chat=turn.chat)
        keeper = self._child(run, saying.keep_going())
        try:
            return await collect(wire, request, saying, self._signal)
        finally:
            keeper.cancel()

    # -- calls

    async def _call(self, run: _Run, planned: Sequence[Planned]) -> None:
        """Reads side by side, writes one after the other; every call's result is durable after it."""
        for side_by_side, group in groups(planned, run.toolbox):
            if run.turn.stop.is_set():
                raise Stopped
            tasks = [self._child(run, self._one(run, item)) for item in group]
            if side_by_side:
                await self._unless_stopped(run, asyncio.wait(tasks))
            else:
                await asyncio.wait(tasks)  # a write that had begun gets its time to end
            for item, task in zip(group, tasks, strict=True):
                run.watch.saw(item.call, task.result().text, reads=run.toolbox.effect(item.call.name) == "read")

    async def _one(self, run: _Run, item: Planned) -> ToolReturn:
        if item.refusal is not None:
            log.info("a call was refused in %s: %s", run.turn.chat, item.refusal)
            return await run.toolbox.refuse(item.call, item.refusal)
        return await run.toolbox.call(item.call)

    def _used_ids(self, run: _Run) -> set[str]:
        return {c.call_id for s in run.log.events if isinstance(s.event, ev.AssistantDone) for c in s.event.calls}

    # -- the context

    async def _fit(self, run: _Run, wire: Wire, system: str, share: float, *, force: bool = False) -> bool:
        """Summarise what is older when the request would fill more than `share` of the window; whether it did."""
        window = wire.context_tokens(run.turn.model)
        tools = tokens_of(system, (), run.toolbox.offered())
        size = tools + tokens_of("", messages_of(live_events(run.log.events)))
        if not force and size <= window * share:
            return False
        keep = int((min(size, window * share) - tools) / 2)
        unseen = max(keep * 8 // 5, int(window * CONTEXT_UNSEEN_SHARE) - tools)  # results no request carried yet
        cut = compact.find_cut(run.log.events, keep, keep if force else unseen)
        if cut is None:
            return False
        by = None if run.turn.model == "offline" else wire
        summary, usage = await self._unless_stopped(run, compact.summarise(cut, by, run.turn.model, run.turn.chat))
        run.extra.append(usage)
        compacted = compact.compacted(cut, summary)
        await self._commit(run, "step", [compacted], [run.log.cut_change(compacted)])
        await self._logs.refresh(run.log)
        return True

    def _usage(self, run: _Run, said: Sequence[ev.Event] = ()) -> ev.Usage:
        events = [s.event for s in run.log.events] + list(said)
        mine = (e.usage for e in events if isinstance(e, ev.StepFinished) and e.turn_id == run.turn.turn_id)
        return total([*mine, *run.extra])

    def live(self, chat: str) -> LiveMessage | None:
        """The message that streams in a chat now."""
        for run in self._runs.values():
            if run.turn.chat == chat and run.saying is not None and run.saying.text() + run.saying.text("thinking"):
                return LiveMessage(run.saying.message_id, run.saying.text(), run.saying.text("thinking"))
        return None

    # -- stopping

    def _child(self, run: _Run, coro: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task: asyncio.Task[T] = run.tasks.spawn(coro)
        run.children.add(task)
        task.add_done_callback(run.children.discard)
        return task

    async def _unless_stopped(self, run: _Run, coro: Coroutine[Any, Any, T]) -> T:
        """The result of `coro`; raises Stopped at once when the turn is asked to end, and cancels it."""
        work = self._child(run, coro)
        stop = self._child(run, run.turn.stop.wait())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if work.done() and not work.cancelled():
            return work.result()
        work.cancel()
        raise Stopped

    async def finish(self, turn: Turn, outcome: ev.Outcome, error: str | None = None, code: str | None = None) -> None:
        """Close all that is open and write `turn.completed`, once; goes on however often it is cancelled."""
        task = self._tasks.spawn(self._finish(turn, outcome, error, code))
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                log.debug("cancelled while a turn of %s was being closed", turn.chat)
        task.result()

    async def _finish(self, turn: Turn, outcome: ev.Outcome, error: str | None, code: str | None) -> None:
        run = self._runs.pop(turn.turn_id, None)
        live: list[tuple[str, str, str]] = []
        if run is not None:
            run.toolbox.close()
            for child in list(run.children):
                child.cancel()
            if run.children:
                await asyncio.wait(list(run.children), timeout=STOP_CHILD_SECONDS)
            if run.saying is not None:
                live = [(run.saying.message_id, k, run.saying.text(k)) for k in ("text", "thinking")]
        await self._store.commit(Batch(kind="end"))  # whatever was on its way lies in the log after this
        events = await self._store.read(self._store.since_turn, turn.chat)
        close = closing(events, turn.turn_id, live, turn.model)
        if close is None:
            return
        usage = total([close.usage, *(run.extra if run else [])])
        completed = ev.TurnCompleted(turn_id=turn.turn_id, outcome=outcome, error=error, code=code, usage=usage)
        forget: list[Change] = [KeepLiveText(turn.chat, m, "text", None) for m in dict.fromkeys(m for m, _, _ in live)]
        changes = [*forget, *spent(turn.chain, usage)]
        await self._store.commit(Batch.of(turn.chat, *close.events, completed, changes=changes, kind="end"))

    async def _commit(
        self, run: _Run, kind: BatchKind, events: Sequence[ev.Event], changes: Sequence[Change] = ()
    ) -> None:
        await self._store.commit(Batch.of(run.turn.chat, *events, changes=changes, kind=kind))

    async def close(self) -> None:
        """End what is still being closed."""
        await self._tasks.close(CLOSE_LATE_SECONDS)
