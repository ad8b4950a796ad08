"""Each kind of row: what it says, what opens, where its lines lead."""

from __future__ import annotations

from typing import Any

import pytest
from widget_host import NOW, Host, drawn, look, said

from store import events as ev
from store.clock import ManualClock
from store.rows import (
    ChangeRow,
    LookRow,
    MemoryRow,
    NoticeRow,
    PermissionRow,
    ProcessRow,
    Rows,
    ToolRow,
    UnknownRow,
    fold,
)
from widgets.row import Row
from widgets.rows import Change, Memory, PastChatsLook, Process, widget_for
from widgets.rows.notice_row import Notice


def shown(row: Row, width: int = 70) -> list[str]:
    return [line.plain for line in row.lines(width)]


def test_a_look_is_one_quiet_row_that_opens_to_its_chats() -> None:
    row = PastChatsLook(look(), NOW)
    assert shown(row) == ["▸ Looked through your chats · “venue” · 1 chat"]
    row.opened = True
    row.version += 1
    assert shown(row) == [
        "▾ Looked through your chats · “venue” · 1 chat",
        "    Venue research · Telegram · archived · 6 days ago",
        "      Ana  The Barn is free",
        "      you  ok, the Barn",
    ]


def test_matched_words_are_marked_and_not_only_coloured() -> None:
    row = PastChatsLook(look(), NOW)
    row.opened = True
    marked = [(text, style) for line in row.lines(70) for text, style in line.pieces if "mark" in style.split()]
    assert [text for text, _ in marked] == ["Barn", "Barn"]


def test_close_matches_and_a_read_chat_are_said() -> None:
    assert shown(PastChatsLook(look(close=True), NOW))[0].endswith("1 chat, close matches")
    read = LookRow("r", NOW, 1, "read", None, chats=look().chats)
    assert shown(PastChatsLook(read, NOW)) == ["▸ Read your chat · “Venue research”"]
    assert shown(PastChatsLook(LookRow("r", NOW, 1, "read"), NOW)) == ["  Read your chat · an earlier chat"]


async def test_with_nothing_found_there_is_nothing_to_open_or_focus() -> None:
    row = PastChatsLook(LookRow("l", NOW, 1, "search", "zebra"), NOW)
    async with Host(row).run_test() as pilot:
        assert drawn(row)[0].strip() == "Looked through your chats · “zebra” · nothing found"
        assert not row.focusable
        await pilot.click(row)
        assert len(row.lines(60)) == 1


async def test_every_line_of_a_look_opens_its_chat_at_that_line() -> None:
    row = PastChatsLook(look(), NOW)
    async with Host(row).run_test() as pilot:
        row.focus()
        await pilot.press("enter")
        for _ in range(3):
            row.move(1)
            await pilot.press("enter")
        sent = pilot.app.sent(PastChatsLook.OpenAt)  # type: ignore[attr-defined]
        assert [(m.chat, m.message) for m in sent] == [("c5", "m1"), ("c5", "m1"), ("c5", "m2")]
        assert not row.move(1)


async def test_a_click_on_a_line_of_a_look_opens_it() -> None:
    row = PastChatsLook(look(), NOW)
    async with Host(row).run_test() as pilot:
        await pilot.click(row, offset=(4, 0))
        await pilot.pause()
        await pilot.click(row, offset=(8, 3))
        sent = pilot.app.sent(PastChatsLook.OpenAt)  # type: ignore[attr-defined]
        assert [(m.chat, m.message) for m in sent] == [("c5", "m2")]


def test_a_tool_row_says_what_ran_and_how_it_ended() -> None:
    call = ToolRow("t", NOW, 1, "shell", "Ran npm test", output="1 failed", status="error", duration_ms=12_000)
    row = widget_for(call)
    assert shown(row, 40) == ["▸ Ran npm test             12 s · failed"]
    row.press()
    assert "  │ 1 failed" in shown(row, 40)
    row.show(ToolRow("t", NOW, 1, "shell", "Ran npm test", status="unknown"))
    assert "may have run" in shown(row, 40)[0]
    assert shown(widget_for(ToolRow("t", NOW, 1, "x", "Reading", status="running")), 40) == ["● Reading"]


def test_a_long_output_is_cut_with_a_way_to_see_more() -> None:
    row: Any = widget_for(ToolRow("t", NOW, 1, "x", "Read", output="line\n" * 1000, status="success"))
    row.press()
    assert shown(row)[-1] == "  … 940 more lines · Enter shows more"
    row.choose("more")
    assert len(shown(row)) > 400


async def test_a_notice_with_retry_sends_it_by_key_enter_and_click() -> None:
    row = Notice(NoticeRow("n", NOW, 1, "The key was refused.", "error", retry=True))
    async with Host(row).run_test() as pilot:
        row.focus()
        await pilot.press("r", "enter")
        await pilot.click(row, offset=(8, 1))
        assert len(pilot.app.sent(Notice.Retry)) == 3  # type: ignore[attr-defined]
    plain = Notice(NoticeRow("n", NOW, 1, "Imported 3 messages"))
    async with Host(plain).run_test() as pilot:
        plain.focus()
        await pilot.press("r", "enter")
        assert not pilot.app.sent(Notice.Retry)  # type: ignore[attr-defined]


def test_an_unknown_event_is_one_quiet_row() -> None:
    row = widget_for(UnknownRow("u", NOW, 1, "wait.started"))
    assert shown(row) == ["· A newer Shoal wrote something here (wait.started)"]
    assert not row.can_focus


FILES = (
    ev.FileChange(path="src/auth.ts", change="changed", added=3, removed=1),
    ev.FileChange(path="new.ts", change="created", added=9),
)


async def test_a_change_is_one_line_and_undone_by_its_letter() -> None:
    row = Change(ChangeRow("c", NOW, 1, "", FILES[:1]))
    assert shown(row, 40) == ["▸ Edited src/auth.ts  +3 −1         undo"]
    async with Host(row).run_test() as pilot:
        row.focus()
        await pilot.press("u")
        row.show(ChangeRow("c", NOW, 1, "", FILES, undone=True, left=("new.ts",)))
        await pilot.press("enter", "u")
        assert [m.redo for m in pilot.app.sent(Change.Undo)] == [False, True]  # type: ignore[attr-defined]
        text = "\n".join(shown(row))
        for words in ("Changed 2 files", "undone · redo", "made new.ts  +9", "Left as they are, changed since: new.ts"):
            assert words in text


def test_a_change_names_its_files_and_doesnt_say_its_call_a_second_time() -> None:
    label = "Ran make build"
    assert shown(Change(ChangeRow("c", NOW, 1, label, FILES[1:])), 40) == ["▸ Made new.ts  +9                   undo"]
    assert "Changed 2 files" in shown(Change(ChangeRow("c", NOW, 1, label, FILES)))[0]
    during = Change(ChangeRow("c", NOW, 1, "Changed during this turn", FILES, shared=True))
    assert "Changed during this turn" in shown(during)[0]


async def test_a_shared_change_is_not_undone_by_one_press() -> None:
    row = Change(ChangeRow("c", NOW, 1, "", FILES, shared=True))
    assert shown(row, 40)[0].endswith("shared")
    async with Host(row).run_test() as pilot:
        row.focus()
        await pilot.press("u")
        assert not pilot.app.sent(Change.Undo)  # type: ignore[attr-defined]


async def test_a_process_says_whether_it_runs_and_is_stopped_by_its_letter() -> None:
    row = Process(ProcessRow("p", NOW, 1, "npm run dev"))
    assert shown(row, 60)[0].startswith("● In the background  npm run dev")
    async with Host(row).run_test() as pilot:
        row.focus()
        await pilot.press("enter", "s")
        row.show(ProcessRow("p", NOW, 1, "npm run dev", "", "exited", 2))
        await pilot.press("s")
        assert len(pilot.app.sent(Process.Stop)) == 1  # type: ignore[attr-defined]
        assert shown(row, 60)[0].endswith("ended · code 2")  # and no time: it isn't known


async def test_a_process_counts_while_it_runs_and_keeps_how_long_it_ran() -> None:
    clock = ManualClock(NOW)
    row = Process(ProcessRow("p", NOW, 1, "npm run dev"))
    host = Host(row)
    host.clock = clock  # type: ignore[attr-defined]
    async with host.run_test() as pilot:
        clock.tick(3 * 60 + 20)
        row._count()
        await pilot.pause()
        assert "running · 3 min · [s] stop" in drawn(row)[0]
        clock.tick(60)
        row._count()
        await pilot.pause()
        assert "running · 4 min" in drawn(row)[0]
        row.show(ProcessRow("p", NOW, 1, "npm run dev", "", "exited", 0, NOW + 5 * 60_000))
        clock.tick(3_600)
        row._count()
        await pilot.pause()
        assert drawn(row)[0].rstrip().endswith("ended · 5 min")


def test_in_a_narrow_column_the_command_of_a_process_keeps_its_line() -> None:
    row = Process(ProcessRow("p", NOW, 1, "npm run dev", "", "exited", 2, NOW + 5 * 60_000))
    assert shown(row, 38) == ["○ In the background  npm run dev", "  ended · code 2 · 5 min"]
    assert len(shown(row, 80)) == 1


def test_a_process_that_a_kill_ended_says_no_time() -> None:
    rows: Rows = {}
    for at, event in (
        (NOW, ev.ProcessStarted(process_id="p_1", command="sleep 9")),
        (NOW + 60_000, ev.ProcessEnded(process_id="p_1", exit_code=0)),
        (NOW, ev.ProcessStarted(process_id="p_2", command="sleep 9")),
        (NOW + 9 * 3_600_000, ev.ProcessEnded(process_id="p_2", reason="closed")),
    ):
        fold(rows, ev.Stored(1, "c_1", 1, at, event))
    [one, two] = [row for row in rows.values() if isinstance(row, ProcessRow)]
    assert (one.ended_at, two.ended_at) == (NOW + 60_000, None)
    assert shown(Process(one))[0].endswith("ended · 1 min")
    assert shown(Process(two))[0].endswith("ended with Shoal")


async def test_a_memory_is_kept_and_forgotten_by_its_letters_never_by_enter() -> None:
    row = Memory(MemoryRow("m", NOW, 1, "fact", "tea, no sugar", "pending"))
    assert shown(row)[0] == "· May I remember this? · tea, no sugar"
    async with Host(row).run_test() as pilot:
        row.focus()
        await pilot.press("enter", "space")
        assert not pilot.app.sent(Memory.Decided)  # type: ignore[attr-defined]
        await pilot.press("k", "f")
        assert [m.action for m in pilot.app.sent(Memory.Decided)] == ["keep", "forget"]  # type: ignore[attr-defined]
        row.show(MemoryRow("m", NOW, 1, "fact", "tea, no sugar", "forgotten"))
        await pilot.press("k", "f")
        assert len(pilot.app.sent(Memory.Decided)) == 2  # type: ignore[attr-defined]
        assert shown(row) == ["· Forgotten · tea, no sugar", "  [u] Undo"]
        row.show(MemoryRow("m", NOW, 1, "fact", "tea, no sugar", "kept"))
        assert shown(row) == ["· Remembered · tea, no sugar", "  [u] Undo"]
        await pilot.press("k", "u", "f")
        assert [m.action for m in pilot.app.sent(Memory.Decided)][2:] == ["undo", "forget"]  # type: ignore[attr-defined]


def test_who_said_it_is_told_in_words() -> None:
    assert shown(widget_for(said("a", "hello")))[0].startswith("you  ")
    assert shown(widget_for(said("a", "hello", who="them", name="Ana")))[0].startswith("Ana  ")
    forwarded = shown(widget_for(said("a", "one\ntwo", who="forwarded", name="Ana")))
    assert forwarded[0].startswith("forwarded from Ana · not your words")
    assert forwarded[1:] == ["┃ one", "┃ two"]


def test_the_persons_words_are_never_read_as_markdown() -> None:
    assert shown(widget_for(said("a", "# not a *head* [x](y)")))[1:] == ["# not a *head* [x](y)"]


def test_an_unfinished_reply_says_so_and_thinking_is_folded() -> None:
    row = widget_for(said("a", "Half a", who="assistant", unfinished=True, thinking="let me see"))
    assert shown(row) == ["▸ Thinking · 3 words", "Half a", "◌ Didn't finish; this is what had come"]
    row.press()
    assert shown(row)[:2] == ["▾ Thinking · 3 words", "  let me see"]


def test_an_answered_question_is_one_neutral_line() -> None:
    for decision, words in (("deny", "You said no"), ("expired", "Not answered"), ("allow", "Allowed")):
        row = widget_for(PermissionRow("p", NOW, 1, None, decision))  # type: ignore[arg-type]
        assert shown(row) == [f"· {words}"]
        assert all("bad" not in style for line in row.lines(60) for _, style in line.pieces)


def test_an_allowed_call_is_told_by_its_own_row() -> None:
    request = ev.PermissionRequested(permission_id="p", call_id="call_1", summary="Run it")
    assert shown(widget_for(PermissionRow("p", NOW, 1, request, "allow"))) == []
    assert shown(widget_for(PermissionRow("p", NOW, 1, request, "allow-always"))) == ["· Always allowed · Run it"]
    assert shown(widget_for(PermissionRow("p", NOW, 1, request))) == ["· Asks you below · Run it"]


async def test_a_message_is_copied_as_it_was_written() -> None:
    row = widget_for(said("a", "**bold**", who="assistant"))
    async with Host(row).run_test() as pilot:
        row.focus()
        await pilot.press("y")
        assert [m.text for m in pilot.app.sent(Row.Copied)] == ["**bold**"]  # type: ignore[attr-defined]


async def test_text_can_be_selected_with_the_mouse() -> None:
    row = widget_for(said("a", "select these words"))
    async with Host(row).run_test() as pilot:
        await pilot.mouse_down(row, offset=(1, 1))
        await pilot.hover(row, offset=(12, 1))
        await pilot.mouse_up(row, offset=(12, 1))
        assert pilot.app.screen.get_selected_text() == "select these"


async def test_without_colour_the_marks_still_stand_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    row = PastChatsLook(look(), NOW)
    async with Host(row).run_test() as pilot:
        row.press()
        row.look_for("free", 0)
        await pilot.pause()
        segments = [s for strip in row.render_lines(row.size.region) for s in strip if s.style]
        colours = {c.triplet for s in segments for c in (s.style.color, s.style.bgcolor) if c and c.triplet}
        assert all(max(c) - min(c) <= 1 for c in colours), "only greys"
        looks = {s.text: (s.style.underline, s.style.reverse) for s in segments}
        assert looks["Barn"][0] and looks["free"][1]


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "nord"])
async def test_rows_draw_in_every_theme(theme: str) -> None:
    row = PastChatsLook(look(), NOW)
    async with Host(row, theme=theme).run_test() as pilot:
        row.press()
        await pilot.pause()
        strips = row.render_lines(row.size.region)
        marks = [s for strip in strips for s in strip if s.text == "Barn"]
        assert len(marks) == 2
        assert all(s.style and s.style.underline and s.style.bold for s in marks)


def test_wide_letters_keep_every_line_within_the_width() -> None:
    text = "日本語のテキスト with 👨‍👩‍👧 family and 🇫🇷 flag é " * 4
    for width in (10, 21, 40):
        for row in (widget_for(said("a", text)), widget_for(said("b", f"- {text}\n\n> {text}", who="assistant"))):
            assert all(line.cells <= width for line in row.lines(width))
