"""Which tests show each row of the fault list; a renamed test or a row without one fails here.

Rows P01 to P12 are the tests whose name begins with their number in `providers/test_wire_faults.py`.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FAULTS = TESTS.parents[1] / "shared" / "corpora" / "faults.md"

# Shoal reads its own export and one published form; files of other programs, with parents, folders and databases of
# theirs, aren't read yet.
NOT_YET = ("I05", "I07", "I11")

ROWS: dict[str, tuple[str, ...]] = {
    "S01": (
        "search/test_queries.py::s01_nothing_asked_lists_recent_chats",
        "history/test_search_chats.py::an_empty_query_without_a_date_is_refused",
        "history/test_search_chats.py::an_empty_query_with_a_date_lists_the_chats_of_that_time",
    ),
    "S02": (
        "search/test_queries.py::s02_marks_are_searched_as_words",
        "search/test_query_syntaxes.py::both_syntaxes_find_the_same_lines",
    ),
    "S03": (
        "search/test_queries.py::s03_a_long_query_is_cut_and_said",
        "history/test_search_chats.py::a_long_query_is_cut_and_the_note_says_so",
    ),
    "S04": ("search/test_queries.py::s04_common_words_single_letters_and_signs_are_answered",),
    "S05": ("search/test_queries.py::s05_hidden_characters_are_dropped",),
    "S06": ("search/test_queries.py::s06_sql_is_text",),
    "S07": ("search/test_queries.py::s07_spellings_of_a_word_find_each_other",),
    "S08": (
        "search/test_queries.py::s08_a_secret_is_found_but_never_shown",
        "history/test_looks_hide_secrets.py::a_known_value_is_hidden_whatever_it_looks_like",
        "screens/test_activity_log.py::secrets_and_terminal_bytes_never_come_through",
    ),
    "S09": ("search/test_queries.py::s09_patterns_are_plain_words",),
    "S10": (
        "search/test_queries.py::s10_limits_are_clamped",
        "history/test_search_chats.py::a_limit_that_cant_be_is_refused_in_one_sentence",
        "history/test_read_chat.py::arguments_that_cant_be_are_refused_in_words",
    ),
    "S11": (
        "search/test_queries.py::s11_dates_the_wrong_way_round_find_nothing_quietly",
        "history/test_dates.py::anything_else_is_one_sentence_that_names_the_argument",
        "history/test_search_chats.py::after_that_isnt_earlier_than_before_is_refused",
    ),
    "S12": (
        "search/test_healing.py::a_missing_index_is_built",
        "search/test_healing.py::an_unreadable_file_is_set_aside_and_built_anew",
        "search/test_healing.py::while_the_first_index_is_built_answers_say_so",
        "e2e/test_blackbox_keeping.py::an_index_that_is_missing_or_broken_heals_and_the_chat_goes_on",
    ),
    "T01": ("loop/test_calls.py::wrong_arguments_are_refused_in_words_naming_the_field",),
    "T02": ("loop/test_calls.py::unknown_fields_are_ignored_by_every_tool",),
    "T03": ("loop/test_calls.py::a_tool_the_chat_doesnt_have_is_refused_without_being_named",),
    "T04": (
        "history/test_search_chats.py::missing_deleted_private_and_odd_ids_answer_with_the_same_words",
        "together/test_chat_ids.py::every_chat_out_of_reach_and_every_odd_id_gets_the_same_words",
    ),
    "T05": (
        "history/test_search_chats.py::missing_deleted_private_and_odd_ids_answer_with_the_same_words",
        "together/test_chat_ids.py::every_chat_out_of_reach_and_every_odd_id_gets_the_same_words",
    ),
    "T06": (
        "loop/test_calls.py::the_same_id_twice_runs_once_and_every_call_has_its_own_result",
        "loop/test_calls.py::ten_calls_of_which_one_fails_each_get_their_own_result",
    ),
    "T07": (
        "tools/test_files_beneath.py::a_path_inside_is_read_however_it_is_written",
        "tools/test_files_beneath.py::a_path_outside_is_told_whole_and_read_only_when_allowed",
    ),
    "T08": (
        "tools/test_files_beneath.py::a_link_swapped_a_thousand_times_is_never_followed_out",
        "tools/test_files_beneath.py::a_loop_of_links_is_refused_in_words",
        "tools/test_files_beneath.py::a_hard_link_to_the_store_is_still_the_store",
    ),
    "T09": (
        "tools/test_files_read.py::pipes_sockets_devices_and_folders_are_refused_at_once",
        "tools/test_files_read.py::five_gigabytes_are_told_within_two_seconds_and_little_memory",
        "tools/test_files_read.py::a_file_that_grows_while_it_is_read_is_read_as_long_as_it_was",
    ),
    "T10": (
        "tools/test_files_read.py::encodings_are_said_and_shown_right",
        "tools/test_files_read.py::one_line_of_fifty_megabytes_is_cut_in_bounded_memory",
        "tools/test_files_read.py::binary_files_are_named_not_shown",
    ),
    "T11": (
        "guard/test_commands_parsed.py::every_part_is_found_wherever_it_is_hidden",
        "guard/test_judge_verdicts.py::always_is_never_offered_for_more_than_one_plain_program",
    ),
    "T12": (
        "widgets/test_permission_cards.py::padding_and_unseen_characters_are_marks_and_the_length_is_said",
        "widgets/test_permission_cards.py::a_long_question_is_answered_only_after_its_end_was_in_view",
        "e2e/test_headless_guard.py::a_padded_command_is_shown_whole",
    ),
    "T13": (
        "tools/test_shell_tools.py::an_endless_output_is_cut_in_the_middle_in_constant_memory",
        "tools/test_shell_tools.py::bytes_that_are_no_text_and_escapes_are_made_harmless",
        "tools/test_shell_tools.py::a_stop_ends_the_whole_tree_within_two_seconds_daemons_too",
        "tools/test_shell_tools.py::a_command_killed_while_it_is_only_beginning_leaves_nothing",
    ),
    "T14": ("tools/test_web_pages.py::an_address_that_isnt_public_is_refused_before_any_byte_is_sent",),
    "T15": (
        "tools/test_web_pages.py::every_hop_of_a_redirect_is_judged_again",
        "tools/test_web_pages.py::the_address_that_was_checked_is_the_one_connected_to",
        "tools/test_web_pages.py::at_most_five_redirects_are_followed",
    ),
    "T16": (
        "tools/test_web_pages.py::a_body_of_ten_gigabytes_is_cut_at_the_cap_and_that_is_said",
        "tools/test_web_pages.py::a_bomb_is_cut_at_the_cap_of_what_it_unpacks_to",
        "tools/test_web_pages.py::an_endless_trickle_is_cut_at_the_deadline_with_what_came",
    ),
    "T17": (
        "together/test_chat_ids.py::a_message_of_spaces_and_one_to_itself_are_refused_and_nothing_is_half_made",
        "together/test_chat_ids.py::the_fourth_to_one_chat_in_a_chain_says_which_bound",
        "together/test_message_chat.py::a_message_is_at_most_4000_characters",
        "together/test_message_chat.py::the_same_words_within_ten_minutes_are_refused",
        "together/test_message_chat.py::five_wait_at_most",
        "together/test_chain_bounds.py::each_limit_has_a_sentence_of_its_own_in_order",
    ),
    "I01": (
        "importers/test_import_chats.py::bad_lines_are_counted_and_said_and_the_rest_is_read",
        "importers/test_import_lines.py::what_is_no_usable_object_is_unreadable_and_nothing_worse",
    ),
    "I02": (
        "importers/test_import_lines.py::the_text_of_a_line_of_100_mb_is_cut_with_a_mark",
        "importers/test_import_faults.py::a_large_file_is_imported_in_bounded_memory",
    ),
    "I03": (
        "importers/test_import_lines.py::every_encoding_gives_the_same_objects",
        "importers/test_import_lines.py::latin_1_nul_and_lone_surrogates_become_valid_text",
    ),
    "I04": (
        "importers/test_import_chats.py::imported_twice_nothing_comes_twice_and_a_grown_file_adds_only_what_is_new",
        "importers/test_import_chats.py::lines_with_one_id_or_in_another_order_come_once_and_sorted",
    ),
    "I06": ("importers/test_import_chats.py::times_of_every_form_are_read_and_impossible_ones_stay_unknown",),
    "I08": (
        "importers/test_import_lines.py::what_is_no_usable_object_is_unreadable_and_nothing_worse",
        "importers/test_import_lines.py::no_bytes_break_the_reading_of_a_line",
    ),
    "I09": ("importers/test_import_chats.py::no_empty_chat_appears",),
    "I10": (
        "importers/test_import_lines.py::a_packed_file_that_is_cut_or_unpacks_to_too_much_gives_what_came_and_says_so",
    ),
    "I12": (
        "importers/test_import_faults.py::hostile_words_titles_and_names_leave_the_command_line_clean",
        "importers/test_import_chats.py::hostile_ids_and_long_texts_are_tamed",
    ),
    "I13": ("importers/test_import_faults.py::secrets_in_what_is_imported_show_nowhere",),
    "I14": (
        "importers/test_import_faults.py::a_killed_import_leaves_whole_chats_and_run_again_completes_them",
        "importers/test_import_chats.py::a_stopped_import_leaves_whole_chats_and_run_again_completes_them",
    ),
    "C01": (
        "settings/test_settings.py::no_file_and_an_empty_file_give_the_defaults_without_a_word",
        "settings/test_settings.py::a_folder_at_its_place_starts_with_defaults_and_says_so_once",
        "settings/test_settings.py::a_folder_that_cannot_be_written_says_so_when_saving",
    ),
    "C02": (
        "settings/test_settings.py::a_syntax_error_names_file_line_and_key_and_the_good_keys_hold",
        "settings/test_settings.py::a_broken_file_is_never_overwritten_by_saving",
    ),
    "C03": ("settings/test_settings.py::an_unknown_mode_becomes_ask_and_an_unknown_model_the_offline_one",),
    "C04": (
        "settings/test_settings.py::bom_and_crlf_are_read",
        "settings/test_settings.py::bytes_that_are_no_settings_are_refused_in_words",
        "settings/test_settings.py::a_newer_file_is_read_and_never_rewritten",
    ),
    "C05": (
        "settings/test_settings.py::saved_by_several_at_once_the_file_is_always_whole",
        "settings/test_settings.py::saving_keeps_comments_and_what_another_instance_wrote",
    ),
    "C06": (
        "settings/test_settings.py::a_key_in_a_file_others_can_read_works_is_said_once_and_never_shown",
        "e2e/test_headless_commands.py::a_key_reaches_no_output_log_export_or_crash_file",
    ),
    "C07": (
        "settings/test_settings.py::a_file_in_the_work_folder_is_not_read",
        "tools/test_files_beneath.py::git_hooks_and_a_folders_own_rules_are_never_written",
        "tools/test_changes_whole_way.py::no_mode_writes_shoals_own_settings",
    ),
    "D01": (
        "store/test_store_trouble.py::a_lock_held_by_another_program_is_waited_for_and_told_of",
        "store/test_store_trouble.py::a_lock_held_for_30_seconds_is_waited_for_and_told_of",
    ),
    "D02": (
        "store/test_store_opening.py::a_broken_first_page_loses_no_chat",
        "store/test_store_opening.py::a_broken_page_in_the_middle_costs_at_most_what_was_in_it",
        "store/test_store_opening.py::a_file_that_isnt_a_store_is_set_aside_and_said",
    ),
    "D03": (
        "store/test_store_trouble.py::a_read_only_store_is_read_and_refuses_to_save_in_words",
        "e2e/test_blackbox_keeping.py::a_read_only_home_is_read_and_refuses_to_write",
    ),
    "D04": (
        "store/test_store_trouble.py::a_full_disk_is_said_and_nothing_is_half_written_and_it_goes_on_with_space",
        "store/test_store_trouble.py::a_disk_that_fills_at_a_checkpoint_loses_nothing_and_goes_on_with_space",
        "settings/test_settings.py::a_full_disk_while_saving_leaves_the_old_file_whole",
        "session/test_commands.py::a_full_disk_ends_the_reply_in_words_and_the_next_one_works",
    ),
    "D05": (
        "store/test_store_opening.py::a_missing_journal_loses_nothing_that_was_in_the_file",
        "store/test_store_opening.py::the_journal_of_another_store_is_set_aside",
        "store/test_store_opening.py::a_big_journal_is_brought_into_the_file",
    ),
    "D06": (
        "store/test_store_opening.py::a_newer_store_is_refused_in_words_and_left_as_it_is",
        "store/test_store_opening.py::a_migration_that_is_killed_leaves_the_old_version_whole",
    ),
    "D07": (
        "store/test_store_trouble.py::a_moved_folder_is_said_and_no_empty_store_is_made_and_putting_it_back_is_enough",
        "store/test_store_trouble.py::a_deleted_folder_is_said_and_not_made_again",
    ),
    "D08": (
        "e2e/test_headless_commands.py::one_writer_a_home_and_readers_always",
        "e2e/test_pty_shoal.py::a_second_shoal_says_who_holds_the_home",
    ),
    "D09": (
        "store/test_store_summaries.py::the_log_wins_over_summaries_and_rows_that_disagree",
        "search/test_healing.py::a_log_that_became_shorter_wins",
    ),
    "D10": (
        "store/test_store_blobs_and_delete.py::a_message_of_20_mb_is_kept_whole",
        "store/test_store_pages.py::a_chat_of_200_000_events_opens_and_pages_in_milliseconds",
        "store/test_store_summaries.py::20_000_chats_list_quickly",
    ),
    "K01": (
        "session/test_recovery.py::a_kill_at_every_batch_boundary_loses_nothing_and_runs_no_write_again",
        "session/test_recovery.py::a_kill_at_any_moment_loses_nothing",
        "store/test_store_kill.py::a_kill_at_any_moment_loses_nothing_acknowledged",
        "together/test_message_chat.py::unread_messages_survive_a_restart_and_start_their_reply",
    ),
    "K02": (
        "e2e/test_pty_shoal.py::a_signal_ends_it_with_the_terminal_right_and_the_draft_kept",
        "e2e/test_pty_shoal.py::a_closed_terminal_ends_it_and_keeps_the_draft",
        "e2e/test_pty_shoal.py::a_stop_signal_gives_the_terminal_back_and_going_on_draws_it_again",
        "e2e/test_pty_shoal.py::ctrl_c_never_ends_it",
        "tools/test_shell_tools.py::a_shoal_that_is_killed_takes_its_commands_with_it",
    ),
    "K03": (
        "e2e/test_blackbox_keeping.py::a_clock_moved_back_and_forth_keeps_the_order",
        "together/test_wait_clocks.py::a_wall_clock_that_jumps_ends_no_wait_before_its_time",
        "together/test_wait_clocks.py::after_a_long_sleep_a_time_that_has_passed_comes_once",
        "tasks/test_routine_runs.py::what_was_missed_while_shoal_was_off_runs_once",
        "widgets/test_lists.py::times_are_said_in_words_and_never_negative",
    ),
    "K04": (
        "together/test_wait_for.py::a_deleted_target_ends_the_wait_neutrally",
        "together/test_wait_clocks.py::an_archived_target_is_waited_for_all_the_same",
        "together/test_wait_clocks.py::a_target_that_starts_again_is_heard_of_once",
        "together/test_wait_for.py::waits_that_never_close_a_ring_stay_without_one",
        "together/test_wait_for.py::a_chat_that_waits_for_something_of_its_own_is_not_done_and_no_ring_closes",
    ),
    "U01": (
        "screens/test_screen_faults.py::u01_a_smaller_window_keeps_what_was_typed_and_the_card_in_reach",
        "e2e/test_pty_shoal.py::a_tiny_and_a_changing_window_never_end_it",
    ),
    "U02": (
        "screens/test_screen_faults.py::u02_200_sizes_in_two_seconds_while_it_streams",
        "widgets/test_transcript_view.py::many_changes_of_size_while_a_reply_streams_end_at_the_end",
    ),
    "U03": (
        "screens/test_screen_faults.py::u03_a_paste_of_a_megabyte_is_one_mark_and_is_sent_whole",
        "e2e/test_pty_shoal.py::a_hostile_paste_is_cleaned_and_sends_nothing",
    ),
    "U04": (
        "widgets/test_paste_on_a_terminal.py::the_end_of_paste_mark_inside_a_paste_sends_nothing",
        "widgets/test_permission_cards.py::its_letters_answer_once_it_hears",
        "widgets/test_permission_cards.py::after_a_paste_it_is_deaf_again",
    ),
    "U05": (
        "screens/test_screen_faults.py::u05_a_hard_message_is_shown_and_keys_are_answered",
        "widgets/test_markdown_lines.py::long_ones_are_cut_with_a_way_to_see_the_rest",
    ),
    "U06": (
        "e2e/test_pty_shoal.py::a_dumb_terminal_is_told_so",
        "e2e/test_pty_shoal.py::it_starts_without_colour_and_in_the_c_locale",
        "e2e/test_pty_shoal.py::without_a_terminal_it_says_in_one_line_what_it_needs",
    ),
}


@functools.cache
def names(file: str) -> frozenset[str]:
    """The tests of a file, without the `test_` before each."""
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    found = (n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(name.removeprefix("test_") for name in found if name.startswith("test_"))


@pytest.mark.parametrize("row", ROWS)
def test_the_tests_of_a_row_are_there(row: str) -> None:
    for place in ROWS[row]:
        file, _, name = place.partition("::")
        assert name in names(file), place


@pytest.mark.parametrize("number", range(1, 13))
def test_every_fault_of_a_provider_has_a_test_that_names_it(number: int) -> None:
    assert any(name.startswith(f"p{number:02d}_") for name in names("providers/test_wire_faults.py"))


def test_every_row_of_the_list_is_in_the_table() -> None:
    if not FAULTS.exists():
        print("the fault list isn't beside this clone: its rows aren't compared with the table")
        pytest.skip("no fault list here")
    listed = set(re.findall(r"^\| ([A-Z]\d{2}) \|", FAULTS.read_text("utf-8"), re.MULTILINE))
    assert {row for row in listed if not row.startswith("P")} == {*ROWS, *NOT_YET}
