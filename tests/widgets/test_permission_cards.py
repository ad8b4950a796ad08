"""The question card: quiet, deaf for a moment, answered only by its own letters once its end was in view."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.widgets import Input
from widget_host import Host, ask, drawn, screen_text

from store.events import PermissionRequested
from store.rows import PermissionRow
from widgets.rows.permission_card import PermissionCard
from widgets.visible import every_character

HEARS = 0.6


def answers(app: App[Any]) -> list[str]:
    return [message.choice for message in app.sent(PermissionCard.Answered)]  # type: ignore[attr-defined]


async def test_it_never_takes_the_focus_by_itself() -> None:
    box = Input()
    async with Host(box).run_test() as pilot:
        box.focus()
        await pilot.app.mount(PermissionCard(ask()))
        await pilot.pause(HEARS)
        await pilot.press("a", "d", "enter")
        assert pilot.app.focused is box
        assert box.value == "ad"
        assert answers(pilot.app) == []


@pytest.mark.parametrize(("key", "choice"), [("a", "allow"), ("w", "allow-always"), ("d", "deny")])
async def test_its_letters_answer_once_it_hears(key: str, choice: str) -> None:
    card = PermissionCard(ask())
    async with Host(card).run_test() as pilot:
        card.focus()
        await pilot.press(key)
        assert answers(pilot.app) == []
        await pilot.pause(HEARS)
        await pilot.press("enter", "space", "y", "1")
        assert answers(pilot.app) == []
        await pilot.press(key, key)
        assert answers(pilot.app) == [choice]


async def test_after_a_paste_it_is_deaf_again() -> None:
    card = PermissionCard(ask())
    async with Host(card).run_test() as pilot:
        card.focus()
        await pilot.pause(HEARS)
        card.post_message(events.Paste("\r"))
        await pilot.pause()
        await pilot.press("a", "enter")
        assert answers(pilot.app) == []
        await pilot.pause(HEARS)
        await pilot.press("a")
        assert answers(pilot.app) == ["allow"]


async def test_always_is_only_offered_where_it_lasts() -> None:
    for more in ({"once": True}, {"lasting": False}):
        card = PermissionCard(ask(**more))
        async with Host(card).run_test() as pilot:
            card.focus()
            await pilot.pause(HEARS)
            await pilot.press("w")
            assert answers(pilot.app) == []
            assert "Always" not in screen_text(pilot.app)


async def test_a_long_question_is_answered_only_after_its_end_was_in_view() -> None:
    card = PermissionCard(ask(summary="Run this", detail="\n".join(f"echo {n}" for n in range(100)) + "\nrm -rf x"))
    async with Host(card).run_test(size=(60, 20)) as pilot:
        card.focus()
        await pilot.pause(HEARS)
        assert "rm -rf x" not in screen_text(pilot.app)
        assert "[d] Deny" in screen_text(pilot.app)
        await pilot.press("a", "w")
        assert answers(pilot.app) == []
        assert "Read it to its end first" in screen_text(pilot.app)
        await pilot.press("end")
        assert "rm -rf x" in screen_text(pilot.app)
        await pilot.press("a")
        assert answers(pilot.app) == ["allow"]


async def test_no_is_possible_without_reading_on() -> None:
    card = PermissionCard(ask(detail="x\n" * 200))
    async with Host(card).run_test(size=(60, 20)) as pilot:
        card.focus()
        await pilot.pause(HEARS)
        await pilot.press("d")
        assert answers(pilot.app) == ["deny"]


async def test_padding_and_unseen_characters_are_marks_and_the_length_is_said() -> None:
    command = "ls" + " " * 3_000 + "; rm -rf ~ \u202e \x1b[8m hidden" + "\n" * 900 + "curl x"
    card = PermissionCard(ask(summary="Run a command", detail=command))
    async with Host(card).run_test(size=(80, 40)) as pilot:
        text = " ".join(screen_text(pilot.app).split())
        for part in ("⟨3,000 spaces⟩", "rm -rf ~", "⟨U+202E⟩", "␛[8m hidden", "empty lines⟩", "curl x"):
            assert part in text
        assert f"{len(command) + len('Run a command'):,} characters in all" in text
        assert card.seen_end


async def test_a_click_on_a_choice_answers_only_once_it_hears() -> None:
    card = PermissionCard(ask())
    async with Host(card).run_test(size=(60, 20)) as pilot:
        last = card.size.height - 1
        at = drawn(card)[last].index("[a]")
        await pilot.click(card, offset=(at + 2, last))
        assert answers(pilot.app) == []
        await pilot.pause(HEARS)
        await pilot.click(card, offset=(at + 2, last))
        assert answers(pilot.app) == ["allow"]


async def test_its_choices_stay_reachable_on_a_small_screen() -> None:
    card = PermissionCard(ask(detail="word " * 300))
    async with Host(card).run_test(size=(60, 30)) as pilot:
        await pilot.resize_terminal(24, 5)
        await pilot.pause()
        assert "[d]" in screen_text(pilot.app)


def test_every_character_is_visible() -> None:
    assert every_character("a\tb\x00\x7f\u200b\r\nc\r") == "a␉b␀␡⟨U+200B⟩\nc␍"
    assert every_character("日本 é 👍") == "日本 é 👍"
    assert every_character("\ud800") == "⟨U+D800⟩"


async def test_it_shows_the_whole_command_or_diff_and_the_place() -> None:
    request = PermissionRequested(
        permission_id="p_1",
        tool_name="write_file",
        summary="Write notes.md",
        preview="-old line\n+new line",
        place="/home/me/trips/notes.md",
        detail="It lies outside the work folder",
    )
    card = PermissionCard(PermissionRow("p_1", 0, 0, request))
    async with Host(card).run_test(size=(80, 30)) as pilot:
        shown = screen_text(pilot.app)
        for words in ("Write notes.md", "-old line", "+new line", "/home/me/trips/notes.md", "outside the work folder"):
            assert words in shown
