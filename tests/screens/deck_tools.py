"""Starts the app over fakes and waits for its deck."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from app.screens.deck_screen import DeckScreen
from app.settings import Settings
from app.tui import ShoalApp
from store.log import Batch
from store.state import KeepState
from tests.screens.fakes import FakeServices

WIDE, NARROW = (132, 40), (80, 24)


def shoal(services: FakeServices, settings: Settings | None = None) -> ShoalApp:
    """The app over these services."""

    async def build() -> FakeServices:
        return services

    return ShoalApp(build, settings or services.settings)  # type: ignore[arg-type]


@asynccontextmanager
async def running(
    services: FakeServices, size: tuple[int, int] = WIDE, settings: Settings | None = None
) -> AsyncIterator[tuple[Pilot[int], DeckScreen]]:
    """The app with its deck and first column loaded."""
    app = shoal(services, settings)
    async with app.run_test(size=size) as pilot:
        await until(
            pilot, lambda: isinstance(app.screen, DeckScreen) and bool(app.screen.deck.chats or app.screen.readonly)
        )
        screen = app.screen
        assert isinstance(screen, DeckScreen)
        await until(pilot, lambda: all(c.feed.loaded for c in screen.columns.values()))
        await until(pilot, lambda: not screen.column or screen.column.composer.box.has_focus)
        yield pilot, screen
        await screen.put_away()


async def until(pilot: Pilot[int], true: Callable[[], object], seconds: float = 5) -> None:
    """Wait until it holds."""
    end = asyncio.get_running_loop().time() + seconds
    while not true():
        assert asyncio.get_running_loop().time() < end, "it never came to hold"
        await pilot.pause(0.01)


def open_deck(services: FakeServices, *chats: str, focus: int = 0) -> None:
    """These chats stand side by side at the next start."""
    services.store.commit_sync(Batch(changes=[KeepState("", "deck", {"chats": list(chats), "focus": focus})]))


def said(deck: DeckScreen, chat: str | None = None) -> list[str]:
    """The texts of a column's rows."""
    column = deck.columns[chat or deck.deck.focused or ""]
    return [getattr(row, "text", "") for row in column.transcript.loaded.rows.values()]


def toasts(deck: DeckScreen) -> str:
    """Everything that was said in a corner."""
    return "\n".join(n.message for n in deck.app._notifications)
