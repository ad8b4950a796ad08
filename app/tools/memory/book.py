"""All memories, as the store has them now; what each chat was told of them; and their files."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from store import events as ev
from store.errors import StoreError
from store.limits import MEMORY_TOLD_EVENTS
from store.log import Batch, Store
from store.memory import PREFIX, Memory, MemoryFiles

log = logging.getLogger("shoal.memory")
Clean = Callable[[str], str]

GONE = "-"  # before an id: the chat was told that it is forgotten
_OF_MEMORIES = (ev.MemorySaved, ev.MemoryForgotten, ev.MemoryDecided)
_TELL = ("step.started", "memory.saved", "context.compacted", "context.cleared")


class MemoryBook:
    """Reads of memories, quick and from any thread; it hears of every commit, so it is never behind the store."""

    def __init__(self, store: Store, files: MemoryFiles, clean: Clean = str) -> None:
        self._store = store
        self._files = files
        self._clean = clean
        self._lock = threading.Lock()
        self._known: dict[str, Memory] | None = None
        self._told: dict[str, set[str]] = {}

    def start(self) -> None:
        """Take in what was changed by hand, put the files right, and listen. Blocking; once."""
        if not self._store.readonly:
            memories = self.all()
            edited = self._files.edited(memories)
            changed = [replace(m, content=self._clean(edited[m.id])) for m in memories if m.id in edited]
            # nobody can say yes any more to what waited in a chat that was deleted
            changed += [m.forgotten() for m in memories if m.state == "pending" and not self.there(m)]
            try:
                if changed:
                    self._store.commit_sync(Batch(changes=[m.keep() for m in changed]))
                    self._known = None
                self._files.put_right(self.all())
            except (OSError, StoreError) as error:
                log.warning("the files of memories couldn't be put right: %s", type(error).__name__)
        self._store.listen(self._heard)
        self._store.listen_deleted(self._deleted)

    def _deleted(self, chat: str) -> None:
        with self._lock:
            self._told.pop(chat, None)

    # -- what there is

    def all(self) -> list[Memory]:
        """Every memory and tombstone, oldest first."""
        with self._lock:
            if self._known is None:
                found = self._store.states_under(PREFIX)
                self._known = {i: Memory.of(i, value) for i, value in found.items()}
            return sorted(self._known.values(), key=lambda m: m.at)

    def kept(self) -> list[Memory]:
        """Those that may be told."""
        return [m for m in self.all() if m.state == "kept"]

    def get(self, id_: str) -> Memory | None:
        """One memory or tombstone."""
        return next((m for m in self.all() if m.id == id_), None)

    def there(self, memory: Memory) -> list[str]:
        """The chats that show it and weren't deleted."""
        return [chat for chat in memory.chats if self._store.summary(chat) is not None]

    # -- what a chat was told

    def told(self, chat: str) -> frozenset[str]:
        """The ids that stand in what the chat's model reads; blocking at a chat's first time."""
        with self._lock:
            known = self._told.get(chat)
            if known is not None:
                return frozenset(known)
            known = self._told[chat] = set()  # what is heard while the log is read goes in here
        found = self._read_told(chat)  # without the lock: the writer never waits for it
        with self._lock:
            known |= found
            return frozenset(known)

    def _read_told(self, chat: str) -> set[str]:
        found: set[str] = set()
        floor = -1  # what lies up to here was summarised or cleared away
        for stored in self._store.events_of_types(_TELL, limit=MEMORY_TOLD_EVENTS, chat=chat):
            if stored.seq <= floor:
                break
            event = stored.event
            if isinstance(event, ev.ContextCompacted | ev.ContextCleared) and floor < 0:
                floor = event.through_seq if isinstance(event, ev.ContextCompacted) else stored.seq
            found |= told_by(event)
        return found

    def _heard(self, events: tuple[ev.Stored, ...]) -> None:
        """On the writer's thread: the files follow before the commit is acknowledged."""
        for stored in events:
            event = stored.event
            if isinstance(event, _OF_MEMORIES):
                self.changed(event.memory_id)
            with self._lock:
                if isinstance(event, ev.ContextCompacted | ev.ContextCleared):
                    self._told.pop(stored.chat, None)
                elif stored.chat in self._told:
                    self._told[stored.chat] |= told_by(event)

    def changed(self, id_: str) -> None:
        """A memory's value is another now: read it anew, and let its file follow."""
        with self._lock:
            self._known = None
        value = self._store.state("", PREFIX + id_)
        if value is None:
            return  # an imported chat's: it tells of a memory of another home
        try:
            self._files.write(Memory.of(id_, value))
        except OSError as error:
            log.warning("the file of a memory couldn't be written, the next start does it: %s", error.strerror)


def told_by(event: ev.Event) -> set[str]:
    """The ids an event put before the chat's model."""
    if isinstance(event, ev.MemorySaved):
        return {event.memory_id}
    if isinstance(event, ev.StepStarted):
        return {id_ for part in event.joined if part.kind == "memory" for id_ in (part.ref or "").split()}
    return set()
