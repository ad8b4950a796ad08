"""F3: the list by day, its filters, and each line opening its chat at that moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from app.screens.activity_screen import ActivityScreen
from app.screens.deck_screen import DeckScreen
from app.session.activity import ActivityPage
from store import events as ev
from store.log import Batch
from tests.screens.deck_tools import NARROW, WIDE, open_deck, running, until
from tests.screens.fakes import FakeServices, fake_services
from tests.screens.test_activity_log import KEY, look, ran
from widgets.bar import Bar
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


async def opened(pilot: Pilot[int], deck: DeckScreen) -> ActivityScreen:
    await pilot.press("f3")
    await until(pilot, lambda: isinstance(deck.app.screen, ActivityScreen))
    screen = deck.app.screen
    assert isinstance(screen, ActivityScreen)
    await until(pilot, lambda: "# That is the beginning" in shown(screen))
    return screen


async def test_what_is_done_meanwhile_comes_into_the_open_list_and_the_cursor_keeps_its_row(tmp_path: Path) -> None:
    services, _, two = seeded(tmp_path)
    async with running(services) as (pilot, deck):
        screen = await opened(pilot, deck)
        doings = screen.query_one(Doings)
        await pilot.press("down", "down")
        here = doings.selected
        await services.session.write(two, ran("run_command", "Ran make", "command", call="t_10"))
        await until(pilot, lambda: "Ran make" in shown(screen))
        assert doings.selected == here
        assert shown(screen)[1] == "Ran make"
        await services.session.write(two, ev.ToolFinished(call_id="t_10", status="error"))
        await until(pilot, lambda: [i for i in doings.items if isinstance(i.data, Doing) and i.data.note == "failed"])
        assert doings.selected == here and shown(screen).count("Ran make") == 1


async def test_an_unmoved_cursor_stays_on_the_row_it_stood_on(tmp_path: Path) -> None:
    services, _, two = seeded(tmp_path)
    async with running(services) as (pilot, deck):
        screen = await opened(pilot, deck)
        here = screen.query_one(Doings).selected
        await services.session.write(two, ran("run_command", "Ran make", "command", call="t_10"))
        await until(pilot, lambda: "Ran make" in shown(screen))
        assert screen.query_one(Doings).selected == here


async def test_a_view_that_was_scrolled_stays_on_its_lines_while_new_ones_come(tmp_path: Path) -> None:
    services, _, two = seeded(tmp_path)
    for n in range(120):
        services.store.commit_sync(Batch.of(two, ran("run_command", f"Ran {n}", "command", call=f"k_{n}")))
    async with running(services, NARROW) as (pilot, deck):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(deck.app.screen, ActivityScreen))
        screen = deck.app.screen
        assert isinstance(screen, ActivityScreen)
        await until(pilot, lambda: "Ran 119" in shown(screen))
        doings = screen.query_one(Doings)
        await pilot.press("pagedown", "pagedown", "up")
        here, top = doings.selected, doings.scroll_offset.y
        assert top > 0
        for n in range(3):
            await services.session.write(two, ran("run_command", f"Ran new {n}", "command", call=f"n_{n}"))
        await until(pilot, lambda: "Ran new 2" in shown(screen))
        assert (doings.selected, doings.scroll_offset.y) == (here, top + 3)
        loaded = shown(screen)
        assert len(loaded) == len(set(loaded)) and "Ran 100" in loaded


async def test_many_things_at_once_are_one_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services, _, two = seeded(tmp_path)
    async with running(services) as (pilot, deck):
        screen = await opened(pilot, deck)
        looks: list[object] = []
        page = screen._activity.page

        async def counted(*args: Any) -> ActivityPage:
            looks.append(args)
            return await page(*args)

        monkeypatch.setattr(screen._activity, "page", counted)
        for n in range(40):
            await services.session.write(two, ran("run_command", f"Ran {n}", "command", call=f"n_{n}"))
        await until(pilot, lambda: "Ran 39" in shown(screen))
        assert len(looks) <= 4


async def test_the_first_thing_that_is_done_takes_the_place_of_the_empty_words(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    chat = services.seed("Quiet", ("you", "hello"))
    open_deck(services, chat)
    async with running(services) as (pilot, deck):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(deck.app.screen, ActivityScreen))
        screen = deck.app.screen
        assert isinstance(screen, ActivityScreen)
        await until(pilot, lambda: shown(screen) == ["# Nothing was done yet"])
        await services.session.write(chat, ran("run_command", "Ran make", "command"))
        await until(pilot, lambda: shown(screen)[1:] == ["Ran make", "# That is the beginning"])


async def test_the_chosen_kind_is_seen_also_where_not_all_of_them_fit(tmp_path: Path) -> None:
    services, _, _ = seeded(tmp_path)
    async with running(services, NARROW) as (pilot, deck):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(deck.app.screen, ActivityScreen))
        bar = deck.app.screen.query_one("#kinds", Bar)
        await pilot.pause()
        assert bar.plain.startswith(" all ")
        await pilot.press("shift+tab")
        assert bar.plain.startswith("‹ ") and bar.plain.endswith(" memories ") and len(bar.plain) <= bar.size.width


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
