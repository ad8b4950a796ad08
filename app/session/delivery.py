"""Between chats: what other rooms may do to a chat (`app.ports.ChatPort`), and the replies that are due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from app.aio import TaskSet
from app.ports import Starter, Turn
from app.session.desk import Desk
from app.session.talk import Talk
from store import events as ev
from store.errors import StoreError
from store.events import Stored

log = logging.getLogger("shoal.session")

# what makes another chat look again at this one
TELLS = (
    ev.TurnStarted,
    ev.TurnCompleted,
    ev.PermissionRequested,
    ev.PermissionResolved,
    ev.ToolStarted,
    ev.ToolFinished,
    ev.FilesChanged,
    ev.OptionsChanged,
    ev.Taint,
    ev.ForwardedMessage,
    ev.Task,
    ev.ChatMessage,
    ev.Wait,
)


class Delivery:
    """Made before the session, since its tools need it; `attach` gives it the session's parts."""

    def __init__(self) -> None:
        self._desk: Desk | None = None
        self._talk: Talk | None = None
        self._told: list[Callable[[str], None]] = []
        self._told_slowed: list[Callable[[str, float], None]] = []
        self._told_chain: list[Callable[[str], Awaitable[list[str]]]] = []
        self._starting: list[str] = []  # once for each nudge that is under way
        self._delete: Callable[[str], Awaitable[object]] | None = None
        self._tasks = TaskSet()

    def attach(
        self, desk: Desk, talk: Talk, starters: Sequence[Starter], delete: Callable[[str], Awaitable[object]]
    ) -> None:
        """The session is there; inside its event loop. `delete`: removes a chat as the person's command does."""
        self._desk, self._talk, self._delete = desk, talk, delete
        desk.starters = list(starters)
        loop = asyncio.get_running_loop()

        def committed(events: tuple[Stored, ...]) -> None:
            chats = dict.fromkeys(s.chat for s in events if isinstance(s.event, TELLS))
            if chats and not loop.is_closed():
                loop.call_soon_threadsafe(self._tell, tuple(chats))

        def deleted(chat: str) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._tell, (chat,))

        # a reply's end is durable a moment before nothing runs: whoever waits for that looks once more
        desk.runner.on_quiet = lambda chat: self._tell((chat,))
        desk.store.listen(committed)
        desk.store.listen_deleted(deleted)

    def running(self, chat: str) -> Turn | None:
        """The chat's running turn."""
        return self._desk.runner.turn(chat) if self._desk else None

    def working(self, chat: str) -> bool:
        """Whether a reply runs, is due, or was broken by a restart and will be carried on."""
        if self._desk is None or self._desk.store.summary(chat) is None:
            return False
        # one being started may be due no more and not run yet
        if self.running(chat) is not None or chat in self._starting:
            return True
        return any(chat in starter.chats() for starter in self._desk.starters)

    def going(self) -> set[str]:
        """Every chat that is working."""
        if self._desk is None:
            return set()
        return {*self._desk.runner.chats(), *(c for c in self.due() if self._desk.store.summary(c) is not None)}

    def due(self) -> list[str]:
        """Every chat in which a reply is due, or being started: its turn can be durable before it runs."""
        starters = self._desk.starters if self._desk else []
        return list(dict.fromkeys([*self._starting, *(chat for starter in starters for chat in starter.chats())]))

    def nudge(self, chat: str) -> None:
        """Start what is due in the chat, soon."""
        if self._talk is not None:
            self._starting.append(chat)
            self._tasks.spawn(self._start(self._talk, chat), name=f"start {chat}")

    async def interrupt(self, chat: str) -> bool:
        """End the chat's reply, one that is just being started too; its open questions end unanswered."""
        if self._desk is None:
            return False
        if chat in self._starting and self.running(chat) is None:
            async with self._desk.lock(chat):  # until then there is nothing to end
                pass
        return await self._desk.stop(chat)

    async def delete(self, chat: str) -> None:
        """Remove a chat for ever."""
        if self._delete is not None:
            await self._delete(chat)

    async def answer(self, chat: str, permission: str, decision: Literal["allow", "deny"]) -> bool:
        """Answer a question of another chat, as the person pressed it."""
        return self._desk is not None and await self._desk.asks.answer(chat, permission, decision)

    def listen(self, told: Callable[[str], None]) -> None:
        """Call `told` whenever a chat's reply began, moved on, ended or asks, or the chat was deleted."""
        self._told.append(told)

    def listen_slowed(self, told: Callable[[str, float], None]) -> None:
        """Call `told` whenever a provider asks for a pause inside a reply."""
        self._told_slowed.append(told)

    def listen_chain(self, told: Callable[[str], Awaitable[list[str]]]) -> None:
        """Call `told` when the person stops a chain; it answers in which chats it ended something."""
        self._told_chain.append(told)

    async def end_chain(self, chain: str) -> list[str]:
        """What of the chain would start by itself doesn't any more."""
        return [chat for told in self._told_chain for chat in await told(chain)]

    def slowed(self, chat: str, seconds: float) -> None:
        """The provider of the chat's running reply asked for a pause."""
        turn = self.running(chat)
        if turn is None:
            return
        for told in self._told_slowed:
            told(turn.model, seconds)

    async def close(self) -> None:
        """Nothing is started any more."""
        self._talk = None
        await self._tasks.close()

    async def _start(self, talk: Talk, chat: str) -> None:
        try:
            await talk.start_due(chat)
        except StoreError as error:
            log.warning("a reply that was due in %s couldn't start: %s", chat, error)
        finally:
            self._starting.remove(chat)

    def _tell(self, chats: Sequence[str]) -> None:
        for chat in chats:
            for told in self._told:
                told(chat)
