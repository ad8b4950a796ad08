"""A chat that is missing, gone or out of reach looks like none, whatever the id looks like (faults T04, T05), and the
bounds of one message (T17)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.guard.may import NO_SUCH_CHAT
from app.together import chains
from app.together.messaging import BLANK, ITSELF
from store import events as ev
from tests.together.kit import Chats, call, open_chats

ARGS = {
    "message_chat": {"text": "The schema changed."},
    "stop_chat": {"reason": "It runs in a circle."},
    "wait_for": {"kind": "chat"},
}
ODD = ["../../x", "c_1\n", "c_1 ", "c_" + "x" * 5_000, "🦆", "", "%", "c_0000000000000000"]


async def out_of_reach(chats: Chats) -> list[str]:
    """Ids of chats that were deleted, that are private, that somebody else is in, that came from a file."""
    gone, private = await chats.new("Gone"), await chats.new("Secret plan", private=True)
    shared, imported = await chats.new("Shared"), await chats.new("Imported")
    await chats.store.delete(gone)
    await chats.taint(shared, "person", "Robin")
    await chats.commit(imported, ev.ChatCreated(title="Imported", origin=ev.Origin(kind="import")))
    return [gone, private, shared, imported]


@pytest.mark.parametrize("tool", sorted(ARGS))
async def test_every_chat_out_of_reach_and_every_odd_id_gets_the_same_words(tmp_path: Path, tool: str) -> None:
    async with open_chats(tmp_path) as chats:
        ids = [*await out_of_reach(chats), *ODD]
        here = await chats.new("Here", *([call(tool, {"chat": chat, **ARGS[tool]})] for chat in ids), ["done"])
        before = {s.id: s.last_seq for s in chats.store.summaries()}
        await chats.say(here, "go")
        assert chats.results(here) == [NO_SUCH_CHAT] * len(ids)
        labels = {e.label for e in chats.events(here, "tool.started")}
        assert len(labels) == 1  # nothing of the chat in the row either
        assert not chats.cards(here) and not chats.messages() and not chats.events(here, "taint")
        kept = json.dumps([e.model_dump(exclude={"input"}) for e in chats.events(here, "tool.finished")])
        assert "Secret plan" not in kept and "Shared" not in kept
        after = {s.id: s.last_seq for s in chats.store.summaries()}
        assert {c: n for c, n in after.items() if c != here} == {c: n for c, n in before.items() if c != here}


async def test_a_message_of_spaces_and_one_to_itself_are_refused_and_nothing_is_half_made(tmp_path: Path) -> None:
    async with open_chats(tmp_path) as chats:
        there = await chats.new("Fix the login")
        here = await chats.new("Here")
        steps = [
            [call("message_chat", {"chat": there, "text": " \n\t\u2003 "})],
            [call("message_chat", {"chat": here, "text": "hello"})],
            [call("stop_chat", {"chat": here, "reason": "done"})],
            [call("stop_chat", {"chat": there, "reason": "   "})],
            ["done"],
        ]
        chats.wires["scripted:Here"].add(*steps)
        await chats.say(here, "go")
        assert chats.results(here) == [BLANK, ITSELF, ITSELF, BLANK]
        assert not chats.messages() and not chats.cards(there) and not chats.cards(here)


async def test_the_fourth_to_one_chat_in_a_chain_says_which_bound(tmp_path: Path) -> None:
    async with open_chats(tmp_path) as chats:
        there = await chats.new("Fix the login")
        calls = [[call("message_chat", {"chat": there, "text": f"Part {n}."})] for n in range(4)]
        here = await chats.new("Here", *calls, ["done"])
        await chats.say(here, "go")
        *sent, refused = chats.results(here)
        assert len(sent) == 3 and refused == chains.PAIR_FULL and len(chats.messages()) == 3
