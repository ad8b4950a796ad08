"""How a turn that didn't end by itself is closed: pure, for a stop, an error and a restart alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from store import events as ev
from store.together import ChainGrew

NOT_RUN = "Not run: the reply ended before its turn came."
MAY_HAVE_RUN = "It may have run, wholly or in part, before the reply ended. It isn't run again by itself; check first."
INTERRUPTED = "Interrupted before it gave a result."


@dataclass(frozen=True, slots=True)
class Closing:
    """What closes a turn, in order; `usage` is summed over its steps."""

    events: tuple[ev.Event, ...]
    usage: ev.Usage


def closing(
    events: Sequence[ev.Stored], turn_id: str, live: Sequence[tuple[str, str, str]], model: str = ""
) -> Closing | None:
    """What the open turn needs before its `turn.completed`; None when it has one.

    `events` are the chat's from `turn.started` on (more does no harm); `live` the texts so far as
    (message_id, kind, text).
    """
    begun = next((i for i, s in enumerate(events) if _starts(s.event, turn_id)), 0)
    mine = [s.event for s in events[begun:]]
    if any(isinstance(e, ev.TurnCompleted) and e.turn_id == turn_id for e in mine):
        return None
    out: list[ev.Event] = []
    done = {e.message_id for e in mine if isinstance(e, ev.AssistantDone)}
    for message_id in dict.fromkeys(m for m, _, _ in live if m not in done):
        text = "".join(t for m, kind, t in live if m == message_id and kind == "text")
        thinking = "".join(t for m, kind, t in live if m == message_id and kind == "thinking")
        if text or thinking:
            out.append(
                ev.AssistantDone(message_id=message_id, text=text, thinking=thinking, unfinished=True, model=model)
            )
    answered = {e.permission_id for e in mine if isinstance(e, ev.PermissionResolved)}
    out += [
        ev.PermissionResolved(permission_id=e.permission_id, decision="expired")
        for e in mine
        if isinstance(e, ev.PermissionRequested) and e.permission_id not in answered
    ]
    return Closing((*out, *open_calls(mine)), total(e.usage for e in mine if isinstance(e, ev.StepFinished)))


def _starts(event: ev.Event, turn_id: str) -> bool:
    return isinstance(event, ev.TurnStarted) and event.turn_id == turn_id


def open_calls(mine: Sequence[ev.Event]) -> list[ev.Event]:
    """A result for every call of the turn without one; a write that had begun is `unknown`, never run again."""
    finished = {e.call_id for e in mine if isinstance(e, ev.ToolFinished)}
    started = {e.call_id: e for e in mine if isinstance(e, ev.ToolStarted)}
    made = {c.call_id: c.name for e in mine if isinstance(e, ev.AssistantDone) for c in e.calls}
    names = {**made, **{call_id: e.name for call_id, e in started.items()}}
    out: list[ev.Event] = []
    for call_id, name in names.items():
        if call_id in finished:
            continue
        begun = started.get(call_id)
        status: ev.ToolStatus = "unknown" if begun and begun.effect == "write" else "error"
        words = NOT_RUN if begun is None else MAY_HAVE_RUN if status == "unknown" else INTERRUPTED
        out.append(ev.ToolFinished(call_id=call_id, status=status, output=words, name=name))
    return out


def total(usages: Iterable[ev.Usage]) -> ev.Usage:
    """The sum; a number nobody knew stays unknown."""
    sums: dict[str, Any] = {}
    for usage in usages:
        for name in ("input_tokens", "output_tokens", "cached_tokens", "cost_usd"):
            value = getattr(usage, name)
            if value is not None:
                sums[name] = (sums.get(name) or 0) + value
    return ev.Usage(**sums)


def spent(chain: str | None, usage: ev.Usage) -> list[ChainGrew]:
    """What a reply adds to its chain's sum; a number nobody knew adds nothing."""
    if chain is None:
        return []
    return [
        ChainGrew(
            chain,
            input_tokens=usage.input_tokens or 0,
            output_tokens=usage.output_tokens or 0,
            cost_usd=usage.cost_usd or 0.0,
        )
    ]
