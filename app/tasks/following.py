"""What becomes of a task: its record follows its chat, to its steps, its questions and its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from app.aio import TaskSet
from app.guard.taint import new_sources
from app.ports import ChatPort
from app.tasks.arranging import Arranger
from app.tasks.records import GOING, Records, to_begin
from store import events as ev
from store.errors import StoreError
from store.events.together import TaskState
from store.limits import (
    TASK_ASKING_CHARS,
    TASK_CURRENT_CHARS,
    TASK_ERROR_CHARS,
    TASK_NOTE_CHARS,
    TASK_STEPS,
    TASK_SUMMARY_CHARS,
)
from store.log import batch_of
from store.models import ChatSummary
from store.together import KeptTask, Put

log = logging.getLogger("shoal.tasks")

STEP_SECONDS: Final = 1.0  # steps are written at most this often


class Follower:
    """Told by the port whenever a chat moved."""

    def __init__(self, records: Records, arranger: Arranger, port: ChatPort) -> None:
        self._records = records
        self._arranger = arranger
        self._store = records.store
        self._port = port
        self._steps: dict[str, dict[str, Any]] = {}  # task's chat → what its card is to show soon
        self._step_timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks = TaskSet()
        port.listen(self._moved)

    async def close(self) -> None:
        """Nothing is written any more."""
        for timer in self._step_timers.values():
            timer.cancel()
        await self._tasks.close()

    def _moved(self, chat: str) -> None:
        summary = self._store.summary(chat)
        if summary is None or self._records.recovering:
            return
        fresh = [
            t
            for t in self._store.kept(KeptTask, "parent=? AND state='queued'", chat)
            if t.id not in self._records.waits
        ]
        if fresh:
            self._tasks.spawn(self._arranger.arrange(), name="arrange tasks")
        if summary.origin is None or summary.origin.kind != "task":
            if self._store.kept(KeptTask, "parent=?", chat):
                self._tasks.spawn(self._follow_mode(summary))
            return
        self._tasks.spawn(self._look(chat), name=f"task {chat}")

    async def _look(self, chat: str) -> None:
        """Bring the record up to what the task's chat shows."""
        try:
            async with self._records.lock:
                task, summary = self._records.by_chat(chat), self._store.summary(chat)
                if task is None or summary is None or task.state not in ("running", "needs-you"):
                    return
                ended = await self._brought_up(task, summary)
            if ended:
                self._records.tell_ended()
            await self._arranger.arrange()
        except StoreError as error:
            log.warning("the task of %s couldn't be written: %s", chat, error)

    async def _brought_up(self, task: KeptTask, summary: ChatSummary) -> bool:
        """Whether it has ended."""
        events = await self._store.read(self._store.since_turn, summary.id)
        if summary.turn_id is None and not to_begin(task) and not self._port.working(summary.id):
            await self._end(task, summary, events)
            return True
        asking = _asking(events) if summary.status == "awaiting-permission" else None
        state: TaskState = "needs-you" if asking else "running"
        current = self._records.clean(summary.doing)[:TASK_CURRENT_CHARS]
        steps, count = _steps(events), _count(task, events)
        said = asking.model_dump() if asking else None
        if state != task.state or said != task.body.get("asking"):
            await self._records.put(
                replace(task, state=state), asking=said, current=current, steps=steps, operations=count
            )
        elif steps != task.body.get("steps", []) or current != task.body.get("current", ""):
            self._step_soon(task.chat, {"current": current, "steps": steps, "operations": count})
        return False

    def _step_soon(self, chat: str, body: dict[str, Any]) -> None:
        """Steps are written together, at most once a second."""
        waits = chat in self._steps
        self._steps[chat] = body
        if not waits:  # one that waits is never put off: it writes what is newest then
            loop = asyncio.get_running_loop()
            self._step_timers[chat] = loop.call_later(
                STEP_SECONDS, lambda: self._tasks.spawn(self._write_steps(chat), name="steps of a task")
            )

    async def _write_steps(self, chat: str) -> None:
        async with self._records.lock:
            self._step_timers.pop(chat, None)
            body, task = self._steps.pop(chat), self._records.by_chat(chat)
            if task is None or task.state not in ("running", "needs-you"):
                return
            try:
                await self._records.put(task, **body)
            except StoreError as error:
                log.warning("the steps of %s couldn't be written: %s", chat, error)

    async def _end(self, task: KeptTask, summary: ChatSummary, events: Sequence[ev.Stored]) -> None:
        completed = next((s.event for s in reversed(events) if isinstance(s.event, ev.TurnCompleted)), None)
        outcome = completed.outcome if completed else "interrupted"
        if completed is not None and completed.code in ("rate", "overloaded"):
            self._arranger.slowed(task)
        ended_at = self._records.clock.now_ms()
        if outcome != "interrupted" and (began := task.body.get("started_at")):
            self._arranger.ended((ended_at - began) / 1000)
        done = [s.event for s in events if isinstance(s.event, ev.AssistantDone)]
        said = next((e.text for e in reversed(done) if e.text and not e.unfinished), "")
        result = str(task.body.get("reported") or self._records.clean(said))[:TASK_SUMMARY_CHARS]
        paused = completed is not None and completed.paused  # it said where it stood, not that it was done
        confirmed = bool(task.body.get("reported")) or not (paused or task.body.get("checks"))
        states: dict[str, TaskState] = {
            "success": "done" if confirmed else "unverified",
            "error": "failed",
            "interrupted": "interrupted" if completed and completed.restarted else "stopped",
        }
        error = (completed.error or "") if completed and outcome == "error" else ""
        tree = task.body.get("worktree")
        if tree:
            tree = (await self._records.worktrees.ended(ev.Worktree.model_validate(tree))).model_dump()
        parent = self._store.summary(task.parent)
        marks = new_sources(parent.taints, summary.taints) if parent else ()
        more = [(task.parent, ev.Taint(source=source)) for source in marks]
        steps = _steps(events)
        await self._records.put(
            replace(task, state=states[outcome]),
            more=more,
            summary=result if outcome == "success" else "",
            error=self._records.clean(error)[:TASK_ERROR_CHARS] or None,
            asking=None,
            begin=None,
            current="",
            note=self._records.clean(completed.error or "")[:TASK_NOTE_CHARS] if completed and paused else "",
            steps=steps or task.body.get("steps", []),
            operations=_count(task, events),
            worktree=tree,
            ended_at=ended_at,
        )

    async def report(self, chat: str, result: str) -> bool:
        """The task's own result, once; False: it was given before."""
        async with self._records.lock:
            task = self._records.by_chat(chat)
            if task is None or task.body.get("reported"):
                return False
            reported = self._records.clean(result)[:TASK_SUMMARY_CHARS]
            newer = replace(task, rev=task.rev + 1, body={**task.body, "reported": reported})
            await self._store.commit(batch_of([], "chat", [Put(newer)]))
            return True

    async def _follow_mode(self, parent: ChatSummary) -> None:
        """A chat's going tasks take its mode on when it changes; one the person set lower meanwhile stays so."""
        for told in self._records.of(parent.id):
            if told.state not in GOING or told.body.get("mode") == parent.mode:
                continue
            async with self._records.lock:
                task = self._records.get(told.id)
                if task is not None and task.state in GOING:
                    newer = replace(task, rev=task.rev + 1, body={**task.body, "mode": parent.mode})
                    await self._store.commit(
                        batch_of([(task.chat, ev.OptionsChanged(mode=parent.mode))], "chat", [Put(newer)])
                    )


def _steps(events: Sequence[ev.Stored]) -> list[dict[str, Any]]:
    """The last twelve things it did in this turn."""
    steps = [{"at": s.at, "label": s.event.label} for s in events if isinstance(s.event, ev.ToolStarted)]
    return steps[-TASK_STEPS:]


def _count(task: KeptTask, events: Sequence[ev.Stored]) -> int:
    """How many things it did: in the turns before this one, and in this."""
    return int(task.body.get("before", 0)) + sum(isinstance(s.event, ev.ToolStarted) for s in events)


def _asking(events: Sequence[ev.Stored]) -> ev.TaskAsking | None:
    answered = {s.event.permission_id for s in events if isinstance(s.event, ev.PermissionResolved)}
    for stored in events:
        event = stored.event
        if isinstance(event, ev.PermissionRequested) and event.permission_id not in answered:
            return ev.TaskAsking(
                permission_id=event.permission_id,
                summary=f"{event.summary}. {event.taint}" if event.taint else event.summary,
                tool=event.tool_name,
                preview=event.preview[:TASK_ASKING_CHARS],
                here=len(event.preview) <= TASK_ASKING_CHARS,  # nobody says yes to what isn't shown whole
            )
    return None
