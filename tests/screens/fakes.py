"""A session, a bus and a search with the real interface, over the real store: what the screens are tested against."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.commands import (
    AnyCommand,
    Archive,
    Command,
    CommandError,
    Delete,
    Fork,
    NewChat,
    Pin,
    Rename,
    Send,
    SetOptions,
    SetQueue,
    Stop,
)
from app.guard.redactor import Redactor
from app.guard.vault import Vault
from app.paths import Home
from app.settings import Settings
from app.tools.memory.book import MemoryBook
from store import events as ev
from store.clock import ManualClock
from store.ids import CHAT, MESSAGE, TURN, new_id
from store.log import Batch, Store
from store.memory import MemoryFiles
from store.models import ChatHits, ChatSummary, FileDiff, Hit, Line, Preview, SearchAnswer, SearchQuery
from store.rows import SaidRow


@dataclass(frozen=True)
class FakeLive:
    chat: str
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class FakeLagged:
    last_id: int


class FakeSubscription:
    def __init__(self, bus: FakeBus) -> None:
        self._bus = bus
        self.queue: asyncio.Queue[Any] = asyncio.Queue()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await self.queue.get()

    def close(self) -> None:
        self._bus.subscriptions.discard(self)


class FakeBus:
    def __init__(self) -> None:
        self.subscriptions: set[FakeSubscription] = set()

    def subscribe(self) -> FakeSubscription:
        subscription = FakeSubscription(self)
        self.subscriptions.add(subscription)
        return subscription

    def publish(self, item: Any) -> None:
        for subscription in self.subscriptions:
            subscription.queue.put_nowait(item)

    def delta(self, chat: str, message_id: str, offset: int, delta: str, kind: str = "text") -> None:
        self.publish(
            FakeLive(chat, "delta", {"message_id": message_id, "kind": kind, "offset": offset, "delta": delta})
        )


@dataclass
class FakeSession:
    store: Store
    bus: FakeBus = field(default_factory=FakeBus)
    commands: list[Command] = field(default_factory=list)
    refuse: CommandError | None = None
    live: dict[str, SaidRow] = field(default_factory=dict)
    queues: dict[str, list[str]] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    reply: Callable[[str], str] | None = None  # a whole answer at once; None: the turn stays running

    diffed: dict[str, list[FileDiff]] = field(default_factory=dict)

    def ready(self) -> None:
        """The screen is there."""

    async def diffs(self, chat: str, change: str) -> list[FileDiff]:
        return self.diffed.get(change, [])

    async def do(self, command: AnyCommand) -> dict[str, Any]:
        self.commands.append(command)
        if self.refuse:
            raise self.refuse
        match command:
            case NewChat() as c:
                chat = new_id(CHAT)
                await self.write(
                    chat,
                    ev.ChatCreated(
                        title=c.title, model=c.model or "offline", mode=c.mode or "auto", folder=c.folder or ""
                    ),
                )
                return {"chat": chat}
            case Fork() as c:
                chat = new_id(CHAT)
                await self.write(chat, ev.ChatCreated(title="Fork"), ev.ChatForked(from_chat=c.chat))
                return {"chat": chat}
            case Send() as c:
                return await self._send(c)
            case Stop() as c:
                summary = self.store.summary(c.chat)
                if summary and summary.turn_id:
                    await self.write(c.chat, ev.TurnCompleted(turn_id=summary.turn_id, outcome="interrupted"))
            case Rename() as c:
                await self.write(c.chat, ev.TitleChanged(title=c.title))
            case Pin() as c:
                await self.write(c.chat, ev.ChatPinned(pinned=int(c.pinned)))
            case Archive() as c:
                await self.write(c.chat, ev.ChatArchived(archived=c.archived))
            case Delete() as c:
                self.deleted.append(c.chat)
            case SetOptions() as c:
                await self.write(
                    c.chat, ev.OptionsChanged(mode=c.mode, model=c.model, inbound=c.inbound, private=c.private)
                )
            case SetQueue() as c:
                self.queues[c.chat] = list(c.texts)
                self.bus.publish(FakeLive(c.chat, "queue", {"texts": list(c.texts)}))
            case _:
                pass
        return {}

    async def _send(self, c: Send) -> dict[str, Any]:
        summary = self.store.summary(c.chat)
        if summary and summary.turn_id:
            self.queues.setdefault(c.chat, []).append(c.text)
            self.bus.publish(FakeLive(c.chat, "queue", {"texts": list(self.queues[c.chat])}))
            return {"queued": True}
        turn = new_id(TURN)
        await self.write(c.chat, ev.UserMessage(message_id=new_id(MESSAGE), text=c.text), ev.TurnStarted(turn_id=turn))
        if self.reply is not None:
            await self.write(
                c.chat,
                ev.AssistantDone(message_id=new_id(MESSAGE), text=self.reply(c.text)),
                ev.TurnCompleted(turn_id=turn, outcome="success"),
            )
        return {"queued": False}

    async def write(self, chat: str, *events: ev.Event) -> None:
        done = await self.store.commit(Batch.of(chat, *events))
        for stored in done.events:
            self.bus.publish(stored)

    def live_text(self, chat: str) -> SaidRow | None:
        return self.live.get(chat)

    def queue(self, chat: str) -> list[str]:
        return self.queues.get(chat, [])

    def open_permissions(self, chat: str) -> list[Any]:
        return []

    def running(self) -> list[str]:
        return [s.id for s in self.store.summaries() if s.turn_id]

    async def settle(self, chat: str | None = None, timeout: float = 30) -> None:
        return

    async def close(self) -> None:
        return


@dataclass
class FakeSearch:
    """Finds words by looking at every event; enough for the screens."""

    store: Store
    queries: list[SearchQuery] = field(default_factory=list)
    delay: float = 0.0
    broken: str | None = None
    repaired: int = 0

    def lines(self) -> Sequence[tuple[ChatSummary, Line]]:
        out = []
        for chat in self.store.summaries():
            for stored in self.store.events(chat=chat.id):
                e = stored.event
                if isinstance(e, ev.UserMessage):
                    out.append((chat, Line(e.message_id, "them" if e.them else "you", stored.at, e.text, e.author)))
                elif isinstance(e, ev.AssistantDone):
                    out.append((chat, Line(e.message_id, "assistant", stored.at, e.text)))
        return out

    async def search(self, query: SearchQuery, lane: str = "typing") -> SearchAnswer:
        self.queries.append(query)
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.broken:
            return SearchAnswer(query.text, "none", broken=self.broken)
        words = query.text.casefold().split()
        if not words:
            return SearchAnswer(query.text, "too-short")
        groups: dict[str, tuple[ChatSummary, list[Hit]]] = {}
        for chat, line in self.lines():
            text = line.text.casefold()
            if all(w in text for w in words) and query.who in (None, line.who):
                spans = tuple(sorted((text.find(w), text.find(w) + len(w)) for w in words))
                hit = Hit(line.anchor, line.who, line.at, line.text[:150], spans, line.name)
                groups.setdefault(chat.id, (chat, []))[1].append(hit)
        found = tuple(ChatHits(c, len(h), tuple(h[:3])) for c, h in groups.values())
        total = sum(g.matches for g in found)
        return SearchAnswer(query.text, "exact" if found else "none", found[: query.limit], total)

    async def preview(self, chat: str, anchor: str | None = None, query: str = "") -> Preview:
        lines = [line for c, line in self.lines() if c.id == chat]
        focus = next((i for i, line in enumerate(lines) if line.anchor == anchor), -1)
        return Preview(self.store.summary(chat), tuple(lines[max(0, focus - 2) : focus + 3]), min(focus, 2))

    async def recent(self, limit: int = 6) -> list[ChatSummary]:
        return [s for s in self.store.summaries() if s.archived_at is None][:limit]

    async def repair(self) -> None:
        self.repaired += 1
        self.broken = None

    async def close(self) -> None:
        return


OPENED: list[FakeServices] = []


@dataclass
class FakeServices:
    home: Home
    settings: Settings
    clock: ManualClock
    store: Store
    session: FakeSession
    search: FakeSearch
    memories: MemoryBook
    vault: Vault
    catalogue: Any = None
    wires: Any = None
    redactor: Redactor = field(default_factory=Redactor)
    closed: bool = False

    def complete(self) -> None:
        """Nothing joins later."""

    async def close(self) -> None:
        self.closed = True
        self.store.close()

    def seed(self, title: str, *said: tuple[str, str], model: str = "offline", **created: Any) -> str:
        """A chat with lines; `("you"|"assistant"|name, text)`. The clock moves a minute a line."""
        chat = new_id(CHAT)
        batch: list[ev.Event] = [ev.ChatCreated(title=title, model=model, **created)]
        self.store.commit_sync(Batch.of(chat, *batch))
        for who, text in said:
            self.clock.tick(60)
            message = new_id(MESSAGE)
            event: ev.Event
            if who == "assistant":
                event = ev.AssistantDone(message_id=message, text=text)
            elif who == "you":
                event = ev.UserMessage(message_id=message, text=text)
            else:
                event = ev.UserMessage(message_id=message, text=text, author=who, them=True)
            self.store.commit_sync(Batch.of(chat, event))
        return chat


def fake_services(root: Path, settings: Settings | None = None, clock: ManualClock | None = None) -> FakeServices:
    """All of it over a new store in `root`."""
    home = Home(root)
    home.ensure()
    clock = clock or ManualClock()
    store = Store(home.store, clock)
    book = MemoryBook(store, MemoryFiles(home.memories))
    book.start()
    vault = Vault(home.vault, Redactor(), {"SHOAL_VAULT": "file"})
    made = FakeServices(home, settings or Settings(), clock, store, FakeSession(store), FakeSearch(store), book, vault)
    OPENED.append(made)
    return made


@pytest.fixture(autouse=True)
def closed_stores() -> Iterator[None]:
    """No test leaves a store open."""
    yield
    while OPENED:
        OPENED.pop().store.close()
