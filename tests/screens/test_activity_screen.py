"""F3: the list by day, its filters, and each line opening its chat at that moment."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Input

from app.screens.activity_screen import ActivityScreen
from store import events as ev
from store.log import Batch
from tests.screens.deck_tools import NARROW, WIDE, open_deck, running, until
from tests.screens.fakes import FakeServices, fake_services
from tests.screens.test_activity_log import KEY, look, ran
from widgets.doings import Doing, Doings

DAY = 86_400


def seeded(path: Path) -> tuple[FakeServices, str, str]:
    services = fake_services(path)
    store = services.store
    one = services.seed("Wedding planning", ("you", "where?"), ("assistant", "here"))
    store.commit_sync(Batch.of(one, look("venue", look_id="l_1")))
    services.clock.tick(DAY)
    two = services.seed("Sailing", ("you", "run it"))
    store.commit_sync(Batch.of(two, ran("run_command", "Ran npm test", "command", call="t_9")))
    asked = ev.PermissionRequested(permission_id="p_1", summary="Run a command", preview="rm x")
    store.commit_sync(Batch.of(two, asked, ev.MemorySaved(memory_id="y_1", content=f"Likes boats {KEY}")))
    open_deck(services, two)
    return services, one, two


def shown(screen: ActivityScreen) -> list[str]:
    doings = screen.query_one(Doings)
    return [i.data.words if isinstance(i.data, Doing) else f"# {i.data}" for i in doings.items]


async def test_f3_lists_what_was_done_by_day_and_enter_opens_the_chat_there(tmp_path: Path) -> None:
    services, one, _ = seeded(tmp_path)
    async with running(services) as (pilot, deck):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(deck.app.screen, ActivityScreen))
        screen = deck.app.screen
        assert isinstance(screen, ActivityScreen)
        await until(pilot, lambda: "# That is the beginning" in shown(screen))
        lines = shown(screen)
        assert lines[0].startswith("# ") and lines[4].startswith("# ") and lines[0] != lines[4]
        assert lines[1].startswith("Remembered: Likes boats") and KEY not in lines[1]
        assert lines[2:4] == ["Asked: Run a command · rm x", "Ran npm test"]
        assert lines[5] == "Looked through your chats for “venue”"
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: deck.app.screen is deck)
        await until(pilot, lambda: deck.deck.focused == one)
        await until(pilot, lambda: "l_1" in deck.columns[one].transcript.loaded.rows)
        await until(
            pilot, lambda: deck.columns[one].transcript.has_focus_within or deck.columns[one].transcript.has_focus
        )


async def test_words_and_kinds_narrow_it_and_ctrl_o_opens_beside(tmp_path: Path) -> None:
    services, one, two = seeded(tmp_path)
    async with running(services, WIDE) as (pilot, deck):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(deck.app.screen, ActivityScreen))
        screen = deck.app.screen
        assert isinstance(screen, ActivityScreen)
        await until(pilot, lambda: "# That is the beginning" in shown(screen))
        await pilot.press(*"glacier")
        await until(pilot, lambda: shown(screen) == ["# Nothing like that was done"])
        screen.query_one(Input).value = "weding"
        await until(pilot, lambda: [w for w in shown(screen) if "venue" in w] and len(shown(screen)) == 3)
        screen.query_one(Input).value = ""
        await pilot.press("tab", "tab")
        await until(pilot, lambda: "Ran npm test" in shown(screen) and len(shown(screen)) == 3)
        await pilot.press("shift+tab")
        await until(pilot, lambda: "Looked through your chats for “venue”" in shown(screen))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: deck.deck.chats == (two, one))
        await pilot.press("f3", "escape")
        await until(pilot, lambda: deck.app.screen is deck)


async def test_it_works_in_80_columns_and_reads_on_as_the_end_comes_near(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    chat = services.seed("Long", ("you", "go"))
    looks = [look(f"word{n}", look_id=f"l_{n}") for n in range(200)]
    services.store.commit_sync(Batch.of(chat, *looks))
    open_deck(services, chat)
    async with running(services, NARROW) as (pilot, deck):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(deck.app.screen, ActivityScreen))
        screen = deck.app.screen
        assert isinstance(screen, ActivityScreen)
        await until(pilot, lambda: len(shown(screen)) > 20)
        assert len(shown(screen)) < 120
        doings = screen.query_one(Doings)
        strip = "".join(seg.text for seg in doings.render_line(1))
        assert "word199" in strip and len(strip) <= 80
        for _ in range(20):
            await pilot.press("pagedown")
            await pilot.pause(0.02)
        await until(pilot, lambda: "# That is the beginning" in shown(screen))
        assert len(shown(screen)) == 202


async def test_an_empty_home_says_so(tmp_path: Path) -> None:
    async with running(fake_services(tmp_path)) as (pilot, deck):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(deck.app.screen, ActivityScreen))
        screen = deck.app.screen
        assert isinstance(screen, ActivityScreen)
        await until(pilot, lambda: shown(screen) == ["# Nothing was done yet"])
        await pilot.press("enter")
        assert deck.app.screen is screen


async def test_a_memorys_row_posts_what_was_decided(tmp_path: Path) -> None:
    services, _, two = seeded(tmp_path)
    async with running(services) as (pilot, deck):
        column = deck.columns[two]
        await until(pilot, lambda: "y_1" in column.transcript.loaded.rows)
        column.open_at("y_1")
        await pilot.pause()
        from widgets.rows.memory_row import Memory

        deck.query_one(Memory).post_message(Memory.Decided("y_1", "undo"))
        await until(pilot, lambda: any(c.do == "memory" for c in services.session.commands))
