"""Events about a chat as a whole."""

from __future__ import annotations

from typing import Final, Literal

from .base import ChatStatus, Event, Mode, Part

VAULT_LOCKED: Final = "vault-locked"  # a notice's code: the vault's passphrase is wanted


class Origin(Part):
    """Where a chat came from; a chat the person started has none."""

    kind: Literal["channel", "routine", "task", "client", "peer", "artifact", "import"]
    name: str = ""  # the program, channel or routine, in words
    ref: str | None = None  # its id there
    chat: str | None = None  # of a task: the chat that started it


class ChatCreated(Event):
    """The first event of every chat. `created` may differ from `at` in an import."""

    type: Literal["chat.created"] = "chat.created"
    title: str = ""
    folder: str = ""
    mode: Mode = "auto"
    model: str = "offline"
    origin: Origin | None = None
    recorded_origin: Origin | None = None  # the origin a Shoal export carried
    private: bool = False
    tools: tuple[str, ...] | None = None  # a task's own list (decisions 30)


class ChatForked(Event):
    """In the new chat: which chat it continues, and from which message."""

    type: Literal["chat.forked"] = "chat.forked"
    from_chat: str
    from_title: str = ""
    message_id: str | None = None
    imported: int = 0  # how many of its first messages came out of a file: nobody knows who wrote those


class TitleChanged(Event):
    """A title; one the person gave is never replaced by another's."""

    type: Literal["title"] = "title"
    title: str
    by: Literal["person", "model", "words", "import"] = "person"


class OptionsChanged(Event):
    """What the person set for the chat; absent fields stay as they were."""

    type: Literal["options.changed"] = "options.changed"
    mode: Mode | None = None
    model: str | None = None
    inbound: Literal["accept", "hold", "refuse"] | None = None
    folder: str | None = None
    private: bool | None = None


class ChatArchived(Event):
    """Put out of the list, or back."""

    type: Literal["chat.archived"] = "chat.archived"
    archived: bool = True


class ChatPinned(Event):
    """Pinned (an order number, from 1) or unpinned (0)."""

    type: Literal["chat.pinned"] = "chat.pinned"
    pinned: int = 1


class StatusChanged(Event):
    """What the chat is doing, in four states."""

    type: Literal["status"] = "status"
    status: ChatStatus


class ImportAdded(Event):
    """An import put lines here."""

    row_of = "import_id"
    type: Literal["import.added"] = "import.added"
    import_id: str
    program: str
    file: str = ""
    messages: int = 0
    unreadable: int = 0
    through: int | None = None  # a Shoal export's highest seq that is in


class Notice(Event):
    """One plain sentence of Shoal's own in the transcript."""

    row_of = "notice_id"
    type: Literal["notice"] = "notice"
    notice_id: str
    text: str
    level: Literal["info", "warning", "error"] = "info"
    code: str | None = None  # what can be done about it, such as VAULT_LOCKED
