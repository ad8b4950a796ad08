"""The transcript on a screen: following, staying, paging, going to a row, finding."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from widget_host import Host, drawn, look, said, screen_text

from store.limits import ROWS_MOUNTED
from store.rows import AnyRow, NoticeRow, ToolRow
from widgets.transcript import Transcript

SIZE = (60, 20)


def rows(first: int, last: int) -> list[AnyRow]:
    return [said(f"k{n}", f"message {n} says\nsomething", n) for n in range(first, last)]


def first_line(view: Transcript) -> str:
    """The first said line in view."""
    return next(line for line in drawn_view(view) if "message" in line).strip()


def drawn_view(view: Transcript) -> list[str]:
    region = view.content_region
    return [line[region.x : region.right - 1] for line in screen_text(view.app).split("\n")[region.y : region.bottom]]


async def settle(pilot: Pilot[None]) -> None:
    for _ in range(3):
        await pilot.pause()


async def test_it_opens_at_the_end_with_at_most_a_page_mounted() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(0, 200), 412)
        await settle(pilot)
        assert len(view._widgets) <= ROWS_MOUNTED
        assert view.at_bottom
        assert "message 199 says" in screen_text(pilot.app)


async def test_a_short_one_begins_at_the_top() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(0, 2), 0)
        await settle(pilot)
        assert view.scroll_y == 0
        assert "message 0" in "".join(drawn_view(view)[:4])


async def test_new_rows_and_a_growing_reply_are_followed_at_the_end() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(0, 40), 0)
        await settle(pilot)
        for step in range(1, 30):
            view.stream("live", "\n\n".join(f"part {n}" for n in range(step)))
        await settle(pilot)
        assert "part 28" in screen_text(pilot.app)
        view.put(said("live", "all of it", 41, "assistant"))
        view.put(said("next", "the next one", 42))
        await settle(pilot)
        assert "the next one" in screen_text(pilot.app)
        assert view.loaded.order[-2:] == ["live", "next"]


async def test_scrolled_up_nothing_moves_when_text_arrives() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(0, 40), 0)
        await settle(pilot)
        view.scroll_relative(y=-12, animate=False)
        await settle(pilot)
        before = drawn_view(view)
        assert not view.at_bottom
        for step in range(1, 20):
            view.stream("live", "word " * step * 20)
            await pilot.pause()
        view.put(said("more", "new below", 60))
        await settle(pilot)
        assert drawn_view(view) == before
        view.scroll_end(animate=False)
        await settle(pilot)
        assert view.at_bottom


async def test_older_rows_come_in_above_without_moving_the_line_being_read() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(100, 140), 100)
        await settle(pilot)
        view.focus()
        view.scroll_to(y=2, animate=False)
        await settle(pilot)
        wanted = pilot.app.sent(Transcript.WantEarlier)  # type: ignore[attr-defined]
        assert [message.before for message in wanted] == ["k100"]
        before = first_line(view)
        view.prepend(rows(60, 100), 60)
        await settle(pilot)
        assert first_line(view) == before
        assert view.scroll_y > 10
        assert len(pilot.app.sent(Transcript.WantEarlier)) == 1  # type: ignore[attr-defined]


async def test_paging_up_through_a_long_chat_and_back_to_its_end() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(960, 1000), 960)
        await settle(pilot)
        oldest = 960
        for _ in range(40):
            view.scroll_to(y=0, animate=False)
            await settle(pilot)
            asked = pilot.app.sent(Transcript.WantEarlier)  # type: ignore[attr-defined]
            if asked and asked[-1].before == f"k{oldest}" and oldest > 800:
                view.prepend(rows(oldest - 40, oldest), oldest - 40)
                oldest -= 40
                await settle(pilot)
            assert len(view._widgets) <= ROWS_MOUNTED
        assert oldest == 800
        for _ in range(60):
            view.scroll_end(animate=False)
            await settle(pilot)
            assert len(view._widgets) <= ROWS_MOUNTED
            if view.at_bottom:
                break
        assert "message 999" in screen_text(pilot.app)


async def test_what_is_above_is_said_as_a_row() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(412, 420), 412)
        await settle(pilot)
        view.scroll_home(animate=False)
        await settle(pilot)
        assert "…412 earlier messages" in screen_text(pilot.app)


async def test_going_to_a_row_shows_it_lit_for_a_moment() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(0, 200), 0)
        await settle(pilot)
        assert view.go_to("k20")
        await settle(pilot)
        assert "message 20 says" in screen_text(pilot.app)
        assert view.row_widget("k20").has_class("-lit")  # type: ignore[union-attr]
        assert not view.at_bottom
        assert not view.go_to("elsewhere")
        await settle(pilot)
        assert [m.key for m in pilot.app.sent(Transcript.WantRow)] == ["elsewhere"]  # type: ignore[attr-defined]


async def test_find_marks_every_place_and_steps_through_them() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page([*rows(0, 60), said("a", "a **venue** in Lisbon", 70, "assistant")], 0)
        view.put(said("b", "another Venue", 71))
        await settle(pilot)
        assert view.find("venue") == 2
        await settle(pilot)
        state = pilot.app.sent(Transcript.FindState)[-1]  # type: ignore[attr-defined]
        assert (state.current, state.total) == (2, 2)
        marks = [s for row in view._widgets.values() for strip in row.render_lines(row.size.region) for s in strip]
        reversed_ones = [s.text for s in marks if s.style and s.style.reverse]
        underlined = [s.text for s in marks if s.style and s.style.underline and s.style.bold]
        assert reversed_ones == ["Venue"]
        assert underlined == ["venue"]
        view.focus()
        await pilot.press("n")
        state = pilot.app.sent(Transcript.FindState)[-1]  # type: ignore[attr-defined]
        assert (state.current, state.total) == (1, 2)
        assert view.find("message 3 says") == 1
        await settle(pilot)
        assert "message 3 says" in screen_text(pilot.app)
        assert view.find("") == 0


async def test_a_row_may_change_its_kind_and_a_late_signal_changes_nothing() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(0, 3), 0)
        view.put(ToolRow("t", 1, 5, "search", "Searching"))
        view.put(said("done", "the whole reply", 6, "assistant"))
        await settle(pilot)
        view.stream("done", "the wh")
        view.put(NoticeRow("t", 1, 5, "It went wrong"))
        await settle(pilot)
        text = screen_text(pilot.app)
        assert "It went wrong" in text and "Searching" not in text
        assert "the whole reply" in text
        view.stream("gone", "never ended")
        await settle(pilot)
        view.drop("gone")
        await settle(pilot)
        assert "never ended" not in screen_text(pilot.app)


async def test_the_row_cursor_walks_rows_and_the_lines_of_a_look() -> None:
    view = Transcript()
    async with Host(view).run_test(size=(60, 30)) as pilot:
        view.show_page([*rows(0, 2), look()], 0)
        await settle(pilot)
        view.focus()
        await settle(pilot)
        focused = pilot.app.focused
        assert focused is view.row_widget("look")
        await pilot.press("enter", "down", "down", "up", "up", "up")
        assert pilot.app.focused is view.row_widget("k1")
        await pilot.press("down", "down", "down", "down", "down")
        assert pilot.app.sent(Transcript.Leave)  # type: ignore[attr-defined]
        await pilot.press("tab")
        assert len(pilot.app.sent(Transcript.Leave)) == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (200, 60), (8, 3)])
async def test_any_size_shows_something_and_nothing_crashes(size: tuple[int, int]) -> None:
    view = Transcript()
    async with Host(view).run_test(size=size) as pilot:
        view.show_page([*rows(0, 30), look()], 12)
        await settle(pilot)
        view.find("message")
        view.go_to("k1")
        view.focus()
        await pilot.press("enter", "up", "down", "home", "end")
        await pilot.resize_terminal(60, 20)
        await settle(pilot)
        assert "message" in screen_text(pilot.app)


async def test_many_changes_of_size_while_a_reply_streams_end_at_the_end() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(0, 40), 0)
        await settle(pilot)
        for step in range(40):
            view.stream("live", "word " * (step + 1) * 3)
            await pilot.resize_terminal(30 + step % 30, 10 + step % 12)
        view.stream("live", "word " * 200 + "the end")
        await settle(pilot)
        assert view.at_bottom
        assert "the end" in screen_text(pilot.app)


async def test_a_row_opened_at_the_end_keeps_its_first_line_in_view() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        output = "\n".join(f"line {n}" for n in range(50))
        view.show_page([*rows(0, 30), ToolRow("t", 1, 31, "shell", "Ran it", output=output, status="success")], 0)
        await settle(pilot)
        view.focus()
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert "▾ Ran it" in screen_text(pilot.app)
        await pilot.press("enter")
        await settle(pilot)
        assert "▸ Ran it" in screen_text(pilot.app)
        assert view.at_bottom


async def test_a_page_read_again_shows_what_changed_meanwhile() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page([said("a", "half", 1, "assistant", live=True), ToolRow("t", 1, 2, "x", "Running it")], 0)
        await settle(pilot)
        view.show_page([said("a", "whole reply", 1, "assistant"), NoticeRow("t", 1, 2, "Stopped")], 0)
        await settle(pilot)
        text = screen_text(pilot.app)
        assert "whole reply" in text and "Stopped" in text and "Running it" not in text


async def test_rows_that_come_while_reading_above_wait_below_the_window() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(0, 40), 0)
        await settle(pilot)
        view.scroll_relative(y=-12, animate=False)
        await settle(pilot)
        for n in range(100, 300):
            view.put(said(f"k{n}", f"message {n} says", n))
        await settle(pilot)
        assert len(view._widgets) <= ROWS_MOUNTED
        view.action_last()
        await settle(pilot)
        assert view.at_bottom and "message 299" in screen_text(pilot.app)


async def test_a_row_may_be_asked_for_before_the_view_is_there() -> None:
    view = Transcript()
    view.show_page(rows(0, 100), 0)
    view.find("message 20 says")
    view.go_to("k20")
    async with Host(view).run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert "message 20 says" in screen_text(pilot.app)


async def test_going_to_a_find_in_a_long_row_shows_its_line() -> None:
    view = Transcript()
    async with Host(view).run_test(size=(30, 10)) as pilot:
        long = " ".join(f"word{n}" for n in range(400))
        view.show_page([*rows(0, 60), said("long", long, 61, "assistant"), *rows(62, 150)], 0)
        await settle(pilot)
        view.find("word333")
        await settle(pilot)
        view.action_last()
        await settle(pilot)
        assert "word333" not in screen_text(pilot.app)
        view.go_to("long")
        await settle(pilot)
        assert "word333" in screen_text(pilot.app)


async def test_many_signals_of_one_frame_are_one_layout() -> None:
    view = Transcript()
    async with Host(view).run_test(size=SIZE) as pilot:
        view.show_page(rows(0, 10), 0)
        view.stream("live", "a")
        await settle(pilot)
        row = view.row_widget("live")
        assert row is not None
        before = row.version
        for step in range(100):
            view.stream("live", "word " * step)
        await settle(pilot)
        assert row.version - before <= 2
        assert "word word" in drawn(row)[0]
