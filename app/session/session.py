"""The session: takes every command, and answers what runs, waits and streams now."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from app import commands as cmd
from app.ports import Engine, Extension, Turn, Wires, joined_extensions
from app.session import queue, recovery
from app.session.asks import Asks
from app.session.bus import Bus
from app.session.chats import Chats
from app.session.delivery import Delivery
from app.session.desk import UNKNOWN, Defaults, Desk
from app.session.memories import MemoryDecisions
from app.session.passwords import KeepsValues, Passwords
from app.session.processes import EndsProcesses, Processes
from app.session.runner import Runner
from app.session.talk import Talk
from app.session.undoing import FileChanges
from store.clock import Clock
from store.errors import ChatGone, StoreError
from store.events import Outcome, PermissionRequested
from store.limits import SETTLE_LOOK_SECONDS, SETTLE_SECONDS
from store.log import Store
from store.models import FileDiff
from store.rows import SaidRow

log = logging.getLogger("shoal.session")

STILL_WORKING = "Still working: {what}."
NOT_YET = "This Shoal can't do that."
ALONE = frozenset({"new", "rename", "pin", "archive", "set", "queue"})  # need nothing that joins later
CODES = frozenset({"read-only", "busy"})  # of the store's errors, those that are also commands'


class Catching(Protocol):
    """The part of the search service that `settle` asks."""

    async def caught_up(self, timeout: float) -> bool:  # noqa: ASYNC109 - a limit of the question
        """Whether the index has everything, waiting at most `timeout` seconds."""


class Session:
    """One home's chats. `start` before the first command; `close` ends every turn and keeps what came."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        bus: Bus,
        engine: Engine,
        asks: Asks,
        wires: Wires,
        defaults: Defaults | None = None,
        search: Catching | None = None,
        memory_changed: Callable[[str], None] = lambda _: None,
        vault: KeepsValues | None = None,
        files: FileChanges | None = None,
        processes: EndsProcesses | None = None,
        delivery: Delivery | None = None,
        extension: Extension | None = None,
        late: bool = False,
    ) -> None:
        self.bus = bus
        self._store = store
        self._clock = clock
        self._engine = engine
        self._asks = asks
        self._search = search
        self._runner = Runner(engine, self._follow, lambda chat, text: bus.signal(chat, "trouble", {"text": text}))
        self._desk = Desk(store, clock, bus, asks, wires, self._runner, defaults or Defaults())
        self._talk = talk = Talk(self._desk)
        chats = Chats(self._desk)
        self._handlers: dict[str, Callable[[Any], Awaitable[dict[str, Any]]]] = {
            "new": chats.new,
            "send": talk.send,
            "stop": talk.stop,
            "retry": talk.retry,
            "answer": talk.answer,
            "forward": talk.forward,
            "archive": chats.archive,
            "rename": chats.rename,
            "pin": chats.pin,
            "delete": chats.delete,
            "fork": chats.fork,
            "set": chats.set,
            "queue": talk.set_queue,
            "clear": talk.clear,
            "memory": MemoryDecisions(self._desk, memory_changed).decide,
        }
        if vault is not None:
            self._handlers["vault"] = Passwords(vault).put

        if processes is not None:
            ends = Processes(self._desk, processes)
            self._handlers |= {"stop-process": ends.stop, "delete": ends.with_its_chat(chats.delete)}
        self._extension = Extension()
        self._whole = asyncio.Event()  # set once everything has joined
        self._resumes = recovery.Resumes(store)
        self.delivery = delivery or Delivery()
        self.delivery.attach(
            self._desk, talk, [self._resumes], lambda chat: self._handlers["delete"](cmd.Delete(chat=chat))
        )
        if extension is not None or not late:
            self.join(extension or Extension())
        self._files = files.at(self._desk) if files is not None else None
        if self._files is not None:
            self._handlers |= {"undo": self._files.undo, "redo": self._files.redo}

    def join(self, extension: Extension) -> None:
        """Chats together, tasks and the explorer, before `ready`; commands that waited for them go on."""
        self._extension = joined_extensions([self._extension, extension])
        self._handlers |= extension.handlers
        self._desk.leaving = self._extension.leaving
        self._desk.starters += extension.starters
        self._whole.set()

    async def start(self) -> list[str]:
        """Close what a kill left open; the chats where something was."""
        if self._store.readonly:
            return []
        return await recovery.recover(self._store, await self._files.recovered() if self._files is not None else {})

    def ready(self) -> None:
        """The program is there (the screen is drawn, headless has said so): broken and due replies start now."""
        self._resumes.ready = True
        for ready in self._extension.ready:
            self._runner.tasks.spawn(_logged(ready()))
        for chat in self.delivery.due():
            self.delivery.nudge(chat)

    async def close(self) -> None:
        """Stop every turn and wait until its end is durable, at most 3 s."""
        await self.delivery.close()
        for chat in self._runner.chats():
            self._runner.tasks.spawn(self._desk.stop(chat), name=f"stop {chat}")
        await self._runner.close()
        for close in self._extension.close:
            await close()
        await self._engine.close()

    async def do(self, command: cmd.AnyCommand) -> dict[str, Any]:
        """Carry out one command; the answer is its `ok` object of headless.md. Raises CommandError."""
        if command.do not in ALONE:
            await self._whole.wait()
        handler = self._handlers.get(command.do)
        if handler is None:
            raise cmd.CommandError("bad-command", NOT_YET)
        try:
            return await handler(command)
        except ChatGone:
            raise cmd.CommandError("unknown-chat", UNKNOWN) from None
        except StoreError as error:
            raise cmd.CommandError(error.code if error.code in CODES else "failed", str(error)) from None

    # -- what is now

    def running(self) -> list[str]:
        """Chats with a turn that runs or is about to."""
        return self._runner.chats()

    def queue(self, chat: str) -> list[str]:
        """The messages that wait for the reply to end."""
        return [waiting.text for waiting in queue.read(self._store, chat)]

    def open_permissions(self, chat: str | None = None) -> list[PermissionRequested]:
        """The questions nobody answered yet, of one chat or all, oldest first."""
        return self._asks.open(chat)

    def live_text(self, chat: str) -> SaidRow | None:
        """The message that streams now, as far as it came; deltas go on from the length of its text."""
        live, summary = self._engine.live(chat), self._store.summary(chat)
        if live is None or summary is None:
            return None
        at, seq = summary.last_active, summary.last_seq + 1
        return SaidRow(live.message_id, at, seq, "assistant", live.text, thinking=live.thinking, live=True)

    async def diffs(self, chat: str, change: str) -> list[FileDiff]:
        """What a change set did to its files, a diff a file. Raises StoreError."""
        return await self._files.diffs(chat, change) if self._files is not None else []

    async def tick(self) -> None:
        """A manual clock moved: what is due by it happens now."""
        await self._asks.check()
        for tick in self._extension.ticks:
            await tick()

    async def settle(self, chat: str | None = None, timeout: float = SETTLE_SECONDS) -> list[str]:  # noqa: ASYNC109
        """Wait, in real time, until no turn runs or is queued and the index has caught up.

        A turn that waits for a permission counts as settled; answers the open permissions' ids. Past `timeout`
        raises CommandError (busy).
        """
        if chat is not None:
            self._desk.chat(chat)
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while self._busy(chat):
            if loop.time() >= end:
                raise cmd.CommandError("busy", STILL_WORKING.format(what="a reply is being written"))
            await asyncio.sleep(SETTLE_LOOK_SECONDS)
        if self._search is not None and not await self._search.caught_up(max(0.0, end - loop.time())):
            raise cmd.CommandError("busy", STILL_WORKING.format(what="the search index is catching up"))
        return [request.permission_id for request in self._asks.open(chat)]

    def _busy(self, chat: str | None) -> bool:
        waiting = self._asks.settled()
        due = self.delivery.due() if self._resumes.ready else ()
        working = [c for c in (*self._runner.chats(), *due) if c not in waiting and chat in (None, c)]
        return bool(working) or self._talk.titling(chat)

    async def _follow(self, turn: Turn, outcome: Outcome) -> Turn | None:
        if self._files is not None:
            await self._files.turn_ended(turn)
        return await self._talk.follow(turn, outcome)


async def _logged(work: Awaitable[None]) -> None:
    """What a room does at the start; its fault isn't the program's."""
    try:
        await work
    except StoreError as error:
        log.warning("at the start: %s", error)
