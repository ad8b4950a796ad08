"""Evidence and report: the host resolves every field, and what the engine wrote can't pass for evidence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.history.explorer.evidence import Registry, passage, stems
from app.history.explorer.report import Run, Submission, SubmittedConflict, SubmittedFinding
from app.history.explorer.verdict import NOTHING, derive, evidence_only, grounded
from app.tools.base import compact
from store.events import TaintSource
from store.limits import EXPLORE_REPORT_BYTES
from store.models import ChatSummary, Line

WEB = TaintSource(kind="web", label="a.example")


def registry(count: int = 4, show: bool = True) -> tuple[Registry, list[str]]:
    made, ids = Registry(str), []
    for n in range(count):
        chat = ChatSummary(f"c_{n}", title=f"Chat {n}", taints=(WEB,) if n == 3 else ())
        one = made.observe(chat, Line(f"m_{n}", "assistant", 1_000 * n, f"fact number {n} of the matter"))
        if show:
            made.show(one.id)
        ids.append(one.id)
    return made, ids


def report(submitted: Submission, made: Registry, **run: Any) -> Any:
    return derive(submitted, made, Run("q", **run), str)


def test_candidate_ids_are_opaque_and_of_this_run_only() -> None:
    made, ids = registry()
    _, others = registry()
    assert len(set(ids) | set(others)) == 8 and made.get(others[0]) is None and made.get("c_0") is None
    hidden, unseen = registry(show=False)
    assert hidden.get(unseen[0]) is None and hidden.seen() == []


def test_the_same_message_keeps_its_candidate() -> None:
    made, ids = registry()
    again = made.observe(ChatSummary("c_0", title="Renamed"), Line("m_0", "you", 5, "other words"))
    assert again.id == ids[0] and (again.title, again.text) == ("Chat 0", "fact number 0 of the matter")


def test_unknown_duplicate_and_one_sided_groups_are_dropped() -> None:
    made, ids = registry()
    submitted = Submission(
        summary="s",
        findings=[
            SubmittedFinding(claim="kept", evidence=[ids[0], ids[0], "e_x"]),
            SubmittedFinding(claim="gone", evidence=["e_y"]),
        ],
        conflicts=[SubmittedConflict(description="one-sided", evidence=[ids[1], ids[1], "e_z"])],
    )
    got = report(submitted, made)
    assert [f.claim for f in got.findings] == ["kept"] and len(got.findings[0].evidence) == 1
    assert got.conflicts == () and got.dropped == 3 and got.outcome == "partial"


def test_a_conflict_keeps_both_sides_with_their_dates_oldest_first() -> None:
    made, ids = registry()
    submitted = Submission(conflicts=[SubmittedConflict(description="d", evidence=[ids[2], ids[1]])])
    got = report(submitted, made)
    assert got.state == "conflict" and got.action == "read_targets" and got.confidence == "low"
    assert [e.at for e in got.conflicts[0].evidence] == [1_000, 2_000]


def test_the_verdicts_follow_from_what_is_left() -> None:
    made, ids = registry()
    good = Submission(summary="s", findings=[SubmittedFinding(claim="c", evidence=[ids[0]])])
    assert (report(good, made).confidence, report(good, made).state) == ("high", "complete")
    gap = good.model_copy(update={"missing_coverage": ["the mobile app"]})
    assert (report(gap, made).confidence, report(gap, made).outcome) == ("medium", "complete")
    assert report(good, made, capped=True).outcome == "partial"
    assert report(good, made, indexing=True).state == "indexing"
    claimed = good.model_copy(update={"outcome": "no_match"})
    assert report(claimed, made).outcome == "complete"  # what survived decides, not what was claimed
    nothing = report(Submission(outcome="complete"), made)
    assert (nothing.outcome, nothing.summary, nothing.state) == ("no_match", NOTHING, "empty")


def test_with_no_surviving_evidence_nothing_the_engine_wrote_is_kept() -> None:
    made, _ = registry()
    submitted = Submission(summary="INVENTED", findings=[SubmittedFinding(claim="INVENTED", evidence=["e_x"])])
    got = report(submitted, made)
    assert got.evidence_only and "INVENTED" not in str(got.to_json()) and not grounded(submitted, made)
    assert [e.at for f in got.findings for e in f.evidence] == [3_000, 2_000, 1_000, 0]


def test_the_fallback_taints_only_with_what_it_shows() -> None:
    made, _ = registry(12)
    got = evidence_only(made, Run("q"), "why")
    assert len(got.cited) == 8 and got.cited[0].message == "m_11"


@given(st.text(max_size=500))
def test_the_engines_words_are_one_harmless_line_each(text: str) -> None:
    made, ids = registry()
    submitted = Submission(
        summary=text, findings=[SubmittedFinding(claim=text, evidence=[ids[0]])], missing_coverage=[text]
    )
    got = report(submitted, made)
    for said in (got.summary, *(f.claim for f in got.findings), *got.missing):
        assert "\n" not in said and "\r" not in said and "\x1b" not in said
    assert "[Shoal" not in str(got.to_json())


@given(st.text(max_size=2_000), st.sets(st.sampled_from(["lisbon", "venue", "auth"]), max_size=3))
def test_a_passage_lies_in_its_text_and_has_its_most_words(text: str, wanted: set[str]) -> None:
    start, end = passage(text, wanted)
    assert 0 <= start <= end <= len(text) and end - start <= 320


def test_the_passage_is_where_the_words_are_and_never_the_messages_beginning() -> None:
    text = "We spoke of many things. " * 60 + "For auth we chose sessions, HERON-7. " + "And more was said. " * 60
    start, end = passage(text, stems("auth sessions"))
    assert "HERON-7" in text[start:end] and start > 1_000
    made = Registry(str)
    made.begin("auth sessions")
    e = made.evidence(made.observe(ChatSummary("c_1"), Line("m_1", "you", 1, text)))
    assert (e.start, e.end) == (start, end) and e.excerpt == " ".join(text[start:end].split()) and e.cut


@pytest.mark.parametrize("count", [0, 1, 3])
def test_evidence_is_the_hosts_whatever_was_submitted(count: int) -> None:
    made, ids = registry()
    submitted = Submission(findings=[SubmittedFinding(claim="c", evidence=ids[:count])])
    got = report(submitted, made)
    for finding in got.findings:
        for n, e in enumerate(finding.evidence):
            if not got.evidence_only:
                assert (e.chat, e.title, e.message, e.who) == (f"c_{n}", f"Chat {n}", f"m_{n}", "assistant")


WIDE = st.text(alphabet=st.sampled_from('😀"\\東a \n'), min_size=200, max_size=2_000)


@settings(deadline=None, max_examples=40)
@given(WIDE, st.integers(1, 8), st.integers(0, 3), st.booleans())
def test_a_report_never_has_more_than_six_kilobytes_whatever_is_in_it(
    text: str, findings: int, conflicts: int, only: bool
) -> None:
    made, ids = Registry(str), []
    for n in range(12):
        one = made.observe(ChatSummary(f"c_{n}", title=text[:160]), Line(f"m_{n}", "you", n, text))
        made.show(one.id)
        ids.append(one.id)
    submitted = Submission(
        summary=text,
        findings=[SubmittedFinding(claim=text[:1_600], evidence=ids[n : n + 6]) for n in range(findings)],
        conflicts=[SubmittedConflict(description=text[:1_600], evidence=ids[n : n + 4]) for n in range(conflicts)],
        missing_coverage=[text] * 4,
    )
    run = Run(text[:500])
    got = evidence_only(made, run, "why") if only else derive(submitted, made, run, str)
    assert len(compact(got.to_json()).encode()) <= EXPLORE_REPORT_BYTES
    assert got.findings or got.conflicts
    assert got.outcome == "partial" or not got.truncated
    if conflicts and not only:
        assert len(got.conflicts) >= 1 and len(got.conflicts[0].evidence) >= 2  # both sides stay
    for group in (*got.findings, *got.conflicts):
        assert all(e.excerpt in " ".join(text.split()) for e in group.evidence)
