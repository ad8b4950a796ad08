"""The memory tools with what they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.tools.base import Tool
from app.tools.memory.book import MemoryBook
from app.tools.memory.forget import Forget
from app.tools.memory.joining import MemoryInbox
from app.tools.memory.recall import Recall
from app.tools.memory.remember import Remember
from store.clock import Clock
from store.log import Store
from store.memory import MemoryFiles


@dataclass(frozen=True, slots=True)
class Memories:
    """What `services` needs of it."""

    book: MemoryBook
    inbox: MemoryInbox
    tools: tuple[Tool, ...]


def build_memory(store: Store, folder: Path, clock: Clock, clean: Callable[[str], str]) -> Memories:
    """Reads the memories and puts their files right: blocking, quick."""
    book = MemoryBook(store, MemoryFiles(folder), clean)
    book.start()
    tools = (Remember(book, clock, clean), Recall(book, clock), Forget(book))
    return Memories(book, MemoryInbox(store, book, clock), tools)
