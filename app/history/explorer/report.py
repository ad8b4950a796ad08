"""What the engine may submit, and the report the host makes of it: provenance is checked, the verdicts are derived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pydantic import Field

from app.guard.quoting import defused
from app.history.explorer.evidence import Candidate, Registry
from app.tools.base import ToolArgs, compact
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
    EXPLORE_CONFLICTS,
    EXPLORE_EVIDENCE,
    EXPLORE_FALLBACK,
    EXPLORE_FINDINGS,
    EXPLORE_MISSING,
    EXPLORE_MISSING_CHARS,
    EXPLORE_PASSAGE_CHARS,
    EXPLORE_REPORT_BYTES,
    EXPLORE_SHORT_CHARS,
    EXPLORE_SUMMARY_CHARS,
    EXPLORE_WHOLE,
)
from store.text import safe_text

NOTHING: Final = "No relevant prior discussion was found in this project."
NOTHING_YET: Final = "Nothing was found so far; the index of earlier chats is still catching up."
NO_SYNTHESIS: Final = "No synthesis could be made ({why}); this is what was seen, newest first."
UNSUPPORTED: Final = "What was concluded named no passage that was seen, so only the passages that were are kept."
LEFT_OUT: Final = "Some of it was left out, to keep the report short."
INDEXING: Final = "The index of earlier chats is still catching up, so older lines may be missing."
CAPPED: Final = "The budget of this run ended before everything was looked at."


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


def grounded(submitted: Submission, registry: Registry) -> bool:
    """Whether any of what was submitted rests on something that was seen (else it is bounced once)."""
    groups: list[SubmittedFinding | SubmittedConflict] = [*submitted.findings, *submitted.conflicts]
    return not groups or any(registry.get(id_) for g in groups for id_ in g.evidence)


def derive(submitted: Submission, registry: Registry, run: Run, clean: Any) -> Report:
    """The report: unknown ids are dropped, then groups without evidence, and the verdicts follow from what is left."""
    dropped = 0
    findings: list[Finding] = []
    conflicts: list[Disagreement] = []
    cited: dict[str, Candidate] = {}

    def resolved(ids: Sequence[str]) -> list[Candidate]:
        nonlocal dropped
        found = [registry.get(id_) for id_ in dict.fromkeys(ids)]
        dropped += sum(c is None for c in found)
        return [c for c in found if c is not None][:EXPLORE_EVIDENCE]

    for f in submitted.findings[:EXPLORE_FINDINGS]:
        candidates = resolved(f.evidence)
        if candidates:
            claim = one_line(clean(f.claim), EXPLORE_CLAIM_CHARS)
            most = EXPLORE_PASSAGE_CHARS if len(cited) < EXPLORE_WHOLE else EXPLORE_SHORT_CHARS
            findings.append(Finding(claim=claim, evidence=tuple(registry.evidence(c, most) for c in candidates)))
            cited |= {c.id: c for c in candidates}
    for d in submitted.conflicts[:EXPLORE_CONFLICTS]:
        candidates = resolved(d.evidence)
        if len(candidates) >= 2:  # both sides, or it is none
            candidates.sort(key=lambda c: c.at or 0)
            words = one_line(clean(d.description), EXPLORE_CLAIM_CHARS)
            conflicts.append(Disagreement(description=words, evidence=tuple(registry.evidence(c) for c in candidates)))
            cited |= {c.id: c for c in candidates}
    wanted = bool(submitted.findings or submitted.conflicts)
    missing = [one_line(clean(m), EXPLORE_MISSING_CHARS) for m in submitted.missing_coverage[:EXPLORE_MISSING]]
    lost = len(submitted.findings) > len(findings) or len(submitted.conflicts) > len(conflicts) or dropped > 0
    if not cited:
        if wanted and registry.shown:
            return evidence_only(registry, run, "nothing that was concluded could be traced")
        return _nothing(run, missing)
    outcome: Outcome = "partial" if submitted.outcome == "partial" or run.capped or run.indexing or lost else "complete"
    reason = INDEXING if run.indexing else CAPPED if run.capped else UNSUPPORTED if lost else None
    report = Report(
        run.query,
        outcome,
        one_line(clean(submitted.summary), EXPLORE_SUMMARY_CHARS) if findings or conflicts else "",
        tuple(findings),
        tuple(conflicts),
        tuple(missing),
        run.indexing,
        _confidence(findings, conflicts, missing, outcome),
        "read_targets" if outcome == "partial" or conflicts else "answer_from_report",
        reason if outcome == "partial" else None,
        cited=tuple(cited.values()),
        dropped=dropped,
    )
    return fitted(report)


def _confidence(
    findings: Sequence[Finding], conflicts: Sequence[Disagreement], missing: Sequence[str], outcome: Outcome
) -> Confidence:
    """High only with a finding that survived and no gap, drop or conflict; low without a finding."""
    if not findings:
        return "low"
    return "high" if outcome == "complete" and not missing and not conflicts else "medium"


def _nothing(run: Run, missing: Sequence[str]) -> Report:
    """An honest nothing; while indexing it isn't one yet."""
    whole = not run.indexing
    return Report(
        run.query,
        "no_match" if whole else "partial",
        NOTHING if whole else NOTHING_YET,
        (),
        (),
        tuple(missing),
        run.indexing,
        "medium" if whole else "low",
        "no_relevant_history" if whole else "ask_user",
        None if whole else INDEXING,
    )


def evidence_only(registry: Registry, run: Run, why: str) -> Report:
    """Without any of the engine's words: what was seen, newest first."""
    seen = sorted(registry.seen(), key=lambda c: c.at or 0, reverse=True)[:EXPLORE_FALLBACK]
    if not seen:
        return _nothing(run, ())
    found = tuple(Finding(claim="", evidence=(registry.evidence(c),)) for c in seen)
    report = Report(
        run.query,
        "partial",
        NO_SYNTHESIS.format(why=why),
        found,
        (),
        (),
        run.indexing,
        "low",
        "read_targets",
        INDEXING if run.indexing else f"No synthesis: {why}.",
        evidence_only=True,
        cited=tuple(seen),
    )
    return fitted(report)


def fitted(report: Report) -> Report:
    """Whole findings and conflicts up to the size of a report; what was left out makes it partial."""
    cut = False
    while len(compact(report.to_json()).encode()) > EXPLORE_REPORT_BYTES:
        cut = True
        if len(report.findings) > 1:
            *kept, last = report.findings
            if len(last.evidence) > 1:
                kept.append(last.model_copy(update={"evidence": last.evidence[:-1]}))
            report = replace(report, findings=tuple(kept))
        elif report.missing:
            report = replace(report, missing=())
        elif len(report.conflicts) > 1 or (report.conflicts and report.findings):
            report = replace(report, conflicts=report.conflicts[:-1])
        elif report.findings and len(report.findings[0].evidence) > 1:
            first = report.findings[0]
            report = replace(report, findings=(first.model_copy(update={"evidence": first.evidence[:-1]}),))
        elif report.conflicts and len(report.conflicts[0].evidence) > 2:
            one = report.conflicts[0]
            report = replace(report, conflicts=(one.model_copy(update={"evidence": one.evidence[:-1]}),))
        elif report.summary:
            report = replace(report, summary="")
        else:
            break
    if not cut:
        return report
    groups: tuple[Finding | Disagreement, ...] = (*report.findings, *report.conflicts)
    shown = {(e.chat, e.message) for g in groups for e in g.evidence}
    cited = tuple(c for c in report.cited if (c.chat, c.message) in shown)
    confidence: Confidence = "medium" if report.confidence == "high" else report.confidence
    return replace(
        report,
        outcome="partial",
        confidence=confidence,
        action="read_targets",
        partial_reason=report.partial_reason or LEFT_OUT,
        cited=cited,
        truncated=True,
    )
