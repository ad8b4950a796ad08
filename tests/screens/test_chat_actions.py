"""What a newcomer does with chats: every wrong word is answered, and nothing typed is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings import Settings
from tests.screens.deck_tools import running, toasts, until
from tests.screens.fakes import fake_services


@pytest.mark.parametrize(
    ("theme", "advice"), [("nope", "F10 lists them"), ("shoal-lihgt", "did you mean shoal-light?")]
)
async def test_a_theme_that_isnt_there_is_said_and_shoals_own_is_used(tmp_path: Path, theme: str, advice: str) -> None:
    settings = Settings(theme=theme)
    async with running(fake_services(tmp_path, settings), settings=settings) as (pilot, deck):
        assert pilot.app.theme == "shoal"
        await until(pilot, lambda: f"there is no theme “{theme}”; {advice}" in toasts(deck))
