"""What a newcomer does with chats: every wrong word is answered, and nothing typed is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import commands as cmd
from app.screens import show
from app.screens.confirm import Confirm
from app.screens.deck_screen import DeckScreen
from app.screens.picker import Picker
from app.settings import Settings
from store import events as ev
from store.log import Batch
from store.models import ChatSummary
from store.rows import NoticeRow
from tests.screens.deck_tools import open_deck, running, toasts, until
from tests.screens.fakes import fake_services
from widgets.rows.permission_card import PermissionCard


@pytest.mark.parametrize(
    ("theme", "advice"), [("nope", "F10 lists them"), ("shoal-lihgt", "did you mean shoal-light?")]
)
async def test_a_theme_that_isnt_there_is_said_and_shoals_own_is_used(tmp_path: Path, theme: str, advice: str) -> None:
    settings = Settings(theme=theme)
    async with running(fake_services(tmp_path, settings), settings=settings) as (pilot, deck):
        assert pilot.app.theme == "shoal"
        await until(pilot, lambda: f"there is no theme “{theme}”; {advice}" in toasts(deck))


async def test_what_waits_after_a_stop_says_how_it_is_sent_and_enter_sends_it(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    async with running(services) as (pilot, deck):
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: deck.summary and deck.summary.turn_id)
        await pilot.press(*"two", "enter")
        await until(pilot, lambda: deck.column and deck.column.composer.queue.texts == ["two"])
        await pilot.press(*"/stop", "enter")
        await until(pilot, lambda: deck.summary and not deck.summary.turn_id)
        assert deck.column is not None
        await until(pilot, lambda: "⏎ sends what waits" in str(deck.column.composer.box.placeholder))  # type: ignore[union-attr]
        await pilot.press("enter")
        await until(pilot, lambda: any(isinstance(c, cmd.SetQueue) for c in services.session.commands))
        asked = next(c for c in services.session.commands if isinstance(c, cmd.SetQueue))
        assert asked.go and asked.texts == ["two"]


async def test_tab_goes_to_the_question_and_its_letter_answers_it(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    chat = services.seed("Only", ("you", "x"))
    open_deck(services, chat)
    async with running(services) as (pilot, deck):
        ask = ev.PermissionRequested(permission_id="p1", tool_name="run", summary="Run ls")
        await services.session.write(chat, ev.TurnStarted(turn_id="r1"), ask)
        column = deck.columns[chat]
        await until(pilot, lambda: column.query(PermissionCard))
        assert "Tab to answer" in str(column.composer.box.placeholder)
        await pilot.press("tab")
        card = column.query_one(PermissionCard)
        await until(pilot, lambda: card.has_focus and not card.deaf)
        await pilot.press("tab")
        assert column.transcript.has_focus_within or column.transcript.has_focus, "then the rows"
        await pilot.press("tab")
        assert column.composer.box.has_focus, "then the box again"
        await pilot.press("tab")
        await until(pilot, lambda: card.has_focus and not card.deaf)
        await pilot.press("a")
        await until(pilot, lambda: any(isinstance(c, cmd.Answer) for c in services.session.commands))


async def test_a_title_that_is_too_long_is_said_in_words_and_comes_back(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    open_deck(services, services.seed("Only", ("you", "x")))
    async with running(services) as (pilot, deck):
        for typed in (f"/rename {'y' * 201}", f"/new {'y' * 201}"):
            assert deck.column is not None
            deck.column.composer.set_draft(typed)
            await pilot.press("enter")
            await until(pilot, lambda: "at most 200 characters; this has 201" in toasts(deck))
            assert deck.column.composer.draft() == typed
            deck.app.clear_notifications()
        deck.rename(deck.deck.focused or "", "y" * 201)  # as the dialog does
        await until(pilot, lambda: "The title can have at most 200 characters" in toasts(deck))
        assert [c.title for c in deck.chats.values()] == ["Only"]


async def test_mode_alone_shows_the_modes_and_changes_none(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    chat = services.seed("Only", ("you", "x"), mode="auto")
    open_deck(services, chat)
    async with running(services) as (pilot, deck):
        await pilot.press(*"/mode", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press("escape")
        assert not services.session.commands
        await pilot.press(*"/mode Ask", "enter")
        await until(pilot, lambda: deck.chats[chat].mode == "ask")
        await pilot.press(*"/mode", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press(*"plan", "enter")
        await until(pilot, lambda: deck.chats[chat].mode == "plan")


async def test_a_new_chat_beside_an_empty_one_that_was_named_is_another(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    async with running(services) as (pilot, deck):
        first = deck.deck.focused
        await pilot.press("f8", "n")
        await pilot.pause(0.1)
        assert deck.deck.focused == first, "it is new already"
        await pilot.press(*"/rename Boats", "enter")
        await until(pilot, lambda: deck.summary and deck.summary.title == "Boats")
        await pilot.press("f8", "n")
        await until(pilot, lambda: deck.deck.focused not in (None, first))


async def test_an_undone_archive_takes_its_column_back(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    chat = services.seed("Only", ("you", "x"))
    open_deck(services, chat)
    async with running(services) as (pilot, deck):
        await pilot.press(*"/archive", "enter")
        await until(pilot, lambda: deck.deck.chats and deck.deck.chats != (chat,))
        await pilot.press("f8", "u")
        await until(pilot, lambda: list(deck.deck.chats) == [chat])
        assert not deck.chats[chat].archived_at


async def test_an_empty_chat_is_called_the_same_everywhere_and_isnt_forked(tmp_path: Path) -> None:
    async with running(fake_services(tmp_path)) as (pilot, deck):
        await pilot.press("f8", "k")
        await until(pilot, lambda: "nothing in this chat to go on from" in toasts(deck))
        await pilot.press("f8", "9")
        await until(pilot, lambda: "There is only one column." in toasts(deck))
        await pilot.press("f8", "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        shown = " ".join(str(w.render()) for w in pilot.app.screen.query("#question, #detail"))
        assert "“New chat”" in shown and "Nothing was said in it." in shown


@pytest.mark.parametrize("many", [1, 2])
async def test_deleting_says_how_much_goes(tmp_path: Path, many: int) -> None:
    services = fake_services(tmp_path)
    open_deck(services, services.seed("Only", *[("you", "x")] * many))
    async with running(services) as (pilot, _deck):
        await pilot.press("f8", "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        shown = str(pilot.app.screen.query_one("#detail").render())
        assert ("Its one message goes" if many == 1 else "2 messages go") in shown
        await pilot.press("enter")
        assert not services.session.deleted, "Enter alone deletes nothing"
        await pilot.press("f8", "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.press("right", "enter")
        await until(pilot, lambda: services.session.deleted)


@pytest.mark.parametrize(("tasks", "says"), [(1, "Its task goes with it."), (2, "Its 2 tasks go with it.")])
async def test_deleting_says_that_its_tasks_go_too(tmp_path: Path, tasks: int, says: str) -> None:
    services = fake_services(tmp_path)
    only = services.seed("Only", ("you", "x"))
    for n in range(tasks):
        origin = ev.Origin(kind="task", name="Only", ref=f"k_{n}", chat=only)
        services.store.commit_sync(Batch.of(f"c_t{n}", ev.ChatCreated(title=f"T{n}", origin=origin)))
    open_deck(services, only)
    async with running(services) as (pilot, _deck):
        await pilot.press("f8", "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        assert says in str(pilot.app.screen.query_one("#detail").render())


async def test_deleting_says_that_the_chat_is_still_working(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    async with running(services) as (pilot, deck):
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: deck.summary and deck.summary.turn_id)
        await pilot.press("f8", "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        assert "It is still working, and stops." in str(pilot.app.screen.query_one("#detail").render())


def test_a_pause_before_another_try_is_counted_down() -> None:
    chat = ChatSummary("c", turn_id="t", status="running", doing_since=1)
    again = show.Again("Too many requests", 10_000)
    said = [show.doing(chat, now, again) for now in (5_000, 5_001, 9_999, 10_000, 12_000)]
    assert [words.removeprefix("Too many requests · ") for words in said] == [
        "again in 5 s", "again in 5 s", "again in 1 s", "trying again", "trying again",
    ]  # fmt: skip


async def test_a_chat_is_called_by_its_first_words_until_it_has_a_title(tmp_path: Path) -> None:
    async with running(fake_services(tmp_path)) as (pilot, deck):
        await pilot.press(*"paint the boat", "enter")
        await until(pilot, lambda: deck.summary and deck.summary.turn_id)
        chat = deck.deck.focused or ""
        assert deck.chats[chat].title == "Paint the boat"
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        assert "● Paint the boat" in str(pilot.app.screen.query_one("#detail").render())
        await pilot.press("escape")
        await deck.session.write(chat, ev.TitleChanged(title="Boats", by="model"))  # type: ignore[attr-defined]
        await until(pilot, lambda: deck.chats[chat].title == "Boats" and not deck.called)


async def test_only_the_last_reply_offers_to_be_tried_again(tmp_path: Path) -> None:
    services = fake_services(tmp_path)
    chat = services.seed("Only", ("you", "x"))
    open_deck(services, chat)
    failed = [
        ev.TurnStarted(turn_id="t1"),
        ev.TurnCompleted(turn_id="t1", outcome="error", error="It is busy."),
    ]
    await services.session.write(chat, *failed)

    def offers(deck: DeckScreen) -> list[str]:
        rows = deck.columns[chat].transcript.loaded.rows.values()
        return [row.text for row in rows if isinstance(row, NoticeRow) and row.retry]

    async with running(services) as (pilot, deck):
        assert offers(deck) == ["It is busy."]
        await services.session.write(chat, ev.UserMessage(message_id="u2", text="again"), ev.TurnStarted(turn_id="t2"))
        await until(pilot, lambda: deck.chats[chat].turn_id == "t2")
        assert offers(deck) == []
        await services.session.write(chat, ev.TurnCompleted(turn_id="t2", outcome="interrupted"))
        await until(pilot, lambda: offers(deck) == ["Stopped"])
        await deck.load(deck.columns[chat])
        assert offers(deck) == ["Stopped"], "read from the log it is the same"
