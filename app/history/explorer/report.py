"""What the engine may submit, and the report the host makes of it: provenance is checked, the verdicts are derived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from app.guard.quoting import defused
from app.history.explorer.evidence import Candidate
from app.tools.base import ToolArgs
from store.clock import iso
from store.events.explored import (
    Confidence,
    Disagreement,
    Evidence,
    ExploreAction,
    ExploreState,
    Finding,
    HistoryExplored,
    Outcome,
)
from store.limits import (
    EXPLORE_CLAIM_CHARS,
    EXPLORE_SUMMARY_CHARS,
)
from store.text import safe_text


class SubmittedFinding(ToolArgs):
    """One claim with the candidates it rests on."""

    claim: str = Field(max_length=EXPLORE_CLAIM_CHARS * 4)
    evidence: list[str] = Field(default_factory=list, max_length=40)


class SubmittedConflict(ToolArgs):
    """Passages that disagree."""

    description: str = Field(max_length=EXPLORE_CLAIM_CHARS * 4)
    evidence: list[str] = Field(default_factory=list, max_length=40)


class Submission(ToolArgs):
    """`submit_report`'s arguments. Ids are candidates of this run; everything else of a source is the host's."""

    summary: str = Field("", max_length=EXPLORE_SUMMARY_CHARS * 4, description="One short paragraph")
    findings: list[SubmittedFinding] = Field(default_factory=list, max_length=40)
    conflicts: list[SubmittedConflict] = Field(default_factory=list, max_length=20)
    missing_coverage: list[str] = Field(default_factory=list, max_length=20)
    outcome: Literal["complete", "no_match", "partial"] = "complete"


@dataclass(frozen=True, slots=True)
class Run:
    """How the run went, for the host's own verdicts."""

    query: str
    indexing: bool = False  # at any moment of the run
    capped: bool = False  # a budget ended it
    searches: int = 0
    reads: int = 0
    engine: str = ""
    extractive: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a run; `cited` are the candidates it shows, `dropped` how many ids were none of this run's."""

    query: str
    outcome: Outcome
    summary: str
    findings: tuple[Finding, ...]
    conflicts: tuple[Disagreement, ...]
    missing: tuple[str, ...]
    indexing: bool
    confidence: Confidence
    action: ExploreAction
    partial_reason: str | None
    evidence_only: bool = False
    truncated: bool = False  # something was left out to keep it short
    cited: tuple[Candidate, ...] = ()
    dropped: int = 0

    @property
    def state(self) -> ExploreState:
        """One of the card's states."""
        if self.evidence_only:
            return "evidence-only"
        if self.conflicts:
            return "conflict"
        if self.indexing:
            return "indexing"
        if self.outcome == "no_match":
            return "empty"
        return "partial" if self.outcome == "partial" else "complete"

    def to_json(self) -> dict[str, Any]:
        """As the main model reads it."""
        out: dict[str, Any] = {
            "query": defused(self.query),
            "outcome": self.outcome,
            "summary": defused(self.summary),
            "findings": [{"claim": defused(f.claim), "evidence": [told(e) for e in f.evidence]} for f in self.findings],
            "conflicts": [
                {"description": defused(c.description), "evidence": [told(e) for e in c.evidence]}
                for c in self.conflicts
            ],
            "missing_coverage": [defused(m) for m in self.missing],
            "index_status": "indexing" if self.indexing else "ready",
            "confidence": self.confidence,
            "action": self.action,
            "archival_content": True,
        }
        return out | ({"partial_reason": self.partial_reason} if self.partial_reason else {})

    def event(self, explore_id: str, call_id: str | None, run: Run) -> HistoryExplored:
        """As the card draws it."""
        return HistoryExplored(
            explore_id=explore_id,
            call_id=call_id,
            query=self.query,
            state=self.state,
            outcome=self.outcome,
            confidence=self.confidence,
            action=self.action,
            summary=self.summary,
            findings=self.findings,
            conflicts=self.conflicts,
            missing=self.missing,
            index_status="indexing" if self.indexing else "ready",
            partial_reason=self.partial_reason,
            engine=run.engine,
            searches=run.searches,
            reads=run.reads,
            extractive=run.extractive,
        )


def told(e: Evidence) -> dict[str, Any]:
    """Evidence as the main model reads it."""
    out: dict[str, Any] = {
        "chat_id": e.chat,
        "chat_title": defused(e.title),
        "message_id": e.message,
        "who": e.who,
        "created_at": iso(e.at) or None,
        "excerpt": defused(e.excerpt),
        "projection_truncated": True if e.cut else None,
        "is_compaction_summary": True if e.summary else None,
    }
    return {k: v for k, v in out.items() if v is not None}


def one_line(text: str, most: int) -> str:
    """The engine's words as one harmless line: a line break can't begin what looks like evidence."""
    flat = " ".join(safe_text(text, one_line=True, limit=most * 4).split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"
