"""What every event has; bodies are frozen and carry fields a newer Shoal added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A piece of an event's body."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True, serialize_by_alias=True)


class Event(Part):
    """One thing that happened in a chat. `row_of` names the field that says which row it changes."""

    row_of: ClassVar[str | None] = None
    type: str
    v: int = 1

    def row(self) -> str | None:
        """The row this event changes, or None."""
        return getattr(self, self.row_of) if self.row_of else None


class UnknownEvent(Event):
    """An event written by a newer Shoal: kept whole, shown as one quiet row."""

    raw: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Stored:
    """An event as it lies in the log. `id` orders the store, `seq` (0-based, no gaps) the chat; `at` is only shown."""

    id: int
    chat: str
    seq: int
    at: int
    event: Event

    def to_json(self) -> dict[str, Any]:
        """The event as headless and exports print it."""
        event = self.event
        body = event.raw if isinstance(event, UnknownEvent) else event.model_dump(mode="json", exclude_none=True)
        head = {"id": self.id, "chat": self.chat, "seq": self.seq, "at": self.at, "type": event.type, "v": event.v}
        return head | {k: v for k, v in body.items() if k not in head}


Mode = Literal["plan", "ask", "auto", "full"]
MODES: tuple[Mode, ...] = get_args(Mode)  # from the least power to the most
Outcome = Literal["success", "interrupted", "error"]
Decision = Literal["allow", "allow-always", "deny", "expired"]
ChatStatus = Literal["idle", "running", "awaiting-permission", "error"]
TaintKind = Literal["web", "download", "app", "person"]
Effect = Literal["read", "write"]
ToolStatus = Literal["pending", "running", "success", "error", "unknown"]
