"""Chats together on the real deck: each letter on a focused card is one command, and names lead to their chats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app import commands as cmd
from app.screens.deck_screen import DeckScreen
from app.screens.picker import Picker
from app.screens.show import chain
from store import events as ev
from store.limits import CARD_DEAF_SECONDS
from store.together import Chain
from tests.screens import scenes
from tests.screens.seeded_together import CARDS, LOGIN, NOTES
from widgets.rows import ActingRow, ChatMessageCard, ExploreCard, OtherChatsLook, TaskCard, WaitingRow


def card(deck: DeckScreen, kind: type[Any], true: Any) -> Any:
    return next(row for row in deck.query(kind) if true(row.model))


def sent(app: Any, kind: type[Any]) -> list[Any]:
    return [c for c in app.services.session.commands if isinstance(c, kind)]


async def test_letters_on_focused_cards_become_commands(tmp_path: Path) -> None:
    scene = scenes.SCENES["together"]
    app = scenes.app_of(scene, tmp_path / "home")
    async with app.run_test(size=scene.size) as pilot:
        await scenes.play(scene, pilot)
        deck = app.screen
        assert isinstance(deck, DeckScreen)
        held = card(deck, ChatMessageCard, lambda m: m.message.state == "held")
        held.focus()
        await pilot.pause(CARD_DEAF_SECONDS + 0.2)
        await pilot.press("enter", "space")
        assert sent(app, cmd.DecideMessage) == []
        await pilot.press("p")
        await pilot.pause(0.1)
        (passed,) = sent(app, cmd.DecideMessage)
        assert (passed.chat, passed.message, passed.action) == (LOGIN, held.key, "pass-on")
        await pilot.press("i")
        await pilot.pause(0.1)
        assert isinstance(app.screen, Picker)
        await pilot.press("down", "down", "enter")
        await pilot.pause(0.1)
        assert [(c.chat, c.inbound) for c in sent(app, cmd.SetOptions)] == [(LOGIN, "refuse")]
        waiting = card(deck, WaitingRow, lambda m: m.key == "w_1")
        waiting.focus()
        await pilot.pause(0.1)
        await pilot.press("c", "s")
        await pilot.pause(0.1)
        assert [(c.chat, c.wait, c.action) for c in sent(app, cmd.DecideWait)] == [
            (NOTES, "w_1", "check"),
            (NOTES, "w_1", "stop"),
        ]
        for key, state, action in (
            ("s", "running", "stop"),
            ("g", "queued", "start-now"),
            ("r", "interrupted", "resume"),
        ):
            task = card(deck, TaskCard, lambda m, s=state: m.task.state == s)
            task.focus()
            await pilot.pause(0.1)
            await pilot.press(key)
            await pilot.pause(0.1)
            last = sent(app, cmd.DecideTask)[-1]
            assert (last.task, last.action) == (task.key, action)
        asks = card(deck, TaskCard, lambda m: m.task.state == "needs-you")
        asks.focus()
        await pilot.pause(CARD_DEAF_SECONDS + 0.2)
        await pilot.press("a")
        await pilot.pause(0.1)
        assert [(c.permission, c.decision) for c in sent(app, cmd.Answer)] == [("p_t", "allow")]


@pytest.mark.parametrize(
    ("note", "says"),
    [
        ({"state": "done", "status": "passed", "tell": True}, ["Waited for CI: passed"]),
        ({"state": "timed-out", "status": "1 running", "tell": True}, ["Gave up waiting for CI: 1 running"]),
        ({"state": "failed", "status": "no such repository", "tell": True}, ["Couldn't watch CI: no such repository"]),
        ({"state": "done", "headline": "“Fix login” needs you", "tell": True}, ["“Fix login” needs you"]),
        ({"state": "done", "status": "passed", "tell": False}, []),
        ({"state": "stopped", "status": "you stopped it", "tell": True}, []),
        ({"state": "watching", "status": "1 running", "tell": True}, []),
    ],
)
async def test_a_wait_that_ended_is_told_in_a_notice_where_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, note: dict[str, Any], says: list[str]
) -> None:
    scene = scenes.SCENES["together"]
    app = scenes.app_of(scene, tmp_path / "home")
    async with app.run_test(size=scene.size) as pilot:
        await scenes.play(scene, pilot)
        said: list[str] = []
        monkeypatch.setattr(app, "notify", lambda words, **_: said.append(words))
        made = ev.WaitNote.model_validate({"wait_id": "w_t", "kind": "ci", "title": "CI", **note})
        await app.services.session.write(LOGIN, ev.Wait(wait_id="w_t", wait=made))
        await pilot.pause(0.3)
        assert said == says


async def test_names_open_their_chats_and_one_key_stops_a_chain(tmp_path: Path) -> None:
    scene = scenes.SCENES["together"]
    app = scenes.app_of(scene, tmp_path / "home")
    async with app.run_test(size=scene.size) as pilot:
        await scenes.play(scene, pilot)
        deck = app.screen
        assert isinstance(deck, DeckScreen)
        listed = deck.query_one(OtherChatsLook)
        listed.post_message(listed.OpenChat(CARDS))
        await pilot.pause(0.2)
        assert deck.deck.focused == CARDS
        message = card(deck, ChatMessageCard, lambda m: m.message.state == "waiting" and m.message.direction == "to")
        message.post_message(ActingRow.Acted(message, "open"))
        await pilot.pause(0.2)
        assert deck.deck.focused == NOTES
        await pilot.press("f8", "s")
        await pilot.pause(0.3)
        assert [c.chat for c in sent(app, cmd.DecideChain)] == [NOTES]


async def test_live_words_reach_the_explore_card_of_their_call(tmp_path: Path) -> None:
    scene = scenes.SCENES["explorer"]
    app = scenes.app_of(scene, tmp_path / "home")
    async with app.run_test(size=scene.size) as pilot:
        await scenes.play(scene, pilot)
        deck = app.screen
        assert isinstance(deck, DeckScreen)
        pending = card(deck, ExploreCard, lambda m: m.run.state == "pending")
        pending.model = type(pending.model)(pending.key, 0, 0, pending.model.run.model_copy(update={"call_id": "t_9"}))
        deck.tell_card(scenes.EXPLORED[0], "t_8", "of another call")
        deck.tell_card(scenes.EXPLORED[0], "t_9", "Reading relevant discussions… 1 searched, 2 read")
        assert "1 searched, 2 read" in "\n".join(line.plain for line in pending.lines(60))


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (None, ""),
        (Chain("h", 0, messages=3, replies=1), "chain 3/8 messages · 1/4 replies"),
        (
            Chain("h", 0, messages=8, replies=4, input_tokens=12_000, output_tokens=500, cost_usd=0.034),
            "chain 8/8 messages · 4/4 replies · 12k tokens · $0.03",
        ),
    ],
)
def test_what_a_chain_came_to_in_words(of: Chain | None, words: str) -> None:
    assert chain(of) == words
