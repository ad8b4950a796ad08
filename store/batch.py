"""What is written together, and what comes back: plain values around `Store.commit`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from store import db
from store.events import Event, Stored

BatchKind = Literal["send", "step", "ask", "intent", "result", "end", "chat", "import", "recover"]


class Change(Protocol):
    """A table change that goes in a batch beside events (see `store/state.py`).

    One that belongs to a chat has a `chat` attribute: a late one for a deleted chat is then dropped with its batch.
    """

    def apply(self, conn: db.Connection) -> None:
        """Make the change inside the batch's savepoint."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to write; `at` only where it isn't now (imports)."""

    chat: str
    event: Event
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What becomes durable together. `kind` is for tests and traces."""

    events: Sequence[NewEvent] = ()
    changes: Sequence[Change] = ()
    kind: BatchKind = "chat"

    @classmethod
    def of(cls, chat: str, *events: Event, changes: Sequence[Change] = (), kind: BatchKind = "chat") -> Batch:
        """A batch for one chat."""
        return cls([NewEvent(chat, e) for e in events], changes, kind)


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit wrote; `last_id` is the store's highest event id after it."""

    events: tuple[Stored, ...]
    last_id: int


@dataclass(frozen=True, slots=True)
class Page:
    """Events of up to 40 rows, in order, and how many row keys lie before and after them."""

    events: tuple[Stored, ...]
    first_row: str | None
    earlier_rows: int = 0
    last_row: str | None = None
    later_rows: int = 0


def batch_of(items: Iterable[tuple[str, Event]], kind: BatchKind = "chat", changes: Sequence[Change] = ()) -> Batch:
    """A batch for several chats."""
    return Batch([NewEvent(c, e) for c, e in items], changes, kind)
