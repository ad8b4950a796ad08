"""What a kill left open, as plain data for recovery: turns without an end, and what in them has none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from store.events import (
    AssistantDone,
    Event,
    PermissionRequested,
    PermissionResolved,
    Stored,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
)
from store.models import ChatSummary
from store.state import LiveText


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that was started and has no `turn.completed`. `turn` is None where only the chat's status says it runs."""

    chat: str
    turn: TurnStarted | None
    calls: tuple[ToolStarted, ...] = ()  # started, not finished; `effect` says whether they may have changed something
    unstarted: tuple[str, ...] = ()  # call ids an assistant message made that neither started nor finished
    permissions: tuple[PermissionRequested, ...] = ()  # not resolved
    live: tuple[LiveText, ...] = ()  # text so far of messages without their `assistant.done`

    @property
    def turn_id(self) -> str | None:
        """The turn's id."""
        return self.turn.turn_id if self.turn else None


def open_turn(summary: ChatSummary, events: Iterable[Stored], live: tuple[LiveText, ...]) -> OpenTurn:
    """Fold the events since the chat's last `turn.started` (or all it has) to what is open."""
    turn: TurnStarted | None = None
    calls: dict[str, Event] = {}
    made: dict[str, None] = {}
    asked: dict[str, Event] = {}
    for stored in events:
        match stored.event:
            case TurnStarted() as e:
                turn, calls, made, asked = e, {}, {}, {}
            case TurnCompleted() as e if turn is not None and e.turn_id == turn.turn_id:
                turn, calls, made, asked = None, {}, {}, {}
            case AssistantDone() as e:
                made |= dict.fromkeys(c.call_id for c in e.calls)
            case ToolStarted() as e:
                calls[e.call_id] = e
                made.pop(e.call_id, None)
            case ToolFinished() as e:
                calls.pop(e.call_id, None)
                made.pop(e.call_id, None)
            case PermissionRequested() as e:
                asked[e.permission_id] = e
            case PermissionResolved() as e:
                asked.pop(e.permission_id, None)
    return OpenTurn(
        summary.id,
        turn,
        tuple(c for c in calls.values() if isinstance(c, ToolStarted)),
        tuple(made),
        tuple(p for p in asked.values() if isinstance(p, PermissionRequested)),
        live,
    )
