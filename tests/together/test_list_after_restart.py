"""A restart never reads as finished: what will carry on, waits for its own, or has a message on its way still works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.ports import TurnContext
from app.providers.scripted import ScriptedWire
from app.together.list_chats import CARRIES_ON, WAITING, ListArgs, ListChats
from store import events as ev
from store.clock import ManualClock
from store.log import Batch, Store
from store.together import Put, SentMessage
from tests.session.kit import until
from tests.together.kit import Chats, call, open_chats

OPEN = "c_open"


async def entry(chats: Chats, here: str, of: str) -> dict[str, Any]:
    tool = next(t for t in chats.extension.tools if isinstance(t, ListChats))
    ctx = TurnContext(here, "r_x", "auto", None, (), folder=str(chats.folder))
    answer = json.loads((await tool.run(ListArgs(), ctx, "t_1")).text)
    found: dict[str, Any] = next(c for c in answer["chats"] if c["chat"] == of)
    return {**found, "counted": answer["working"]}


def broken(home: Path, *more: ev.Event, origin: ev.Origin | None = None) -> None:
    """A store whose program was killed in the middle of a reply of the chat "Open"."""
    home.mkdir(parents=True)
    store = Store.open(home, ManualClock())
    created = ev.ChatCreated(title="Open", model="scripted:Open", mode="full", origin=origin)
    said = ev.UserMessage(message_id="m_1", text="go")
    turn = ev.TurnStarted(turn_id="r_1", model="scripted:Open", mode="full", chain="h_1")
    store.commit_sync(Batch.of(OPEN, created, said, turn, ev.StepStarted(turn_id="r_1", step=1), *more))
    store.close()


async def test_a_reply_that_a_restart_broke_is_about_to_carry_on_until_it_does(tmp_path: Path) -> None:
    broken(tmp_path / "home")
    wires = {"scripted:Open": ScriptedWire([["and done"]])}
    async with open_chats(tmp_path, wires=wires, ready=False) as chats:
        here = await chats.new("Here")
        before = await entry(chats, here, OPEN)
        assert (before["state"], before["doing"], before["counted"]) == ("working", CARRIES_ON, 1)
        assert "reply_began" not in before
        works: list[bool] = []  # when its turn is durable, and neither due any more nor running yet
        chats.store.listen(lambda _: works.append(chats.session.delivery.working(OPEN)))
        chats.session.ready()
        await chats.session.settle()
        assert works[0] and len(works) > 1
        after = await entry(chats, here, OPEN)
        assert after["state"] == "idle" and "doing" not in after and after["counted"] == 0


async def test_one_that_waits_for_a_press_reads_as_stopped(tmp_path: Path) -> None:
    started = ev.ToolStarted(call_id="t_1", name="change", family="edit", effect="write", label="Change")
    broken(tmp_path / "home", started)
    async with open_chats(tmp_path) as chats:
        here = await chats.new("Here")
        assert chats.events(OPEN, "tool.finished")[-1].status == "unknown"
        assert (await entry(chats, here, OPEN))["state"] == "stopped"


async def test_a_chat_that_waits_for_something_of_its_own_still_works_also_after_a_restart(tmp_path: Path) -> None:
    wires: dict[str, ScriptedWire] = {}
    async with open_chats(tmp_path, wires=wires) as chats:
        waits = await chats.new("Waits", [call("wait_for", {"kind": "time", "minutes": 60})], ["I wait."])
        here = await chats.new("Here")
        await chats.say(waits, "wait an hour")
        seen = await entry(chats, here, waits)
        assert (seen["state"], seen["doing"], seen["counted"]) == ("working", WAITING, 1)
    async with open_chats(tmp_path, wires=wires, ready=False) as chats:
        seen = await entry(chats, here, waits)
        assert (seen["state"], seen["doing"]) == ("working", WAITING)  # before anything of it is ready again
        chats.session.ready()
        await chats.session.settle()
        seen = await entry(chats, here, waits)
        assert (seen["state"], seen["doing"]) == ("working", WAITING)


async def test_a_chat_with_a_message_on_its_way_in_still_works_and_is_not_waited_past(tmp_path: Path) -> None:
    async with open_chats(tmp_path, ready=False) as chats:
        there = await chats.new("There", ["I read it."])
        here = await chats.new("Here", [call("wait_for", {"kind": "chat", "chat": there})], ["I wait."], ["heard"])
        sent = SentMessage("m_x", here, there, "hello", "waiting", "h_x", 1, start_reply=True)
        await chats.store.commit(Batch(changes=[Put(sent)]))
        assert (await entry(chats, here, there))["doing"] == CARRIES_ON
        await chats.say_and_leave(here, "wait for it")
        await until(lambda: chats.events(here, "turn.completed"))
        assert chats.events(here, "wait")[-1].wait.state == "watching"
        chats.session.ready()
        await until(lambda: len(chats.events(here, "turn.completed")) == 2)
        assert any("finished its reply" in n and "I read it." in n for n in chats.joined(here, "note"))
