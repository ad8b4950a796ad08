"""Ctrl+K: what is shown while keys arrive, what is true about it, and where choosing leads."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from app import commands as cmd
from app.guard import secrets
from app.screens.deck_screen import DeckScreen
from app.screens.filters import Filtered
from app.screens.finder import Found, actions, sentence
from app.screens.help_screen import HelpScreen
from app.screens.search_screen import SearchScreen
from store.models import ChatHits, ChatSummary, SearchAnswer
from store.search import SearchService
from tests.screens.deck_tools import NARROW, open_deck, running, said, until
from tests.screens.fakes import FakeServices, fake_services
from widgets.bar import Bar
from widgets.preview import Preview
from widgets.results import Result, Results


@pytest.fixture
def services(tmp_path: Path) -> FakeServices:
    services = fake_services(tmp_path)
    services.seed("Venue research", ("Ana", "near the river?"), ("you", "the venue in Lisbon fell through"))
    services.seed("Lisbon release", ("you", "moved the venue to June"), ("assistant", "noted: the venue in Lisbon"))
    open_deck(services, services.seed("Other things", ("you", "nothing of that")))
    return services


async def opened(pilot: Pilot[int]) -> SearchScreen:
    await pilot.press("ctrl+k")
    await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
    screen = pilot.app.screen
    assert isinstance(screen, SearchScreen)
    await until(pilot, lambda: screen.query_one(Input).has_focus)
    return screen


def sections(screen: SearchScreen) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    name = ""
    for item in screen.query_one(Results).items:
        if isinstance(item.data, Result):
            out[name].append("".join(text for text, _ in item.data.left).strip())
        else:
            name = str(item.data)
            out[name] = []
    return out


def status(screen: SearchScreen) -> str:
    return screen.query_one("#status", Bar).plain.strip()


async def test_empty_it_shows_recent_chats_and_actions(services: FakeServices) -> None:
    async with running(services) as (pilot, _):
        screen = await opened(pilot)
        shown = sections(screen)
        assert shown["RECENT"] == ["Other things", "Lisbon release", "Venue research"]
        assert "Settings" in shown["ACTIONS"]
        assert not services.search.queries, "nothing is asked before a letter is typed"


async def test_recent_has_no_chat_in_which_nothing_was_said(services: FakeServices) -> None:
    services.seed("Empty")
    async with running(services) as (pilot, _):
        screen = await opened(pilot)
        assert sections(screen)["RECENT"] == ["Other things", "Lisbon release", "Venue research"]
        assert status(screen).startswith("3 chats;")
        await pilot.press(*"who:them zz")
        await until(pilot, lambda: "try without the filters, or fewer words" in status(screen))


async def test_before_anything_was_said_search_says_so(tmp_path: Path) -> None:
    async with running(fake_services(tmp_path)) as (pilot, _):
        screen = await opened(pilot)
        assert status(screen) == "Nothing was said yet; later every line is found here"
        assert "RECENT" not in sections(screen)


async def test_a_title_filter_asks_for_all_chats_that_have_the_words(services: FakeServices) -> None:
    async with running(services) as (pilot, _):
        await opened(pilot)
        await pilot.press(*"chat:r venue")
        await until(pilot, lambda: any(len(q.among) == 3 and q.chat is None for q in services.search.queries))


async def test_sections_stand_in_order_and_the_best_is_selected(services: FakeServices) -> None:
    async with running(services) as (pilot, _):
        screen = await opened(pilot)
        await pilot.press(*"venue")
        await until(pilot, lambda: "MESSAGES" in sections(screen) and "in 2 chats" in status(screen))
        assert list(sections(screen)) == ["CHATS", "MESSAGES", "THIS CHAT"]
        target = screen.query_one(Results).target
        assert target is not None and not target.message and target.chat, "the chat named so"


async def test_after_a_pause_it_asks_as_a_tool_does(services: FakeServices) -> None:
    async with running(services) as (pilot, _):
        await opened(pilot)
        await pilot.press(*"venue")
        await until(pilot, lambda: any(not q.typing and q.text == "venue" for q in services.search.queries))
        assert all(q.text == "venue"[: len(q.text)] for q in services.search.queries)


async def test_an_answer_to_older_words_is_never_shown_over_newer_ones(services: FakeServices) -> None:
    async with running(services) as (pilot, _):
        screen = await opened(pilot)
        services.search.delay = 0.3
        for key in "venue":
            pilot.app.simulate_key(key)
            await asyncio.sleep(0.03)
        await asyncio.sleep(0.1)
        services.search.delay = 0.0
        for _ in "venue":
            pilot.app.simulate_key("backspace")
            await asyncio.sleep(0.01)
        for key in "river":
            pilot.app.simulate_key(key)
            await asyncio.sleep(0.01)
        await until(pilot, lambda: "1 message in 1 chat" in status(screen))
        await asyncio.sleep(0.5)
        assert "1 message in 1 chat" in status(screen)
        assert sections(screen)["MESSAGES"] == ["Venue research"]


async def test_enter_before_the_answer_waits_for_it(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        await opened(pilot)
        services.search.delay = 0.2
        for key in "fell":
            pilot.app.simulate_key(key)
        pilot.app.simulate_key("enter")
        await until(pilot, lambda: deck.summary and deck.summary.title == "Venue research")


async def chosen_line(pilot: Pilot[int], deck: DeckScreen, *keys: str) -> None:
    screen = await opened(pilot)
    await pilot.press(*"fell through")
    await until(pilot, lambda: "1 message in 1 chat" in status(screen))
    await pilot.press(*keys)
    await until(pilot, lambda: pilot.app.screen is deck)
    await until(pilot, lambda: deck.column and deck.column.find_bar.display)


async def test_choosing_a_message_opens_it_lit_with_find_filled(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        await chosen_line(pilot, deck, "enter")
        column = deck.column
        assert column is not None and column.find_bar.words == "fell through"
        await until(pilot, lambda: "1 of 1" in str(column.find_bar.query_one(".find--count").render()))
        assert column.transcript.query(".-lit")
        assert len(deck.deck.chats) == 1
        await pilot.press("escape")
        assert not column.find_bar.display and column.composer.box.has_focus


async def test_ctrl_o_opens_it_in_a_new_column(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        await chosen_line(pilot, deck, "ctrl+o")
        assert len(deck.deck.chats) == 2
        assert "the venue in Lisbon fell through" in said(deck)


async def test_find_is_filled_with_what_the_line_has(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        screen = await opened(pilot)
        await pilot.press(*"lisbon venue fell")
        await until(pilot, lambda: "1 message" in status(screen))
        await pilot.press("enter")
        await until(pilot, lambda: deck.column and deck.column.find_bar.display)
        assert deck.column is not None and deck.column.find_bar.words == "Lisbon"


async def test_moving_keeps_the_selection_while_answers_arrive(services: FakeServices) -> None:
    async with running(services) as (pilot, _):
        screen = await opened(pilot)
        await pilot.press(*"venue")
        await until(pilot, lambda: "in 2 chats" in status(screen))
        await pilot.press("down", "down")
        kept = screen.query_one(Results).target
        await asyncio.sleep(0.4)
        assert screen.query_one(Results).target == kept


async def test_filters_are_given_to_the_search(services: FakeServices) -> None:
    async with running(services) as (pilot, _):
        screen = await opened(pilot)
        await pilot.press(*"venue", "tab")
        assert screen.query_one(Input).value == "venue after:"
        await pilot.press(*"2026-09", "tab", "tab")
        assert screen.query_one(Input).value == "venue after:2026-09 who:"
        await pilot.press(*"assistant")
        await until(pilot, lambda: "1 message" in status(screen))
        query = services.search.queries[-1]
        assert (query.text, query.who, query.after is not None) == ("venue", "assistant", True)


async def test_this_chat_and_actions_do_what_they_say(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        screen = await opened(pilot)
        await pilot.press(*"nothing of")
        await until(pilot, lambda: "1 message" in status(screen))
        await pilot.press("down", "enter")
        await until(pilot, lambda: deck.column and deck.column.find_bar.words == "nothing of")
        await opened(pilot)
        await pilot.press(*"every key")
        await pilot.pause(0.4)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))


async def test_a_broken_index_says_so_and_is_repaired(services: FakeServices) -> None:
    async with running(services) as (pilot, _):
        services.search.broken = "The search index is damaged."
        screen = await opened(pilot)
        await pilot.press(*"venue")
        await until(pilot, lambda: "damaged" in status(screen) and "F6" in status(screen))
        await pilot.press("f6")
        await until(pilot, lambda: services.search.repaired == 1 and "in 2 chats" in status(screen))


async def test_a_narrow_window_has_no_preview(services: FakeServices) -> None:
    async with running(services, NARROW) as (pilot, _):
        screen = await opened(pilot)
        assert not screen.query_one(Preview).display
        for size in [(20, 5), (1, 1), (132, 40)]:
            await pilot.resize_terminal(*size)
            await pilot.pause(0.05)
        assert screen.query_one(Preview).display


@pytest.mark.parametrize(
    "typed", ['"', "[/foo] [bold]", "\x00\x1b[2J", "#123", "C:\\x", "我", "x" * 900, "after:", "-", "*"]
)
async def test_anything_can_be_typed(services: FakeServices, typed: str) -> None:
    async with running(services) as (pilot, deck):
        screen = await opened(pilot)
        screen.query_one(Input).value = typed
        await pilot.pause(0.4)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is deck)


async def test_the_real_search_answers_as_you_type(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    services.seed("Venue research", ("you", "the boathouse in Lisbon wants a deposit"))
    open_deck(services, services.seed("Other", ("you", "x")))
    search = SearchService(
        services.store, tmp_path / "index", spans=secrets.spans, spans_version=secrets.SHAPES_VERSION
    )
    await search.start()
    await search.caught_up(10)
    services.search = search  # type: ignore[assignment]
    async with running(services) as (pilot, deck):
        screen = await opened(pilot)
        await pilot.press(*"boathuose deposit")
        await until(pilot, lambda: "CLOSE MATCHES" in sections(screen))
        await pilot.press("enter")
        await until(pilot, lambda: deck.column and deck.column.find_bar.display)
        assert deck.column is not None and deck.column.find_bar.words == "boathouse", "the text that matched"
    await search.close()
    assert not [c for c in services.session.commands if not isinstance(c, cmd.NewChat)], "looking changes nothing"


# -- the one true sentence


def answer(**more: object) -> SearchAnswer:
    return SearchAnswer(**({"query": "q", "match": "exact"} | more))  # type: ignore[arg-type]


def line(found_answer: SearchAnswer | None, **filtered: object) -> str:
    words = Filtered(**({"words": "q"} | filtered))  # type: ignore[arg-type]
    return sentence(Found("q", words, answer=found_answer), {}, 3)


def test_the_status_line_says_one_true_thing() -> None:
    group = ChatHits(ChatSummary("c"), 1, ())
    assert line(answer(groups=(group,), total=7, hidden=2)) == "7 messages in 3 chats, 1 shown"
    assert line(answer(groups=(group,), total=1)) == "1 message in 1 chat"
    assert line(answer(groups=(group,), total=900, capped=True)) == "900+ messages in 1 chat"
    assert line(answer(match="too-short")) == "One more letter is needed"
    assert "try fewer words" in line(answer(match="none"))
    close = answer(match="close", groups=(group,), total=1, read_as=(("boathuose", "boathouse"),))
    assert line(close) == "None matches exactly; showing “boathouse” · 1 message in 1 chat"
    assert "still indexing: 200 of 1,000" in line(answer(match="none", catching_up=True, indexed=200, to_index=1000))
    assert "F6 repairs it" in line(answer(match="none", broken="It is broken."))
    assert line(None, problem="after: takes a date") == "after: takes a date"


def test_actions_are_found_by_their_words() -> None:
    assert [k.id for k in actions("delete")] == ["chat.delete"]
    assert "settings.open" in [k.id for k in actions("")]
    assert len(actions("chat")) <= 4
