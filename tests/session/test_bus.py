"""The bus: everything in order, and a slow listener never slows the writer."""

from __future__ import annotations

import asyncio

from app.session.bus import Bus, Lagged, Live
from store import events as ev
from store.log import Batch, Store


def titles(n):
    return Batch.of("c_1", *[ev.TitleChanged(title=str(i)) for i in range(n)])


async def test_events_come_in_order_with_signals_between(tmp_path):
    store = Store.open(tmp_path)
    bus = Bus()
    bus.attach(store)
    heard = bus.subscribe()
    await store.commit(Batch.of("c_1", ev.ChatCreated()))
    bus.signal("c_1", "delta", {"delta": "x"})
    await store.commit(titles(2))
    await asyncio.sleep(0.01)
    items = heard.drain()
    assert [getattr(i, "seq", i) for i in items] == [0, Live("c_1", "delta", {"delta": "x"}), 1, 2]
    bus.detach()
    assert [i async for i in heard] == []
    store.close()


async def test_a_subscriber_that_lags_is_told_where_to_read_on(tmp_path):
    store = Store.open(tmp_path)
    bus = Bus(most=10)
    bus.attach(store)
    slow, quick = bus.subscribe(), bus.subscribe()
    await store.commit(Batch.of("c_1", ev.ChatCreated()))
    await asyncio.sleep(0.01)
    first = await anext(slow)
    for _ in range(5):
        await store.commit(titles(5))
        await asyncio.sleep(0.01)
        quick.drain()
    items = slow.drain()
    assert items[0] == Lagged(first.id) and len(items) <= 10
    missed = list(store.events(after=items[0].last_id))
    assert [m.seq for m in missed] == list(range(1, 26))
    store.close()


async def test_a_closed_subscription_hears_nothing(tmp_path):
    bus = Bus()
    heard = bus.subscribe()
    heard.close()
    bus.signal("c", "delta", {})
    assert heard.drain() == []


async def test_waiting_for_the_next_item_wakes_up():
    bus = Bus()
    heard = bus.subscribe()
    asyncio.get_running_loop().call_later(0.01, bus.signal, "c", "delta", {"a": 1})
    async with asyncio.timeout(1):
        assert (await anext(heard)).data == {"a": 1}
