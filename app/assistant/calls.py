"""The calls of one answer made safe to run: each has an id of its own, and none runs twice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from app.ports import Toolbox, ToolCall
from store.ids import CALL, new_id
from store.limits import SHORT_CALL_ID, TOOL_ARGS_CHARS

NO_ID = 'The call had no "id", so it wasn\'t run. Call it again with an id of its own.'
NO_NAME = "The call had no \"name\", so it wasn't run. Call it again with the tool's name."
SAME_ID = 'The call\'s "id" was used by another call of the same answer, so only that one was run.'


@dataclass(frozen=True, slots=True)
class Planned:
    """A call as it is logged and answered; `refusal` says why it isn't run."""

    call: ToolCall
    refusal: str | None = None


def plan(calls: Sequence[ToolCall], used: Collection[str], *, short: bool = False) -> list[Planned]:
    """The calls with ids nobody used in this chat (`used`).

    A second call with one id in one answer, and one without an id or a name, is refused under an id of ours, so that
    every result has its own call. An id that an earlier answer used (small servers count from 0 each time) is
    replaced, and the call runs; with `short`, when not all used ids are known, so is every id that looks like a
    counter. Arguments too long to be kept are left out.
    """
    seen: set[str] = set()
    out: list[Planned] = []
    for call in calls:
        refusal = NO_NAME if not call.name.strip() else NO_ID if not call.id else SAME_ID if call.id in seen else None
        seen.add(call.id)
        taken = call.id in used or (short and len(call.id) < SHORT_CALL_ID)
        fresh = new_id(CALL) if refusal or taken else call.id
        if len(call.args) >= TOOL_ARGS_CHARS:
            refusal = refusal or f'"arguments" is longer than {TOOL_ARGS_CHARS:,} characters; send less at once.'
        args = call.args if len(call.args) < TOOL_ARGS_CHARS else "{}"
        out.append(Planned(ToolCall(fresh, call.name[:200] or "unnamed", args), refusal))
    return out


def groups(planned: Sequence[Planned], toolbox: Toolbox) -> Iterator[tuple[bool, list[Planned]]]:
    """Runs of calls: (True, reads that may run side by side) or (False, one write); the order is kept."""
    reads: list[Planned] = []
    for item in planned:
        if item.refusal is None and toolbox.effect(item.call.name) == "write":
            if reads:
                yield True, reads
                reads = []
            yield False, [item]
        else:
            reads.append(item)
    if reads:
        yield True, reads
