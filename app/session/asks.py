"""Questions to the person as futures: asked and answered once, both in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.aio import TaskSet
from app.guard.taint import has_person
from store.clock import Clock
from store.errors import StoreError
from store.events import Decision, Event, PermissionRequested, PermissionResolved, StatusChanged
from store.limits import ASK_LOOK_SECONDS, PERMISSION_UNATTENDED_SECONDS
from store.log import Batch, Change, Store


@dataclass(slots=True)
class _Question:
    chat: str
    request: PermissionRequested
    intent: tuple[Event, ...]
    expires: float | None  # by the steady clock; None: a person is there
    always: tuple[Change, ...] = ()  # kept with the answer "Always allow"
    full: bool = False  # Full trust wouldn't have asked
    answer: asyncio.Future[Decision] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    told: asyncio.Event = field(default_factory=asyncio.Event)  # the question is durable, or won't be
    asked: bool = False  # the question is durable
    taken: bool = False  # an answer is being written
    doomed: bool = False  # the turn ends: no answer is waited for

    @property
    def open(self) -> bool:
        """Whether the person can answer it now."""
        return self.asked and not self.taken


class Asks:
    """Implements `app.ports.Asker`. A question left open by a turn's end is closed with the turn."""

    def __init__(self, store: Store, clock: Clock, tasks: TaskSet) -> None:
        self._store = store
        self._clock = clock
        self._tasks = tasks
        self._open: dict[str, _Question] = {}
        self._watcher: asyncio.Task[None] | None = None

    async def ask(
        self,
        chat: str,
        request: PermissionRequested,
        *,
        attended: bool,
        intent: Sequence[Event] = (),
        always: Sequence[Change] = (),
        full: bool = False,
    ) -> Decision:
        """Ask and wait. On a yes `intent` is durable together with the answer when this returns."""
        expires = None if attended else self._clock.steady() + PERMISSION_UNATTENDED_SECONDS
        question = _Question(chat, request, tuple(intent), expires, tuple(always), full)
        self._open[request.permission_id] = question
        try:
            waiting = StatusChanged(status="awaiting-permission")
            await self._store.commit(Batch.of(chat, request, waiting, kind="ask"))
            question.asked = True
            question.told.set()
            if question.doomed:
                await self.answer(chat, request.permission_id, "expired")
            if expires is not None and (self._watcher is None or self._watcher.done()):
                self._watcher = self._tasks.spawn(self._watch())
            return await asyncio.shield(question.answer)
        finally:
            self._open.pop(request.permission_id, None)
            question.told.set()

    async def answer(self, chat: str, permission_id: str, decision: Decision) -> bool:
        """Write and give the answer; False when there is no such open question (any more)."""
        question = self._open.get(permission_id)
        if question is None or question.chat != chat:
            return False
        await question.told.wait()  # its event is seen a moment before `ask` hears that it is durable
        if not question.open:
            return False
        question.taken = True
        await asyncio.shield(self._tasks.spawn(self._write(question, decision)))
        return True

    async def _write(self, question: _Question, decision: Decision) -> None:
        if decision == "allow-always" and question.request.once:
            decision = "allow"  # it was never offered
        resolved = PermissionResolved(permission_id=question.request.permission_id, decision=decision)
        others = question.chat in self.chats()
        status = StatusChanged(status="awaiting-permission" if others else "running")
        intent = question.intent if decision in ("allow", "allow-always") else ()
        try:
            changes = question.always if decision == "allow-always" else ()
            await self._store.commit(Batch.of(question.chat, resolved, status, *intent, changes=changes, kind="intent"))
        except StoreError:
            question.taken = False  # it can be answered again
            raise
        if not question.answer.done():
            question.answer.set_result(decision)

    def open(self, chat: str | None = None) -> list[PermissionRequested]:
        """The questions nobody answered yet, oldest first."""
        return [q.request for q in self._open.values() if q.open and chat in (None, q.chat)]

    def chats(self) -> set[str]:
        """Chats that wait for an answer."""
        return {q.chat for q in self._open.values() if q.open}

    def settled(self) -> set[str]:
        """Chats that wait for the person and for nothing else: no question is just being asked or answered."""
        return self.chats() - {q.chat for q in self._open.values() if not q.open}

    async def expire_all(self, chat: str) -> None:
        """The turn is to end: its questions end as unanswered."""
        for permission_id, question in list(self._open.items()):
            if question.chat != chat:
                continue
            question.doomed = True
            if question.asked:
                await self.answer(chat, permission_id, "expired")

    async def trusted(self, chat: str) -> None:
        """The chat was given Full trust: questions it wouldn't have asked are allowed."""
        summary = self._store.summary(chat)
        for permission_id, question in list(self._open.items()):
            if question.chat != chat or not question.full or summary is None or has_person(summary.taints):
                continue
            if not (summary.taints and question.expires is not None):  # after reading, somebody must be there
                await self.answer(chat, permission_id, "allow")

    async def check(self) -> None:
        """Expire what nobody answered in time; also called when a manual clock ticks."""
        now = self._clock.steady()
        for permission_id, question in list(self._open.items()):
            if question.asked and question.expires is not None and question.expires <= now:
                await self.answer(question.chat, permission_id, "expired")

    async def _watch(self) -> None:
        while any(q.expires is not None for q in self._open.values()):
            await asyncio.sleep(ASK_LOOK_SECONDS)
            await self.check()
