"""Plain values that more than one floor reads: summaries, hits, answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from store.events import ChatStatus, Mode, Origin, TaintSource, Usage

Who = Literal["you", "assistant", "them", "step"]
Match = Literal["exact", "close", "none", "too-short"]
Span = tuple[int, int]  # [start, end) in characters


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What a change set did to one file: lines of a unified diff without its head; `note`: what isn't shown, in words.

    The lines are the file's own text, still to be made harmless.
    """

    path: str
    lines: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """A chat as lists see it; folded from its events in the batch that wrote them."""

    id: str
    title: str = ""
    title_by: str = "words"
    preview: str = ""
    created_at: int = 0
    last_active: int = 0
    status: ChatStatus = "idle"
    origin: Origin | None = None
    recorded_origin: Origin | None = None
    archived_at: int | None = None
    pinned: int = 0
    folder: str = ""
    mode: Mode = "auto"
    model: str = "offline"
    private: bool = False
    inbound: Literal["accept", "hold", "refuse"] = "accept"
    taints: tuple[TaintSource, ...] = ()
    messages: int = 0  # user and assistant messages
    last_id: int = 0
    last_seq: int = -1
    forked_from: str | None = None
    turn_id: str | None = None  # the running turn
    doing: str = ""  # the label of what its turn is doing now
    doing_since: int | None = None
    last_outcome: str | None = None  # of the last turn
    usage: Usage = field(default_factory=Usage)  # summed over the chat
    others: tuple[str, ...] = ()  # names of people other than the person
    turn_began: int | None = None  # epoch ms, of the running turn
    place: str = "computer"  # where its turns run
    family: str = ""  # of the step that runs now (`store/families.py`)
    chain: str | None = None  # the chain its next reply joins, unless the person starts it (decisions 23)
    tools: tuple[str, ...] | None = None  # a task's own list

    def to_json(self) -> dict[str, Any]:
        """As `headless` prints it: nothing that is absent, `private` only where true."""
        out: dict[str, Any] = {
            "id": self.id,
            "title": self.title,
            "preview": self.preview,
            "created_at": self.created_at,
            "last_active": self.last_active,
            "status": self.status,
            "folder": self.folder,
            "mode": self.mode,
            "model": self.model,
            "inbound": self.inbound,
            "messages": self.messages,
            "taints": [t.model_dump() for t in self.taints],
            "last_id": self.last_id,
        }
        if self.origin:
            out["origin"] = self.origin.model_dump(exclude_none=True)
        if self.recorded_origin:
            out["recorded_origin"] = self.recorded_origin.model_dump(exclude_none=True)
        for name in ("archived_at", "pinned", "private", "forked_from", "last_outcome", "doing"):
            if getattr(self, name):
                out[name] = getattr(self, name)
        return out


@dataclass(frozen=True, slots=True)
class Line:
    """One indexed line of a chat, whole and filtered; `anchor` is the message or call id."""

    anchor: str
    who: Who
    at: int | None
    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that matched, as a snippet of ≤ 150 filtered characters with the matched ranges of it."""

    anchor: str
    who: Who
    at: int | None
    snippet: str
    ranges: tuple[Span, ...] = ()
    name: str | None = None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class ChatHits:
    """The lines found in one chat, best first (≤ 3, or ≤ 50 when one chat was asked for)."""

    chat: ChatSummary
    matches: int
    hits: tuple[Hit, ...]
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What is asked. `after` and `before` are epoch ms; `typing` means keys are still arriving (last word a prefix)."""

    text: str
    limit: int = 20
    after: int | None = None
    before: int | None = None
    who: Who | None = None
    chat: str | None = None
    project: str | None = None  # a resolved folder
    typing: bool = False
    without: frozenset[str] = frozenset()  # chats left out, such as the one asking
    private: bool = True  # whether private chats may be found (the person's own search)
    among: frozenset[str] = frozenset()  # only these chats, where any are named


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What was found. `total`: lines that matched; `hidden`: chats that matched but aren't shown (no private ones)."""

    query: str
    match: Match
    groups: tuple[ChatHits, ...] = ()
    total: int = 0
    hidden: int = 0
    capped: bool = False
    catching_up: bool = False
    indexed: int = 0  # how many of
    to_index: int = 0  # so many lines are indexed while catching up
    missing: tuple[str, ...] = ()  # words no shown line has
    read_as: tuple[tuple[str, str], ...] = ()  # (typed, read as)
    cut: bool = False  # the query was longer than the limit
    took_ms: float = 0.0
    superseded: bool = False  # a newer query of the typing lane came; this answer says nothing
    broken: str | None = None  # one sentence when the index can't answer


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of one chat, oldest first. `found` is False when the anchor isn't in the chat (then it is the end)."""

    chat: ChatSummary | None
    lines: tuple[Line, ...] = ()
    earlier: bool = False
    later: bool = False
    found: bool = True
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """A hit with its neighbours, for the search screen."""

    chat: ChatSummary | None
    lines: tuple[Line, ...] = ()
    focus: int = -1
    ranges: tuple[Span, ...] = ()
    messages: int = 0
