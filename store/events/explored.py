"""What the history explorer found, and how its run stands."""

from __future__ import annotations

from typing import Literal

from .base import Event, Part

ExploreState = Literal[
    "pending", "complete", "empty", "partial", "indexing", "conflict", "cancelled", "failed", "evidence-only"
]
Outcome = Literal["complete", "no_match", "partial"]
Confidence = Literal["high", "medium", "low"]
ExploreAction = Literal["answer_from_report", "read_targets", "ask_user", "no_relevant_history"]


class Evidence(Part):
    """One quoted passage; every field is the host's own.

    `start` and `end`: where in the message it lies, in characters of the filtered text (its white space is collapsed).
    """

    chat: str
    title: str
    message: str
    who: Literal["you", "assistant", "them", "step"]
    at: int | None = None  # epoch ms
    excerpt: str = ""  # filtered
    start: int = 0
    end: int | None = None
    cut: bool = False  # the message goes on beyond the passage
    summary: bool = False  # it is a chat's summary of itself
    name: str | None = None


class Finding(Part):
    """One claim, which is the engine's analysis, with the evidence it named."""

    claim: str
    evidence: tuple[Evidence, ...] = ()


class Disagreement(Part):
    """Passages that don't agree; both sides are kept, with their dates."""

    description: str
    evidence: tuple[Evidence, ...] = ()


class HistoryExplored(Event):
    """A run of the explorer, as it stands: pending when it began, and once more when it ended."""

    row_of = "explore_id"
    type: Literal["history.explored"] = "history.explored"
    explore_id: str
    call_id: str | None = None
    query: str = ""
    state: ExploreState = "pending"
    outcome: Outcome | None = None
    confidence: Confidence | None = None
    action: ExploreAction | None = None
    summary: str = ""
    findings: tuple[Finding, ...] = ()
    conflicts: tuple[Disagreement, ...] = ()
    missing: tuple[str, ...] = ()
    index_status: Literal["ready", "indexing"] = "ready"
    partial_reason: str | None = None
    engine: str = ""
    searches: int = 0
    reads: int = 0
    extractive: bool = False  # no model wrote any of it
