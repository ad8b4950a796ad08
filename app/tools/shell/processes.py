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
from store.events import ProcessEnded, ProcessStarted
from store.ids import PROCESS, new_id
from store.limits import PROCESS_FINISHED_KEPT, PROCESSES_A_CHAT, PROCESSES_IN_ALL
from store.log import Batch, Store
from store.models import ChatSummary

log = logging.getLogger("shoal.shell")

TOO_MANY = (
    "{n} background processes run already, which is the most {where}. Stop one with stop_process, or ask the person."
)
NOT_STARTED = "The command couldn't be started: {why}."
NOT_KEPT = "It couldn't be written down, so it was ended again. Tell the person that Shoal can't save right now."
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
    ) -> tuple[str, bool]:
        """Start one, with its event: words for the model, and whether it started."""
        running = [p for p in self._all.values() if p.ended is None]
        own = [p for p in running if p.chat == chat]
        if self._closing:
            return CLOSING, False
        if len(own) >= PROCESSES_A_CHAT or len(running) >= PROCESSES_IN_ALL:
            where = "for one chat" if len(own) >= PROCESSES_A_CHAT else "in all"
            return TOO_MANY.format(n=max(len(own), 0) or len(running), where=where), False
        await self._sandbox.ready()
        out = Ring()
        try:
            prepared = self._sandbox.prepare(command, folder, handed)
            started = await Running.start(self._sandbox, prepared, folder, out)
        except OSError as error:
            return NOT_STARTED.format(why=error.strerror or "the system refused"), False
        process = Process(new_id(PROCESS), chat, command, self._clock.steady(), started, out)
        event = ProcessStarted(process_id=process.id, call_id=call_id, command=command, folder=str(folder))
        try:  # at once, and not with the call's result: a turn that ends meanwhile never leaves one nobody knows of
            await self._store.commit(Batch.of(chat, event))
        except StoreError:
            started.drop()
            return NOT_KEPT, False
        except BaseException:
            started.drop()
            await self._written(chat, ProcessEnded(process_id=process.id, reason="stopped"))
            raise
        self._all[process.id] = process
        self._tasks.spawn(self._watch(process))
        text = host_line(
            f"running in the background as {process.id} ({self._sandbox.brief}); process_output reads what it prints, "
            "stop_process ends it, and it ends with Shoal"
        )
        return text, True

    async def warning(self) -> str | None:
        """The line for the screen where commands run without a sandbox; None where they run in one."""
        return None if await self._sandbox.ready() else self._sandbox.words

    async def recover(self) -> None:
        """Write the end of processes that a kill of Shoal ended; they died with it."""
        for chat, process_id in await self._store.read(self._left_open):
            if process_id not in self._all:
                await self._written(chat, ProcessEnded(process_id=process_id, reason="closed"))

    def _left_open(self) -> list[tuple[str, str]]:
        left: dict[tuple[str, str], None] = {}
        for stored in self._store.by_time(["process.started", "process.ended"]):
            if isinstance(stored.event, ProcessStarted):
                left[(stored.chat, stored.event.process_id)] = None
            elif isinstance(stored.event, ProcessEnded):
                left.pop((stored.chat, stored.event.process_id), None)
        summaries = {s.id: s for s in self._store.summaries()}
        return [(chat, process) for chat, process in left if _ours(summaries.get(chat))]

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

    async def stop_by_id(self, process_id: str) -> bool:
        """The person stops one; False where none of that id runs."""
        process = self._all.get(process_id)
        if process is None or process.ended is not None:
            return False
        await self.stop(process)
        return True

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
        await self._written(process.chat, event)
        done = [p for p in self._all.values() if p.ended is not None]
        for old in sorted(done, key=lambda p: p.over)[: max(0, len(done) - PROCESS_FINISHED_KEPT)]:
            del self._all[old.id]

    async def _written(self, chat: str, event: ProcessEnded) -> None:
        try:
            await self._store.commit(Batch.of(chat, event))
        except StoreError:
            log.warning("the end of a process couldn't be recorded in %s", chat)


def _ours(summary: ChatSummary | None) -> bool:
    """Whether the chat is one of this Shoal's own; an imported one's processes never ran here."""
    return summary is not None and (summary.origin is None or summary.origin.kind != "import")
