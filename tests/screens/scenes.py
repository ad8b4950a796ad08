"""The looks of Shoal: each a home, a window, and the keys that lead there. Screenshots and snapshots share them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea

from app.guard import secrets
from app.screens.deck_screen import DeckScreen
from app.settings import Settings
from app.tui import ShoalApp
from store.clock import ManualClock
from store.log import Batch
from store.search import SearchService
from store.state import KeepState
from tests.screens.fakes import FakeServices, fake_services
from tests.screens.seeded import NOW, seeded
from tests.screens.seeded_explorer import FIRST, SECOND, THIRD, explored
from tests.screens.seeded_hands import HANDS, hands
from tests.screens.seeded_together import CARDS, LOGIN, NOTES, together
from widgets.rows.change_row import Change
from widgets.rows.notice_row import Notice
from widgets.rows.other_chats_look import OtherChatsLook
from widgets.rows.task_card import TaskCard

Drive = Callable[[Pilot[int], DeckScreen], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    """One look."""

    drive: Drive
    size: tuple[int, int] = (160, 42)
    theme: str = ""
    columns: tuple[str, ...] = ("login", "notes", "deploy")
    empty: bool = False
    focus: int = 0


class Catalogue:
    """What a computer with a model server and one key would show."""

    @dataclass(frozen=True)
    class Found:
        kind: str
        name: str
        words: str
        model_names: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.found = (
            self.Found("key", "anthropic", "ANTHROPIC_API_KEY is set: Anthropic can be used."),
            self.Found("server", "ollama", "Port 11434 on this computer is open, where Ollama usually answers."),
            self.Found("program", "opencode", "OpenCode is installed."),
        )

    async def look(self) -> tuple[Any, ...]:
        return self.found


def fixed_time() -> None:
    """Times of day are the same everywhere."""
    os.environ["TZ"] = "UTC"
    time.tzset()


def app_of(scene: Scene, root: Path) -> ShoalApp:
    """The app of a scene, over a new home in `root`."""
    settings = Settings(theme=scene.theme)
    if scene.empty:
        services = fake_services(root, settings, ManualClock(NOW))
    else:
        home = seeded(root, settings)
        services = home.services
        if scene.columns == TOGETHER:
            together(services)
        if scene.columns == HANDED:
            hands(services)
        if scene.columns == EXPLORED:
            explored(services)
        chats = [getattr(home, name, name) for name in scene.columns]
        services.store.commit_sync(Batch(changes=[KeepState("", "deck", {"chats": chats, "focus": scene.focus})]))
    services.catalogue = Catalogue()

    async def build() -> FakeServices:
        search = SearchService(
            services.store,
            root / "index",
            spans=secrets.spans,
            spans_version=secrets.SHAPES_VERSION,
            clock=services.clock,
        )
        await search.start()
        await search.caught_up(10)
        services.search = search  # type: ignore[assignment]
        return services

    return ShoalApp(build, settings)  # type: ignore[arg-type]


async def play(scene: Scene, pilot: Pilot[int]) -> None:
    """Wait for the deck, press the scene's keys, hold the cursor still."""
    app = pilot.app
    for _ in range(300):
        await pilot.pause(0.01)
        screen = app.screen
        if isinstance(screen, DeckScreen) and screen.column and all(c.feed.loaded for c in screen.columns.values()):
            break
    assert isinstance(app.screen, DeckScreen)
    app.app_focus = True
    await settled(pilot)
    deck = app.screen
    for _ in range(400):  # questions show once nothing was typed for a second
        asking = [c for c in deck.columns.values() if c.display and c.feed.asks]
        if all(c.asks.query("PermissionCard") for c in asking):
            break
        await pilot.pause(0.01)
    await scene.drive(pilot, deck)
    await settled(pilot)
    for screen in app.screen_stack:
        for box in screen.query(Input).results(Input):
            box.cursor_blink = False
        for area in screen.query(TextArea).results(TextArea):
            area.cursor_blink = False
    await pilot.pause(0.05)


async def settled(pilot: Pilot[int], seconds: float = 0.3) -> None:
    """Until nothing changed for a moment."""
    await asyncio.sleep(seconds)
    await pilot.pause()


async def found(pilot: Pilot[int]) -> None:
    """Until the answer of the pause is there, and its preview."""
    await settled(pilot, 0.8)
    screen = pilot.app.screen
    for _ in range(300):
        if not getattr(screen, "_pending", False):
            break
        await pilot.pause(0.01)
    await settled(pilot, 0.4)


async def nothing(pilot: Pilot[int], deck: DeckScreen) -> None:
    await settled(pilot)


async def search(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("ctrl+k", *"venue lisbon")
    await found(pilot)


async def recent(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("ctrl+k")
    await settled(pilot, 0.5)


async def typo(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("ctrl+k", *"boathuose deposit")
    await found(pilot)


async def line(pilot: Pilot[int], deck: DeckScreen) -> None:
    await search(pilot, deck)
    await pilot.press("enter")
    await settled(pilot, 0.5)


async def look(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("tab", "tab", "enter")
    await settled(pilot)


async def keys(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("f1")


async def settings(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("f10")
    await settled(pilot)
    place = Content("⏎ change   Esc close   ~/.local/share/shoal/settings.toml")  # the real one differs in each run
    pilot.app.screen.query_one("#foot", Static).update(place)


async def leader(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("f8")


async def models(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("f7")
    await settled(pilot)


async def commands(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("/", "r")


async def delete(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("f8", "d")


async def drawer(pilot: Pilot[int], deck: DeckScreen) -> None:
    await pilot.press("f2")


async def cards(pilot: Pilot[int], deck: DeckScreen) -> None:
    """Chats together: the list opened, and the first task's steps."""
    deck.query_one(OtherChatsLook).press()
    deck.query(TaskCard).first().press()
    await settled(pilot)
    await pilot.pause(0.7)  # the cards' grace is over


TOGETHER = (LOGIN, NOTES, CARDS)
EXPLORED = (FIRST, SECOND, THIRD)
HANDED = (HANDS,)


async def diff(pilot: Pilot[int], deck: DeckScreen) -> None:
    """A change of the reply, opened."""
    [row] = deck.query(Change)
    row.focus()
    await pilot.press("enter")


async def memories(pilot: Pilot[int], deck: DeckScreen) -> None:
    """What is remembered; the third is read."""
    await pilot.press("f8", "m")
    await settled(pilot)
    await pilot.press("down", "down")


async def no_memories(pilot: Pilot[int], deck: DeckScreen) -> None:
    """Nothing is."""
    await pilot.press("f8", "m")


async def passwords(pilot: Pilot[int], deck: DeckScreen) -> None:
    """Their names."""
    await deck.services.vault.set_passphrase("correct horse")
    for name in ("Deploy key", "Registry token", "Staging database"):
        await deck.services.vault.put(name, "never-shown-anywhere")
    await pilot.press("f8", "w")
    await settled(pilot)
    await pilot.press("down")


async def no_passwords(pilot: Pilot[int], deck: DeckScreen) -> None:
    """None is kept."""
    await pilot.press("f8", "w")


async def add_password(pilot: Pilot[int], deck: DeckScreen) -> None:
    """The first one, before which a passphrase may be set."""
    await no_passwords(pilot, deck)
    await settled(pilot)
    await pilot.press("a")
    await settled(pilot)
    await pilot.press(*"horse", "enter", *"house", "enter")


async def locked(pilot: Pilot[int], deck: DeckScreen) -> None:
    """A reply wanted one while they were locked; o on its row asks for the passphrase."""
    await deck.services.vault.set_passphrase("correct horse")
    await deck.services.vault.lock()
    row = next(r for r in deck.query(Notice) if r.model.code)
    row.focus()
    await pilot.press("o")
    await settled(pilot)
    await pilot.press(*"mouse", "enter")


async def done(pilot: Pilot[int], deck: DeckScreen) -> None:
    """What was done."""
    await pilot.press("f3")
    await settled(pilot)
    await pilot.press("down")


SCENES: dict[str, Scene] = {
    "deck": Scene(nothing),
    "search": Scene(search),
    "search-recent": Scene(recent),
    "search-close": Scene(typo),
    "line": Scene(line),
    "look": Scene(look, columns=("notes", "login"), size=(132, 40)),
    "first-start": Scene(nothing, empty=True, size=(132, 36)),
    "help": Scene(keys, size=(132, 52)),
    "settings": Scene(settings, size=(132, 40)),
    "leader": Scene(leader),
    "models": Scene(models, size=(132, 36)),
    "commands": Scene(commands, size=(132, 36), columns=("venue", "login")),
    "diff": Scene(diff, size=(100, 30), columns=HANDED),
    "memories": Scene(memories, size=(140, 40), columns=HANDED),
    "memories-narrow": Scene(memories, size=(80, 24), columns=HANDED),
    "memories-100": Scene(memories, size=(100, 30), columns=HANDED),
    "memories-none": Scene(no_memories, size=(100, 30), empty=True),
    "passwords": Scene(passwords, size=(140, 40), columns=HANDED),
    "passwords-narrow": Scene(passwords, size=(80, 24), columns=HANDED),
    "passwords-none": Scene(no_passwords, size=(100, 30), columns=HANDED),
    "passphrase": Scene(add_password, size=(100, 30), columns=HANDED),
    "locked": Scene(locked, size=(100, 30), columns=HANDED),
    "locked-row": Scene(nothing, size=(80, 24), columns=HANDED),
    "activity": Scene(done, size=(140, 40), columns=HANDED),
    "activity-narrow": Scene(done, size=(80, 24), columns=HANDED),
    "delete": Scene(delete, size=(132, 36)),
    "together": Scene(cards, columns=TOGETHER, size=(160, 46)),
    "explorer": Scene(nothing, columns=EXPLORED, size=(160, 47)),
    "narrow": Scene(nothing, size=(80, 24)),
    "narrow-list": Scene(drawer, size=(80, 24)),
    "tiny": Scene(nothing, size=(20, 5)),
    "light": Scene(nothing, theme="shoal-light"),
    "light-search": Scene(search, theme="shoal-light"),
    "ansi": Scene(nothing, theme="ansi-dark", size=(132, 40)),
}
# as screenshots
SHOWN = (
    "deck",
    "search",
    "line",
    "look",
    "first-start",
    "help",
    "settings",
    "together",
    "explorer",
    "narrow",
    "light",
)
