"""`shoal headless`: JSON lines in and out (headless.md), for scripts and tests."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from app.aio import TaskSet
from app.cli import version
from app.cli.context import clock_of, opened
from app.cli.failures import say
from app.cli.pipes import LinesIn, LinesOut
from app.cli.protocol import (
    PROTOCOL,
    ListChats,
    Quit,
    Refused,
    ReplayEvents,
    SearchChats,
    Settle,
    Tick,
    command_of,
    finite,
)
from app.commands import Command, CommandError
from app.guard.secrets import clean
from store.clock import ManualClock
from store.events import Stored
from store.limits import HEADLESS_QUIT_SECONDS
from store.models import SearchAnswer

if TYPE_CHECKING:
    from app.services import Services
    from app.session.bus import Bus, Live, Subscription

log = logging.getLogger("shoal.headless")
READ_AT_ONCE = 500
OURS_TO_SAY = "Something went wrong inside Shoal; it is in its log."


def arguments(parser: argparse.ArgumentParser) -> None:
    """`--schema`."""
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of all lines, and end")


def run(args: argparse.Namespace) -> int:
    """Serve until `quit`, the end of input or a signal."""
    if args.schema:
        import json

        from app.cli.schema import schema

        print(json.dumps(schema(), indent=1, ensure_ascii=False))
        return 0
    context = opened(args.set, writes=True)
    return asyncio.run(_serve(context.home, context.settings))


async def _serve(home: Any, settings: Any) -> int:
    from app.services import build

    services = await build(home, settings, clock_of(os.environ))
    for notice in services.store.notices:
        say(notice)
    try:
        await Headless(services, on_end=_last_resort).serve()
    finally:
        await services.close()
    return 0


def _last_resort() -> None:
    """Whatever hangs while closing, the process ends in time; what was acknowledged is durable."""
    timer = threading.Timer(HEADLESS_QUIT_SECONDS - 0.1, os._exit, (0,))
    timer.daemon = True
    timer.start()


class SessionLike(Protocol):
    """What headless asks of a session."""

    bus: Bus

    async def do(self, command: Any) -> dict[str, Any]:
        """Carry a command out."""

    async def settle(self, chat: str | None = None, timeout: float = ...) -> list[str]:  # noqa: ASYNC109
        """Wait until nothing runs."""

    async def tick(self) -> None:
        """The clock moved."""

    def ready(self) -> None:
        """Broken and due replies may start."""

    async def close(self) -> None:
        """End every turn."""


class Headless:
    """One client on the pipes. Commands run one after the other; only `settle` waits beside them."""

    def __init__(
        self, services: Services, fd_in: int = 0, fd_out: int = 1, on_end: Callable[[], None] = lambda: None
    ) -> None:
        self._services = services
        self._on_end = on_end
        self._session: SessionLike = services.session
        self._store = services.store
        self._clean: Callable[[str], str] = lambda text: clean(services.redactor.clean(text))
        self._tasks = TaskSet()
        self._ending = asyncio.Event()
        self._in = LinesIn(fd_in)
        self._out = LinesOut(self._ending.set, fd_out)
        self._open = asyncio.Event()  # closed while a command runs: its events come after its reply
        self._open.set()
        self._sent = 0  # the newest event written
        self._settling: dict[asyncio.Task[None], str | None] = {}

    async def serve(self) -> None:
        """Until the client leaves; every turn is ended and everything durable then."""
        bus: Subscription = self._session.bus.subscribe()
        self._sent = self._store.last_id()
        self._out.put({"ready": 1, "protocol": PROTOCOL, "version": version()})
        pump = self._tasks.spawn(self._pump(bus))
        self._watch_signals()
        commands = self._tasks.spawn(self._commands())
        self._session.ready()
        await self._ending.wait()
        self._on_end()
        commands.cancel()
        for task, ref in list(self._settling.items()):
            task.cancel()
            self._fail(ref, "failed", "Shoal is quitting.")
        self._open.set()
        await self._session.close()
        await asyncio.sleep(0)  # what the closing turns wrote is on the bus now
        bus.close()
        await asyncio.wait([pump], timeout=1)
        await self._tasks.close()
        self._out.close(1)

    def _watch_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)):
            asyncio.get_running_loop().add_signal_handler(number, self._ending.set)

    # -- out

    async def _pump(self, bus: Subscription) -> None:
        from app.session.bus import Lagged

        async for item in bus:
            await self._open.wait()
            if isinstance(item, Stored):
                self._event(item)
            elif isinstance(item, Lagged):
                await self._reread()
            else:
                self._out.put(live_line(item))
            await self._out.room()

    def _event(self, stored: Stored) -> None:
        if stored.id > self._sent:
            self._sent = stored.id
            self._out.put(stored.to_json())

    async def _reread(self) -> None:
        """The bus dropped something: the log has all of it."""
        while found := await self._store.read(self._after, self._sent, None):
            for stored in found:
                self._event(stored)
            await self._out.room()

    def _after(self, after: int, chat: str | None) -> list[Stored]:
        return list(self._store.events(after, chat, READ_AT_ONCE))

    def _fail(self, ref: str | None, code: str, message: str) -> None:
        self._out.put({"ref": ref, "error": {"code": code, "message": message}})

    # -- in

    async def _commands(self) -> None:
        while (line := await self._in.take()) is not None:
            if line is LinesIn.TOO_LONG:
                self._fail(None, "bad-command", "This line is too long.")
                continue
            if not line.strip():
                continue
            try:
                ref, command = command_of(line)
            except Refused as refused:
                self._fail(refused.ref, refused.code, refused.message)
                continue
            if isinstance(command, Settle):
                task = self._tasks.spawn(self._answer(ref, command))
                self._settling[task] = ref
                task.add_done_callback(lambda done: self._settling.pop(done, None))
                continue
            self._open.clear()
            try:
                await self._answer(ref, command)
            finally:
                self._open.set()
            if isinstance(command, Quit):
                break
            await asyncio.sleep(0)
        self._ending.set()

    async def _answer(self, ref: str | None, command: Command) -> None:
        try:
            ok = await self._do(ref, command)
        except CommandError as error:
            self._fail(ref, error.code, self._clean(error.message))
        except Exception:  # one command's fault ends neither the others nor the program
            log.exception("headless %s", getattr(command, "do", "?"))
            self._fail(ref, "failed", OURS_TO_SAY)
        else:
            self._out.put({"ref": ref, "ok": ok})

    async def _do(self, ref: str | None, command: Command) -> dict[str, Any]:
        match command:
            case SearchChats():
                return await self._search(command)
            case ListChats():
                chats = await self._store.read(self._store.summaries)
                return {"chats": [summary_line(s.to_json(), self._clean) for s in chats]}
            case ReplayEvents(after=after, chat=chat):
                return await self._replay(ref, after, chat)
            case Settle(chat=chat, timeout=timeout):
                return await self._settle(chat, timeout)
            case Tick(seconds=seconds):
                return await self._tick(seconds)
            case Quit():
                return {}
        return await self._session.do(command)

    async def _settle(self, chat: str | None, seconds: float) -> dict[str, Any]:
        waiting = await self._session.settle(chat, seconds)
        last = self._store.last_id()
        for _ in range(500):  # what led here is told before it, a second at most
            if self._sent >= last:
                break
            await asyncio.sleep(0.002)
        return {"waiting": waiting}

    async def _tick(self, seconds: float) -> dict[str, Any]:
        clock = self._services.clock
        if not isinstance(clock, ManualClock):
            raise CommandError("not-allowed", "The clock is moved by hand only where SHOAL_CLOCK=manual is set.")
        clock.tick(finite(seconds))
        await self._session.tick()
        return {}

    async def _replay(self, ref: str | None, after: int, chat: str | None) -> dict[str, Any]:
        self._known(chat)
        while found := await self._store.read(self._after, after, chat):
            for stored in found:
                self._out.put({"ref": ref, "event": stored.to_json()})
            after = found[-1].id
            await self._out.room()
        return {"last_id": self._store.last_id()}

    async def _search(self, asked: SearchChats) -> dict[str, Any]:
        from app.cli.searching import answer_line, asked_of

        self._known(asked.chat)
        try:
            query = asked_of(
                asked.query, asked.limit, asked.after, asked.before, asked.who, chat=asked.chat, project=asked.project
            )
        except ValueError as error:
            raise CommandError("bad-command", str(error)) from None
        answer: SearchAnswer = await self._services.search.search(query, lane="tools")
        if answer.broken:
            raise CommandError("failed", answer.broken)
        return answer_line(answer, self._clean)

    def _known(self, chat: str | None) -> None:
        if chat is not None and self._store.summary(chat) is None:
            raise CommandError("unknown-chat", "There is no such chat.")


def live_line(live: Live) -> dict[str, Any]:
    """A live signal: no `seq`, may be dropped. A delta has a `type`, and `kind` is its text's kind."""
    of = {"type": "assistant.delta"} if "delta" in live.data else {}
    return {"live": True, "chat": live.chat, **of, "kind": live.kind, **live.data}


def summary_line(summary: dict[str, Any], filtered: Callable[[str], str]) -> dict[str, Any]:
    """A chat summary with its words filtered."""
    return summary | {"title": filtered(summary["title"]), "preview": filtered(summary["preview"])}
