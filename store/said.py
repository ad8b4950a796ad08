"""How the index reads the log: what was said in a chat after an id, or everything in the order of time."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Protocol

from store.events import Stored
from store.models import ChatSummary
from store.projection import SAID_TYPES

READ_AT_ONCE = 500  # events of one read, so that no read transaction stays open


class Log(Protocol):
    """The part of `Store` that the index needs."""

    readonly: bool

    def listen(self, listener: Callable[[tuple[Stored, ...]], None]) -> None: ...
    def summary(self, chat: str) -> ChatSummary | None: ...
    def summaries(self) -> list[ChatSummary]: ...
    def last_id(self) -> int: ...
    def events(self, after: int = 0, chat: str | None = None, limit: int = -1) -> Iterator[Stored]: ...


def uuid(log: Log) -> str:
    """Which store this is; an index of another one is of no use."""
    return str(getattr(log, "uuid", ""))


def after(log: Log, chat: str, last_id: int) -> Iterator[Stored]:
    """A chat's events after an id, read in short reads."""
    while True:
        found = list(log.events(last_id, chat, READ_AT_ONCE))
        yield from found
        if len(found) < READ_AT_ONCE:
            return
        last_id = found[-1].id


def by_time(log: Log) -> Iterator[Stored]:
    """Everything said, oldest first by `at`, in the chats that are there as it is read."""
    reader = getattr(log, "by_time", None)
    if reader is not None:
        yield from reader(SAID_TYPES)
        return
    places = array("q")
    for stored in log.events():
        if stored.event.type in SAID_TYPES:
            places.append(stored.at)
    in_order = all(a <= b for a, b in zip(places, places[1:], strict=False))
    if in_order:
        yield from (s for s in log.events() if s.event.type in SAID_TYPES)
    else:
        yield from sorted((s for s in log.events() if s.event.type in SAID_TYPES), key=lambda s: (s.at, s.id))
