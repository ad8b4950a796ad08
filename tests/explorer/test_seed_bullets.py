"""Every bullet of the seed's Testing Strategy and Launch Criteria, and the tests that show it.

A test that is renamed or gone, and a bullet without one, fail here. The large-history bullet is measured by
`python -m tests.benchmarks explorer-100000`; its named test keeps the bar in the benchmark.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUN, REPORT = "explorer/test_explorer_run.py", "explorer/test_explorer_report.py"
HERE = "explorer/test_explorer_launch.py"
CHAT, SURFACE = "explorer/test_explorer_current_chat.py", "explorer/test_explorer_surface.py"
RECALL, FUZZ = "explorer/test_explorer_recall.py", "explorer/test_explorer_fuzz.py"
CARD, WIRE, CLI = "widgets/test_explore_card.py", "e2e/test_headless_explore.py", "cli/test_explore_command.py"
SETTINGS, READ = "screens/test_consent_on_screen.py", "history/test_read_chat.py"

Tests = list[tuple[str, str]]

UNIT: dict[str, Tests] = {
    "Default consent always, the engine's endpoint, and wrapper and runner Pro preconditions": [
        (SURFACE, "test_the_defaults_are_always_for_the_explorer_and_ask_for_reading"),
        (SURFACE, "test_one_value_says_who_is_pro"),
        (HERE, "test_a_run_called_directly_fails_closed_without_a_plan_or_an_engine"),
    ],
    "Exact child allowlist: search, read, submit only": [
        (RUN, "test_exactly_three_tools_and_only_the_report_in_the_last_step"),
        (RUN, "test_wrong_arguments_are_said_in_words"),
    ],
    "Steps, tool calls, aggregate bytes, retries, duplicate queries and reads, and final output bounds": [
        (RUN, "test_exactly_three_tools_and_only_the_report_in_the_last_step"),
        (RUN, "test_searches_and_reads_are_bounded_and_never_twice_the_same"),
        (RUN, "test_what_the_engine_sees_is_capped_over_the_whole_run"),
        (RUN, "test_one_retry_neither_duplicates_evidence_nor_progress"),
        (RUN, "test_a_report_is_at_most_six_kilobytes_and_says_what_was_left_out"),
        (REPORT, "test_a_report_never_has_more_than_six_kilobytes_whatever_is_in_it"),
        (HERE, "test_a_search_and_a_read_have_caps_of_their_own_and_what_was_cut_off_is_unknown"),
    ],
    "Abort and orphan-stream cleanup; no late completion after cancellation": [
        (RUN, "test_a_cancelled_run_leaves_no_stream_and_a_card_that_says_so"),
        (RUN, "test_cancelled_at_any_moment_no_card_stays_pending"),
        (SURFACE, "test_stopping_the_reply_stops_its_exploration_and_no_late_card_comes"),
    ],
    "Provider failure before observations versus deterministic fallback after observations": [
        (RUN, "test_a_failure_with_something_seen_is_evidence_only_and_with_nothing_an_error"),
    ],
    "Observation registry rejects invented, duplicate, mismatched, cross-app and out-of-budget candidates": [
        (REPORT, "test_candidate_ids_are_opaque_and_of_this_run_only"),
        (REPORT, "test_unknown_duplicate_and_one_sided_groups_are_dropped"),
        (HERE, "test_other_projects_and_mismatched_ids_disclose_nothing_whichever_way_it_ends"),
        (HERE, "test_a_search_and_a_read_have_caps_of_their_own_and_what_was_cut_off_is_unknown"),
        (FUZZ, "test_no_fuzzed_submission_ever_cites_what_was_not_shown"),
    ],
    "Host constructs every evidence field; fallback contains no unvalidated model prose": [
        (REPORT, "test_evidence_is_the_hosts_whatever_was_submitted"),
        (REPORT, "test_with_no_surviving_evidence_nothing_the_engine_wrote_is_kept"),
        (RUN, "test_a_second_report_that_names_nothing_ends_in_evidence_only"),
    ],
    "Prompt-injection fixtures containing tool instructions, fake XML and citations, and fake reports": [
        (HERE, "test_archived_instructions_stay_quoted_material"),
        (RUN, "test_archived_instructions_change_nothing"),
    ],
    "Current-chat read cutoff before the asking message and no automatic current-chat search": [
        (CHAT, "test_where_nothing_was_cut_it_reads_up_to_the_reply_being_written"),
        (CHAT, "test_a_read_of_the_current_chat_begins_with_what_its_model_no_longer_sees"),
        (CHAT, "test_no_search_finds_the_current_chat_and_no_run_reads_it_by_itself"),
    ],
    "Indexing, truncation, compaction-summary, conflict and partial flags survive report formatting": [
        (HERE, "test_every_flag_survives_the_report_and_its_event"),
        (CHAT, "test_another_chats_own_summary_is_read_once_and_stays_marked_as_one"),
        (RUN, "test_an_index_that_is_behind_stays_said_whatever_comes_later"),
        (REPORT, "test_a_conflict_keeps_both_sides_with_their_dates_oldest_first"),
    ],
}

INTEGRATION: dict[str, Tests] = {
    "Eligible Pro requests expose explorer and read, never search": [
        (SURFACE, "test_the_three_surfaces_in_every_mode"),
        (WIRE, "test_a_request_offers_what_the_surface_says_in_every_mode"),
    ],
    "Non-Pro, basic and free-model requests expose none of the three in Agent, Ask and Plan modes": [
        (SURFACE, "test_what_is_not_pro_gets_none_of_the_three_and_no_fallback"),
        (WIRE, "test_a_request_offers_what_the_surface_says_in_every_mode"),
    ],
    "Internal invocation still fails closed for non-Pro even if called directly": [
        (HERE, "test_a_run_called_directly_fails_closed_without_a_plan_or_an_engine"),
        (HERE, "test_who_may_is_asked_again_before_every_search_and_read_and_before_the_report"),
        (WIRE, "test_what_the_chat_may_not_headless_may_not"),
    ],
    "The explorer performs multiple searches and reads and returns a source-attributed synthesis": [
        (WIRE, "test_a_fake_engine_reformulates_reads_and_reports_and_the_main_model_goes_on"),
        (RUN, "test_reading_the_second_side_of_a_conflict_is_said_to_be_that"),
    ],
    "Cross-app and nonexistent targets remain indistinguishable and leak no partial evidence": [
        (RUN, "test_another_project_and_nothing_look_alike"),
        (READ, "test_on_the_explorer_surface_other_projects_answer_like_missing_chats"),
        (HERE, "test_other_projects_and_mismatched_ids_disclose_nothing_whichever_way_it_ends"),
    ],
    "Consent settings show only main-facing tools and use independent defaults": [
        (SETTINGS, "test_search_has_no_consent_of_its_own"),
        (SETTINGS, "test_each_consent_says_what_goes_where_and_holds_at_once"),
        (SURFACE, "test_never_takes_one_away_and_leaves_the_other"),
        (WIRE, "test_a_consent_holds_at_once_and_is_kept"),
    ],
}

RENDERER: dict[str, Tests] = {
    "Card pending, success, empty, partial or indexing, conflict, cancelled, error and evidence-only states": [
        (CARD, "test_every_state_has_a_mark_and_words_of_its_own"),
        ("snapshots/test_looks.py", "test_the_look_is_as_it_was"),
    ],
    "Partial, conflict and low-confidence cards remain expanded": [
        (CARD, "test_only_a_complete_and_sure_one_folds_by_itself"),
    ],
    "Accessible keyboard interaction, status names, live-region behaviour and selectable evidence": [
        (CARD, "test_keys_open_it_and_a_passage_leads_to_its_line"),
        (CARD, "test_it_is_there_before_anything_was_found_and_says_its_phases"),
    ],
    "Fake engine scenario: query reformulation, bounded reads, synthesis and main-agent continuation": [
        (WIRE, "test_a_fake_engine_reformulates_reads_and_reports_and_the_main_model_goes_on"),
    ],
    "Built end to end: Pro and non-Pro tool surfaces and visible progress before retrieval completes": [
        (WIRE, "test_a_request_offers_what_the_surface_says_in_every_mode"),
        (HERE, "test_the_card_is_in_the_log_before_anything_is_searched"),
    ],
    "Persisted legacy search and read cards still render after main search exposure is removed": [
        (SURFACE, "test_old_looks_still_draw_after_the_surface_has_changed"),
    ],
}

LAUNCH: dict[str, Tests] = {
    "Zero fabricated citations in the benchmark; every rendered target resolves to observed same-app evidence": [
        (RECALL, "test_the_offline_engine_reaches_its_bars"),
        (RECALL, "test_a_scripted_engine_reaches_them_too_and_one_that_lies_fabricates_nothing"),
        (FUZZ, "test_no_fuzzed_submission_ever_cites_what_was_not_shown"),
    ],
    "Cross-app ids, mismatched ids and in-flight content disclose nothing through success, error or fallback": [
        (HERE, "test_other_projects_and_mismatched_ids_disclose_nothing_whichever_way_it_ends"),
        (HERE, "test_the_reply_being_written_and_its_question_are_in_no_report"),
    ],
    "Archived prompt injection cannot change the task, add capabilities, spoof evidence or expose payloads": [
        (HERE, "test_archived_instructions_stay_quoted_material"),
        (HERE, "test_what_is_never_indexed_reaches_no_engine"),
    ],
    "All entitlement-matrix tests and request snapshots pass": [
        (SURFACE, "test_every_origin_and_persons_words_on_both_surfaces"),
        ("history/test_surface.py", "test_the_table"),
        (WIRE, "test_a_request_offers_what_the_surface_says_in_every_mode"),
    ],
    "Complete, no-match, partial, indexing, conflict, cancelled and failure are told apart by eye and by program": [
        (CARD, "test_every_state_has_a_mark_and_words_of_its_own"),
        (HERE, "test_every_outcome_can_be_told_apart_by_a_program"),
        (REPORT, "test_the_verdicts_follow_from_what_is_left"),
    ],
    "Cancellation leaves no orphan stream; retry does not duplicate evidence or progress": [
        (RUN, "test_a_cancelled_run_leaves_no_stream_and_a_card_that_says_so"),
        (RUN, "test_one_retry_neither_duplicates_evidence_nor_progress"),
    ],
    "Index waits and all model, tool and byte budgets are hard-bounded": [
        (HERE, "test_the_index_is_waited_for_once_and_briefly"),
        (HERE, "test_the_limits_are_the_chosen_ones"),
    ],
    "A seeded large-history evaluation establishes acceptable p95 latency and engine input": [
        ("explorer/test_seed_bullets.py", "test_the_large_history_has_its_bar_in_the_benchmark"),
    ],
    "Telemetry contains no query, title, id, excerpt, quote or transcript content": [
        (HERE, "test_the_kept_record_of_a_run_has_figures_and_not_a_word_of_it"),
        (CLI, "test_doctor_tells_the_sandbox_the_routines_and_the_explorers_runs_in_words"),
    ],
    "Permission and pending-card copy plainly disclose that bounded same-app history is sent to the engine": [
        (CARD, "test_the_pending_card_says_what_goes_where_before_anything_went"),
        (SURFACE, "test_the_tool_tells_the_guard_and_refuses_by_itself"),
        (SETTINGS, "test_each_consent_says_what_goes_where_and_holds_at_once"),
    ],
}

ALL = {"unit": UNIT, "integration": INTEGRATION, "renderer": RENDERER, "launch": LAUNCH}


def names(path: Path) -> set[str]:
    """The test functions of a file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kinds)}


@pytest.mark.parametrize("part", sorted(ALL))
def test_every_bullet_has_its_tests(part: str) -> None:
    for bullet, tests in ALL[part].items():
        assert tests, bullet
        for file, name in tests:
            assert name in names(ROOT / file), f"{bullet}: {file} has no {name}"


def test_no_bullet_is_left_out() -> None:
    assert {part: len(bullets) for part, bullets in ALL.items()} == {
        "unit": 10,
        "integration": 6,
        "renderer": 6,
        "launch": 10,
    }


def test_the_large_history_has_its_bar_in_the_benchmark() -> None:
    from tests.benchmarks import recall_explorer
    from tests.benchmarks.__main__ import parts

    assert "explorer-100000" in parts(full=False)
    assert recall_explorer.BIG_CHATS * recall_explorer.BIG_LINES >= 99_900 and recall_explorer.BIG_SECONDS == 1.5
