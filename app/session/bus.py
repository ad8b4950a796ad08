"""From the writer to whoever listens, never slowing the writer: events as they are stored, and live signals."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from store.events import Stored
from store.limits import BUS_QUEUE, DELTA_JOIN_CHARS
from store.log import Store


@dataclass(frozen=True, slots=True)
class Live:
    """A signal that isn't stored: `delta`, `retry`, `progress`, `queue`, `deleted`, `trouble`, and `store`.

    Deltas that wait together are handed out as one. `trouble` has the `text` of a failure that couldn't be stored;
    `store` (of no chat) what the store waits for in words, None when that is over.
    """

    chat: str
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Lagged:
    """The subscriber fell behind: what lay here was dropped. Read the log after `last_id`, then go on."""

    last_id: int


Item = Stored | Live | Lagged


class Subscription:
    """An endless async iterator of items; `close()` ends it."""

    def __init__(self, bus: Bus, last_id: int, most: int) -> None:
        self._bus = bus
        self._most = most
        self._items: deque[Item] = deque()
        self._ready = asyncio.Event()
        self._last_id = last_id  # of the newest event handed out
        self._closed = False

    def put(self, item: Item) -> None:
        """One more item; past the limit all that waits is replaced by one `Lagged`."""
        if self._items and isinstance(item, Live) and (joined := _joined(self._items[-1], item)) is not None:
            self._items[-1] = joined
            return
        if len(self._items) >= self._most:
            self._items.clear()
            self._items.append(Lagged(self._last_id))
        self._items.append(item)
        self._ready.set()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Item:
        while not self._items:
            if self._closed:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        item = self._items.popleft()
        if isinstance(item, Stored):
            self._last_id = item.id
        return item

    def drain(self) -> list[Item]:
        """All that waits now, without waiting."""
        items = list(self._items)
        self._items.clear()
        self._last_id = max([self._last_id, *(i.id for i in items if isinstance(i, Stored))])
        return items

    def close(self) -> None:
        """No more items come."""
        self._closed = True
        self._ready.set()
        self._bus.drop(self)


def _joined(last: Item, new: Live) -> Live | None:
    """Two deltas of one message that follow each other, as one; None when they aren't that."""
    if not isinstance(last, Live) or last.kind != "delta" or last.kind != new.kind or last.chat != new.chat:
        return None
    had, more = last.data, new.data
    if had["message_id"] != more["message_id"] or had["kind"] != more["kind"]:
        return None
    if had["offset"] + len(had["delta"]) != more["offset"] or len(had["delta"]) >= DELTA_JOIN_CHARS:
        return None
    return Live(new.chat, "delta", had | {"delta": had["delta"] + more["delta"]})


class Bus:
    """Fans out to subscribers. `attach` inside the running event loop; signals come from that loop only."""

    def __init__(self, most: int = BUS_QUEUE) -> None:
        self._most = most
        self._subscribers: list[Subscription] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._last_id = 0

    def attach(self, store: Store) -> None:
        """Hear the store from now on."""
        self._loop = asyncio.get_running_loop()
        self._last_id = store.last_id()
        store.listen(self._from_writer)
        store.listen_deleted(lambda chat: self._soon(self.signal, chat, "deleted", {}))
        store.listen_trouble(lambda words: self._soon(self.signal, "", "store", {"text": words}))

    def detach(self) -> None:
        """Hear nothing any more; subscriptions end once they are empty."""
        self._loop = None
        for subscriber in list(self._subscribers):
            subscriber.close()

    def subscribe(self) -> Subscription:
        """Everything from now on."""
        subscription = Subscription(self, self._last_id, self._most)
        self._subscribers.append(subscription)
        return subscription

    def drop(self, subscription: Subscription) -> None:
        """Forget a closed subscription."""
        if subscription in self._subscribers:
            self._subscribers.remove(subscription)

    def signal(self, chat: str, kind: str, data: dict[str, Any]) -> None:
        """Send a live signal; never waits."""
        self._send(Live(chat, kind, data))

    def _from_writer(self, events: tuple[Stored, ...]) -> None:
        if events:
            self._soon(self._stored, events)

    def _soon(self, call: Callable[..., None], *args: Any) -> None:
        """Call it in the event loop; also from the writer's thread."""
        loop = self._loop
        if loop is None:
            return
        try:
            loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            self._loop = None  # the event loop was closed; the log has it all

    def _stored(self, events: tuple[Stored, ...]) -> None:
        for event in events:
            self._last_id = event.id
            self._send(event)

    def _send(self, item: Item) -> None:
        for subscriber in self._subscribers:
            subscriber.put(item)
