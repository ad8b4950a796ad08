"""Everything a person, script or test can ask of a session: one union. Field names are `headless.md`'s."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from store.events import Mode
from store.limits import (
    CHAT_ID_CHARS,
    EXPLORER_QUERY_CHARS,
    MESSAGE_CHARS,
    TASK_INSTRUCTIONS_CHARS,
    TITLE_CHARS,
    VAULT_NAME_CHARS,
    VAULT_VALUE_CHARS,
)


class Command(BaseModel):
    """A command; unknown fields are refused, so that a misspelt one is never silently ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class NewChat(Command):
    """A new chat."""

    do: Literal["new"] = "new"
    title: str = Field("", max_length=TITLE_CHARS)
    folder: str | None = None
    mode: Mode | None = None
    model: str | None = None
    private: bool = False


class Send(Command):
    """The person's words; queued while a turn runs. `attended` false: nobody is there to answer questions."""

    do: Literal["send"] = "send"
    chat: str
    text: str = Field(min_length=1, max_length=MESSAGE_CHARS)
    attended: bool = True


class Stop(Command):
    """Stop the running turn."""

    do: Literal["stop"] = "stop"
    chat: str


class Retry(Command):
    """Try the last turn again."""

    do: Literal["retry"] = "retry"
    chat: str


class Answer(Command):
    """Answer a permission question."""

    do: Literal["answer"] = "answer"
    chat: str
    permission: str
    decision: Literal["allow", "allow-always", "deny"]


class Forward(Command):
    """Put someone else's words in the chat."""

    do: Literal["forward"] = "forward"
    chat: str
    name: str = Field(min_length=1, max_length=120)
    text: str = Field(min_length=1, max_length=MESSAGE_CHARS)


class Archive(Command):
    """Put the chat out of the list, or back."""

    do: Literal["archive"] = "archive"
    chat: str
    archived: bool = True


class Rename(Command):
    """The person's own title."""

    do: Literal["rename"] = "rename"
    chat: str
    title: str = Field(min_length=1, max_length=TITLE_CHARS)


class Pin(Command):
    """Pin or unpin."""

    do: Literal["pin"] = "pin"
    chat: str
    pinned: bool = True


class Delete(Command):
    """Delete for ever; a tombstone stays."""

    do: Literal["delete"] = "delete"
    chat: str


class Fork(Command):
    """A new chat that goes on from a message (default the last)."""

    do: Literal["fork"] = "fork"
    chat: str
    message: str | None = None


class SetOptions(Command):
    """Mode, model, what happens to messages from other chats, or private (only while empty)."""

    do: Literal["set"] = "set"
    chat: str
    mode: Mode | None = None
    model: str | None = None
    inbound: Literal["accept", "hold", "refuse"] | None = None
    private: bool | None = None


class SetQueue(Command):
    """Replace the queue of messages that wait for the reply to end. `go`: where no reply is written, send the first."""

    do: Literal["queue"] = "queue"
    chat: str
    texts: list[str]
    go: bool = False


class Clear(Command):
    """The model starts afresh after this; nothing is deleted."""

    do: Literal["clear"] = "clear"
    chat: str


class DecideMemory(Command):
    """Keep a pending memory, forget one, or undo what was done last with it."""

    do: Literal["memory"] = "memory"
    memory: str = Field(min_length=1, max_length=64)
    action: Literal["keep", "forget", "undo"]


class PutInVault(Command):
    """Keep a value under a name; it is never in an event, an answer or a log."""

    do: Literal["vault"] = "vault"
    name: str = Field(min_length=1, max_length=VAULT_NAME_CHARS)
    value: str = Field(min_length=1, max_length=VAULT_VALUE_CHARS, repr=False)


class UndoChange(Command):
    """Put back what a change set changed; files changed since are left alone."""

    do: Literal["undo"] = "undo"
    chat: str
    change: str = Field(min_length=1, max_length=CHAT_ID_CHARS)


class RedoChange(Command):
    """Do an undone change set again."""

    do: Literal["redo"] = "redo"
    chat: str
    change: str = Field(min_length=1, max_length=CHAT_ID_CHARS)


class StopProcess(Command):
    """End a background process with everything it started."""

    do: Literal["stop-process"] = "stop-process"
    process: str = Field(min_length=1, max_length=CHAT_ID_CHARS)


class DecideMessage(Command):
    """Pass a held message on to the chat, or dismiss it; a person only."""

    do: Literal["message"] = "message"
    chat: str
    message: str = Field(min_length=1, max_length=CHAT_ID_CHARS)
    action: Literal["pass-on", "dismiss"]


class DecideWait(Command):
    """Look now, or stop waiting."""

    do: Literal["wait"] = "wait"
    chat: str
    wait: str = Field(min_length=1, max_length=CHAT_ID_CHARS)
    action: Literal["check", "stop"]


class DecideTask(Command):
    """Stop, retry or resume a task, go on with new instructions, or start it now in spite of the room."""

    do: Literal["task"] = "task"
    task: str = Field(min_length=1, max_length=CHAT_ID_CHARS)
    action: Literal["stop", "retry", "resume", "continue", "start-now"]
    instructions: str = Field("", max_length=TASK_INSTRUCTIONS_CHARS)


class DecideChain(Command):
    """Stop everything the chat's chain keeps going: its replies, and its messages not yet read."""

    do: Literal["chain"] = "chain"
    chat: str
    action: Literal["stop"] = "stop"


class Explore(Command):
    """Explore the history of the chat's project."""

    do: Literal["explore"] = "explore"
    chat: str
    query: str = Field(min_length=1, max_length=EXPLORER_QUERY_CHARS)


class SetConsent(Command):
    """Whether one of the explorer's two tools asks first."""

    do: Literal["consent"] = "consent"
    tool: str
    value: Literal["always", "ask", "never"]


AnyCommand = (
    NewChat
    | Send
    | Stop
    | Retry
    | Answer
    | Forward
    | Archive
    | Rename
    | Pin
    | Delete
    | Fork
    | SetOptions
    | SetQueue
    | DecideMemory
    | PutInVault
    | UndoChange
    | RedoChange
    | Clear
    | StopProcess
    | DecideMessage
    | DecideWait
    | DecideTask
    | DecideChain
    | Explore
    | SetConsent
)


class CommandError(Exception):
    """A refused command. Codes: bad-command, unknown-chat, gone, busy, not-allowed, read-only, failed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
