"""What the model is sent: messages rebuilt from the log, byte for byte the same each time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.guard.quoting import fence, host_line
from app.ports import AssistantMessage, Message, PersonMessage, ToolCall, ToolReturn, ToolSpec
from store import events as ev
from store.limits import CONTEXT_CHARS_PER_TOKEN

OPEN_CALL = "The call was interrupted before it gave a result; it isn't known whether it had any effect."
SUMMARY_HEAD = "The conversation so far was long; this is its summary. The whole of it stays in the chat's log."


@dataclass(slots=True)
class _Building:
    """Messages so far, and what waits for its place."""

    messages: list[Message] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # the seq after which each message may be cut off
    said: list[str] = field(default_factory=list)  # of the person, not yet sent
    own: list[str] = field(default_factory=list)  # the same without other people's
    calls: tuple[ev.CallMade, ...] = ()
    results: dict[str, ev.ToolFinished] = field(default_factory=dict)
    unfinished: bool = False  # the newest message is a reply that was cut off, with no calls

    def close_calls(self) -> None:
        """Every call of the newest answer gets its result, in the calls' order."""
        for made in self.calls:
            done = self.results.get(made.call_id)
            text, error = (done.output, done.status != "success") if done else (OPEN_CALL, True)
            self.messages.append(ToolReturn(made.call_id, made.name, text, error))
        self.calls, self.results = (), {}

    def person(self, joined: Sequence[ev.Joined]) -> None:
        """The person's words so far, with what was joined in front of them."""
        parts = [*(part.text for part in joined), *self.said]
        if parts:
            self.close_calls()
            self.messages.append(PersonMessage("\n\n".join(parts), "\n\n".join(self.own)))
            self.unfinished = False
        self.said, self.own = [], []


def messages_of(events: Iterable[ev.Stored]) -> list[Message]:
    """The messages of a chat's log, oldest first; the same log gives the same bytes."""
    b = _Building()
    for stored in events:
        _take(b, stored)
    b.person(())
    b.close_calls()
    return b.messages


def _take(b: _Building, stored: ev.Stored) -> None:
    match stored.event:
        case ev.UserMessage() as e if e.them:
            b.said.append(fence("someone-else", e.text, name=e.author or "someone"))
        case ev.UserMessage() as e:
            b.said.append(e.text)
            b.own.append(e.text)
        case ev.TurnStarted(trigger="retry") if b.unfinished and not b.said:
            b.messages.pop()  # the cut-off reply is written anew
            b.unfinished = False
        case ev.StepStarted() as e:
            b.person(e.joined)
            b.close_calls()
        case ev.AssistantDone() as e if e.text or e.calls:
            b.person(())
            b.close_calls()
            calls = tuple(ToolCall(c.call_id, c.name, c.input) for c in e.calls)
            b.messages.append(AssistantMessage(e.text, calls, e.thinking))
            b.calls, b.results, b.unfinished = e.calls, {}, e.unfinished and not e.calls
        case ev.ToolFinished() as e:
            b.results[e.call_id] = e
        case ev.ContextCompacted() as e:
            _start_over(b, [PersonMessage(summary_text(e.summary))])
        case ev.ContextCleared():
            _start_over(b, [])


def _start_over(b: _Building, messages: list[Message]) -> None:
    b.messages, b.said, b.own, b.calls, b.results, b.unfinished = messages, [], [], (), {}, False


def summary_text(summary: str) -> str:
    """A summary as the model is given it."""
    return f"{host_line(SUMMARY_HEAD)}\n{fence('summary', summary)}"


def live_events(events: Sequence[ev.Stored]) -> list[ev.Stored]:
    """The log as it goes to the model: what was summarised is replaced by the summary, in its place."""
    newest = None
    for stored in events:
        if isinstance(stored.event, ev.ContextCompacted | ev.ContextCleared):
            newest = stored
    if newest is None:
        return list(events)
    through = newest.event.through_seq if isinstance(newest.event, ev.ContextCompacted) else newest.seq
    rest = (s for s in events if s.seq > through and not isinstance(s.event, ev.ContextCompacted | ev.ContextCleared))
    return [newest, *rest]


def tokens_of(system: str, messages: Iterable[Message], tools: Iterable[ToolSpec] = ()) -> int:
    """About how many tokens a request has: characters ÷ 4."""
    chars = len(system)
    for message in messages:
        chars += len(message.text) + 16
        if isinstance(message, AssistantMessage):
            chars += sum(len(call.args) + len(call.name) for call in message.calls)
    chars += sum(len(t.description) + len(str(t.schema)) for t in tools)
    return chars // CONTEXT_CHARS_PER_TOKEN + 1


def cut_points(events: Sequence[ev.Stored]) -> list[int]:
    """Seqs through which the log may be summarised: just before a turn, or between two whole steps of one."""
    points = []
    open_calls: set[str] = set()
    last = -1
    for stored in events:
        event = stored.event
        if isinstance(event, ev.AssistantDone):
            open_calls = {c.call_id for c in event.calls}
        elif isinstance(event, ev.ToolFinished):
            open_calls.discard(event.call_id)
        elif last >= 0 and (
            isinstance(event, ev.UserMessage)
            or (isinstance(event, ev.StepStarted) and event.step > 1 and not open_calls)
        ):
            points.append(last)
            if isinstance(event, ev.UserMessage):
                open_calls = set()
        last = stored.seq
    return points
