"""Rows: what a transcript shows, folded from events by one pure reducer (screens, export and headless share it)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from store import events as ev


@dataclass(frozen=True, slots=True)
class Row:
    """What every row has: its key, when it came, and its first event's seq."""

    key: str
    at: int
    seq: int


@dataclass(frozen=True, slots=True)
class SaidRow(Row):
    """Words: the person's, someone else's (`them`), forwarded, or the assistant's. `live` while it streams."""

    who: Literal["you", "them", "assistant", "forwarded"] = "you"
    text: str = ""
    name: str | None = None
    thinking: str = ""
    unfinished: bool = False
    live: bool = False
    attachments: tuple[ev.Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolRow(Row):
    """A tool call: what ran, and how it ended."""

    name: str = ""
    label: str = ""
    input: dict[str, Any] | None = None
    output: str = ""
    status: ev.ToolStatus = "running"
    duration_ms: int = 0
    effect: ev.Effect = "read"
    family: str = ""


@dataclass(frozen=True, slots=True)
class LookRow(Row):
    """A look through earlier chats: PastChatsLook."""

    action: Literal["search", "read"] = "search"
    query: str | None = None
    close: bool = False
    chats: tuple[ev.LookChat, ...] = ()


@dataclass(frozen=True, slots=True)
class PermissionRow(Row):
    """A question to the person; the card shows while `decision` is None."""

    request: ev.PermissionRequested | None = None
    decision: ev.Decision | None = None


@dataclass(frozen=True, slots=True)
class NoticeRow(Row):
    """One sentence of Shoal's own. `retry` where the turn can be tried again, or carried on when it was `paused`."""

    text: str = ""
    level: Literal["info", "warning", "error"] = "info"
    retry: bool = False
    code: str | None = None
    paused: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRow(Row):
    """A change set: which files, and whether it was undone. `left`: files an undo left alone."""

    label: str = ""
    files: tuple[ev.FileChange, ...] = ()
    shared: bool = False
    undoable: bool = True
    undone: bool = False
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessRow(Row):
    """A background process, running while `ended` is None. It ran from `at` to `ended_at` (None: not known)."""

    command: str = ""
    folder: str = ""
    ended: str | None = None
    exit_code: int | None = None
    ended_at: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryRow(Row):
    """Something remembered: pending, kept or forgotten."""

    kind: str = "fact"
    content: str = ""
    state: Literal["kept", "pending", "forgotten"] = "kept"


@dataclass(frozen=True, slots=True)
class OtherChatsRow(Row):
    """A look at what the other chats do: OtherChatsLook."""

    working: int = 0
    needs_you: int = 0
    chats: tuple[ev.OtherChat, ...] = ()


@dataclass(frozen=True, slots=True)
class MessageRow(Row):
    """A message between two chats, as it is now: ChatMessageCard."""

    message: ev.ChatMessage | None = None


@dataclass(frozen=True, slots=True)
class WaitRow(Row):
    """A wait, as it is now: the waiting row."""

    wait: ev.WaitNote | None = None


@dataclass(frozen=True, slots=True)
class TaskRow(Row):
    """A task, as it is now: the task card."""

    task: ev.Task | None = None


@dataclass(frozen=True, slots=True)
class ExploredRow(Row):
    """A run of the history explorer, as it stands: the explore card."""

    run: ev.HistoryExplored | None = None


@dataclass(frozen=True, slots=True)
class UnknownRow(Row):
    """An event of a newer Shoal."""

    type: str = ""


AnyRow = (
    SaidRow
    | ToolRow
    | LookRow
    | PermissionRow
    | NoticeRow
    | ChangeRow
    | ProcessRow
    | MemoryRow
    | OtherChatsRow
    | MessageRow
    | WaitRow
    | TaskRow
    | ExploredRow
    | UnknownRow
)
Rows = dict[str, AnyRow]

# the rows of their looks, memories, messages, waits and tasks stand for them
HIDDEN_TOOLS = frozenset(
    {"search_chats", "read_chat", "explore_chat_history", "remember", "forget"}
    | {"list_chats", "message_chat", "stop_chat", "wait_for", "start_background_task", "delegate"}
)


def fold(rows: Rows, stored: ev.Stored) -> str | None:
    """Take one event into `rows` (changed in place); answers the key of the row that changed, or None."""
    event = stored.event
    key = event.row()
    if isinstance(event, ev.UnknownEvent):
        key = f"unknown-{stored.chat}-{stored.seq}"
        rows[key] = UnknownRow(key, stored.at, stored.seq, event.type)
        return key
    if isinstance(event, ev.TurnStarted):
        return _past_retrying(rows)
    if key is None:
        return None
    row = _next_row(rows.get(key), key, stored)
    if row is None:
        return None
    rows[key] = row
    return key


def _past_retrying(rows: Rows) -> str | None:
    """Another reply began, so the one that failed can't be tried again; answers the row that offered it."""
    for key, row in reversed(rows.items()):
        if isinstance(row, NoticeRow) and row.retry:
            rows[key] = replace(row, retry=False)
            return key
    return None


def _next_row(old: AnyRow | None, key: str, stored: ev.Stored) -> AnyRow | None:  # noqa: PLR0911, PLR0912 - one match
    at, seq = (old.at, old.seq) if old else (stored.at, stored.seq)
    match stored.event:
        case ev.UserMessage() as e:
            return SaidRow(key, at, seq, "them" if e.them else "you", e.text, e.author, attachments=e.attachments)
        case ev.ForwardedMessage() as e:
            return SaidRow(key, at, seq, "forwarded", e.text, e.name)
        case ev.AssistantDone() as e:
            if not e.text and not e.thinking:
                return None
            return SaidRow(key, at, seq, "assistant", e.text, thinking=e.thinking, unfinished=e.unfinished)
        case ev.ToolStarted() as e if e.name not in HIDDEN_TOOLS:
            return ToolRow(key, at, seq, e.name, e.label, e.input, effect=e.effect, family=e.family)
        case ev.ToolFinished() as e:
            if isinstance(old, ToolRow):
                return replace(old, status=e.status, output=e.output, duration_ms=e.duration_ms)
            if old is None and e.name and e.status != "success":
                label = e.name.replace("_", " ").capitalize()  # it never began, so nobody gave it words
                return ToolRow(key, at, seq, e.name, label, None, e.output, e.status, e.duration_ms)
            return old
        case ev.ChatsLooked() as e:
            return LookRow(key, at, seq, e.action, e.query, bool(e.close), e.chats)
        case ev.PermissionRequested() as e:
            return PermissionRow(key, at, seq, e)
        case ev.PermissionResolved() as e:
            return replace(old, decision=e.decision) if isinstance(old, PermissionRow) else None
        case ev.Notice() as e:
            return NoticeRow(key, at, seq, e.text, e.level, code=e.code)
        case ev.ContextCompacted() as e:
            return NoticeRow(
                key, at, seq, f"Summarised {e.messages} earlier messages for the model; they stay searchable"
            )
        case ev.ContextCleared():
            return NoticeRow(key, at, seq, "The assistant starts afresh from here; nothing was deleted")
        case ev.ImportAdded() as e:
            lost = f"; {e.unreadable} lines couldn't be read" if e.unreadable else ""
            return NoticeRow(key, at, seq, f"Imported from {e.program}: {e.messages} messages{lost}")
        case ev.TurnCompleted() as e if e.outcome != "success" or e.paused:
            words = e.error or ("Stopped" if e.outcome == "interrupted" else "The reply didn't finish")
            level: Literal["info", "error"] = "error" if e.outcome == "error" else "info"
            return NoticeRow(key, at, seq, words, level, retry=True, code=e.code, paused=e.paused)
        case ev.FilesChanged() as e:
            return ChangeRow(key, at, seq, e.label, e.files, e.shared, e.undoable)
        case ev.FilesRestored() as e if isinstance(old, ChangeRow):
            return replace(old, undone=e.direction == "undo", left=e.left)
        case ev.ProcessStarted() as e:
            return ProcessRow(key, at, seq, e.command, e.folder)
        case ev.ProcessEnded() as e if isinstance(old, ProcessRow):
            seen = e.reason != "closed" or e.exit_code is not None  # else a kill ended it, and nobody saw when
            return replace(old, ended=e.reason, exit_code=e.exit_code, ended_at=stored.at if seen else None)
        case ev.MemorySaved() as e:
            return MemoryRow(key, at, seq, e.kind, e.content, "pending" if e.pending else "kept")
        case ev.MemoryForgotten() if isinstance(old, MemoryRow):
            return replace(old, state="forgotten")
        case ev.MemoryForgotten() as e if e.content:
            return MemoryRow(key, at, seq, e.kind or "fact", e.content, "forgotten")
        case ev.MemoryDecided() as e if isinstance(old, MemoryRow):
            return replace(old, state="kept" if e.decision == "keep" else "forgotten")
        case ev.ChatsListed() as e:
            return OtherChatsRow(key, at, seq, e.working, e.needs_you, e.chats)
        case ev.ChatMessage() as e:
            return MessageRow(key, at, seq, e)
        case ev.Wait() as e:
            return WaitRow(key, at, seq, e.wait)
        case ev.HistoryExplored() as e:
            return ExploredRow(key, at, seq, e)
        case ev.Task() as e:
            newer = not isinstance(old, TaskRow) or old.task is None or e.rev >= old.task.rev
            return TaskRow(key, at, seq, e) if newer else old
    return None
