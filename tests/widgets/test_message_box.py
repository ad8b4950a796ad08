"""The message box: what is sent and what isn't, pastes, recall, commands, the queue."""

from __future__ import annotations

import time
from typing import Any

import pytest
from textual import events
from textual.app import App
from widget_host import Host, drawn, screen_text

from store.limits import PASTE_PLACEHOLDER_CHARS
from widgets.composer import Composer, SlashCommand


def sent(app: App[Any]) -> list[str]:
    return [message.text for message in app.sent(Composer.Sent)]  # type: ignore[attr-defined]


async def test_enter_sends_and_ctrl_j_makes_a_line() -> None:
    box = Composer()
    async with Host(box).run_test() as pilot:
        box.focus()
        await pilot.press("h", "i", "ctrl+j", "y", "o", "u", "enter")
        assert sent(pilot.app) == ["hi\nyou"]
        assert box.draft() == ""
        await pilot.press("enter", "space", "enter")
        assert sent(pilot.app) == ["hi\nyou"]


PASTES = {
    "1 MB in one line": "x" * 1_000_000,
    "10,000 lines": "a line of words\n" * 10_000,
    "controls": "a\tb\x1b[2J\x00\u202edcba\r\nnext",
}


@pytest.mark.parametrize("name", PASTES)
async def test_a_paste_is_in_the_box_within_a_second_and_nothing_is_sent(name: str) -> None:
    box = Composer()
    async with Host(box).run_test() as pilot:
        box.focus()
        await pilot.pause()
        start = time.monotonic()
        box.box.post_message(events.Paste(PASTES[name]))
        await pilot.pause()
        drawn(box.box)
        assert time.monotonic() - start < 1.0
        assert sent(pilot.app) == []
        pasted = PASTES[name].replace("\r\n", "\n")
        if len(pasted) > PASTE_PLACEHOLDER_CHARS:
            assert len(box.box.text) < 60
            assert "⟦pasted 1" in screen_text(pilot.app)
        await pilot.pause(0.2)
        await pilot.press("enter")
        assert sent(pilot.app) == ["".join(c for c in pasted if c in "\n\t" or c >= " ")]


async def test_what_is_pasted_is_clean_on_screen_and_sent_as_it_was() -> None:
    box = Composer()
    async with Host(box).run_test() as pilot:
        box.focus()
        await pilot.pause()
        box.box.post_message(events.Paste("a\u202eb\u200bc\x1b]52;c;eA==\x07"))
        await pilot.pause(0.2)
        text = "".join(drawn(box.box))
        assert not set("\u202e\u200b\x1b\x07") & set(text)
        await pilot.press("enter")
        assert sent(pilot.app) == ["a\u202eb\u200bc]52;c;eA=="]


async def test_the_end_of_paste_mark_and_a_return_in_a_paste_send_nothing() -> None:
    box = Composer()
    async with Host(box).run_test() as pilot:
        box.focus()
        await pilot.pause()
        box.box.post_message(events.Paste("harmless"))
        for char in "rm -rf ~":
            box.box.post_message(events.Key("space" if char == " " else char, char))
        box.box.post_message(events.Key("enter", "\r"))
        await pilot.pause()
        assert sent(pilot.app) == []
        assert box.draft() == "harmlessrm -rf ~\n"
        await pilot.pause(0.3)
        await pilot.press("enter")
        assert sent(pilot.app) == ["harmlessrm -rf ~\n"]


async def test_two_long_pastes_stand_apart_and_both_are_sent() -> None:
    box = Composer()
    async with Host(box).run_test():
        box.box.take("a" * 3_000)
        box.box.take(" and ")
        box.box.take("b\n" * 3_000)
        assert "⟦pasted 2: 3,001 lines⟧" in box.box.text
        assert box.draft() == "a" * 3_000 + " and " + "b\n" * 3_000
        box.set_draft(box.draft())
        assert len(box.box.aside) == 1


async def test_up_in_an_empty_box_recalls_and_down_comes_back() -> None:
    box = Composer()
    async with Host(box).run_test() as pilot:
        box.focus()
        box.set_recall(["newest", "older"])
        await pilot.press("up")
        assert box.draft() == "newest"
        await pilot.press("up")
        assert box.draft() == "older"
        await pilot.press("up")
        assert box.draft() == "older"
        await pilot.press("down")
        assert box.draft() == "newest"
        await pilot.press("down")
        assert box.draft() == ""
        await pilot.press("x", "up")
        assert box.draft() == "x"


async def test_a_slash_lists_commands_and_tab_completes() -> None:
    box = Composer()
    box.set_commands([SlashCommand("find", "find in this chat"), SlashCommand("fork", "go on in a new chat")])
    async with Host(box).run_test() as pilot:
        box.focus()
        await pilot.press("slash", "f")
        assert "/find  find in this chat" in screen_text(pilot.app)
        assert "/fork" in screen_text(pilot.app)
        await pilot.press("o", "tab")
        assert box.draft() == "/fork "
        assert not box.hints.display


async def test_the_queue_is_shown_edited_moved_and_dropped() -> None:
    box = Composer()
    async with Host(box).run_test() as pilot:
        box.set_queue(["one", "two", "three"])
        await pilot.pause()
        assert "1 next  one" in screen_text(pilot.app)
        box.queue.focus()
        await pilot.press("J")
        assert pilot.app.sent(Composer.QueueChanged)[-1].texts == ("two", "one", "three")  # type: ignore[attr-defined]
        await pilot.press("x")
        assert pilot.app.sent(Composer.QueueChanged)[-1].texts == ("two", "three")  # type: ignore[attr-defined]
        await pilot.press("e")
        await pilot.pause()
        assert pilot.app.sent(Composer.QueueChanged)[-1].texts == ("two",)  # type: ignore[attr-defined]
        assert box.draft() == "three"
        assert pilot.app.focused is box.box


async def test_a_paste_longer_than_a_message_may_be_is_refused_in_a_sentence() -> None:
    box = Composer()
    async with Host(box).run_test() as pilot:
        box.box.take("x" * 2_000_001)
        await pilot.pause()
        refused = pilot.app.sent(Composer.Refused)  # type: ignore[attr-defined]
        assert "2,000,001 characters" in refused[0].words
        assert box.draft() == ""


async def test_a_hint_stands_in_an_empty_box() -> None:
    box = Composer()
    box.set_hint("answer above, or write [bold]")
    async with Host(box).run_test() as pilot:
        assert "answer above, or write [bold]" in screen_text(pilot.app)


async def test_typing_is_told_so_that_cards_hold_back() -> None:
    box = Composer()
    async with Host(box).run_test() as pilot:
        box.focus()
        await pilot.press("x")
        box.box.post_message(events.Paste("y"))
        await pilot.pause()
        typed = [message.pasted for message in pilot.app.sent(Composer.Typed)]  # type: ignore[attr-defined]
        assert True in typed and False in typed
        assert pilot.app.sent(Composer.DraftChanged)[-1].text == "xy"  # type: ignore[attr-defined]


async def test_enter_in_an_empty_box_sends_on_what_waits_and_without_that_nothing() -> None:
    box = Composer()
    async with Host(box).run_test() as pilot:
        box.focus()
        await pilot.press("enter")
        assert pilot.app.sent(Composer.Go) == []  # type: ignore[attr-defined]
        box.set_queue(["two", "three"])
        await pilot.press("enter")
        assert [m.texts for m in pilot.app.sent(Composer.Go)] == [("two", "three")]  # type: ignore[attr-defined]
        assert sent(pilot.app) == []


async def test_what_waits_says_how_to_come_to_it_and_then_its_keys() -> None:
    box = Composer()
    async with Host(box).run_test(size=(80, 12)) as pilot:
        box.set_queue(["two", "three"])
        box.focus()
        await pilot.pause()
        assert "queued · Shift+Tab, then e edit" in screen_text(pilot.app)
        await pilot.press("shift+tab")
        await pilot.pause()
        assert box.queue.has_focus and "queued · e edit" in screen_text(pilot.app)
        await pilot.press("escape")
        await pilot.pause()
        assert box.box.has_focus and "queued · Shift+Tab" in screen_text(pilot.app)
