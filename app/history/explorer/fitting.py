"""How a report is made to fit its size: what matters least goes first."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

from app.history.explorer.report import Report
from app.tools.base import compact
from store.events.explored import Disagreement, Finding
from store.limits import (
    EXPLORE_REPORT_BYTES,
)

LEFT_OUT: Final = "Some of it was left out, to keep the report short."
G = TypeVar("G", Finding, Disagreement)


def fitted(report: Report) -> Report:
    """Whole findings and conflicts up to the size of a report; what was left out makes it partial."""
    if _fits(report):
        return report
    report = replace(
        report,
        outcome="partial",
        confidence="medium" if report.confidence == "high" else report.confidence,
        action="read_targets",
        partial_reason=report.partial_reason or LEFT_OUT,
        truncated=True,
    )
    while not _fits(report):
        report = _smaller(report)
    groups: tuple[Finding | Disagreement, ...] = (*report.findings, *report.conflicts)
    shown = {(e.chat, e.message) for g in groups for e in g.evidence}
    return replace(report, cited=tuple(c for c in report.cited if (c.chat, c.message) in shown))


def _fits(report: Report) -> bool:
    return len(compact(report.to_json()).encode()) <= EXPLORE_REPORT_BYTES


def _smaller(report: Report) -> Report:
    """What matters least is left out first; both sides of the first conflict stay."""
    findings, conflicts = report.findings, report.conflicts
    if len(findings) > 1:
        return replace(report, findings=(*findings[:-1], *_without_last(findings[-1], 1)))
    if report.missing:
        return replace(report, missing=())
    if len(conflicts) > 1:
        return replace(report, conflicts=conflicts[:-1])
    if findings and len(findings[0].evidence) > 1:
        return replace(report, findings=tuple(_without_last(findings[0], 1)))
    if conflicts and len(conflicts[0].evidence) > 2:
        return replace(report, conflicts=tuple(_without_last(conflicts[0], 2)))
    if report.summary and not report.evidence_only:
        return replace(report, summary="")
    if findings and conflicts:
        return replace(report, findings=())
    return replace(
        report,
        query=_half(report.query),
        summary=_half(report.summary),
        findings=tuple(_halved(f, "claim") for f in findings),
        conflicts=tuple(_halved(c, "description") for c in conflicts),
    )


def _without_last(group: G, least: int) -> list[G]:
    """The group with one passage fewer; none at all where it had the least already."""
    if len(group.evidence) <= least:
        return []
    return [group.model_copy(update={"evidence": group.evidence[:-1]})]


def _halved(group: G, words: str) -> G:
    """Nothing can be left out any more, and it is still too long: characters of many bytes."""
    evidence = tuple(e.model_copy(update={"excerpt": _half(e.excerpt), "cut": True}) for e in group.evidence)
    return group.model_copy(update={words: _half(getattr(group, words)), "evidence": evidence})


def _half(text: str) -> str:
    return text[: len(text) // 2].rstrip()
