"""How the index reads the log: what was said in a chat after an id, or everything in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from store.events import Stored
from store.models import ChatSummary
from store.projection import SAID_TYPES


class Log(Protocol):
    """The part of `Store` that the index needs."""

    readonly: bool

    def listen(self, listener: Callable[[tuple[Stored, ...]], None]) -> None: ...
    def summary(self, chat: str) -> ChatSummary | None: ...
    def summaries(self) -> list[ChatSummary]: ...
    def listen_deleted(self, listener: Callable[[str], None]) -> None: ...
    def recent(self, limit: int, archived: bool = False) -> list[ChatSummary]: ...
    def last_id(self) -> int: ...
    def store_uuid(self) -> str: ...
    def by_time(self, types: Sequence[str]) -> Iterator[Stored]: ...
    def events(self, after: int = 0, chat: str | None = None, limit: int = -1) -> Iterator[Stored]: ...


def after(log: Log, chat: str, last_id: int) -> Iterator[Stored]:
    """A chat's events after an id, in order."""
    return log.events(last_id, chat)


def by_time(log: Log) -> Iterator[Stored]:
    """Everything said, oldest first."""
    return log.by_time(SAID_TYPES)
