"""All that joins a step, gathered at its boundary."""

from __future__ import annotations

from collections.abc import Sequence

from app.assistant.prompts import CARRY_ON, REPLACED, WAS_PAUSED
from app.guard.quoting import fence, host_line
from app.ports import Inbox, Joining, Turn
from store.clock import Clock, iso
from store.events import ForwardedMessage, Joined, StepStarted, Stored, TurnCompleted


class Boundary:
    """Asks every inbox, in order, and adds forwarded words and the time."""

    def __init__(self, clock: Clock, inboxes: Sequence[Inbox] = ()) -> None:
        self._clock = clock
        self._inboxes = inboxes

    async def join(
        self, turn: Turn, step: int, events: Sequence[Stored], sections: Sequence[str] = (), notes: Sequence[str] = ()
    ) -> Joining:
        """What goes in front of the step's message; written with `step.started` before it is sent.

        `notes`: host lines about the turn itself, such as calls made over and over.
        """
        parts: list[Joined] = []
        if step == 1 and turn.trigger != "retry":
            parts.append(Joined(kind="now", text=host_line(f"it is {iso(self._clock.now_ms())}")))
        if step == 1 and turn.trigger == "resume":
            parts.append(Joined(kind="note", text=host_line(CARRY_ON)))
        if step == 1 and turn.trigger == "retry" and was_paused(events):
            parts.append(Joined(kind="note", text=host_line(WAS_PAUSED)))
        parts += [Joined(kind="note", text=note) for note in notes]
        parts += [Joined(kind="note", text=f"{host_line(REPLACED)}\n{text}") for text in sections]
        parts += forwarded(events)
        joining = [Joining(tuple(parts)), *[await inbox.take(turn, step) for inbox in self._inboxes]]
        return Joining(
            tuple(part for j in joining for part in j.parts),
            tuple(source for j in joining for source in j.taints),
            tuple(event for j in joining for event in j.events),
            tuple(change for j in joining for change in j.changes),
        )


def was_paused(events: Sequence[Stored]) -> bool:
    """Whether the last reply that ended was paused."""
    ended = next((s.event for s in reversed(events) if isinstance(s.event, TurnCompleted)), None)
    return isinstance(ended, TurnCompleted) and ended.paused


def forwarded(events: Sequence[Stored]) -> list[Joined]:
    """Forwarded words no step has carried yet, fenced: they are never the person's."""
    carried = {
        part.ref
        for stored in events
        if isinstance(stored.event, StepStarted)
        for part in stored.event.joined
        if part.kind == "forwarded"
    }
    return [
        Joined(kind="forwarded", text=fence("forwarded", e.text, name=e.name), ref=e.message_id)
        for e in (stored.event for stored in events)
        if isinstance(e, ForwardedMessage) and e.message_id not in carried
    ]
