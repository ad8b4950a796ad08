"""What a kill left open, closed at the next start: nothing lost, and no call that may write run again."""

from __future__ import annotations

from collections.abc import Sequence

from app.assistant.closing import closing, total
from store import events as ev
from store.log import Batch, Store
from store.state import KeepLiveText

CLOSED = "Shoal ended while this was being answered. What had come is kept."


def recovery(
    chat: str, turn_id: str | None, events: Sequence[ev.Stored], live: Sequence[tuple[str, str, str]], model: str = ""
) -> Batch | None:
    """The batch that closes one chat's open turn; None when nothing is open. Pure.

    `live` are the chat's texts so far as (message_id, kind, text).
    """
    forget = [KeepLiveText(chat, message_id, "text", None) for message_id in dict.fromkeys(m for m, _, _ in live)]
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
    return Batch.of(chat, *close.events, completed, changes=forget, kind="recover")


async def recover_chat(store: Store, chat: str) -> bool:
    """Close what is open in one chat whose turn doesn't run; whether something was."""
    summary = store.summary(chat)
    if summary is None:
        return False
    live = [(t.message_id, t.kind, t.text) for t in store.live_texts(chat)]
    if summary.turn_id is None and not live:
        return False
    events = await store.read(store.since_turn, chat)
    batch = recovery(chat, summary.turn_id, events, live, summary.model)
    if batch is not None:
        await store.commit(batch)
    return batch is not None


async def recover(store: Store) -> list[str]:
    """Close what is open in every chat; the chats that were."""
    chats = [s.id for s in store.working()] + [text.chat for text in store.live_texts()]
    return [chat for chat in dict.fromkeys(chats) if await recover_chat(store, chat)]
