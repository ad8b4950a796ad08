"""The messages that wait for a reply to end: kept in the store's state, one goes as each reply ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from store.ids import MESSAGE, new_id
from store.limits import QUEUE_MOST
from store.log import Store
from store.state import KeepState

KEY = "queue"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits; its id is the one it will have in the log."""

    message_id: str
    text: str
    attended: bool = True  # somebody is there to answer questions


Queue = tuple[Waiting, ...]


def read(store: Store, chat: str) -> Queue:
    """A chat's queue; anything unreadable counts as none."""
    value = store.state(chat, KEY)
    if not isinstance(value, list):
        return ()
    return tuple(
        Waiting(str(v["id"]), str(v["text"]), v.get("attended") is not False)
        for v in value
        if isinstance(v, dict) and {"id", "text"} <= v.keys()
    )


def keep(chat: str, queue: Queue) -> KeepState:
    """The change that makes `queue` the chat's."""
    return KeepState(chat, KEY, [_kept(w) for w in queue] or None)


def _kept(waiting: Waiting) -> dict[str, object]:
    told: dict[str, object] = {"id": waiting.message_id, "text": waiting.text}
    return told if waiting.attended else told | {"attended": False}


def push(queue: Queue, text: str, *, attended: bool = True) -> tuple[Queue, Waiting] | None:
    """One more at the end; None when it is full."""
    if len(queue) >= QUEUE_MOST:
        return None
    waiting = Waiting(new_id(MESSAGE), text, attended)
    return (*queue, waiting), waiting


def replaced(queue: Queue, texts: Sequence[str]) -> Queue:
    """The queue as the person edited it: a text that stays keeps its id; empty ones go."""
    left = list(queue)
    out: list[Waiting] = []
    for text in texts:
        if not text.strip():
            continue
        same = next((w for w in left if w.text == text), None)
        if same is not None:
            left.remove(same)
        out.append(same or Waiting(new_id(MESSAGE), text))
    return tuple(out[:QUEUE_MOST])
