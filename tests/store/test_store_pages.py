"""Pages of a transcript: the right rows, whole, and quick however long the chat is."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import events as ev
from store.batch import Batch, Page
from store.events import Event, Stored
from store.log import Store
from store.rows import AnyRow, NoticeRow, ToolRow, fold
from tests.store.store_makers import any_event


def said(n: int) -> ev.UserMessage:
    return ev.UserMessage(message_id=f"m{n}", text=f"line {n}")


def keys(page: Page) -> list[str]:
    return list(dict.fromkeys(e.event.row() for e in page.events))


@pytest.fixture
def chat(tmp_path: Path):
    store = Store.open(tmp_path)
    store.commit_sync(Batch.of("other", *(said(n) for n in range(7))))
    store.commit_sync(Batch.of("c", *(said(n) for n in range(100))))
    yield store
    store.close()


def test_the_last_page_is_the_newest_forty_rows_in_order(chat: Store) -> None:
    page = chat.page("c")
    assert keys(page) == [f"m{n}" for n in range(60, 100)]
    assert (page.first_row, page.earlier_rows, page.last_row, page.later_rows) == ("m60", 60, "m99", 0)


def test_pages_before_and_after_a_row_meet_without_gap_or_overlap(chat: Store) -> None:
    page = chat.page("c")
    got = keys(page)
    while page.earlier_rows:
        page = chat.page("c", before=page.first_row, rows=7)
        got = keys(page) + got
    assert got == [f"m{n}" for n in range(100)]
    down = chat.page("c", after="m10", rows=5)
    assert keys(down) == ["m11", "m12", "m13", "m14", "m15"] and down.later_rows == 84
    assert chat.page("c", after="m99").events == () == chat.page("c", before="m0").events


def test_a_chat_opens_around_a_line(chat: Store) -> None:
    page = chat.page_around("c", "m50", rows=10)
    assert keys(page) == [f"m{n}" for n in range(45, 55)] and page.earlier_rows == 45 and page.later_rows == 45
    assert keys(chat.page_around("c", "m1", rows=10))[0] == "m0"
    assert keys(chat.page_around("c", "m99", rows=10)) == [f"m{n}" for n in range(90, 100)]
    assert keys(chat.page_around("c", "gone", rows=10))[-1] == "m99"
    assert len(chat.page_around("c", "m3", rows=1000).events) == 100


def test_an_unknown_chat_or_row_is_an_empty_page(chat: Store) -> None:
    assert chat.page("none") == Page((), None) and chat.page_around("none", "m1") == Page((), None)
    assert chat.page("c", before="none") == Page((), None) == chat.page("c", after="none")
    assert chat.count_rows("none") == 0 and chat.count_rows("c") == 100


def test_a_page_has_all_events_of_its_rows_however_far_apart(chat: Store) -> None:
    chat.commit_sync(Batch.of("d", ev.ToolStarted(call_id="t1", name="bash"), *(said(n) for n in range(60))))
    chat.commit_sync(Batch.of("d", ev.ToolFinished(call_id="t1", status="success", output="late")))
    assert "t1" not in keys(chat.page("d"))
    first = chat.page("d", before="m5")
    assert [e.event.type for e in first.events if e.event.row() == "t1"] == ["tool.started", "tool.finished"]


def rows_of(events) -> dict[str, AnyRow]:
    rows: dict[str, AnyRow] = {}
    for stored in events:
        fold(rows, stored)
    return rows


def without_offers(rows: dict[str, AnyRow]) -> dict[str, AnyRow]:
    """A page has no beginnings of replies, so it can't tell which failed one is past trying again: the feed does."""
    return {key: replace(row, retry=False) if isinstance(row, NoticeRow) else row for key, row in rows.items()}


@settings(max_examples=30, deadline=None)
@given(st.lists(any_event(), max_size=40), st.integers(1, 6))
def test_folding_page_by_page_gives_the_rows_of_the_whole_log(tmp_path_factory, events: list[Event], size: int) -> None:
    store = Store.open(tmp_path_factory.mktemp("home"))
    try:
        for event in events:
            store.commit_sync(Batch.of("c", event))
        whole = rows_of(store.events(chat="c"))
        paged: dict[str, AnyRow] = {}
        page = store.page("c", rows=size)
        while page.first_row is not None:
            mine = rows_of(page.events)
            assert mine.keys() <= whole.keys() and not mine.keys() & paged.keys()
            paged |= mine
            page = store.page("c", before=page.first_row, rows=size)
        assert without_offers(paged) == without_offers(whole)
        assert store.verify() == set()
    finally:
        store.close()


@settings(max_examples=100, deadline=None)
@given(st.lists(any_event(), max_size=12).flatmap(st.permutations))
def test_rows_fold_from_events_in_any_order(events: list[Event]) -> None:
    rows: dict[str, AnyRow] = {}
    for n, event in enumerate(events):
        key = fold(rows, Stored(n + 1, "c", n, 1000 + n, event))
        assert key is None or rows[key].key == key


def _long_chat(tmp_path: Path, events: int) -> Store:
    store = Store.open(tmp_path)
    for start in range(0, events, 5000):
        store.commit_sync(Batch.of("c", *(said(n) for n in range(start, min(start + 5000, events)))))
    return store


def _quickest(fn, times: int = 5) -> float:
    best = 9.0
    for _ in range(times):
        start = time.process_time()
        fn()
        best = min(best, time.process_time() - start)
    return best


def _opens_quickly(store: Store, events: int, tmp_path: Path) -> None:
    tracemalloc.start()
    page = store.page("c")
    assert len(page.events) == 40 and page.earlier_rows == events - 40
    assert tracemalloc.get_traced_memory()[1] < 3_000_000, "nothing is loaded that isn't shown"
    tracemalloc.stop()
    assert _quickest(lambda: store.page("c")) < 0.02
    assert _quickest(lambda: store.page("c", before=f"m{events // 2}")) < 0.02
    assert _quickest(lambda: store.page_around("c", f"m{events // 3}")) < 0.02
    store.close()
    assert _quickest(lambda: Store.open(tmp_path).close(), 1) < 0.1


def test_a_long_chat_opens_and_pages_in_milliseconds(tmp_path: Path) -> None:
    _opens_quickly(_long_chat(tmp_path, 20_000), 20_000, tmp_path)


@pytest.mark.soak
def test_a_chat_of_200_000_events_opens_and_pages_in_milliseconds(tmp_path: Path) -> None:
    _opens_quickly(_long_chat(tmp_path, 200_000), 200_000, tmp_path)


def test_a_call_that_was_refused_before_it_began_is_named_in_plain_words() -> None:
    rows: dict[str, AnyRow] = {}
    refused = ev.ToolFinished(call_id="t1", status="error", output="The person said no.", name="run_command")
    assert fold(rows, Stored(1, "c", 0, 5, refused)) == "t1"
    row = rows["t1"]
    assert isinstance(row, ToolRow) and (row.name, row.label) == ("run_command", "Run command")
