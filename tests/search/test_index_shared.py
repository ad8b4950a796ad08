"""One process writes an index; the others read it, also while it grows (D08)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from store.clock import ManualClock
from store.events import ChatCreated, UserMessage
from store.log import Batch, Store
from store.models import SearchQuery
from store.search import SearchService


def service(store: Store, folder: Path) -> SearchService:
    search = SearchService(store, folder, spans=lambda text: [], spans_version=1)
    search.start_sync()
    return search


def say(store: Store, chat: str, text: str) -> None:
    store.commit_sync(Batch.of(chat, ChatCreated(title=chat), UserMessage(message_id=f"m_{chat}", text=text)))


def counted(folder: Path) -> list[tuple[str, int]]:
    return [(p.name, p.stat().st_mtime_ns) for p in sorted(folder.glob("index-*.db"))]


def test_a_reader_beside_a_writer_writes_nothing_and_sees_what_is_new(tmp_path: Path) -> None:
    store = Store.open(tmp_path, ManualClock())
    say(store, "c_1", "the heron came")
    writer = service(store, tmp_path / "index")
    assert asyncio.run(writer.caught_up(5))
    readers = []
    try:
        for n in range(2, 5):
            say(store, f"c_{n}", "another heron")
            other = Store.open(tmp_path, readonly=True)
            reader = service(other, tmp_path / "index")
            readers.append((reader, other))
            answer = reader.search_sync(SearchQuery("heron"))
            assert (answer.match, answer.total, answer.catching_up) == ("exact", n, False)
        lines = writer.search_sync(SearchQuery("heron", limit=100)).total
        assert lines == 4 and len(counted(tmp_path / "index")) == 1
    finally:
        for reader, other in readers:
            reader.close_sync()
            other.close()
        writer.close_sync()
        store.close()


def test_where_nobody_writes_a_reader_brings_it_up_to_date_itself(tmp_path: Path) -> None:
    store = Store.open(tmp_path, ManualClock())
    say(store, "c_1", "the heron came")
    store.close()
    other = Store.open(tmp_path, readonly=True)
    reader = service(other, tmp_path / "index")
    try:
        assert reader.search_sync(SearchQuery("heron")).total == 1
    finally:
        reader.close_sync()
        other.close()


def test_a_reader_that_brought_it_up_to_date_leaves_it_to_the_writer(tmp_path: Path) -> None:
    store = Store.open(tmp_path, ManualClock())
    say(store, "c_1", "the heron came")
    other = Store.open(tmp_path, readonly=True)
    reader = service(other, tmp_path / "index")
    assert reader.search_sync(SearchQuery("heron")).total == 1
    writer = service(store, tmp_path / "index")
    say(store, "c_2", "a second heron")
    assert asyncio.run(writer.caught_up(5)) and writer.search_sync(SearchQuery("heron")).total == 2
    assert reader.search_sync(SearchQuery("heron")).total == 2
    reader.close_sync()
    other.close()
    writer.close_sync()
    store.close()
