"""The explore card: nine states told apart without colour, what is open, and where its passages lead."""

from __future__ import annotations

from typing import Any

import pytest
from widget_host import NOW, Host

from store import events as ev
from store.rows import ExploredRow
from widgets.rows import ExploreCard, PastChatsLook
from widgets.rows.explore_card import STATES

EVIDENCE = ev.Evidence(
    chat="c_2", title="Auth rework", message="m_7", who="you", at=NOW, excerpt="let's keep sessions for admin", cut=True
)
FOUND: dict[str, Any] = {
    "summary": "Sessions, not tokens.",
    "findings": (ev.Finding(claim="Sessions were chosen", evidence=(EVIDENCE,)),),
    "confidence": "high",
}
OTHER = EVIDENCE.model_copy(update={"message": "m_8", "excerpt": "tokens after all"})
SPLIT = (ev.Disagreement(description="Two chats disagree", evidence=(EVIDENCE, OTHER)),)
OF: dict[str, dict[str, Any]] = {
    "pending": {},
    "complete": FOUND,
    "empty": {"summary": "No relevant prior discussion was found in this project."},
    "partial": FOUND | {"confidence": "medium", "partial_reason": "Some of it was left out."},
    "indexing": FOUND | {"confidence": "medium", "partial_reason": "The index is catching up."},
    "conflict": FOUND | {"confidence": "medium", "conflicts": SPLIT, "missing": ("the mobile app",)},
    "cancelled": {},
    "failed": {"partial_reason": "The engine is down."},
    "evidence-only": {
        "summary": "No synthesis could be made.",
        "findings": (ev.Finding(claim="", evidence=(EVIDENCE,)),),
        "confidence": "low",
    },
}


def card(state: str, **more: Any) -> ExploreCard:
    body = {"explore_id": "l_1", "call_id": "t_1", "query": "what did we decide about auth?", "state": state}
    run = ev.HistoryExplored.model_validate({**body, **OF[state], **more})
    return ExploreCard(ExploredRow("l_1", NOW, 1, run), NOW)


def shown(row: ExploreCard, width: int = 90) -> list[str]:
    return [line.plain.rstrip() for line in row.lines(width)]


def test_every_state_has_a_mark_and_words_of_its_own() -> None:
    assert set(STATES) == set(OF) and len({mark for mark, _, _ in STATES.values()}) == 9
    looks = {state: "\n".join(shown(card(state))) for state in OF}
    assert len(set(looks.values())) == 9
    for state, text in looks.items():
        assert STATES[state][0] in text and "“what did we decide about auth?”" in text


def test_only_a_complete_and_sure_one_folds_by_itself() -> None:
    assert {state: card(state).opened for state in OF} == {state: state != "complete" for state in OF}
    assert card("complete", confidence="low").opened and card("complete", confidence="medium").opened
    assert shown(card("complete")) == [
        "▸ Explored your history · “what did we decide about auth?”",
        "    ✓ 1 chat · 1 evidence target · high confidence",
    ]


def test_analysis_and_evidence_are_told_apart_and_both_sides_are_kept() -> None:
    text = "\n".join(shown(card("conflict")))
    assert "Analysis · Sessions, not tokens." in text and "1 Sessions were chosen" in text
    assert "“…let's keep sessions for admin…” · Auth rework" in text and "⚠ Two chats disagree" in text
    assert "tokens after all" in text and "Not covered: the mobile app" in text
    assert "Quoted, without a model · Sessions" in "\n".join(shown(card("partial", extractive=True)))
    assert "Analysis" in "\n".join(shown(card("partial", summary="")))  # claims alone are an engine's words too


def test_what_shoal_says_itself_is_no_analysis_and_is_said_once() -> None:
    empty = "\n".join(shown(card("empty")))
    assert "Analysis" not in empty and empty.count("prior discussion") == 1 and "proves nothing" in empty
    only = "\n".join(shown(card("evidence-only", partial_reason="No synthesis: the engine failed.")))
    assert "Analysis" not in only and only.count("synthesis") == 2 and "“…let's keep sessions" in only
    behind = card("evidence-only", partial_reason="The index is catching up.", index_status="indexing")
    assert "The index is catching up." in "\n".join(shown(behind))


def test_other_people_are_named_once() -> None:
    said = EVIDENCE.model_copy(update={"who": "them", "name": "Ines", "excerpt": "Ines: the barn", "cut": False})
    text = "\n".join(shown(card("partial", findings=(ev.Finding(claim="c", evidence=(said,)),))))
    assert "“the barn” · Auth rework" in text and text.count("Ines") == 1


async def test_it_is_there_before_anything_was_found_and_says_its_phases() -> None:
    row = card("pending")
    assert "● Searching prior chats…" in shown(row)[1]
    async with Host(row).run_test():
        row.phase("Reading relevant discussions… 2 searched, 1 read")
        assert "2 searched, 1 read" in shown(row)[1]
        row.show(ExploredRow("l_1", NOW, 1, card("cancelled").model.run))
        row.phase("late")
        assert "stopped before it was done" in shown(row)[1] and "late" not in "\n".join(shown(row))


def test_the_pending_card_says_what_goes_where_before_anything_went() -> None:
    for width in (90, 40):
        text = " ".join(" ".join(shown(card("pending", engine="openai:small"), width)).split())
        assert "limited text of this project's chats goes to openai:small" in text
    assert "goes to" not in "\n".join(shown(card("pending", engine="offline")))  # nothing leaves this computer
    assert "goes to" not in "\n".join(shown(card("conflict", engine="openai:small")))


async def test_keys_open_it_and_a_passage_leads_to_its_line() -> None:
    row = card("complete")
    async with Host(row).run_test(size=(100, 30)) as pilot:
        row.focus()
        await pilot.press("enter")
        assert row.opened
        row.cursor = 0
        await pilot.press("enter")
        (sent,) = pilot.app.sent(PastChatsLook.OpenAt)  # type: ignore[attr-defined]
        assert (sent.chat, sent.message) == ("c_2", "m_7")
        row.cursor = -1
        await pilot.press("y")
        (copied,) = pilot.app.sent(ExploreCard.Copied)  # type: ignore[attr-defined]
        assert "keep sessions" in copied.text


@pytest.mark.parametrize("width", [12, 38, 80])
def test_long_and_hostile_words_stay_in_their_cells(width: int) -> None:
    from rich.cells import cell_len

    text = "東京 \x1b[31m very long ‮ words " * 20
    bad = EVIDENCE.model_copy(update={"title": text, "excerpt": text})
    row = card("conflict", query=text, summary=text, findings=(ev.Finding(claim=text, evidence=(bad,)),))
    for line in row.lines(width):
        assert cell_len(line.plain) <= width and "\x1b" not in line.plain and "‮" not in line.plain
