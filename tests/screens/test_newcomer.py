"""What someone new meets first: the welcome is painted, and the box has the keys."""

from __future__ import annotations

from pathlib import Path

from tests.screens.deck_tools import running
from tests.screens.fakes import fake_services


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
