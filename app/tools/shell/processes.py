"""Background processes: a service that holds them; all end with Shoal."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.aio import TaskSet
from app.guard.quoting import host_line
from app.tools.shell.output import Clean, Ring
from app.tools.shell.running import End, Running
from app.tools.shell.sandbox import Sandbox
from store.clock import Clock
from store.errors import StoreError
from store.events import Event, ProcessEnded, ProcessStarted
from store.ids import PROCESS, new_id
from store.limits import PROCESS_FINISHED_KEPT, PROCESSES_A_CHAT, PROCESSES_IN_ALL
from store.log import Batch, Store

log = logging.getLogger("shoal.shell")

TOO_MANY = (
    "{n} background processes run already, which is the most {where}. Stop one with stop_process, or ask the person."
)
NOT_STARTED = "The command couldn't be started: {why}."
CLOSING = "Shoal is closing, so nothing is started."


@dataclass(slots=True)
class Process:
    """One of them; `ended` is None while it runs."""

    id: str
    chat: str
    command: str
    begun: float  # by the steady clock
    running: Running
    out: Ring
    ended: End | None = None
    over: float = 0.0
    stopping: End | None = None

    @property
    def code(self) -> int | None:
        """The exit code, where it ended by itself."""
        return self.running.code if self.ended == "exited" else None


class ProcessRegistry:
    """All background processes of this Shoal, by id. A chat reaches only its own."""

    def __init__(self, store: Store, sandbox: Sandbox, clock: Clock, clean: Clean) -> None:
        self._store = store
        self._sandbox = sandbox
        self._clock = clock
        self._clean = clean
        self._all: dict[str, Process] = {}
        self._tasks = TaskSet()
        self._closing = False

    async def start(
        self, command: str, folder: Path, chat: str, call_id: str | None, handed: Mapping[str, str] | None = None
    ) -> tuple[str, bool, tuple[Event, ...]]:
        """Start one: words for the model, whether it started, and the event to write with the call's result."""
        running = [p for p in self._all.values() if p.ended is None]
        own = [p for p in running if p.chat == chat]
        if self._closing:
            return CLOSING, False, ()
        if len(own) >= PROCESSES_A_CHAT or len(running) >= PROCESSES_IN_ALL:
            where = "for one chat" if len(own) >= PROCESSES_A_CHAT else "in all"
            return TOO_MANY.format(n=max(len(own), 0) or len(running), where=where), False, ()
        await self._sandbox.ready()
        out = Ring()
        try:
            prepared = self._sandbox.prepare(command, folder, handed)
            started = await Running.start(self._sandbox, prepared, folder, out)
        except OSError as error:
            return NOT_STARTED.format(why=error.strerror or "the system refused"), False, ()
        process = Process(new_id(PROCESS), chat, command, self._clock.steady(), started, out)
        self._all[process.id] = process
        event = ProcessStarted(process_id=process.id, call_id=call_id, command=command, folder=str(folder))
        self._tasks.spawn(self._watch(process))
        text = host_line(
            f"running in the background as {process.id} ({self._sandbox.brief}); process_output reads what it prints, "
            "stop_process ends it, and it ends with Shoal"
        )
        return text, True, (event,)

    def get(self, chat: str, process_id: str) -> Process | None:
        """The chat's own process of that id; another chat's is as if it weren't there."""
        process = self._all.get(process_id)
        return process if process is not None and process.chat == chat else None

    def of(self, chat: str) -> Sequence[Process]:
        """The chat's processes, oldest first, ended ones too."""
        return [p for p in self._all.values() if p.chat == chat]

    def running(self) -> int:
        """How many run now."""
        return sum(p.ended is None for p in self._all.values())

    async def stop(self, process: Process, how: End = "stopped") -> None:
        """End it with everything it started, within 2 s."""
        if process.ended is None:
            process.stopping = process.stopping or how
            await process.running.end()

    async def close(self) -> None:
        """End all of them, and write that; at most about 2 s."""
        self._closing = True
        left = [p for p in self._all.values() if p.ended is None]
        ending = [self._tasks.spawn(self.stop(p, "closed")) for p in left]
        for task in ending:
            await task
        for process in left:
            process.running.drop()
            await self._over(process, "closed")
        await self._tasks.close(1.0)

    async def stop_all(self, chat: str) -> None:
        """The chat is deleted: nothing of it runs on."""
        for process in self.of(chat):
            await self.stop(process)

    async def _watch(self, process: Process) -> None:
        await process.running.wait(None)
        await self._over(process, process.stopping or "exited")

    async def _over(self, process: Process, how: End) -> None:
        if process.ended is not None:
            return
        process.ended, process.over = how, self._clock.steady()
        event = ProcessEnded(process_id=process.id, exit_code=process.code, reason=how)
        try:
            await self._store.commit(Batch.of(process.chat, event))
        except StoreError:
            log.warning("the end of a process couldn't be recorded in %s", process.chat)
        done = [p for p in self._all.values() if p.ended is not None]
        for old in sorted(done, key=lambda p: p.over)[: max(0, len(done) - PROCESS_FINISHED_KEPT)]:
            del self._all[old.id]
