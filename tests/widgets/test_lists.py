"""The chat list, the results, the preview, the strip and a whole column."""

from __future__ import annotations

import time
from typing import Any

import pytest
from textual.pilot import Pilot
from widget_host import DAY, HOUR, NOW, Host, ask, drawn, look, said, screen_text

from store import events as ev
from store.limits import CARD_QUIET_SECONDS
from store.models import ChatHits, ChatSummary, Hit, SearchAnswer
from store.models import Line as ChatLine
from store.models import Preview as PreviewModel
from widgets import marks
from widgets.chat_list import ChatList, state_of
from widgets.chat_sections import sections_of, tasks_of
from widgets.column import Column
from widgets.preview import Preview
from widgets.results import (
    Result,
    Results,
    Section,
    Target,
    action_results,
    chat_results,
    message_results,
    this_chat,
)
from widgets.rows.permission_card import PermissionCard
from widgets.strip import ChatStrip
from widgets.transcript import Transcript


def chat(name: str, title: str, ago: int = 0, status: str = "idle", **more: Any) -> ChatSummary:
    return ChatSummary(name, title, last_active=NOW - ago, status=status, **more)  # type: ignore[arg-type]


CHATS = [
    chat("ask", "Release notes", HOUR, "awaiting-permission", archived_at=5),
    chat("pin2", "Second pin", HOUR, pinned=2),
    chat("pin1", "Wedding planning", 3 * DAY, pinned=1),
    chat("run", "Fix the login", 0, "running", doing_since=NOW - 180_000),
    chat("new", "Venue research", 1 * DAY),
    chat("err", "Import photos", 4 * DAY, "error"),
    chat("month", "Köln trip", 20 * DAY),
    chat("old", "Long ago", 100 * DAY),
    chat("older", "Last year", 400 * DAY),
    chat("arch", "Put away", 2 * DAY, archived_at=9),
    chat("imp", "Ana", 2 * DAY, origin=ev.Origin(kind="import", name="Telegram")),
]


def test_the_sections_stand_in_their_order_and_empty_ones_are_left_out() -> None:
    sections = {name: [c.id for c in held] for name, held in sections_of(CHATS, NOW)}
    assert list(sections) == [
        "NEEDS YOU", "PINNED", "TODAY", "YESTERDAY", "PREVIOUS 7 DAYS", "PREVIOUS 30 DAYS",
        *[name for name in sections if name.split()[0] in ("JUNE", "AUGUST", "JULY", "MAY")], "IMPORTED", "ARCHIVED",
    ]  # fmt: skip
    assert sections["PINNED"] == ["pin1", "pin2"]
    assert sections["NEEDS YOU"] == ["ask"]
    assert [name for name, _ in sections_of([], NOW)] == []


def test_one_state_a_chat_in_a_fixed_order() -> None:
    states = [state_of(c, unread=True) for c in CHATS[:6]]
    assert states == ["needs-you", "new", "new", "working", "new", "unfinished"]


async def test_states_are_said_by_marks_and_words() -> None:
    view = ChatList()
    async with Host(view).run_test(size=(40, 30)) as pilot:
        view.set_chats(CHATS, NOW, unread={"new"})
        await pilot.pause()
        text = screen_text(pilot.app)
        for words in ("◆ Release notes", "Needs you", "● Fix the login", "working 3m", "○ Venue research", "New"):
            assert words in text
        assert "▌◆ Release notes" in text
        assert "◌ Import photos" in text and "Didn't finish" in text
        assert "▸ ARCHIVED 1" in text and "Put away" not in text


async def test_a_narrow_list_says_a_long_state_on_a_line_of_its_own() -> None:
    view = ChatList()
    async with Host(view).run_test(size=(22, 30)) as pilot:
        await pilot.pause()
        view.set_chats(CHATS, NOW)
        await pilot.pause()
        assert "   Didn't finish" in screen_text(pilot.app)


async def test_a_title_that_fits_isnt_cut_for_a_day_of_another_year() -> None:
    titles = ("Tim and John · 28", "Tim", "A very long title that is cut anyway")
    then = [chat(f"c{n}", title, 400 * DAY, pinned=n + 1) for n, title in enumerate(titles)]
    view = ChatList()
    async with Host(view).run_test(size=(26, 12)):
        view.set_chats([*then, chat("c9", "Of this year, cut", 20 * DAY, pinned=9)], NOW)
        text = drawn(view)
        day = marks.day(NOW - 400 * DAY, NOW)
        assert "Tim and John · 28" in text[1] and day not in text[1]
        assert day in text[2] and day not in text[3]
        assert marks.day(NOW - 20 * DAY, NOW) in text[4]


async def test_private_is_said_before_a_title_of_any_length() -> None:
    view = Column("c", now_ms=NOW)
    async with Host(view).run_test(size=(50, 12)) as pilot:
        view.show_summary(chat("c", "long " * 30, private=True), folder="~/web")
        await pilot.pause()
        assert "○ private · long long" in drawn(view.title_bar)[0]


async def test_the_list_goes_by_keys_and_opens_folded_sections() -> None:
    view = ChatList()
    async with Host(view).run_test(size=(40, 40)) as pilot:
        view.set_chats(CHATS, NOW)
        await pilot.press("down", "enter", "o", "p")
        assert [m.chat for m in pilot.app.sent(ChatList.Open)] == ["pin1"]  # type: ignore[attr-defined]
        menu = pilot.app.sent(ChatList.Menu)  # type: ignore[attr-defined]
        assert [(m.chat, m.act) for m in menu] == [("pin1", "column"), ("pin1", "pin")]
        await pilot.press("end", "enter")
        assert "Put away" in screen_text(pilot.app)
        await pilot.press("down", "enter")
        assert pilot.app.sent(ChatList.Open)[-1].chat == "arch"  # type: ignore[attr-defined]


def task(name: str, title: str, of: str, status: str = "idle", **more: Any) -> ChatSummary:
    return chat(name, title, HOUR, status, origin=ev.Origin(kind="task", name="x", ref="k", chat=of), **more)


TASKED = [
    chat("main", "Watch the deploy", 0),
    task("smoke", "smoke", "main", "running", created_at=2),
    task("docs", "docs", "main", "running", created_at=1),
    task("done", "done", "main"),
    task("asks", "asks", "main", "awaiting-permission"),
    task("alone", "alone", "gone"),
]


def test_tasks_stand_under_their_chat_but_one_that_needs_you_or_has_no_chat_by_itself() -> None:
    assert {of: [c.id for c in held] for of, held in tasks_of(TASKED).items()} == {"main": ["done", "docs", "smoke"]}
    sections = {name: [c.id for c in held] for name, held in sections_of(TASKED, NOW)}
    assert sections == {"NEEDS YOU": ["asks"], "TODAY": ["main", "alone"]}


async def test_tasks_that_work_are_seen_under_their_chat_and_the_others_on_a_press() -> None:
    view = ChatList()
    async with Host(view).run_test(size=(40, 20)) as pilot:
        view.set_chats(TASKED, NOW)
        await pilot.pause()
        lines = [line.rstrip() for line in drawn(view)]
        at = next(n for n, line in enumerate(lines) if "Watch the deploy" in line)
        assert "Watch the deploy · 1 task" in lines[at]
        assert lines[at + 1].lstrip("▌ ").startswith("├ ● task: docs") and "└ ● task: smoke" in lines[at + 2]
        assert not any("task: done" in line for line in lines)
        await pilot.press("down")  # to the chat, past the one that needs the person
        assert view.selected == "main"
        await pilot.press("t")
        shown = screen_text(pilot.app)
        assert "├ ○ task: done" in shown and "· 1 task" not in shown
        await pilot.press("down", "enter")
        assert pilot.app.sent(ChatList.Open)[-1].chat == "done"  # type: ignore[attr-defined]
        await pilot.press("t")
        assert view.selected == "main" and "task: done" not in screen_text(pilot.app)


RUNS = [
    chat(
        f"run{n}",
        "Nightly report",
        n * DAY,
        "running" if n == 0 else "idle",
        created_at=NOW - n * DAY,
        archived_at=5 if n else None,
        origin=ev.Origin(kind="routine", name="Nightly report", ref="nightly"),
    )
    for n in range(3)
]


async def test_a_routines_runs_stand_under_its_own_name_by_their_times() -> None:
    view = ChatList()
    async with Host(view).run_test(size=(44, 20)) as pilot:
        view.set_chats([*CHATS, *RUNS], NOW)
        sections = {name: [c.id for c in held] for name, held in sections_of([*CHATS, *RUNS], NOW)}
        assert sections["ROUTINE · Nightly report"] == ["run0", "run1", "run2"]
        assert list(sections)[-3:] == ["ROUTINE · Nightly report", "IMPORTED", "ARCHIVED"]
        await pilot.press("end", "up", "up")
        assert "▸ ● Nightly report 3" in screen_text(pilot.app)
        await pilot.press("enter")
        shown = screen_text(pilot.app)
        assert (
            f"● {marks.clock_time(NOW)}" in shown and f"○ {marks.day(NOW - DAY, NOW)} {marks.clock_time(NOW)}" in shown
        )
        await pilot.press("down", "enter")
        assert pilot.app.sent(ChatList.Open)[-1].chat == "run0"  # type: ignore[attr-defined]


def test_a_run_that_needs_you_is_where_the_person_looks() -> None:
    asks = chat("run", "Nightly report", 0, "awaiting-permission", origin=ev.Origin(kind="routine", name="Nightly"))
    assert sections_of([asks], NOW) == [("NEEDS YOU", [asks])]


async def test_the_selection_stays_on_its_chat_when_the_list_changes() -> None:
    view = ChatList()
    async with Host(view).run_test(size=(40, 40)) as pilot:
        view.set_chats(CHATS, NOW)
        await pilot.press("down", "down")
        assert view.selected == "pin2"
        view.set_chats([chat("fresh", "Fresh", 0), *CHATS], NOW)
        assert view.selected == "pin2"


async def test_twenty_thousand_chats_are_quick() -> None:
    many = [chat(f"c{n}", f"Chat number {n}", n * 60_000) for n in range(20_000)]
    view = ChatList()
    async with Host(view).run_test(size=(30, 40)) as pilot:
        start = time.process_time()
        view.set_chats(many, NOW)
        drawn(view)
        assert time.process_time() - start < 0.6
        start = time.process_time()
        await pilot.press("end")
        assert "Chat number 19999" in screen_text(pilot.app)
        assert time.process_time() - start < 0.4


def test_times_are_said_in_words_and_never_negative() -> None:
    assert marks.ago(NOW + DAY, NOW) == "just now"
    assert marks.ago(NOW - 6 * DAY, NOW) == "6 days ago"
    assert marks.ago(NOW - HOUR, NOW) == "1 hour ago"
    assert marks.ago(None, NOW) == ""
    assert [marks.age(NOW - ms, NOW) for ms in (0, 180_000, 2 * HOUR, 6 * DAY)] == ["", "3m", "2h", "6d"]
    assert [marks.lasted(ms) for ms in (400, 12_000, 180_000, 7_500_000)] == ["0.4 s", "12 s", "3 min", "2 h 5 min"]
    assert [marks.tokens(n) for n in (940, 18_300, 1_230_000)] == ["940 tokens", "18k tokens", "1.2M tokens"]


def hit(anchor: str, text: str, start: int, end: int) -> Hit:
    return Hit(anchor, "you", NOW - 6 * DAY, text, ((start, end),))


ANSWER = SearchAnswer(
    "venue",
    "exact",
    (
        ChatHits(CHATS[4], 3, (hit("m1", "the venue in Lisbon", 4, 9), hit("m2", "moved the venue", 10, 15))),
        ChatHits(CHATS[9], 1, (hit("m3", "no venue yet", 3, 8),)),
    ),
    4,
)


def sections() -> list[Section]:
    return [
        Section("CHATS", chat_results([(CHATS[4], ((0, 5),))], NOW)),
        Section("MESSAGES", message_results(ANSWER, NOW)),
        Section("THIS CHAT", this_chat("venue", "run")),
        Section("ACTIONS", action_results([("new", "New chat", "^N")])),
        Section("RECENT", ()),
    ]


async def test_results_stand_by_section_with_their_counts_and_marks() -> None:
    view = Results()
    async with Host(view).run_test(size=(60, 20)) as pilot:
        view.show(sections())
        await pilot.pause()
        lines = [line.rstrip() for line in screen_text(pilot.app).split("\n")]
        assert lines[0] == " CHATS"
        assert lines[1].startswith("▌Venue research")
        assert lines[3].startswith(" Venue research") and lines[3].endswith("3 matches · 6 days ago")
        assert lines[4] == "   the venue in Lisbon"
        assert lines[5] == "    moved the venue"
        assert "archived" in lines[6] and "matches" not in lines[6]
        assert " Find “venue” in this chat" in lines
        assert "RECENT" not in lines
        found = [
            s.text for strip in view.render_lines(view.size.region) for s in strip if s.style and s.style.underline
        ]
        assert found[:2] == ["Venue", "venue"]


async def test_the_selection_stays_on_the_best_until_it_is_moved() -> None:
    view = Results()
    async with Host(view).run_test(size=(60, 20)) as pilot:
        view.show(sections())
        assert view.target == Target("new")
        view.show([Section("CHATS", chat_results([(CHATS[6], ())], NOW)), *sections()])
        assert view.target == Target("month")
        await pilot.press("down", "down")
        assert view.target == Target("new", "m1", "venue")
        view.show(sections())
        assert view.target == Target("new", "m1", "venue")
        await pilot.press("enter", "ctrl+o")
        chosen = pilot.app.sent(Results.Chosen)  # type: ignore[attr-defined]
        assert [(m.target.message, m.column) for m in chosen] == [("m1", False), ("m1", True)]
        view.restart()
        view.show(sections())
        assert view.target == Target("new")


async def test_a_close_match_fills_find_with_what_really_matched() -> None:
    close = SearchAnswer("venu", "close", (ChatHits(CHATS[4], 1, (hit("m1", "the venue there", 4, 9),)),), 1)
    result = message_results(close, NOW)[0]
    assert result.target == Target("new", "m1", "venue")


async def test_a_preview_shows_the_found_line_between_its_neighbours() -> None:
    lines = tuple(ChatLine(f"m{n}", "them", NOW, f"line {n} about it", "Ana") for n in range(30))
    view = Preview()
    async with Host(view).run_test(size=(60, 12)) as pilot:
        view.show(PreviewModel(CHATS[4], lines, 20, ((0, 4),), 99), NOW)
        await pilot.pause()
        text = screen_text(pilot.app)
        assert "▌ Ana" in text and "line 20 about it" in text and "line 19 about it" in text
        view.show(None, NOW, ("Type to search",))
        await pilot.pause()
        assert "Type to search" in screen_text(pilot.app)


async def test_the_strip_shows_every_chat_and_a_click_picks_one() -> None:
    view = ChatStrip()
    async with Host(view).run_test(size=(80, 5)) as pilot:
        view.show(CHATS[:3], "pin2")
        await pilot.pause()
        text = screen_text(pilot.app).split("\n")[0]
        assert "1◆ Release notes" in text and "2○ Second pin" in text
        await pilot.click(view, offset=(text.index("Second"), 0))
        assert [m.chat for m in pilot.app.sent(ChatStrip.Pick)] == ["pin2"]  # type: ignore[attr-defined]


def column() -> Column:
    return Column("run", now_ms=NOW)


async def filled(view: Column, pilot: Pilot[None]) -> None:
    usage = ev.Usage(input_tokens=16_000, output_tokens=2_300, cost_usd=0.04)
    view.show_summary(chat("run", "Fix the login", 0, "running", folder="~/web", model="gpt-5", usage=usage), queued=2)
    view.transcript.show_page([said("a", "hello", 1), look()], 0)
    view.composer.focus()
    for _ in range(100):
        await pilot.pause()
        if pilot.app.focused is view.composer.box:
            break


async def test_a_column_has_its_title_line_and_its_foot() -> None:
    view = column()
    async with Host(view).run_test(size=(60, 24)) as pilot:
        await filled(view, pilot)
        view.show_doing("Writing a test… 8 s")
        await pilot.pause()
        lines = screen_text(pilot.app).split("\n")
        assert "● Fix the login" in lines[0] and lines[0].rstrip().endswith("~/web · auto")
        assert lines[-1].rstrip().endswith("gpt-5 · 18k tokens · $0.04 · 2 queued")
        assert any("● Writing a test… 8 s" in line for line in lines)
        view.show_doing("")
        await pilot.pause()
        assert "Writing a test" not in screen_text(pilot.app)


async def test_a_question_waits_until_nothing_was_typed_for_a_second() -> None:
    view = column()
    async with Host(view).run_test(size=(60, 24)) as pilot:
        await filled(view, pilot)
        await pilot.press("x")
        view.show_asks([ask()])
        await pilot.pause(0.3)
        pressed = time.monotonic()
        await pilot.press("y")
        while not view.query(PermissionCard):
            await pilot.pause(0.02)
        assert time.monotonic() - pressed >= CARD_QUIET_SECONDS
        assert pilot.app.focused is view.composer.box
        assert view.focus_ask()
        await pilot.pause()
        assert isinstance(pilot.app.focused, PermissionCard)
        view.show_asks([])
        await pilot.pause()
        assert not view.query(PermissionCard)
        assert pilot.app.focused is view.composer.box


async def test_tab_goes_from_the_box_to_the_rows_and_back() -> None:
    view = column()
    async with Host(view).run_test(size=(60, 24)) as pilot:
        await filled(view, pilot)
        await pilot.press("tab")
        await pilot.pause()
        assert pilot.app.focused is view.transcript.row_widget("look")
        await pilot.press("escape")
        await pilot.pause()
        assert pilot.app.focused is view.composer.box


@pytest.mark.parametrize("size", [(20, 5), (80, 24), (1, 1), (40, 8)])
async def test_a_column_of_any_size_works_and_keeps_what_was_typed(size: tuple[int, int]) -> None:
    view = column()
    async with Host(view).run_test(size=(60, 24)) as pilot:
        await filled(view, pilot)
        view.composer.set_queue(["one", "two"])
        view.show_asks([ask(detail="word " * 200)])
        await pilot.press(*"draft")
        await pilot.pause(1.1)
        await pilot.resize_terminal(*size)
        await pilot.pause()
        if size[1] >= 5 and size[0] >= 20:
            text = screen_text(pilot.app)
            assert "[d]" in text
            assert "draft" in text or size[1] < 8
        assert view.composer.draft() == "draft"
        await pilot.resize_terminal(60, 24)
        await pilot.pause()
        assert "draft" in screen_text(pilot.app)


async def test_an_empty_result_list_answers_keys_without_a_crash() -> None:
    view = Results()
    async with Host(view).run_test(size=(20, 5)) as pilot:
        view.show([])
        await pilot.press("down", "up", "enter", "end", "pagedown", "ctrl+o")
        assert view.target is None
        view.show([Section("X", (Result(None, (("only words", ""),)),))])
        await pilot.press("enter")
        assert not pilot.app.sent(Results.Chosen)  # type: ignore[attr-defined]


async def test_a_transcript_in_a_column_leaves_to_its_box() -> None:
    view = column()
    async with Host(view).run_test(size=(60, 24)) as pilot:
        await filled(view, pilot)
        view.transcript.focus()
        await pilot.pause()
        await pilot.press("down", "down")
        await pilot.pause()
        assert pilot.app.focused is view.composer.box
        assert isinstance(view.transcript, Transcript)
