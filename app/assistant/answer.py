"""One request's answer: taken from the wire, judged, and written as events."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from app.assistant.calls import Planned
from app.assistant.saying import Saying, Signal
from app.ports import CallReady, ModelRequest, RetryWait, StepDone, TextDelta, ThinkingDelta, ToolCall, Turn, Wire
from store import events as ev
from store.limits import STREAM_BREATH_EVENTS

EMPTY = "The model sent an empty reply. Try again, or ask in other words."
BAD_REASONS = {
    "length": "The reply stopped at the model's length limit, so it isn't whole.",
    "filter": "The provider's content filter stopped the reply.",
    "cut": "The reply was cut off on its way. What came is kept.",
    "unknown": "The reply stopped without saying that it was whole. What came is kept.",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request gave."""

    saying: Saying
    done: StepDone
    calls: list[ToolCall]


async def collect(wire: Wire, request: ModelRequest, saying: Saying, signal: Signal) -> Answer:
    """Run the request to its end; its words go into `saying` as they come. Raises WireError."""
    calls: list[ToolCall] = []
    done = StepDone("cut")  # what holds when the stream ends without an end mark
    came = 0
    stream = wire.stream(request)
    try:
        async for event in stream:
            came += 1
            if came % STREAM_BREATH_EVENTS == 0:
                await asyncio.sleep(0)
            match event:
                case TextDelta(text):
                    saying.add("text", text)
                case ThinkingDelta(text):
                    saying.add("thinking", text)
                case CallReady(call):
                    calls.append(call)
                case RetryWait(seconds, why, slowed):
                    signal(request.chat, "retry", {"seconds": seconds, "why": why})
                    if slowed is not None:
                        signal(request.chat, "slowed", {"seconds": slowed})
                case StepDone():
                    done = event
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    return Answer(saying, done, calls)


def fault(answer: Answer) -> tuple[str, str] | None:
    """Why the answer can't count as whole, as (sentence, code); its calls are then not run."""
    reason = answer.done.reason
    if reason in BAD_REASONS:
        return BAD_REASONS[reason], reason
    if reason == "empty" or (not answer.calls and not answer.saying.text().strip()):
        return EMPTY, "empty"
    return None


def said(answer: Answer, turn: Turn, step: int, planned: Sequence[Planned], *, unfinished: bool) -> list[ev.Event]:
    """The events that close a step: the whole message with its calls, and how the request ended."""
    saying = answer.saying
    calls = tuple(ev.CallMade(call_id=p.call.id, name=p.call.name, input=p.call.args) for p in planned)
    out: list[ev.Event] = []
    if saying.text() or saying.text("thinking") or calls:
        out.append(
            ev.AssistantDone(
                message_id=saying.message_id,
                text=saying.text(),
                thinking=saying.text("thinking"),
                calls=calls,
                unfinished=unfinished,
                model=turn.model,
            )
        )
    return [*out, ev.StepFinished(turn_id=turn.turn_id, step=step, reason=answer.done.reason, usage=answer.done.usage)]
