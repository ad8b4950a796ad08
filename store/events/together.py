"""Chats that know about each other: lists, messages, waits and tasks (ADR 0134)."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field

from .base import Event, Part

ChatState = Literal["working", "needs-you", "idle", "stopped"]
MessageState = Literal["waiting", "read", "held", "refused", "dismissed"]
WaitKind = Literal["chat", "task", "process", "url", "time", "ci"]
WaitState = Literal["watching", "done", "timed-out", "stopped", "failed"]
PartState = Literal["waiting", "running", "passed", "failed", "skipped"]
Tone = Literal["good", "bad", "neutral"]
TaskKind = Literal["background", "helper"]
TaskState = Literal["queued", "running", "needs-you", "done", "unverified", "failed", "stopped", "interrupted"]


class OtherChat(Part):
    """One of the person's other chats as `list_chats` told it; names are filtered and harmless."""

    id: str
    title: str
    state: ChatState
    doing: str | None = None  # Shoal's own words for the step's family, while working
    doing_since: int | None = None  # epoch ms, as are the next two
    began: int | None = None  # when its running reply began
    last_active: int | None = None
    same_folder: bool | None = None
    folder: str | None = None  # as a person reads it, where it isn't the same
    files: tuple[str, ...] = ()  # the first few its running reply changed
    more_files: int = 0
    browser: bool = False  # a browser page is open
    tasks: int = 0  # of its own, still going
    from_: str | None = Field(  # `from` in the log
        None, validation_alias=AliasChoices("from", "from_"), serialization_alias="from"
    )
    untrusted: bool | None = None
    archived: bool | None = None


class ChatsListed(Event):
    """The assistant looked at what the other chats do; the counts cover every chat of the person's."""

    row_of = "look_id"
    type: Literal["chats.listed"] = "chats.listed"
    look_id: str
    call_id: str | None = None
    working: int = 0
    needs_you: int = 0
    chats: tuple[OtherChat, ...] = ()


class ChatName(Part):
    """Another chat, by id and by its title as it was."""

    id: str
    title: str


class ChatMessage(Event):
    """A message between two chats, in the log of each; every event carries the whole card as it is now."""

    row_of = "message_id"
    type: Literal["chat.message"] = "chat.message"
    message_id: str
    direction: Literal["to", "from"]  # as this chat sees it
    other: ChatName
    text: str = ""  # filtered
    state: MessageState = "waiting"
    why: str | None = None  # of a refusal
    stop: bool = False  # the sender stopped the receiver's reply; `text` is its reason
    start_reply: bool = False
    chain: str | None = None


class WaitPart(Part):
    """One of several things waited for together, such as a check."""

    name: str  # ≤ 120
    state: PartState = "waiting"


class WaitNote(Part):
    """A wait as its row shows it (conch-behaviour §2.9)."""

    wait_id: str
    kind: WaitKind
    title: str  # ≤ 160, filtered
    state: WaitState = "watching"
    tone: Tone | None = None
    status: str = ""  # ≤ 300
    parts: tuple[WaitPart, ...] = ()  # ≤ 40
    started_at: int = 0  # epoch ms, as are the next three
    next_check_at: int | None = None
    deadline: int = 0
    ended_at: int | None = None
    url: str | None = None
    wakes: bool = False  # it let go of the turn, and starts a reply when it ends
    tell: bool = False
    chat: str | None = None  # a chat to open
    headline: str | None = None  # ≤ 300: how it ended, in place of “Waited for …”


class Wait(Event):
    """A wait began, changed or ended."""

    row_of = "wait_id"
    type: Literal["wait"] = "wait"
    wait_id: str
    wait: WaitNote


class TaskStep(Part):
    """One thing a task did."""

    at: int
    label: str


class TaskAsking(Part):
    """The first open question of a task's chat. `here`: it can be answered on the task's card."""

    permission_id: str
    summary: str = ""
    tool: str = ""
    preview: str = ""
    here: bool = True


class TaskWaiting(Part):
    """Why a task waits for room (conch-behaviour §2.6)."""

    reason: Literal["after", "conflict", "memory", "cpu", "recovering", "provider", "provider-busy", "room"]
    words: str
    on: tuple[str, ...] = ()  # tasks
    expected_at: int | None = None
    retry_at: int | None = None
    can_start_now: bool = False


class Worktree(Part):
    """A task's own worktree of the repository."""

    path: str
    branch: str
    changed: int = 0  # files


class Task(Event):
    """A task's card in the chat it came from; a higher `rev` wins."""

    row_of = "task_id"
    type: Literal["task"] = "task"
    task_id: str
    title: str = ""  # ≤ 120
    kind: TaskKind = "background"
    state: TaskState = "queued"
    task_chat: str = ""  # its own chat
    group: str | None = None  # its batch
    current: str = ""  # ≤ 240, what it does now
    steps: tuple[TaskStep, ...] = ()  # the last 12
    asking: TaskAsking | None = None
    summary: str = ""  # ≤ 600 here; the whole result is in the task's record
    error: str | None = None
    note: str = ""
    by: str = ""  # the model that does it
    worktree: Worktree | None = None
    waiting: TaskWaiting | None = None
    started_at: int | None = None
    ended_at: int | None = None
    rev: int = 0
