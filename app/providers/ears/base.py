"""What all ears share."""

from __future__ import annotations

from typing import Any, Protocol

from app.providers.endpoints import Endpoint
from app.providers.failures import Failure
from store.events import Usage

Json = dict[str, Any]
TextSlot = tuple[str, Json, str]  # what kind of words, the object that holds them, under which key


class Ear(Protocol):
    """What a wire's stream is heard with."""

    finish: str | None  # stop, tool-calls, length, filter, unknown; None until the server says
    ended: bool  # the protocol's end mark came
    began: bool  # something of the answer came
    usage: Usage
    failure: Failure | None  # an error object in the stream

    def hear(self, name: str, data: Any) -> Json | None:
        """Take one event; what the SDK may see of it."""

    def slot(self, event: Json) -> TextSlot | None:
        """Where an event that holds only words keeps them, so that neighbours can be joined."""

    def event_name(self, event: Json) -> str:
        """The `event:` line the SDK wants; "" for none."""


def tokens(value: Any) -> int | None:
    """A count of tokens, or None when it isn't one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else None


def table(value: Any) -> Json:
    """The value where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """A list as it is; anything else counts as an empty one."""
    return value if isinstance(value, list) else []


def part(value: Any, *keys: str) -> Any:
    """A nested value, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


class BaseEar:
    """What all ears share."""

    def __init__(self, at: Endpoint) -> None:
        self.at = at
        self.finish: str | None = None
        self.ended = False
        self.began = False
        self.usage = Usage()
        self.failure: Failure | None = None
        self._half: dict[str, str] = {}  # the first half of a surrogate pair that came alone

    def event_name(self, event: Json) -> str:
        """None."""
        return ""

    def _whole(self, kind: str, text: str) -> str:
        """The text with pairs split over events joined; a first half waits for the next event."""
        if kind in self._half or not fits(text):
            text = self._half.pop(kind, "") + text
            if text and "\ud800" <= text[-1] <= "\udbff":
                self._half[kind] = text[-1]
                text = text[:-1]
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text


def fits(text: str) -> bool:
    """Whether the text has no half characters."""
    try:
        text.encode("utf-8")
        return True
    except UnicodeEncodeError:
        return False


def index_of(data: Json) -> int:
    """A block's place; 0 when the server gave none."""
    return data["index"] if isinstance(data.get("index"), int) else 0
