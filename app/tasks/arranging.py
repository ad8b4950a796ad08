"""Room for tasks: starts those that have it, and says of the rest why they wait (ADR 0129)."""

from __future__ import annotations

import asyncio
import logging
import os
import statistics
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Literal

from app.aio import TaskSet
from app.ports import ChatPort
from app.tasks import room
from app.tasks.pace import Paces, Provider, Recovery
from app.tasks.records import Records
from store import events as ev
from store.errors import StoreError
from store.limits import ROOM_LOOK_SECONDS, ROOM_TYPICAL_OF
from store.together import KeptTask, KeptWait

log = logging.getLogger("shoal.tasks")

GUESS_MS: Final = 5_000  # a guess that moves by less is the same
LOCAL: Final = frozenset({"ollama", "llamacpp", "lmstudio", "vllm"})


def machine(processes: Callable[[], int]) -> room.Machine:
    """What this computer has now."""
    free = None
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        free = int(lines["MemAvailable"].split()[0]) // 1024
    except (OSError, KeyError, ValueError):
        log.debug("free memory isn't known here")
    return room.Machine(os.cpu_count() or 2, free, processes())


class Arranger:
    """Decides with `room.decide` whenever something changed. Times by the steady clock."""

    def __init__(self, records: Records, port: ChatPort, machine: Callable[[], room.Machine]) -> None:
        self._records = records
        self._store = records.store
        self._clock = records.clock
        self._port = port
        self._machine = machine
        self._started: dict[str, float] = {}
        self._short: dict[str, Literal["memory", "cpu"]] = {}
        self._now: set[str] = set()  # "start now" was pressed
        self._paces = Paces()
        self._recovery = Recovery()
        self._took: deque[float] = deque(maxlen=ROOM_TYPICAL_OF)  # seconds of those that ended
        self._again: asyncio.TimerHandle | None = None
        self._tasks = TaskSet()
        self.words: str | None = None
        port.listen_slowed(self._slowed)

    def capacity(self) -> dict[str, Any]:
        """How many run at once now, how many work and wait across every chat, and what holds the rest back."""
        going = self._records.going()
        out: dict[str, Any] = {
            "at_once": room.ceiling(self._machine().processors),
            "working": sum(t.state != "queued" for t in going),
            "waiting": sum(t.state == "queued" for t in going),
        }
        return out | ({"words": self.words} if self.words and out["waiting"] else {})

    def start_now(self, task: KeptTask) -> None:
        """The person pressed it: it goes first, and may go past the ceiling."""
        self._now.add(task.id)

    def slowed(self, task: KeptTask) -> None:
        """A task's reply ended because its model's provider asked to slow down."""
        self._slowed(self._model(task), None)

    def _slowed(self, model: str, seconds: float | None) -> None:
        """A provider asked to slow down, also inside a reply that goes on after the pause of `seconds`."""
        provider = provider_of(model)
        self._paces.slowed(provider, kind_of(provider), self._clock.steady(), seconds)

    def ended(self, seconds: float) -> None:
        """A task took so long; tells how long others may."""
        self._took.append(seconds)

    async def close(self) -> None:
        """Nothing is started any more."""
        if self._again is not None:
            self._again.cancel()
        await self._tasks.close()

    async def arrange(self) -> None:
        """Start what has room, and say of the rest why it waits; look again by itself while anything waits."""
        async with self._records.lock:
            if self._records.recovering:
                return
            going = self._records.going()
            queued = [t for t in going if t.state == "queued"]
            now = self._clock.steady()
            paces = {p: self._paces.now(p, kind_of(p), now) for p in map(self._provider, going)}
            decision = room.decide(
                self._machine(),
                [self._working(t) for t in going if t.state == "running" and not self._holds(t)],
                [self._waiting(t) for t in queued],
                now,
                paces=paces,
                going=[t.id for t in going],
                now_ms=self._clock.now_ms(),
                typical=statistics.median(self._took) if self._took else None,
                recovered_at=self._recovery.begins(),
            )
            self.words = decision.words
            for task in queued:
                if task.id in decision.start:
                    self._recovery.started(now)
                    await self._start(task)
                else:
                    await self._wait(task, decision.waits.get(task.id))
            self._look_again(decision, [p.retry_at for p in paces.values() if p.retry_at is not None], now)

    def _look_again(self, decision: room.Decision, retries: list[float], now: float) -> None:
        """A pause ends and memory comes back without anything moving here: nobody else would look."""
        if self._again is not None:
            self._again.cancel()
            self._again = None
        if not decision.waits:
            self._recovery.over()
            return
        if any(why.reason == "memory" for why in decision.waits.values()):
            self._recovery.short(now)
        soonest = min((at - now for at in retries if at > now), default=ROOM_LOOK_SECONDS)
        self._again = asyncio.get_running_loop().call_later(min(soonest + 0.05, ROOM_LOOK_SECONDS), self._look)

    def _look(self) -> None:
        self._tasks.spawn(self._arranged(), name="arrange tasks")

    async def _arranged(self) -> None:
        try:
            await self.arrange()
        except StoreError as error:
            log.warning("tasks that wait couldn't be written: %s", error)

    async def _start(self, task: KeptTask) -> None:
        self._records.waits.pop(task.id, None)
        self._now.discard(task.id)
        self._started[task.id] = self._clock.steady()
        started = task.body.get("started_at") or self._clock.now_ms()
        await self._records.put(replace(task, state="running"), started_at=started, ended_at=None, turned=False)
        self._port.nudge(task.chat)

    async def _wait(self, task: KeptTask, why: ev.TaskWaiting | None) -> None:
        if why is not None and why.reason in ("memory", "cpu"):
            self._short[task.id] = why.reason
        if why is not None and not _alike(why, self._records.waits.get(task.id)):
            self._records.waits[task.id] = why
            await self._records.put(task)

    def _working(self, task: KeptTask) -> room.Working:
        changes = frozenset(task.body.get("changes", ()))
        return room.Working(
            task.id, task.parent, self._cost(task), self._started.get(task.id, 0.0), self._provider(task), changes
        )

    def _waiting(self, task: KeptTask) -> room.Waiting:
        return room.Waiting(
            task.id,
            task.parent,
            self._cost(task),
            self._records.since.setdefault(task.id, self._clock.steady()),
            task.id in self._now,
            task.body.get("group"),
            self._provider(task),
            frozenset(task.body.get("changes", ())),
            frozenset(task.body.get("after", ())),
            self._short.get(task.id),
        )

    def _cost(self, task: KeptTask) -> room.Cost:
        return room.cost(task.body.get("weight", "medium"), kind_of(self._provider(task)))

    def _provider(self, task: KeptTask) -> str:
        return provider_of(self._model(task))

    @staticmethod
    def _model(task: KeptTask) -> str:
        return str(task.body.get("model", ""))

    def _holds(self, task: KeptTask) -> bool:
        """A task whose turn only waits (a question, a wait inside it) gives its room back."""
        summary = self._store.summary(task.chat)
        if summary is not None and summary.status == "awaiting-permission":
            return True
        return bool(self._store.kept(KeptWait, "chat=? AND state='held'", task.chat))


def provider_of(model: str) -> str:
    """The provider in a model's name."""
    return model.partition(":")[0]


def kind_of(provider: str) -> Provider:
    """What kind of provider it is, for its cost and pace."""
    return "local" if provider in LOCAL else "remote"


def _alike(why: ev.TaskWaiting, before: ev.TaskWaiting | None) -> bool:
    """Whether the card says the same: times that only drift a little don't count."""
    if before is None:
        return False
    plain = {"expected_at": None, "retry_at": None}
    if why.model_copy(update=plain) != before.model_copy(update=plain):
        return False
    pairs = ((why.expected_at, before.expected_at), (why.retry_at, before.retry_at))
    return all(a == b or (a is not None and b is not None and abs(a - b) < GUESS_MS) for a, b in pairs)
