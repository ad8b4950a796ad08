"""The explorer's two consents in Settings: each says what text goes where, and holds at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import OptionList

from app import commands as cmd
from app.screens.picker import Picker
from app.screens.settings_screen import SettingsScreen
from app.settings import Settings
from tests.screens.deck_tools import running, toasts, until
from tests.screens.fakes import fake_services


@pytest.mark.parametrize(
    ("tool", "sentence"),
    [
        (
            "explore_chat_history",
            "The explorer sends limited text of earlier chats in this project to openai:small.",
        ),
        ("read_chat", "read_chat sends the selected text to this chat's model."),
    ],
)
async def test_each_consent_says_what_goes_where_and_holds_at_once(tmp_path: Path, tool: str, sentence: str) -> None:
    services = fake_services(tmp_path, Settings.model_validate({"explorer": {"engine": "openai:small"}}))
    services.seed("Only", ("you", "x"))
    async with running(services) as (pilot, deck):
        await pilot.press("f10")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await pilot.press(*f"consent.{tool}")
        listing = pilot.app.screen.query_one("#settings", OptionList)
        await until(pilot, lambda: listing.option_count == 1)
        assert sentence in str(listing.get_option_at_index(0).prompt)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press(*"never", "enter")
        await until(pilot, lambda: any(isinstance(c, cmd.SetConsent) for c in services.session.commands))
        (sent,) = [c for c in services.session.commands if isinstance(c, cmd.SetConsent)]
        assert (sent.tool, sent.value) == (tool, "never")
        assert f"explorer.consent.{tool} is now never" in toasts(deck) and "next start" not in toasts(deck)


def test_search_has_no_consent_of_its_own() -> None:
    from app.screens.settings_screen import entries

    keys = [key for key, *_ in entries(Settings()) if key.startswith("explorer.consent.")]
    assert keys == ["explorer.consent.explore_chat_history", "explorer.consent.read_chat"]
