"""Summaries: folded with each commit, quick to list, and made anew from the log when they disagree with it."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import db, derived, summaries
from store import events as ev
from store.batch import Batch, NewEvent
from store.clock import ManualClock
from store.errors import ChatGone
from store.events import Event, Stored
from store.log import Store
from store.models import ChatSummary
from store.summary import fold_summary
from tests.store.store_makers import any_event


def chat_of(n: int) -> list[NewEvent]:
    chat = f"c{n}"
    return [
        NewEvent(chat, ev.ChatCreated(title=f"Chat {n}"), at=1000 + n),
        NewEvent(chat, ev.UserMessage(message_id=f"m{n}", text=f"words {n}"), at=2000 + n),
    ]


def many(tmp_path: Path, chats: int) -> Store:
    store = Store.open(tmp_path)
    for start in range(0, chats, 2000):
        store.commit_sync(Batch([e for n in range(start, min(start + 2000, chats)) for e in chat_of(n)]))
    return store


def test_chats_are_listed_newest_first_and_move_up_when_something_is_said(tmp_path: Path) -> None:
    store = many(tmp_path, 20)
    assert [s.id for s in store.summaries()] == [f"c{n}" for n in reversed(range(20))]
    store.commit_sync(Batch([NewEvent("c3", ev.UserMessage(message_id="x", text="new"), at=9000)]))
    assert [s.id for s in store.summaries()][:2] == ["c3", "c19"] and store.summaries()[0].preview == "new"
    assert [s.id for s in store.recent(2)] == ["c3", "c19"]
    store.commit_sync(Batch.of("c3", ev.ChatArchived()))
    assert [s.id for s in store.recent(2)] == ["c19", "c18"]
    assert [s.id for s in store.recent(5, archived=True)] == ["c3"]
    assert store.delete_sync("c19")
    assert [s.id for s in store.recent(1)] == ["c18"] and len(store.summaries()) == 19
    assert store.summary("c19") is None and store.summary("none") is None
    listed = store.summaries()
    store.close()
    again = Store.open(tmp_path)
    assert again.summaries() == listed and [s.id for s in again.recent(1)] == ["c18"]
    again.close()


def test_working_chats_are_known_at_once_and_after_a_restart(tmp_path: Path) -> None:
    store = many(tmp_path, 10)
    assert store.working() == []
    store.commit_sync(Batch.of("c1", ev.TurnStarted(turn_id="r1")))
    store.commit_sync(Batch.of("c2", ev.TurnStarted(turn_id="r2")))
    store.commit_sync(Batch.of("c2", ev.PermissionRequested(permission_id="p")))
    assert {s.id: s.status for s in store.working()} == {"c1": "running", "c2": "awaiting-permission"}
    store.commit_sync(Batch.of("c1", ev.TurnCompleted(turn_id="r1", outcome="success")))
    store.close()
    again = Store.open(tmp_path)
    assert [s.id for s in again.working()] == ["c2"]
    again.delete_sync("c2")
    assert again.working() == []
    again.close()


def _lists_quickly(store: Store, chats: int) -> None:
    start = time.process_time()
    assert len(store.summaries()) == chats
    assert time.process_time() - start < 2.0
    for read, limit in ((store.summaries, 0.02), (lambda: store.recent(50), 0.002), (store.working, 0.0002)):
        best = 9.0
        for _ in range(20):
            start = time.perf_counter()
            read()
            best = min(best, time.perf_counter() - start)
        assert best < limit


def test_many_chats_list_quickly(tmp_path: Path) -> None:
    store = many(tmp_path, 4000)
    store.commit_sync(Batch.of("c7", ev.TurnStarted(turn_id="r")))
    _lists_quickly(store, 4000)
    store.close()


@pytest.mark.soak
def test_20_000_chats_list_quickly(tmp_path: Path) -> None:
    store = many(tmp_path, 20_000)
    store.commit_sync(Batch.of("c7", ev.TurnStarted(turn_id="r")))
    _lists_quickly(store, 20_000)
    store.close()
    start = time.perf_counter()
    again = Store.open(tmp_path)
    again.recent(50)
    assert time.perf_counter() - start < 0.5
    again.close()


@settings(max_examples=100, deadline=None)
@given(st.lists(any_event(), max_size=30))
def test_a_summary_is_the_same_folded_as_it_came_or_made_anew(events: list[Event]) -> None:
    summary = ChatSummary("c")
    log = [Stored(n + 5, "c", n, 1000 - n, e) for n, e in enumerate(events)]
    for stored in log:
        summary = fold_summary(summary, stored)
        assert summaries.decode(summaries.encode(summary)) == summary
        assert (summary.last_seq, summary.last_id) == (stored.seq, stored.id)
    assert derived.folded("c", log) == (summary if log else None)


def test_lists_stay_right_while_threads_write_delete_and_read_at_once(tmp_path: Path) -> None:
    store = Store.open(tmp_path)

    def write(worker: int) -> None:
        for n in range(40):
            chat = f"c{worker}-{n % 5}"
            with contextlib.suppress(ChatGone):
                message = ev.UserMessage(message_id=f"m{worker}-{n}", text="x")
                store.commit_sync(Batch.of(chat, message, ev.TurnStarted(turn_id=f"r{n}")))
                if n % 3:
                    store.commit_sync(Batch.of(chat, ev.TurnCompleted(turn_id=f"r{n}", outcome="success")))
            if n == 30:
                store.delete_sync(chat)

    def read() -> None:
        while not done.is_set():
            listed = store.summaries()
            assert len({s.id for s in listed}) == len(listed)
            assert [s.last_active for s in listed] == sorted((s.last_active for s in listed), reverse=True)
            for summary in [*store.working(), *store.recent(3), store.summary("c1-1")]:
                assert summary is None or store.page(summary.id) is not None

    done = threading.Event()
    with ThreadPoolExecutor(5) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for writing in [pool.submit(write, n) for n in range(3)]:
                writing.result()
        finally:
            done.set()
        for reading in readers:
            reading.result()
    assert store.verify() == set()
    listed, working = store.summaries(), store.working()
    store.close()
    again = Store.open(tmp_path)
    assert again.summaries() == listed and again.working() == working and len(listed) == 12
    again.close()


def _spoil(path: Path, *statements: str) -> None:
    conn = db.connect(path / "store.db")
    for statement in statements:
        conn.execute(statement)
    conn.close()


@pytest.mark.parametrize(
    "spoil",
    [
        ("DELETE FROM chat WHERE id='c2'",),
        ("INSERT INTO chat VALUES ('ghost', 1, 1, 0, 0, '{\"id\":\"ghost\"}')",),
        (
            "UPDATE chat SET body=replace(body, 'words', 'other') WHERE id='c3'",
            "UPDATE chat SET last_id=1 WHERE id='c3'",
        ),
        ("UPDATE chat SET body='{' WHERE id='c4'",),
        ("DELETE FROM row WHERE chat='c5'",),
        ("INSERT INTO row VALUES ('ghost', 0, 'm1', 0)",),
        ("DELETE FROM event WHERE chat='c6' AND seq=1",),
    ],
)
def test_the_log_wins_over_summaries_and_rows_that_disagree(tmp_path: Path, spoil: tuple[str, ...]) -> None:
    store = many(tmp_path, 10)
    whole = store.summaries()
    store.close()
    _spoil(tmp_path, *spoil)
    again = Store.open(tmp_path, ManualClock())
    assert again.verify() == set()
    assert len(again.notices) == 1 and "made anew" in again.notices[0]
    if "event" not in spoil[0]:
        assert again.summaries() == whole
    assert again.count_rows("c5") == 1
    again.close()
    third = Store.open(tmp_path)
    assert third.notices == [], "said once"
    third.close()


def test_verify_finds_what_a_quick_look_cant_and_rebuild_mends_it(tmp_path: Path) -> None:
    store = many(tmp_path, 5)
    store.close()
    _spoil(tmp_path, "UPDATE chat SET body=replace(body, 'words', 'other') WHERE id='c3'")
    again = Store.open(tmp_path)
    assert again.verify() == {"c3"}
    again.rebuild_derived({"c3"})
    assert again.verify() == set() and again.summary("c3").preview == "words 3"
    again.close()
