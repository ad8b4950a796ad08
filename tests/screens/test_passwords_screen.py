"""The passwords on screen: names only; added, removed, locked, unlocked; and a reply that wanted one meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Static

from app import commands as cmd
from app.guard.vault_places import NO_ANSWER, NOT_IT, VaultProblem
from app.providers.scripted import call
from app.screens.ask_secret import AskSecret, SecretInput
from app.screens.confirm import Confirm
from app.screens.finder import actions
from app.screens.passwords_screen import NOT_ALIKE, PasswordsScreen
from app.tools.passwords import LOCKED, TOLD_LOCKED
from store import events as ev
from tests.screens.deck_tools import until
from tests.screens.real_tools import Real, real
from widgets.name_list import NameList
from widgets.rows.notice_row import Notice

VALUE, PHRASE = "quite-Ordinary/words+77", "correct horse"


@pytest.fixture(autouse=True)
def _no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_VAULT", "file")
    monkeypatch.delenv("SHOAL_VAULT_PASSPHRASE", raising=False)


async def opened(shoal: Real) -> PasswordsScreen:
    await shoal.pilot.press("f8", "w")
    await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, PasswordsScreen))
    screen = shoal.pilot.app.screen
    assert isinstance(screen, PasswordsScreen)
    await until(shoal.pilot, lambda: screen._state is not None)
    return screen


async def asked(shoal: Real) -> AskSecret:
    await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, AskSecret))
    screen = shoal.pilot.app.screen
    assert isinstance(screen, AskSecret)
    await until(shoal.pilot, lambda: screen.query(SecretInput).first().has_focus)
    return screen


async def typed(shoal: Real, *lines: str) -> AskSecret:
    """Each line with Enter, in the box that is asked."""
    box = await asked(shoal)
    for line in lines:
        await shoal.pilot.press(*line, "enter")
    return box


def names(screen: PasswordsScreen) -> list[str]:
    return [str(item.value) for item in screen.query_one(NameList).items]


def wrong(box: AskSecret) -> str:
    return str(box.query_one("#wrong", Static).render())


def words(screen: PasswordsScreen) -> str:
    return str(screen.query_one("#words", Static).render())


async def back_on(shoal: Real, screen: PasswordsScreen) -> None:
    await until(shoal.pilot, lambda: shoal.pilot.app.screen is screen)


async def test_the_first_password_is_kept_with_or_without_a_passphrase_and_only_its_name_shows(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        screen = await opened(shoal)
        assert "No password is kept" in words(screen)
        await shoal.pilot.press("a")
        first = await typed(shoal, "", "")  # no passphrase
        await until(shoal.pilot, lambda: shoal.pilot.app.screen is not first)
        await typed(shoal, "Deploy key", VALUE)
        assert VALUE not in shoal.pilot.app.export_screenshot()
        await back_on(shoal, screen)
        await until(shoal.pilot, lambda: names(screen) == ["Deploy key"])
        assert await shoal.services.vault.get("deploy key") == VALUE
        assert (await shoal.services.vault.state()).kind == "key-file"


async def test_a_passphrase_is_set_before_the_first_password_and_typed_twice(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        screen = await opened(shoal)
        await shoal.pilot.press("a")
        box = await typed(shoal, PHRASE, "correct house")
        await until(shoal.pilot, lambda: wrong(box) == NOT_ALIKE)
        await typed(shoal, "short", "short")
        await until(shoal.pilot, lambda: "8 characters" in wrong(box))
        await typed(shoal, PHRASE, PHRASE)
        await until(shoal.pilot, lambda: shoal.pilot.app.screen is not box)
        await typed(shoal, "k", "tiny")
        await until(shoal.pilot, lambda: "isn't kept" in wrong(shoal.pilot.app.screen))  # type: ignore[arg-type]
        await shoal.pilot.press(*VALUE, "enter")
        await back_on(shoal, screen)
        await until(shoal.pilot, lambda: names(screen) == ["k"])
        assert (await shoal.services.vault.state()).kind == "passphrase"


async def test_they_are_locked_and_a_wrong_passphrase_is_said_in_one_sentence(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await shoal.services.vault.set_passphrase(PHRASE)
        await shoal.services.vault.put("k", VALUE)
        screen = await opened(shoal)
        await shoal.pilot.press("l")
        await until(shoal.pilot, lambda: "are locked" in words(screen) and not names(screen))
        await shoal.pilot.press("u")
        box = await typed(shoal, "correct mouse")
        await until(shoal.pilot, lambda: wrong(box) == NOT_IT)
        assert box.query_one(SecretInput).value == ""
        await typed(shoal, PHRASE)
        await back_on(shoal, screen)
        await until(shoal.pilot, lambda: names(screen) == ["k"])


async def test_removing_asks_first(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await shoal.services.vault.put("k", VALUE)
        screen = await opened(shoal)
        await shoal.pilot.press("x")
        await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, Confirm))
        await shoal.pilot.press("enter")
        await back_on(shoal, screen)
        assert await shoal.services.vault.names() == ["k"]
        await shoal.pilot.press("x")
        await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, Confirm))
        await shoal.pilot.press("right", "enter")
        await until(shoal.pilot, lambda: not names(screen))
        assert await shoal.services.vault.names() == []


async def test_one_of_the_same_name_is_replaced_only_after_a_question(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await shoal.services.vault.put("Deploy key", VALUE)
        screen = await opened(shoal)
        for keys, kept in ((("enter",), VALUE), (("right", "enter"), "another-value")):
            await shoal.pilot.press("a")
            await typed(shoal, "deploy key", "another-value")
            await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, Confirm))
            await shoal.pilot.press(*keys)
            await until(shoal.pilot, lambda: not isinstance(shoal.pilot.app.screen, Confirm))
            await shoal.pilot.pause(0.1)
            if isinstance(box := shoal.pilot.app.screen, AskSecret):
                await until(shoal.pilot, lambda box=box: "as it was" in wrong(box))  # type: ignore[misc]
                await shoal.pilot.press("escape")
            await back_on(shoal, screen)
            assert await shoal.services.vault.get("Deploy key") == kept


async def test_letters_typed_at_once_after_enter_never_land_in_the_line_that_shows(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await shoal.services.vault.put("k", VALUE)
        screen = await opened(shoal)
        await shoal.pilot.press("a")
        box = await asked(shoal)
        shown = box.query(SecretInput).first()
        for key in (*"deploy", "enter", *"quick-Value", "enter"):  # as a terminal hands over what was typed ahead
            shoal.pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await back_on(shoal, screen)
        assert shown.value == "deploy"
        assert await shoal.services.vault.get("deploy") == "quick-Value"


async def test_of_several_pasted_lines_none_is_taken_and_nothing_is_copied(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await shoal.services.vault.put("k", VALUE)
        await opened(shoal)
        await shoal.pilot.press("a")
        box = await typed(shoal, "ssh")
        field = list(box.query(SecretInput))[1]
        field.post_message(events.Paste("line one\nline two\n"))
        await until(shoal.pilot, lambda: "2 lines" in wrong(box))
        assert field.value == ""
        field.post_message(events.Paste("one-line-only\n"))
        await until(shoal.pilot, lambda: field.value == "one-line-only")
        await shoal.pilot.press("home", "shift+end", "ctrl+c")
        assert shoal.pilot.app.clipboard == ""


async def test_a_keyring_that_does_not_answer_is_said_and_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with real(tmp_path) as shoal:
        await shoal.services.vault.put("k", VALUE)
        state, answers = shoal.services.vault.state, [VaultProblem(NO_ANSWER)]

        async def one_failure() -> object:
            if answers:
                raise answers.pop()
            return await state()

        monkeypatch.setattr(shoal.services.vault, "state", one_failure)
        await shoal.pilot.press(*"/passwords", "enter")
        await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, PasswordsScreen))
        screen = shoal.pilot.app.screen
        assert isinstance(screen, PasswordsScreen)
        await until(shoal.pilot, lambda: NO_ANSWER in words(screen))
        await shoal.pilot.press("u")
        await until(shoal.pilot, lambda: names(screen) == ["k"])


async def test_a_reply_that_wants_a_locked_password_leaves_a_row_whose_key_unlocks_them(tmp_path: Path) -> None:
    use = [call("use_password", {"name": "k", "into": "DEPLOY_KEY"}, "c1")]
    async with real(tmp_path, use, ["It is locked."]) as shoal:
        await shoal.services.vault.set_passphrase(PHRASE)
        await shoal.services.vault.put("k", VALUE)
        await shoal.services.vault.lock()
        await shoal.services.session.do(cmd.SetOptions(chat=shoal.chat, mode="full"))
        await shoal.say("deploy it")
        store = shoal.services.store
        found = [s.event for s in store.events(chat=shoal.chat)]
        assert [e.output for e in found if isinstance(e, ev.ToolFinished)] == [LOCKED]
        await until(shoal.pilot, lambda: [r for r in shoal.deck.query(Notice) if r.model.text == TOLD_LOCKED])
        row = next(r for r in shoal.deck.query(Notice) if r.model.code == ev.VAULT_LOCKED)
        assert "[o] Open the passwords" in [line.plain.strip() for line in row.lines(60)]
        row.focus()
        await shoal.pilot.press("o")
        await typed(shoal, PHRASE)
        await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, PasswordsScreen))
        assert await shoal.services.vault.get("k") == VALUE


def test_the_search_box_offers_them() -> None:
    assert [key.id for key in actions("passwords")] == ["passwords.open"]
