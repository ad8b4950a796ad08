"""Room for tasks: starts those that have it, and says of the rest why they wait (ADR 0129)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Literal

from app.ports import ChatPort
from app.tasks import room
from app.tasks.records import Records
from store import events as ev
from store.together import KeptTask

log = logging.getLogger("shoal.tasks")

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
        self._paces = room.Paces()
        self.words: str | None = None

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
        """Its model's provider asked to slow down."""
        provider = self._provider(task)
        self._paces.slowed(provider, self._kind(provider), self._clock.steady())

    async def arrange(self) -> None:
        """Start what has room, and say of the rest why it waits."""
        async with self._records.lock:
            if self._records.recovering:
                return
            going = self._records.going()
            queued = [t for t in going if t.state == "queued"]
            decision = room.decide(
                self._machine(),
                [self._working(t) for t in going if t.state == "running" and not self._holds(t)],
                [self._waiting(t) for t in queued],
                self._clock.steady(),
                paces={p: self._paces.now(p, self._kind(p), self._clock.steady()) for p in map(self._provider, going)},
                going=[t.id for t in going],
                now_ms=self._clock.now_ms(),
            )
            self.words = decision.words
            for task in queued:
                if task.id in decision.start:
                    await self._start(task)
                else:
                    await self._wait(task, decision.waits.get(task.id))

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
        if why is not None and why != self._records.waits.get(task.id):
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
        return room.cost(task.body.get("weight", "medium"), self._kind(self._provider(task)))

    @staticmethod
    def _kind(provider: str) -> room.Provider:
        return "local" if provider in LOCAL else "remote"

    def _provider(self, task: KeptTask) -> str:
        return str(task.body.get("model", "")).partition(":")[0]

    def _holds(self, task: KeptTask) -> bool:
        """A task whose turn only waits (a question, a wait) gives its room back."""
        summary = self._store.summary(task.chat)
        waits = summary is not None and summary.doing.startswith("Wait for ")
        return waits or (summary is not None and summary.status == "awaiting-permission")
