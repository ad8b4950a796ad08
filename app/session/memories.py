"""What the person decides about a memory: keep, forget, undo."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from app import commands as cmd
from app.session.desk import Desk, before, refuse
from store import events as ev
from store.log import batch_of
from store.memory import PREFIX, Memory

NO_MEMORY = "There is no such memory."
IS_FORGOTTEN = "That memory was forgotten already; undo brings it back."
WORDS_GONE = "What it said is gone with the chats it stood in, so it can't be brought back."


class MemoryDecisions:
    """The store's value and the events of every chat that shows the memory go in one batch."""

    def __init__(self, desk: Desk, changed: Callable[[str], None] = lambda _: None) -> None:
        self._desk = desk
        self._changed = changed  # told the memory's id: where every chat of it is gone no event tells of it
        self._lock = asyncio.Lock()

    async def decide(self, command: cmd.DecideMemory) -> dict[str, Any]:
        """Answers the state that holds afterwards: kept, pending or forgotten."""
        async with self._lock:
            store = self._desk.store
            value = store.state("", PREFIX + command.memory)
            if value is None:
                return refuse("gone", NO_MEMORY)
            memory = Memory.of(command.memory, value)
            match command.action:
                case "keep":
                    return await self._keep(memory)
                case "forget":
                    return await self._forget(memory)
                case _ if memory.state == "forgotten":
                    return await self._bring_back(memory)
                case _:
                    return await self._forget(memory)

    async def _keep(self, memory: Memory) -> dict[str, Any]:
        if memory.state == "forgotten":
            refuse("gone", IS_FORGOTTEN)
        if memory.state == "kept":
            return self._answer(memory, self._desk.store.last_id())
        decided = ev.MemoryDecided(memory_id=memory.id, decision="keep")
        return await self._write(replace(memory, state="kept"), decided)

    async def _forget(self, memory: Memory) -> dict[str, Any]:
        if memory.state == "forgotten":
            return self._answer(memory, self._desk.store.last_id())
        if memory.state == "pending":
            gone: ev.Event = ev.MemoryDecided(memory_id=memory.id, decision="forget")
        else:
            gone = ev.MemoryForgotten(memory_id=memory.id, by="person")
        return await self._write(memory.forgotten(), gone)

    async def _bring_back(self, memory: Memory) -> dict[str, Any]:
        content = await self._desk.store.read(self._words, memory)
        if not content:
            return refuse("gone", WORDS_GONE)
        back = replace(memory, content=content, state=memory.was)
        saved = ev.MemorySaved.model_validate(
            {"memory_id": back.id, "kind": back.kind, "content": content, "pending": back.state == "pending"}
        )
        return await self._write(back, saved)

    def _words(self, memory: Memory) -> str:
        """Its words as the logs have them, the newest: the tombstone has none."""
        for chat in memory.chats:
            for stored in reversed(self._desk.store.events_of_row(chat, memory.id)):
                if isinstance(stored.event, ev.MemorySaved | ev.MemoryForgotten) and stored.event.content:
                    return stored.event.content
        return ""

    async def _write(self, memory: Memory, event: ev.Event) -> dict[str, Any]:
        store = self._desk.store
        shown = [chat for chat in memory.chats if store.summary(chat) is not None and chat not in self._desk.deleting]
        done = await store.commit(batch_of([(chat, event) for chat in shown], changes=[memory.keep()]))
        self._changed(memory.id)
        return self._answer(memory, before(done))

    def _answer(self, memory: Memory, last_id: int) -> dict[str, Any]:
        return {"memory": memory.id, "state": memory.state, "last_id": last_id}
