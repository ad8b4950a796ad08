"""What the two tools that look through earlier chats share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, Protocol, TypeVar

from app.history.answers import Clean
from app.history.surface import SurfaceGate
from app.ports import TurnContext
from store.models import ChatSummary, SearchAnswer, SearchQuery, Slice

BAD_TEXT = "must be text"
BROKEN = "Looking through earlier chats isn't working right now. {why}"  # why: the index's own words, naming Repair
THIS_CHAT = "That is this chat: you already have all of it."


class Chats(Protocol):
    """What the tools need of the store."""

    def summary(self, chat: str) -> ChatSummary | None:
        """One chat's newest summary; None for an unknown or deleted one."""

    async def read(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Run a reading function on a worker thread."""


class Searcher(Protocol):
    """What the tools need of the one retrieval core."""

    async def search(self, query: SearchQuery, lane: Literal["typing", "tools"] = "typing") -> SearchAnswer:
        """The one search."""

    async def slice(
        self,
        chat: str,
        message: str | None = None,
        direction: Literal["around", "before", "after"] = "around",
        count: int = 12,
    ) -> Slice:
        """A stretch of one chat, whole lines, filtered."""


StoreT = TypeVar("StoreT", bound=Chats)


class HistoryTool(Generic[StoreT]):
    """Reads, never writes. `clean` is both filters; `gate` says who has it, when offered and again when run."""

    name: str
    family = "history"
    effect: Literal["read", "write"] = "read"
    prompt: str | None = None

    def __init__(self, store: StoreT, search: Searcher, clean: Clean, gate: SurfaceGate | None = None) -> None:
        self._store = store
        self._search = search
        self._clean = clean
        self._gate = gate or SurfaceGate()

    def refusal(self, ctx: TurnContext) -> str | None:
        """None when this turn may look, else the sentence."""
        return self._gate.refusal(self.name, ctx)
