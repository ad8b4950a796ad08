"""A chat's beginning, its forks and its options: what becomes which events. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from app.assistant.closing import open_calls
from app.guard import taint
from store import events as ev
from store.ids import CHAT, new_id
from store.limits import TITLE_CHARS
from store.log import NewEvent
from store.models import ChatSummary

# What a fork doesn't take over: its own options, and the other chat's turns and standing.
LEFT_OUT = (
    ev.ChatCreated,
    ev.ChatForked,
    ev.TitleChanged,
    ev.OptionsChanged,
    ev.ChatArchived,
    ev.ChatPinned,
    ev.StatusChanged,
    ev.ImportAdded,
    ev.Taint,
    ev.TurnStarted,
    ev.TurnCompleted,
    ev.StepFinished,
    ev.ChatMessage,
    ev.Wait,
    ev.Task,
)


def is_import(summary: ChatSummary) -> bool:
    """Whether the chat is another program's, and so read-only."""
    return summary.origin is not None and summary.origin.kind == "import"


def upto(events: Sequence[ev.Stored], message_id: str | None) -> Sequence[ev.Stored] | None:
    """The events through a message and the results of its calls; all for None; None when it isn't there."""
    if message_id is None:
        return events
    last = next((i for i, s in enumerate(events) if s.event.row() == message_id), None)
    if last is None:
        return None
    said = next(i for i in range(len(events) - 1, -1, -1) if events[i].event.row() == message_id)
    end = next(
        (
            i
            for i in range(said + 1, len(events))
            if isinstance(events[i].event, ev.UserMessage | ev.AssistantDone | ev.ForwardedMessage | ev.TurnStarted)
        ),
        len(events),
    )
    return events[:end]


def fork(
    source: ChatSummary, events: Sequence[ev.Stored], message_id: str | None, *, model: str
) -> tuple[str, list[NewEvent]]:
    """A new chat with no origin that carries on from `events`; every taint of the whole source goes with it."""
    chat = new_id(CHAT)
    title = f"{source.title or 'Untitled'} (fork)"[:TITLE_CHARS]
    begin: list[ev.Event] = [
        ev.ChatCreated(
            title=title,
            folder=source.folder,
            mode=source.mode,
            model=model if is_import(source) else source.model,
            private=source.private,
        ),
        ev.ChatForked(
            from_chat=source.id,
            from_title=source.title,
            message_id=message_id,
            imported=_imported(source, [s.event for s in events]),
        ),
    ]
    taints = list(source.taints)
    if is_import(source) and not any(t.kind == "app" for t in taints):
        taints.append(taint.source("app", source.origin.name if source.origin else "import"))
    begin += [ev.Taint(source=source_) for source_ in taints]
    out = [NewEvent(chat, event) for event in begin]
    seqs: dict[int, int] = {}  # what the summary covers, in the new chat's numbers
    for stored in events:
        event = stored.event
        seqs[stored.seq] = len(out) - 1
        if isinstance(event, LEFT_OUT) or (isinstance(event, ev.PermissionRequested) and not _answered(event, events)):
            continue
        if isinstance(event, ev.ContextCompacted):
            event = event.model_copy(update={"through_seq": seqs.get(event.through_seq, len(begin) - 1)})
        if isinstance(event, ev.FilesChanged):  # its files are kept for the chat that changed them, and undone there
            event = event.model_copy(update={"undoable": False})
        seqs[stored.seq] = len(out)
        out.append(NewEvent(chat, event, stored.at))
    out += [NewEvent(chat, event) for event in open_calls([s.event for s in events])]
    return chat, out


def _imported(source: ChatSummary, events: Sequence[ev.Event]) -> int:
    """How many of the messages came out of a file: all of an import's, and what a fork took over from one."""
    said = sum(isinstance(e, ev.UserMessage) for e in events)
    if is_import(source):
        return said
    return min(said, next((e.imported for e in events if isinstance(e, ev.ChatForked)), 0))


def _answered(asked: ev.PermissionRequested, events: Sequence[ev.Stored]) -> bool:
    return any(
        isinstance(s.event, ev.PermissionResolved) and s.event.permission_id == asked.permission_id for s in events
    )
