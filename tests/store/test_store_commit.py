"""Committing: order, isolation between batches, cancellation, listeners, foreign text."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from store import db
from store import events as ev
from store.batch import Batch, NewEvent, batch_of
from store.clock import ManualClock
from store.errors import ChatGone, StoreError, StoreReadOnly
from store.log import Store
from store.state import KeepLiveText, KeepState


def said(n: int, text: str = "hello") -> ev.UserMessage:
    return ev.UserMessage(message_id=f"m{n}", text=text)


class Bad:
    """A change that fails."""

    chat = "c"

    def apply(self, conn: db.Connection) -> None:
        conn.execute("INSERT INTO state(chat, key, value) VALUES ('c', 'half', '1')")
        raise ValueError("no")


@pytest.fixture
def store(tmp_path: Path):
    made = Store.open(tmp_path / "home", ManualClock())
    yield made
    made.close()


async def test_seq_counts_each_chat_from_zero_without_gaps(store: Store) -> None:
    await asyncio.gather(*(store.commit(Batch.of(f"c{n % 3}", said(n))) for n in range(30)))
    for chat in ("c0", "c1", "c2"):
        assert [e.seq for e in store.events(chat=chat)] == list(range(10))
    ids = [e.id for e in store.events()]
    assert ids == sorted(ids) and store.last_id() == ids[-1]


async def test_seq_goes_on_after_reopening(tmp_path: Path) -> None:
    for round_ in range(3):
        store = Store.open(tmp_path)
        await store.commit(Batch.of("c", said(round_ * 2), said(round_ * 2 + 1)))
        store.close()
    store = Store.open(tmp_path)
    assert [e.seq for e in store.events(chat="c")] == [0, 1, 2, 3, 4, 5]
    store.close()


async def test_one_batch_may_write_to_several_chats_at_once(store: Store) -> None:
    done = await store.commit(batch_of([("a", said(1)), ("b", said(2)), ("a", said(3))]))
    assert [(e.chat, e.seq) for e in done.events] == [("a", 0), ("b", 0), ("a", 1)]
    assert done.last_id == done.events[-1].id


async def test_a_batch_that_fails_leaves_nothing_and_takes_no_other_with_it(store: Store) -> None:
    hold = threading.Event()
    store.listen(lambda _: hold.wait(5))  # so that the next three wait together
    first = asyncio.create_task(store.commit(Batch.of("c", said(0))))
    await asyncio.sleep(0.05)
    tasks = [
        asyncio.create_task(store.commit(b))
        for b in (Batch.of("c", said(1)), Batch.of("c", said(2), changes=[Bad()]), Batch.of("c", said(3)))
    ]
    await asyncio.sleep(0.05)
    hold.set()
    await first
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[1], ValueError)
    assert [e.event.message_id for e in store.events(chat="c")] == ["m0", "m1", "m3"]
    assert [e.seq for e in store.events(chat="c")] == [0, 1, 2]
    assert store.state("c", "half") is None
    assert store.verify() == set()


async def test_a_cancelled_commit_is_written_whole_and_waited_for(store: Store) -> None:
    entered, hold = threading.Event(), threading.Event()

    class Slow:
        chat = "c"

        def apply(self, conn: db.Connection) -> None:
            entered.set()
            hold.wait(5)

    task = asyncio.create_task(store.commit(Batch.of("c", said(1), changes=[Slow()])))
    await asyncio.to_thread(entered.wait, 5)
    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.sleep(0.05)
    assert not task.done()
    hold.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [e.event.message_id for e in store.events(chat="c")] == ["m1"]


async def test_listeners_hear_every_commit_in_order_and_before_it_is_acknowledged(store: Store) -> None:
    heard: list[int] = []
    store.listen(lambda events: heard.extend(e.id for e in events))
    for n in range(5):
        done = await store.commit(Batch.of("c", said(n)))
        assert heard[-1] == done.last_id
    await store.commit(Batch(changes=[KeepState("c", "draft", "x")]))
    assert heard == sorted(heard) and len(heard) == 5


async def test_a_listener_that_fails_stops_neither_the_writer_nor_the_others(store: Store) -> None:
    heard: list[int] = []

    def broken(_: object) -> None:
        raise RuntimeError("no")

    store.listen(broken)
    store.listen(lambda events: heard.append(len(events)))
    await store.commit(Batch.of("c", said(1)))
    await store.commit(Batch.of("c", said(2)))
    assert heard == [1, 1]


async def test_what_no_file_can_hold_becomes_a_replacement_mark(store: Store) -> None:
    done = await store.commit(Batch.of("c", said(1, "a\ud800b\x00c")))
    assert done.events[0].event.text == "a\ufffdb\x00c"
    assert [e.event.text for e in store.events(chat="c")] == ["a\ufffdb\x00c"]
    await store.commit(Batch(changes=[KeepLiveText("c", "m2", "text", "x\udfffy"), KeepState("c", "draft", "\ud800")]))
    assert store.live_texts("c")[0].text == "x\ufffdy"


async def test_a_commit_after_close_is_refused_in_words(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.commit(Batch.of("c", said(1)))


async def test_a_store_opened_for_reading_refuses_to_write(tmp_path: Path) -> None:
    writing = Store.open(tmp_path)
    await writing.commit(Batch.of("c", said(1)))
    reading = Store.open(tmp_path, readonly=True)
    with pytest.raises(StoreReadOnly):
        await reading.commit(Batch.of("c", said(2)))
    await writing.commit(Batch.of("c", said(3)))
    assert len(list(reading.events())) == 2 and reading.summary("c").messages == 2
    reading.close()
    writing.close()


def test_a_home_that_isnt_there_yet_reads_as_empty(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "none", readonly=True)
    assert store.summaries() == [] and list(store.events()) == [] and store.page("c").events == ()
    store.close()
    assert not (tmp_path / "none").exists()


async def test_state_drafts_and_live_text_are_kept_and_removed(store: Store) -> None:
    await store.commit(Batch(changes=[KeepState("c", "draft", "half a thought"), KeepState("", "deck", ["c"])]))
    await store.commit(Batch(changes=[KeepState("d", "draft", "other"), KeepLiveText("c", "m1", "text", "so far")]))
    assert store.state("c", "draft") == "half a thought" and store.state("", "deck") == ["c"]
    assert store.states("draft") == {"c": "half a thought", "d": "other"}
    assert [(t.message_id, t.text) for t in store.live_texts()] == [("m1", "so far")]
    await store.commit(Batch(changes=[KeepState("c", "draft", None), KeepLiveText("c", "m1", "text", None)]))
    assert store.state("c", "draft") is None and store.live_texts("c") == ()


async def test_a_late_batch_for_a_deleted_chat_is_dropped_whole(store: Store) -> None:
    await store.commit(batch_of([("a", said(1)), ("b", said(2))]))
    assert await store.delete("a")
    for late in (
        batch_of([("b", said(3)), ("a", said(4))]),
        Batch(changes=[KeepLiveText("a", "m9", "text", "late")]),
        Batch([NewEvent("b", said(5))], [KeepState("a", "draft", "late")]),
    ):
        with pytest.raises(ChatGone):
            await store.commit(late)
    assert [e.chat for e in store.events()] == ["b"] and store.live_texts() == ()


async def test_events_can_be_read_while_more_are_written(store: Store) -> None:
    await store.commit(Batch.of("c", *(said(n) for n in range(1200))))
    seen = []
    for stored in store.events():
        if len(seen) == 10:
            await store.commit(Batch.of("c", said(5000)))
        seen.append(stored.id)
    assert seen == sorted(set(seen)) and len(seen) == 1201
    assert len(list(store.events(after=seen[5], chat="c", limit=700))) == 700
    assert list(store.events(limit=0)) == []


def test_waiting_for_a_commit_in_a_listener_is_refused_and_not_a_deadlock(store: Store) -> None:
    refused: list[str] = []

    def listener(_: object) -> None:
        try:
            store.commit_sync(Batch.of("c", said(2)))
        except RuntimeError as error:
            refused.append(str(error))

    store.listen(listener)
    store.commit_sync(Batch.of("c", said(1)))
    assert len(refused) == 1


def test_new_events_of_a_chat_are_found_from_any_id(store: Store) -> None:
    for n in range(30):
        store.commit_sync(Batch.of(f"c{n % 3}", said(n)))
    for after in range(35):
        assert [e.id for e in store.events(after, "c1")] == [n for n in range(1, 31) if n % 3 == 2 and n > after]
