"""What the screens keep: nothing is lost or read old while a write is on its way."""

from __future__ import annotations

import asyncio
from pathlib import Path

from app.aio import TaskSet
from app.screens.memory import Memory
from store.errors import StoreError
from store.log import Batch, Store


class Slow:
    """The store's committing, let go by hand."""

    def __init__(self, store: Store) -> None:
        self.real, self.go, self.fails = store.commit, asyncio.Event(), False

    async def commit(self, batch: Batch) -> None:
        await self.go.wait()
        if self.fails:
            raise StoreError("The disk is full; make some space.")
        await self.real(batch)


async def test_a_value_on_its_way_is_read_and_waited_for(tmp_path: Path, monkeypatch) -> None:
    store, told = Store(tmp_path / "store.db"), []
    slow, memory = Slow(store), Memory(store, TaskSet(), told.append)
    monkeypatch.setattr(store, "commit", slow.commit)
    memory.keep("", "deck", {"chats": ["c_1"]})
    first = asyncio.ensure_future(memory.flush())
    await asyncio.sleep(0)
    assert memory.read("", "deck") == {"chats": ["c_1"]}
    second = asyncio.ensure_future(memory.flush())
    await asyncio.sleep(0.01)
    assert not second.done()  # what was kept before isn't in the store yet
    slow.go.set()
    await asyncio.gather(first, second)
    assert store.state("", "deck") == {"chats": ["c_1"]} and told == []
    store.close()


async def test_what_could_not_be_written_waits_for_the_next_time_and_newer_values_win(
    tmp_path: Path, monkeypatch
) -> None:
    store, told = Store(tmp_path / "store.db"), []
    slow, memory = Slow(store), Memory(store, TaskSet(), told.append)
    monkeypatch.setattr(store, "commit", slow.commit)
    slow.fails = True
    memory.keep("c", "draft", "old")
    memory.keep("", "deck", 1)
    writing = asyncio.ensure_future(memory.flush())
    await asyncio.sleep(0)
    memory.keep("c", "draft", "new")
    slow.go.set()
    await writing
    assert told == ["The disk is full; make some space."]
    slow.fails = False
    await memory.flush()
    assert (store.state("c", "draft"), store.state("", "deck")) == ("new", 1)
    store.close()
