"""What someone new meets first: the welcome is painted, and the box has the keys."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from app.screens.confirm import Confirm
from store.events import LookChat, LookLine
from store.rows import LookRow
from tests.screens.deck_tools import open_deck, running, until
from tests.screens.fakes import fake_services
from widgets.names import without_name
from widgets.rows.past_chats_look import PastChatsLook


async def test_the_welcome_is_painted_over_its_whole_width(tmp_path: Path) -> None:
    async with running(fake_services(tmp_path)) as (pilot, deck):
        await pilot.pause(0.2)
        assert deck.column is not None
        welcome = deck.column.query_one("Welcome")
        assert welcome.size == welcome.region.size, "a row draws its whole region; with padding nothing is painted"
        assert "side by side" in pilot.app.export_screenshot().replace("&#160;", " ")


async def test_letters_typed_at_the_first_start_reach_the_box(tmp_path: Path) -> None:
    async with running(fake_services(tmp_path)) as (pilot, deck):
        await pilot.press(*"quick brown fox")
        assert deck.column is not None and deck.column.composer.draft() == "quick brown fox"


def test_a_name_before_a_line_is_shown_once_and_the_marks_move_with_the_words() -> None:
    assert without_name("Ana: the barn", ((0, 3), (9, 13)), "Ana") == ("the barn", ((4, 8),))
    assert without_name("Ana: the barn", ((9, 13),), None) == ("Ana: the barn", ((9, 13),))
    found = LookLine(message="m1", who="them", text="Ana: The Barn is free", name="Ana", marks=((9, 13),))
    row = PastChatsLook(LookRow("k", 0, 0, "search", "barn", False, (LookChat(id="c", title="Venue", lines=(found,)),)))
    row.opened = True
    shown = row.make(80)[-1]
    assert shown.plain.split() == ["Ana", "The", "Barn", "is", "free"]
    assert [text for text, style in shown.pieces if "mark" in style] == ["Barn"]


async def test_a_press_on_a_link_shows_its_real_host_and_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    services = fake_services(tmp_path)
    open_deck(services, services.seed("Links", ("assistant", "See [here](https://ex\u0430mple.org/p).")))
    async with running(services) as (pilot, deck):
        for answer in ("escape", "enter"):  # Enter is on Cancel at first
            await pilot.press("tab", "o")
            await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
            assert "https://xn--exmple-4nf.org/p" in str(pilot.app.screen.query_one("#detail").render())
            await pilot.press(answer)
            await until(pilot, lambda: pilot.app.screen is deck)
            await pilot.press("escape")
            assert not opened
        await pilot.press("tab", "o")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.press("right", "enter")
        await until(pilot, lambda: opened == ["https://xn--exmple-4nf.org/p"])
