"""The deck, driven by keys over a session with the real interface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from app import commands as cmd
from app.screens.deck_screen import DeckScreen
from app.settings import Settings
from app.tui import ShoalApp
from tests.screens.fakes import FakeServices, fake_services

WIDE, NARROW = (132, 40), (80, 24)


def shoal(services: FakeServices, settings: Settings | None = None) -> ShoalApp:
    async def build() -> FakeServices:
        return services

    return ShoalApp(build, settings or services.settings)  # type: ignore[arg-type]


@asynccontextmanager
async def running(services: FakeServices, size: tuple[int, int] = WIDE) -> AsyncIterator[tuple[Pilot[int], DeckScreen]]:
    app = shoal(services)
    async with app.run_test(size=size) as pilot:
        for _ in range(200):
            await pilot.pause(0.01)
            if isinstance(app.screen, DeckScreen) and app.screen.deck.chats and app.screen.column:
                break
        await pilot.pause(0.05)
        screen = app.screen
        assert isinstance(screen, DeckScreen)
        yield pilot, screen


async def test_the_first_start_is_a_chat_ready_to_type_in(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    services.session.reply = lambda text: f"You said {text}"
    async with running(services) as (pilot, deck):
        assert [type(c) for c in services.session.commands] == [cmd.NewChat]
        await pilot.press(*"hello", "enter")
        await pilot.pause(0.3)
        assert isinstance(services.session.commands[-1], cmd.Send)
        assert deck.column is not None
        texts = [getattr(r, "text", "") for r in deck.column.transcript.loaded.rows.values()]
        assert texts == ["hello", "You said hello"]
