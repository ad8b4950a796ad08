"""Which turns run: their tasks belong here, and one chat's fault never touches another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from app.aio import TaskSet
from app.ports import Engine, Turn
from store.errors import ChatGone, StoreError
from store.events import Outcome
from store.limits import CLOSE_LATE_SECONDS, STOP_GRACE_SECONDS, STOP_TOTAL_SECONDS

log = logging.getLogger("shoal.session")

BROKE = "Something went wrong inside Shoal while it answered. Try again; the details are in the log."

Next = Callable[[Turn, Outcome], Awaitable[Turn | None]]  # what follows a turn; must forget the chat when nothing does


@dataclass(slots=True)
class _Running:
    turn: Turn
    task: asyncio.Task[None]
    over: bool = False  # the turn has ended, and what follows is being looked for


class Runner:
    """Runs at most one turn a chat. `follow` is asked after each turn what comes next."""

    def __init__(self, engine: Engine, follow: Next, trouble: Callable[[str, str], None]) -> None:
        self._engine = engine
        self._follow = follow
        self._trouble = trouble
        self._running: dict[str, _Running] = {}
        self.on_quiet: Callable[[str], None] = lambda _chat: None  # nothing runs in the chat any more
        self.tasks = TaskSet()

    def start(self, turn: Turn) -> None:
        """Run a turn whose `turn.started` is durable."""
        task = self.tasks.spawn(self._chain(turn), name=f"turn {turn.turn_id}")
        self._running[turn.chat] = _Running(turn, task)

    def turn(self, chat: str) -> Turn | None:
        """The chat's running turn."""
        running = self._running.get(chat)
        return running.turn if running else None

    def chats(self) -> list[str]:
        """Chats with a turn that runs or is about to."""
        return list(self._running)

    def next(self, turn: Turn) -> None:
        """This turn follows in its chat; called before its `turn.started` can be seen, so that it can be stopped."""
        running = self._running.get(turn.chat)
        if running is not None:
            running.turn, running.over = turn, False

    def forget(self, chat: str) -> None:
        """Nothing follows in this chat."""
        if self._running.pop(chat, None) is not None:
            self.on_quiet(chat)

    def stop(self, chat: str) -> bool:
        """Ask the turn to end, and cancel it after the grace; whether one was running."""
        running = self._running.get(chat)
        if running is None or running.over:
            return False
        if not running.turn.stop.is_set():
            running.turn.stop.set()
            asyncio.get_running_loop().call_later(STOP_GRACE_SECONDS, self._cancel, running, running.turn)
        return True

    @staticmethod
    def _cancel(running: _Running, turn: Turn) -> None:
        if running.turn is turn and not running.over:
            running.task.cancel()

    async def wait(self, chat: str, timeout: float = STOP_TOTAL_SECONDS + 1) -> None:  # noqa: ASYNC109 - a limit
        """Wait until nothing runs in the chat."""
        running = self._running.get(chat)
        if running is not None:
            await asyncio.wait({running.task}, timeout=timeout)

    async def _chain(self, turn: Turn) -> None:
        """A turn and what follows it, one after the other."""
        following: Turn | None = turn
        running = self._running[turn.chat]
        try:
            while following is not None:
                outcome = await self._guarded(following)
                running.over = True
                following = await self._next(following, outcome)
                if following is not None:
                    running.turn, running.over = following, False
        finally:
            if self._running.get(turn.chat) is running:
                self.forget(turn.chat)

    async def _next(self, turn: Turn, outcome: Outcome) -> Turn | None:
        try:
            return await self._follow(turn, outcome)
        except Exception as error:
            log.error("after a turn of %s: %s", turn.chat, type(error).__name__, exc_info=error)
            self.forget(turn.chat)
            return None

    async def _guarded(self, turn: Turn) -> Outcome:
        """Run one turn; any exception becomes its `turn.completed(error)`."""
        try:
            return await self._engine.run(turn)
        except StoreError as error:
            sentence, code = str(error), error.code
        except Exception as error:
            log.error("a turn of %s broke: %s", turn.chat, type(error).__name__, exc_info=error)
            sentence, code = BROKE, "internal"
        try:
            await self._engine.finish(turn, "error", sentence, code)
        except ChatGone:
            log.info("%s was deleted while it worked", turn.chat)
        except Exception as error:
            log.error("a turn of %s couldn't be closed: %s", turn.chat, type(error).__name__, exc_info=error)
            self._trouble(turn.chat, str(error) if isinstance(error, StoreError) else sentence)
        return "error"

    async def close(self) -> None:
        """Stop every turn and wait until its end is durable, at most 2.4 s (a locked store can make it late)."""
        for chat in list(self._running):
            self.stop(chat)
        tasks: set[asyncio.Task[Any]] = {r.task for r in self._running.values()}
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_TOTAL_SECONDS)
        await self.tasks.close(CLOSE_LATE_SECONDS)
