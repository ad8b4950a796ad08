"""What the parts of a session share: the store, who runs, who may be written to, and one lock a chat."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from app.commands import CommandError
from app.ports import Start, Starter, Wires
from app.session import lifecycle
from app.session.asks import Asks
from app.session.bus import Bus
from app.session.runner import Runner
from store.clock import Clock
from store.events import Event, Mode
from store.log import Batch, BatchKind, Change, Committed, Store
from store.models import ChatSummary

UNKNOWN = "There is no such chat."
IMPORTED = "This chat was imported, so it is read-only; carry on in a fork of it."


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a new chat gets where the command says nothing."""

    model: str = "offline"
    mode: Mode = "auto"
    folder: str = ""


class Desk:
    """Handed to every part of the session."""

    def __init__(
        self, store: Store, clock: Clock, bus: Bus, asks: Asks, wires: Wires, runner: Runner, defaults: Defaults
    ) -> None:
        self.store = store
        self.clock = clock
        self.bus = bus
        self.asks = asks
        self.wires = wires
        self.runner = runner
        self.defaults = defaults
        self.starters: list[Starter] = []
        self.leaving: Sequence[Callable[[str], Awaitable[None]]] = ()
        self.deleting: set[str] = set()
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    def lock(self, chat: str) -> asyncio.Lock:
        """Held while it is decided what runs next in the chat."""
        lock = self._locks.get(chat)
        if lock is None:
            lock = self._locks[chat] = asyncio.Lock()
        return lock

    def chat(self, chat: str) -> ChatSummary:
        """The chat; an unknown and a deleted one are refused in the same words."""
        summary = None if chat in self.deleting else self.store.summary(chat)
        return summary if summary is not None else refuse("unknown-chat", UNKNOWN)

    def open_chat(self, chat: str) -> ChatSummary:
        """A chat that can be written to."""
        summary = self.chat(chat)
        return refuse("not-allowed", IMPORTED) if lifecycle.is_import(summary) else summary

    async def stop(self, chat: str) -> bool:
        """Ask the chat's reply to end, its open questions with it; whether one was running."""
        stopping = self.runner.stop(chat)
        if stopping:
            await self.asks.expire_all(chat)
        return stopping

    def due(self, chat: str) -> Start | None:
        """The reply that is to start in the chat by itself; of several, the first."""
        return next((start for one in self.starters if (start := one.due(chat)) is not None), None)

    async def write(self, chat: str, *events: Event, changes: Sequence[Change] = (), kind: BatchKind = "chat") -> int:
        """Commit to one chat; answers `last_id`: the store's highest event id before the batch."""
        return before(await self.store.commit(Batch.of(chat, *events, changes=changes, kind=kind)))


def before(committed: Committed) -> int:
    """The highest event id before what was committed."""
    return committed.events[0].id - 1 if committed.events else committed.last_id


def refuse(code: str, message: str) -> NoReturn:
    """Refuse the command."""
    raise CommandError(code, message)
