"""The deck, driven by keys over a session with the real interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app import commands as cmd
from app.commands import CommandError
from app.screens.ask_text import AskText
from app.screens.confirm import Confirm
from app.screens.help_screen import HelpScreen
from app.screens.leader import Leader
from app.screens.picker import Picker
from app.screens.search_screen import SearchScreen
from app.screens.settings_screen import SettingsScreen
from app.settings import Settings
from store import events as ev
from store.log import Batch
from tests.screens.deck_tools import NARROW, open_deck, running, said, toasts, until
from tests.screens.fakes import FakeServices, fake_services


@pytest.fixture
def services(tmp_path: Path) -> FakeServices:
    return fake_services(tmp_path)


@pytest.fixture
def three(services: FakeServices) -> tuple[FakeServices, list[str]]:
    chats = [services.seed(f"Chat {n}", ("you", f"question {n}"), ("assistant", f"answer {n}")) for n in (1, 2, 3)]
    open_deck(services, *chats[:2])
    return services, chats


def sent(services: FakeServices, kind: type[Any]) -> list[Any]:
    return [c for c in services.session.commands if isinstance(c, kind)]


# -- talking


async def test_the_first_start_is_a_chat_ready_to_type_in(services: FakeServices) -> None:
    services.session.reply = lambda text: f"You said {text}"
    async with running(services) as (pilot, deck):
        assert [type(c) for c in services.session.commands] == [cmd.NewChat], "nothing else happens by itself"
        assert deck.column is not None and deck.column.query("Welcome")
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: said(deck) == ["hello", "You said hello"])
        await until(pilot, lambda: not deck.column or not deck.column.query("Welcome"))


async def test_deltas_are_shown_as_they_come_and_replaced_by_the_whole(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: said(deck) == ["go"])
        chat = deck.deck.focused or ""
        turn = deck.chats[chat].turn_id or ""
        services.session.bus.delta(chat, "m1", 0, "one ")
        services.session.bus.delta(chat, "m1", 4, "two")
        await until(pilot, lambda: said(deck) == ["go", "one two"])
        done = ev.AssistantDone(message_id="m1", text="one two three")
        await services.session.write(chat, done, ev.TurnCompleted(turn_id=turn, outcome="success"))
        await until(pilot, lambda: said(deck) == ["go", "one two three"])
        row = deck.column.transcript.loaded.rows["m1"] if deck.column else None
        assert row is not None and not getattr(row, "live", True)


async def test_under_the_search_the_columns_are_drawn_seldom_and_whole_again_after_it(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: said(deck) == ["go"])
        chat, text, draws = deck.deck.focused or "", "", []
        draw = deck.frames._draw
        deck.frames._draw = lambda frame: (draws.append(bool(frame.streams)), draw(frame))
        await pilot.press("ctrl+k")
        await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
        for n in range(40):
            services.session.bus.delta(chat, "m1", len(text), f"w{n} ")
            text += f"w{n} "
            await pilot.pause(0.01)
        assert sum(draws) <= 2  # it would be about ten uncovered
        await pilot.press("escape")
        await until(pilot, lambda: said(deck) == ["go", text.strip()] or said(deck) == ["go", text])


async def test_a_message_sent_while_it_works_waits_above_the_box(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        await pilot.press(*"first", "enter")
        await until(pilot, lambda: said(deck) == ["first"])
        await pilot.press(*"second", "enter")
        await until(pilot, lambda: deck.column and deck.column.composer.queue.texts == ["second"])
        assert said(deck) == ["first"]


async def test_a_refused_message_goes_back_into_the_box(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        services.session.refuse = CommandError("failed", "The disk is full; make some space.")
        await pilot.press(*"keep me", "enter")
        await until(pilot, lambda: deck.column and deck.column.composer.draft() == "keep me")
        assert "The disk is full" in toasts(deck)


async def test_drafts_are_kept_per_chat_and_come_back(three: tuple[FakeServices, list[str]]) -> None:
    services, chats = three
    async with running(services) as (pilot, deck):
        await pilot.press(*"unsent")
        await pilot.press("f8", "2")
        await pilot.pause()
        assert deck.column is not None and deck.column.composer.draft() == ""
        await pilot.press(*"other")
        await deck.memory.flush()
        assert services.store.state(chats[0], "draft") == "unsent"
        assert services.store.state(chats[1], "draft") == "other"
    again = fake_services(services.home.root)
    async with running(again) as (pilot, deck):
        assert [deck.columns[c].composer.draft() for c in chats[:2]] == ["unsent", "other"]


async def test_escape_twice_within_a_second_stops_the_reply(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: deck.summary and deck.summary.turn_id)
        await pilot.press("escape")
        services.clock.tick(1.5)
        await pilot.press("escape")
        assert not sent(services, cmd.Stop)
        services.clock.tick(0.5)
        await pilot.press("escape")
        await until(pilot, lambda: sent(services, cmd.Stop))


async def test_up_in_an_empty_box_recalls_what_was_sent(three: tuple[FakeServices, list[str]]) -> None:
    services, _ = three
    async with running(services) as (pilot, deck):
        await pilot.press("up")
        await until(pilot, lambda: deck.column and deck.column.composer.draft() == "question 1")


# -- columns


async def test_the_deck_is_restored_and_columns_move_open_and_close(three: tuple[FakeServices, list[str]]) -> None:
    services, chats = three
    async with running(services, (160, 40)) as (pilot, deck):
        assert deck.deck.chats == tuple(chats[:2])
        await pilot.press("f8", "2")
        assert deck.deck.focused == chats[1]
        await pilot.press("f8", "h")
        assert deck.deck.chats == (chats[1], chats[0])
        assert [c.chat for c in deck.query("DeckColumn")] == [chats[1], chats[0]], "the widgets stand in that order too"
        await pilot.press("f8", "o")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press(*"chat 3", "enter")
        await until(pilot, lambda: deck.deck.chats == (chats[1], chats[2], chats[0]))
        await pilot.press("f8", "x")
        assert deck.deck.chats == (chats[1], chats[0])
        await pilot.press("alt+left")
        assert deck.deck.focused == chats[1]
        await deck.memory.flush()
        assert services.store.state("", "deck")["chats"] == [chats[1], chats[0]]


async def test_at_80_columns_one_column_shows_with_a_strip(three: tuple[FakeServices, list[str]]) -> None:
    services, chats = three
    async with running(services, NARROW) as (pilot, deck):
        assert deck.query_one("#strip").display and not deck.query_one("#chats").display
        assert [c.chat for c in deck.columns.values() if c.display] == [chats[0]]
        await pilot.press("alt+right")
        assert [c.chat for c in deck.columns.values() if c.display] == [chats[1]]
        await pilot.press("f2")
        assert deck.query_one("#chats").display and deck.query_one("#chats").has_focus
        await pilot.press("escape")
        assert not deck.query_one("#chats").display


async def test_more_columns_than_fit_scroll_sideways_with_a_hint(three: tuple[FakeServices, list[str]]) -> None:
    services, chats = three
    more = [services.seed(f"More {n}", ("you", "x")) for n in range(3)]
    open_deck(services, *chats, *more)
    async with running(services) as (pilot, deck):
        header = deck.query_one("#header")
        assert "4 more ›" in header.plain  # type: ignore[attr-defined]
        await pilot.press("f8", "6")
        assert "‹ 4 more" in header.plain  # type: ignore[attr-defined]
        assert deck.column is not None and deck.column.display


async def test_a_new_chat_takes_an_empty_one_again(three: tuple[FakeServices, list[str]]) -> None:
    services, _chats = three
    async with running(services) as (pilot, deck):
        await pilot.press("f8", "N")
        await until(pilot, lambda: len(deck.deck.chats) == 3)
        new = deck.deck.focused
        await pilot.press("f8", "x")
        await until(pilot, lambda: len(deck.deck.chats) == 2)
        await pilot.press("f8", "n")
        await until(pilot, lambda: deck.deck.focused == new)
        assert len(sent(services, cmd.NewChat)) == 1


async def test_a_resize_to_anything_never_fails(three: tuple[FakeServices, list[str]]) -> None:
    services, _ = three
    async with running(services) as (pilot, deck):
        for size in [(20, 5), (1, 1), (300, 100), (99, 24), (100, 24), (38, 10)]:
            await pilot.resize_terminal(*size)
            await pilot.pause(0.05)
        await pilot.press(*"ok")
        assert deck.column is not None and deck.column.composer.draft() == "ok"


# -- chats


async def test_rename_pin_archive_undo_and_delete(three: tuple[FakeServices, list[str]]) -> None:
    services, chats = three
    async with running(services) as (pilot, deck):
        await pilot.press("f8", "r")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskText))
        await pilot.press(*"Better", "enter")
        await until(pilot, lambda: deck.chats[chats[0]].title == "Better")
        await pilot.press("f8", "p")
        await until(pilot, lambda: deck.chats[chats[0]].pinned)
        await pilot.press("f8", "a")
        await until(pilot, lambda: deck.chats[chats[0]].archived_at and chats[0] not in deck.deck.chats)
        await pilot.press("f8", "u")
        await until(pilot, lambda: not deck.chats[chats[0]].archived_at and chats[0] in deck.deck.chats)
        await pilot.press("f8", "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.press("enter")
        assert not sent(services, cmd.Delete), "the quiet button is under the finger"
        await pilot.press("f8", "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.press("right", "enter")
        await until(pilot, lambda: services.session.deleted)


async def test_a_deleted_chat_leaves_the_screen(three: tuple[FakeServices, list[str]]) -> None:
    services, chats = three
    async with running(services) as (pilot, deck):
        await services.store.delete(chats[0])
        await until(pilot, lambda: deck.deck.chats == (chats[1],) and chats[0] not in deck.chats)


async def test_fork_opens_beside(three: tuple[FakeServices, list[str]]) -> None:
    services, chats = three
    async with running(services) as (pilot, _deck):
        await pilot.press("f8", "k")
        await until(pilot, lambda: sent(services, cmd.Fork))
        assert sent(services, cmd.Fork)[0].chat == chats[0]


async def test_modes_cycle_and_the_model_is_picked_or_typed(three: tuple[FakeServices, list[str]]) -> None:
    services, chats = three
    async with running(services) as (pilot, deck):
        await pilot.press("f5")
        await until(pilot, lambda: deck.chats[chats[0]].mode == "full")
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press(*"openai:small", "enter")
        await until(pilot, lambda: deck.chats[chats[0]].model == "openai:small")
        await pilot.press(*"/model nonsense", "enter")
        await until(pilot, lambda: "isn't a model's name" in toasts(deck))
        assert deck.chats[chats[0]].model == "openai:small"


async def test_private_only_while_empty(three: tuple[FakeServices, list[str]]) -> None:
    services, _chats = three
    async with running(services) as (pilot, deck):
        await pilot.press(*"/private", "enter")
        await until(pilot, lambda: "only while nothing was said" in toasts(deck))
        await pilot.press("f8", "N")
        await until(pilot, lambda: len(deck.deck.chats) == 3)
        await pilot.press(*"/private", "enter")
        await until(pilot, lambda: deck.summary and deck.summary.private)


async def test_f4_goes_to_the_chat_that_needs_you(three: tuple[FakeServices, list[str]]) -> None:
    services, chats = three
    async with running(services) as (pilot, deck):
        await pilot.press("f4")
        await until(pilot, lambda: "Nothing needs you" in toasts(deck))
        ask = ev.PermissionRequested(permission_id="p1", tool_name="run", summary="Run ls", lasting=True)
        await services.session.write(chats[2], ev.TurnStarted(turn_id="r1"), ask)
        await until(pilot, lambda: "1 needs you" in deck.query_one("#header").plain)  # type: ignore[attr-defined]
        await pilot.press("f4")
        await until(pilot, lambda: deck.deck.focused == chats[2])
        column = deck.columns[chats[2]]
        await until(pilot, lambda: column.query("PermissionCard"))
        await pilot.pause(0.7)
        column.focus_ask()
        await pilot.press("enter", "space")
        assert not sent(services, cmd.Answer), "Enter and Space never answer a card"
        await pilot.press("d")
        await until(pilot, lambda: sent(services, cmd.Answer))
        assert sent(services, cmd.Answer)[0].decision == "deny"


async def test_a_reply_that_ends_out_of_sight_is_new_in_the_list(three: tuple[FakeServices, list[str]]) -> None:
    services, chats = three
    async with running(services) as (pilot, deck):
        await services.session.write(
            chats[2], ev.TurnStarted(turn_id="r"), ev.TurnCompleted(turn_id="r", outcome="success")
        )
        await until(pilot, lambda: chats[2] in deck.unread)
        await pilot.press("alt+down")
        deck.show_chat(chats[2])
        assert chats[2] not in deck.unread


# -- commands and screens


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        ("/rename Other", cmd.Rename),
        ("/pin", cmd.Pin),
        ("/archive", cmd.Archive),
        ("/fork", cmd.Fork),
        ("/retry", cmd.Retry),
        ("/clear", cmd.Clear),
        ("/mode plan", cmd.SetOptions),
        ("/inbound hold", cmd.SetOptions),
        ("/forward Ana: her words", cmd.Forward),
        ("/new Something", cmd.NewChat),
        ("//sent as it is", cmd.Send),
    ],
)
async def test_slash_commands_do_what_they_say(
    three: tuple[FakeServices, list[str]], typed: str, kind: type[Any]
) -> None:
    services, _ = three
    async with running(services) as (pilot, deck):
        assert deck.column is not None
        deck.column.composer.set_draft(typed)
        await pilot.press("enter")
        await until(pilot, lambda: sent(services, kind))
        assert "/" not in typed[1:2] or sent(services, cmd.Send)[0].text == "/sent as it is"


@pytest.mark.parametrize("typed", ["/serach x", "/mode sometimes", "/forward", "/import"])
async def test_a_mistyped_command_stays_in_the_box_with_one_sentence(services: FakeServices, typed: str) -> None:
    async with running(services) as (pilot, deck):
        assert deck.column is not None
        deck.column.composer.set_draft(typed)
        await pilot.press("enter")
        await until(pilot, lambda: toasts(deck))
        assert deck.column.composer.draft() == typed
        assert not sent(services, cmd.Send)


@pytest.mark.parametrize(
    ("key", "screen"),
    [("f1", HelpScreen), ("f10", SettingsScreen), ("f8", Leader), ("ctrl+k", SearchScreen), ("ctrl+p", SearchScreen)],
)
async def test_a_key_opens_its_screen_and_escape_closes_it(services: FakeServices, key: str, screen: type[Any]) -> None:
    async with running(services) as (pilot, deck):
        await pilot.press(key)
        await until(pilot, lambda: isinstance(pilot.app.screen, screen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is deck)


async def test_keys_are_moved_by_the_settings(tmp_path: Path) -> None:
    settings = Settings(keys={"search.open": "ctrl+t", "chat.rename": "z"})
    services = fake_services(tmp_path, settings)
    services.seed("Only", ("you", "x"))
    async with running(services) as (pilot, deck):
        await pilot.press("ctrl+k")
        assert pilot.app.screen is deck
        await pilot.press("ctrl+t")
        await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
        await pilot.press("escape", "f8", "z")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskText))


async def test_a_setting_is_changed_in_place_and_a_key_too(services: FakeServices) -> None:
    async with running(services) as (pilot, _deck):
        await pilot.press("f10")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await pilot.press(*"theme", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press(*"shoal-light", "enter")
        await until(pilot, lambda: pilot.app.theme == "shoal-light")
        assert 'theme = "shoal-light"' in services.home.settings.read_text()
        await pilot.press(*["backspace"] * 5, *"search.open", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskText))
        await pilot.press("ctrl+t", *["backspace"] * 30)
        await pilot.press(*"ctrl+y", "enter")
        await until(pilot, lambda: "ctrl+y" in services.home.settings.read_text())
        await pilot.press("escape", "ctrl+y")
        await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))


async def test_quitting_says_what_still_works(three: tuple[FakeServices, list[str]]) -> None:
    services, _ = three
    async with running(services) as (pilot, deck):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: deck.summary and deck.summary.turn_id)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is deck)
        assert not services.closed


async def test_a_store_that_cannot_be_written_is_read_and_nothing_is_sent(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    chat = services.seed("Old", ("you", "what was said"), ("assistant", "and answered"))
    services.store.close()
    from store.log import Store

    services.store = services.session.store = services.search.store = Store(
        services.home.store, services.clock, readonly=True
    )
    async with running(services) as (pilot, deck):
        await until(pilot, lambda: deck.deck.focused == chat and said(deck) == ["what was said", "and answered"])
        await pilot.press(*"new words", "enter")
        await until(pilot, lambda: "nothing was sent" in toasts(deck))
        assert deck.column is not None and deck.column.composer.draft() == "new words"
        assert not sent(services, cmd.Send)
        assert "read only" in deck.query_one("#header").plain  # type: ignore[attr-defined]


async def test_export_writes_a_file_and_never_over_one(three: tuple[FakeServices, list[str]], tmp_path: Path) -> None:
    services, _ = three
    target = tmp_path / "out.md"
    async with running(services) as (pilot, deck):
        assert deck.column is not None
        deck.column.composer.set_draft(f"/export {target}")
        await pilot.press("enter")
        await until(pilot, lambda: "Written to" in toasts(deck))
        assert "question 1" in target.read_text()
        deck.column.composer.set_draft(f"/export {target}")
        await pilot.press("enter")
        await until(pilot, lambda: "already" in toasts(deck))


async def test_a_screen_that_fell_behind_reads_the_log_again(three: tuple[FakeServices, list[str]]) -> None:
    from tests.screens.fakes import FakeLagged

    services, chats = three
    async with running(services) as (pilot, deck):
        services.store.commit_sync(Batch.of(chats[0], ev.UserMessage(message_id="late", text="unheard")))
        services.session.bus.publish(FakeLagged(1))
        await until(pilot, lambda: "unheard" in said(deck, chats[0]))


async def test_a_thousand_messages_page_in_from_the_top(services: FakeServices) -> None:
    chat = services.seed("Long", *(("you", f"line {n}") for n in range(300)))
    open_deck(services, chat)
    async with running(services) as (pilot, deck):
        assert deck.column is not None
        first = len(said(deck))
        deck.column.transcript.action_first()
        await until(pilot, lambda: len(said(deck)) > first)


async def test_the_list_that_a_narrow_window_hid_comes_back_with_the_room(tmp_path: Path) -> None:
    from tests.screens import scenes

    app = scenes.app_of(scenes.SCENES["deck"], tmp_path / "home")
    async with app.run_test(size=(140, 30)) as pilot:
        await scenes.play(scenes.SCENES["deck"], pilot)
        deck: Any = app.screen
        assert deck.list_open
        for width, shown in ((80, False), (140, True)):
            await pilot.resize_terminal(width, 30)
            await pilot.pause(0.2)
            assert deck.list_open is shown
        await pilot.press("f2")
        for width in (80, 140):  # hidden by the person: it stays so
            await pilot.resize_terminal(width, 30)
            await pilot.pause(0.2)
            assert not deck.list_open
