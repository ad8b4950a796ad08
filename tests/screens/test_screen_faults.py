"""Faults of the terminal and of what is shown: sizes while a reply streams, huge pastes, huge messages."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest
from textual import events
from textual.geometry import Size

from app import commands as cmd
from app.screens.confirm import Confirm
from store import events as ev
from tests.screens.deck_tools import open_deck, running, until
from tests.screens.fakes import FakeServices, fake_services

HARD = {
    "table of 300 by 50": "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + ("|" + "xy|" * 300 + "\n") * 50,
    "10,000 lines of code": "```\n" + "x = 1\n" * 10_000 + "```",
    "2,000 paragraphs": "para text here\n\n" * 2_000,
    "3,000 nested quotes": "> " * 3_000 + "deep",
    "20,000 brackets": "[" * 20_000,
}


@pytest.fixture
def services(tmp_path: Path) -> FakeServices:
    return fake_services(tmp_path)


async def test_u01_a_smaller_window_keeps_what_was_typed_and_the_card_in_reach(services: FakeServices) -> None:
    chat = services.seed("Card", ("you", "x"))
    open_deck(services, chat)
    async with running(services) as (pilot, deck):
        ask = ev.PermissionRequested(permission_id="p", tool_name="run", summary="Run ls " * 40, detail="d " * 400)
        await services.session.write(chat, ev.TurnStarted(turn_id="r"), ask)
        column = deck.columns[chat]
        await until(pilot, lambda: column.query("PermissionCard"))
        await pilot.press(*"typed")
        for size in [(80, 24), (40, 10), (20, 5), (1, 1), (500, 200), (20, 5)]:
            await pilot.resize_terminal(*size)
        await pilot.pause(0.7)
        assert column.composer.draft() == "typed"
        column.focus_ask()
        await pilot.pause(0.1)
        await pilot.press("d")
        await until(pilot, lambda: any(isinstance(c, cmd.Answer) for c in services.session.commands))


async def test_u02_200_sizes_in_two_seconds_while_it_streams(services: FakeServices) -> None:
    chat = services.seed("Stream", *(("assistant", f"line {n} " * 12) for n in range(30)))
    open_deck(services, chat)
    async with running(services) as (pilot, deck):
        column, rng, said = deck.columns[chat], random.Random(2), ""
        for _ in range(200):
            services.session.bus.delta(chat, "m", len(said), "word ")
            said += "word "
            size = Size(rng.randint(20, 200), rng.randint(6, 60))
            pilot.app.post_message(events.Resize(size, size))
            await asyncio.sleep(0.005)
        await pilot.resize_terminal(120, 40)
        await asyncio.sleep(0.5)
        await pilot.pause()
        assert getattr(column.transcript.loaded.rows["m"], "text", "") == said
        assert column.transcript.at_bottom
        assert column.transcript.scroll_y == column.transcript.max_scroll_y


@pytest.mark.parametrize("text", ["x" * 1_000_000, "line\n" * 10_000, "a\tb\x1b[2J\x00\u202e" * 100_000])
async def test_u03_a_paste_of_a_megabyte_is_one_mark_and_is_sent_whole(services: FakeServices, text: str) -> None:
    async with running(services) as (pilot, deck):
        assert deck.column is not None
        begin = time.process_time()
        deck.column.composer.box.post_message(events.Paste(text))
        await until(pilot, lambda: deck.column and "pasted" in deck.column.composer.box.text)
        assert time.process_time() - begin < 1.5
        assert len(deck.column.composer.box.text) < 100
        assert not any(isinstance(c, cmd.Send) for c in services.session.commands)
        await pilot.pause(0.3)
        await pilot.press("enter")
        await until(pilot, lambda: any(isinstance(c, cmd.Send) for c in services.session.commands))
        sent = next(c for c in services.session.commands if isinstance(c, cmd.Send))
        assert len(sent.text) >= text.count("x") and "\x1b" not in sent.text and "\x00" not in sent.text


@pytest.mark.parametrize("name", HARD)
async def test_u05_a_hard_message_is_shown_and_keys_are_answered(services: FakeServices, name: str) -> None:
    chat = services.seed("Hard", ("you", "before"), ("assistant", HARD[name]), ("you", "after"))
    open_deck(services, services.seed("Other", ("you", "x")))
    async with running(services) as (pilot, deck):
        begin = time.process_time()
        deck.show_chat(chat)
        column = deck.columns[chat]
        await until(
            pilot,
            lambda: column.transcript.row_widget(column.transcript.loaded.order[-1]) if column.feed.loaded else None,
        )
        await pilot.pause()
        assert time.process_time() - begin < 1.0
        begin = time.process_time()
        await pilot.press(*"key")
        assert time.process_time() - begin < 0.5
        assert column.composer.draft() == "key"


async def test_quitting_with_a_question_open_and_resized_away_never_fails(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: deck.summary and deck.summary.turn_id)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        for size in [(20, 5), (1, 1), (132, 40)]:
            await pilot.resize_terminal(*size)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is deck)


async def test_a_terminal_that_is_gone_ends_it_also_where_no_signal_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app import tui
    from tests.screens import scenes

    there = [True]
    monkeypatch.setattr(tui, "has_terminal", lambda: there[0])
    monkeypatch.setattr(tui, "TERMINAL_LOOK_SECONDS", 0.05)
    app = scenes.app_of(scenes.SCENES["deck"], tmp_path / "home")
    left: list[int] = []
    async with app.run_test() as pilot:
        await pilot.pause(0.3)
        monkeypatch.setattr(app, "leave", lambda code, words: left.append(code))
        assert left == []
        there[0] = False
        await pilot.pause(0.3)
        assert left[:1] == [129]
