"""What the assistant did to the computer, and what it remembers."""

from __future__ import annotations

from typing import Literal

from .base import Event, Part


class FileChange(Part):
    """One file of a change set; `path` is relative to the chat's folder where it lies inside, else absolute."""

    path: str
    change: Literal["created", "changed", "deleted"]
    added: int | None = None  # lines; None for what isn't text
    removed: int | None = None
    before: str | None = None  # sha256 of the blob kept before; None: the file wasn't there, or wasn't kept
    after: str | None = None  # sha256 of what it held then; kept as a blob only once it was undone
    mode: int | None = None  # permission bits as they were before; of a new file as they were then


class FilesChanged(Event):
    """One change set (ADR 0030). `shared`: another reply wrote there meanwhile, so it isn't undone by one press."""

    row_of = "change_id"
    type: Literal["files.changed"] = "files.changed"
    change_id: str
    call_id: str | None = None
    label: str = ""
    files: tuple[FileChange, ...] = ()
    shared: bool = False
    undoable: bool = True


class FilesRestored(Event):
    """A change set was undone, or done again."""

    row_of = "change_id"
    type: Literal["files.restored"] = "files.restored"
    change_id: str
    direction: Literal["undo", "redo"]
    files: tuple[str, ...] = ()
    left: tuple[str, ...] = ()  # changed since by something else, so left as they are


class ProcessStarted(Event):
    """A managed background process."""

    row_of = "process_id"
    type: Literal["process.started"] = "process.started"
    process_id: str
    call_id: str | None = None
    command: str = ""
    folder: str = ""


class ProcessEnded(Event):
    """It ended: by itself, stopped, or with Shoal."""

    row_of = "process_id"
    type: Literal["process.ended"] = "process.ended"
    process_id: str
    exit_code: int | None = None
    reason: Literal["exited", "stopped", "limit", "closed"] = "exited"


class MemorySaved(Event):
    """A memory was written; `pending` until the person keeps it."""

    row_of = "memory_id"
    type: Literal["memory.saved"] = "memory.saved"
    memory_id: str
    kind: Literal["preference", "person", "project", "fact"] = "fact"
    content: str = ""  # filtered
    pending: bool = False


class MemoryForgotten(Event):
    """A memory is gone; a tombstone stays."""

    row_of = "memory_id"
    type: Literal["memory.forgotten"] = "memory.forgotten"
    memory_id: str
    by: Literal["person", "assistant"] = "person"
    kind: Literal["preference", "person", "project", "fact"] | None = None
    content: str = ""  # filtered; where the chat that forgot it isn't the one that learned it


class MemoryDecided(Event):
    """The person kept a pending memory, or not."""

    row_of = "memory_id"
    type: Literal["memory.decided"] = "memory.decided"
    memory_id: str
    decision: Literal["keep", "forget"]
