"""What a newcomer does with chats: every wrong word is answered, and nothing typed is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import commands as cmd
from app.settings import Settings
from store import events as ev
from tests.screens.deck_tools import open_deck, running, toasts, until
from tests.screens.fakes import fake_services
from widgets.rows.permission_card import PermissionCard


@pytest.mark.parametrize(
    ("theme", "advice"), [("nope", "F10 lists them"), ("shoal-lihgt", "did you mean shoal-light?")]
)
async def test_a_theme_that_isnt_there_is_said_and_shoals_own_is_used(tmp_path: Path, theme: str, advice: str) -> None:
    settings = Settings(theme=theme)
    async with running(fake_services(tmp_path, settings), settings=settings) as (pilot, deck):
        assert pilot.app.theme == "shoal"
        await until(pilot, lambda: f"there is no theme “{theme}”; {advice}" in toasts(deck))


async def test_what_waits_after_a_stop_says_how_it_is_sent_and_enter_sends_it(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    async with running(services) as (pilot, deck):
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: deck.summary and deck.summary.turn_id)
        await pilot.press(*"two", "enter")
        await until(pilot, lambda: deck.column and deck.column.composer.queue.texts == ["two"])
        await pilot.press(*"/stop", "enter")
        await until(pilot, lambda: deck.summary and not deck.summary.turn_id)
        assert deck.column is not None
        await until(pilot, lambda: "⏎ sends what waits" in str(deck.column.composer.box.placeholder))  # type: ignore[union-attr]
        await pilot.press("enter")
        await until(pilot, lambda: any(isinstance(c, cmd.SetQueue) for c in services.session.commands))
        asked = next(c for c in services.session.commands if isinstance(c, cmd.SetQueue))
        assert asked.go and asked.texts == ["two"]


async def test_tab_goes_to_the_question_and_its_letter_answers_it(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    chat = services.seed("Only", ("you", "x"))
    open_deck(services, chat)
    async with running(services) as (pilot, deck):
        ask = ev.PermissionRequested(permission_id="p1", tool_name="run", summary="Run ls")
        await services.session.write(chat, ev.TurnStarted(turn_id="r1"), ask)
        column = deck.columns[chat]
        await until(pilot, lambda: column.query(PermissionCard))
        assert "Tab to answer" in str(column.composer.box.placeholder)
        await pilot.press("tab")
        card = column.query_one(PermissionCard)
        await until(pilot, lambda: card.has_focus and not card.deaf)
        await pilot.press("a")
        await until(pilot, lambda: any(isinstance(c, cmd.Answer) for c in services.session.commands))
