"""What a kill left open, closed at the next start: nothing lost, and no call that may write run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from app.assistant.closing import closing, spent, total
from app.ports import Start
from app.tools.changes import Made
from store import events as ev
from store.log import Batch, Change, Store
from store.models import ChatSummary
from store.state import KeepLiveText, KeepState

CLOSED = "Shoal ended while this was being answered. What had come is kept."


def recovery(
    chat: str, turn_id: str | None, events: Sequence[ev.Stored], live: Sequence[tuple[str, str, str]], model: str = ""
) -> Batch | None:
    """The batch that closes one chat's open turn; None when nothing is open. Pure.

    `live` are the chat's texts so far as (message_id, kind, text).
    """
    forget: list[Change] = [
        KeepLiveText(chat, message_id, "text", None) for message_id in dict.fromkeys(m for m, _, _ in live)
    ]
    close = closing(events, turn_id or "", live, model)
    if close is None or (turn_id is None and not forget):
        return Batch(changes=forget, kind="recover") if forget else None
    if turn_id is None:  # a leftover text without its turn: only the words are kept
        said = [e for e in close.events if isinstance(e, ev.AssistantDone)]
        return Batch.of(chat, *said, changes=forget, kind="recover")
    completed = ev.TurnCompleted(
        turn_id=turn_id,
        outcome="interrupted",
        error=CLOSED,
        code="restarted",
        restarted=True,
        usage=total([close.usage]),
    )
    chain = next((s.event.chain for s in reversed(events) if isinstance(s.event, ev.TurnStarted)), None)
    changes = [*forget, *spent(chain, completed.usage)]
    return Batch.of(chat, *close.events, completed, changes=changes, kind="recover")


RESUME = "resume"  # the key of a chat's state while a broken reply is to be carried on


def resumption(summary: ChatSummary, events: Sequence[ev.Stored], close: Batch) -> dict[str, Any] | None:
    """How the broken turn is to be carried on by itself; None: it waits for a press (issue "A restart…"). Pure."""
    begun = next((s.event for s in reversed(events) if isinstance(s.event, ev.TurnStarted)), None)
    if begun is None or begun.turn_id != summary.turn_id or begun.trigger in ("resume", "ask"):
        return None
    if summary.origin is not None and summary.origin.kind in ("task", "import"):
        return None
    if any(isinstance(n.event, ev.ToolFinished) and n.event.status == "unknown" for n in close.events):
        return None
    return {"chain": begun.chain, "attended": begun.attended}


class Resumes:
    """Implements `app.ports.Starter`: replies that a restart broke carry on once, when the program is ready."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.ready = False

    def due(self, chat: str) -> Start | None:
        """The broken reply's second half."""
        told = self._store.state(chat, RESUME) if self.ready else None
        if not isinstance(told, dict):
            return None
        forget = KeepState(chat, RESUME, None)
        return Start("resume", told.get("chain"), bool(told.get("attended", True)), (forget,))

    def chats(self) -> Sequence[str]:
        """Every chat with one, whether the program is ready or not: until then they count as working."""
        return list(self._store.states(RESUME))


async def recover_chat(store: Store, chat: str, made: Made = ((), ())) -> bool:
    """Close what is open in one chat whose turn doesn't run; whether something was.

    `made`: what the broken-off command changed, which is written before its turn's end.
    """
    summary = store.summary(chat)
    if summary is None:
        return False
    live = [(t.message_id, t.kind, t.text) for t in store.live_texts(chat)]
    if summary.turn_id is None and not live:
        return False
    events = await store.read(store.since_turn, chat)
    batch = recovery(chat, summary.turn_id, events, live, summary.model)
    if batch is None:
        return False
    resume = resumption(summary, events, batch)
    if resume is not None:
        batch = replace(batch, changes=[*batch.changes, KeepState(chat, RESUME, resume)])
    if made[0]:
        *before, end = batch.events
        changed = Batch.of(chat, *made[0]).events
        batch = replace(batch, events=[*before, *changed, end], changes=[*batch.changes, *made[1]])
    await store.commit(batch)
    return True


async def recover(store: Store, made: Mapping[str, Made] = MappingProxyType({})) -> list[str]:
    """Close what is open in every chat, with what was made by its broken-off command; the chats that were."""
    chats = [s.id for s in store.working()] + [text.chat for text in store.live_texts()]
    return [chat for chat in dict.fromkeys(chats) if await recover_chat(store, chat, made.get(chat, ((), ())))]
