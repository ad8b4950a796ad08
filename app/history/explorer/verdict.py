"""What the host makes of a submission: provenance is checked, the verdicts follow from what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from app.history.explorer.evidence import Candidate, Registry
from app.history.explorer.fitting import fitted
from app.history.explorer.report import Report, Run, Submission, SubmittedConflict, SubmittedFinding, one_line
from store.events.explored import Confidence, Disagreement, Finding, Outcome
from store.limits import (
    EXPLORE_CLAIM_CHARS,
    EXPLORE_CONFLICTS,
    EXPLORE_EVIDENCE,
    EXPLORE_FALLBACK,
    EXPLORE_FINDINGS,
    EXPLORE_MISSING,
    EXPLORE_MISSING_CHARS,
    EXPLORE_PASSAGE_CHARS,
    EXPLORE_SHORT_CHARS,
    EXPLORE_SUMMARY_CHARS,
    EXPLORE_WHOLE,
)

NOTHING: Final = "No relevant prior discussion was found in this project."
NOTHING_YET: Final = "Nothing was found so far; the index of earlier chats is still catching up."
NO_SYNTHESIS: Final = "No synthesis could be made ({why}); this is what was seen, newest first."
UNSUPPORTED: Final = "What was concluded named no passage that was seen, so only the passages that were are kept."
INDEXING: Final = "The index of earlier chats is still catching up, so older lines may be missing."
CAPPED: Final = "The budget of this run ended before everything was looked at."


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
