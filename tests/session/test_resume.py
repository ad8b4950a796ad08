"""A restart never reads as finished: a broken reply carries on once by itself, unless something may have run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app import commands as cmd
from app.assistant.prompts import CARRY_ON
from store import events as ev
from store.clock import ManualClock
from store.log import Batch, Store
from store.state import KeepLiveText
from store.together import Chain, Put
from tests.session.kit import MODEL, Kit, open_kit

CHAT = "c_broken"


def broken(home: Path, *more: ev.Event, trigger: Any = "person", origin: ev.Origin | None = None) -> None:
    """A store whose program was killed in the middle of a reply."""
    home.mkdir(exist_ok=True)
    store = Store.open(home, ManualClock())
    store.commit_sync(
        Batch.of(
            CHAT,
            ev.ChatCreated(title="T", model=MODEL, mode="full", origin=origin),
            ev.UserMessage(message_id="m_1", text="do it"),
            ev.TurnStarted(turn_id="r_1", trigger=trigger, model=MODEL, mode="full", chain="h_1"),
            ev.StepStarted(turn_id="r_1", step=1),
            *more,
            changes=[Put(Chain("h_1", 1, CHAT, messages=2)), KeepLiveText(CHAT, "m_2", "text", "I begin")],
        )
    )
    store.close()


def resumed(kit: Kit) -> list[ev.TurnStarted]:
    return [e for e in kit.events(CHAT, "turn.started") if e.trigger == "resume"]


async def test_a_broken_reply_carries_on_once_in_the_same_chain_and_mode(tmp_path: Path) -> None:
    broken(tmp_path)
    async with open_kit(tmp_path, ["and end"]) as kit:
        closed = kit.events(CHAT, "turn.completed")
        assert [(e.outcome, e.restarted) for e in closed] == [("interrupted", True)]
        assert resumed(kit) == []  # the program isn't there yet …
        kit.session.ready()
        await kit.session.settle()
        (turn,) = resumed(kit)
        assert (turn.chain, turn.mode, turn.attended) == ("h_1", "full", True)
        steps = [e for e in kit.events(CHAT, "step.started") if e.turn_id == turn.turn_id]
        assert [part.text for part in steps[0].joined if part.kind == "note"] == [f"[Shoal: {CARRY_ON}]"]
        assert kit.events(CHAT, "turn.completed")[-1].outcome == "success"
        assert [e.text for e in kit.events(CHAT, "assistant.done")] == ["I begin", "and end"]
        assert len(kit.events(CHAT, "user.message")) == 1
    async with open_kit(tmp_path, ["never"]) as kit:
        kit.session.ready()
        await kit.session.settle()
        assert len(resumed(kit)) == 1


async def test_until_the_program_is_ready_it_counts_as_working(tmp_path: Path) -> None:
    broken(tmp_path)
    async with open_kit(tmp_path, ["and end"]) as kit:
        port = kit.session.delivery
        assert port.working(CHAT) and port.running(CHAT) is None
        kit.session.ready()
        assert port.working(CHAT)
        await kit.session.settle()
        assert not port.working(CHAT)


async def test_one_that_was_closed_but_not_yet_carried_on_is_carried_on_at_the_next_start(tmp_path: Path) -> None:
    broken(tmp_path)
    async with open_kit(tmp_path, ["never"]) as kit:  # such as `shoal import`: it is never ready
        assert resumed(kit) == []
    async with open_kit(tmp_path, ["and end"]) as kit:
        kit.session.ready()
        await kit.session.settle()
        assert len(resumed(kit)) == 1


async def test_a_write_that_may_have_run_waits_for_a_press(tmp_path: Path) -> None:
    made = ev.AssistantDone(message_id="m_2", text="", calls=(ev.CallMade(call_id="t_1", name="change", input="{}"),))
    begun = ev.ToolStarted(call_id="t_1", name="change", effect="write")
    broken(tmp_path, made, begun)
    async with open_kit(tmp_path, ["carried on"]) as kit:
        kit.session.ready()
        await kit.session.settle()
        assert resumed(kit) == [] and kit.events(CHAT, "tool.finished")[-1].status == "unknown"
        assert not kit.session.delivery.working(CHAT)
        await kit.session.do(cmd.Retry(chat=CHAT))
        await kit.session.settle()
        assert kit.events(CHAT, "assistant.done")[-1].text == "carried on"


async def test_a_resumed_reply_that_breaks_too_waits_for_a_press(tmp_path: Path) -> None:
    broken(tmp_path, trigger="resume")
    async with open_kit(tmp_path, ["never"]) as kit:
        kit.session.ready()
        await kit.session.settle()
        assert len(resumed(kit)) == 1 and kit.summary(CHAT).last_outcome == "interrupted"


async def test_a_task_waits_for_a_press(tmp_path: Path) -> None:
    broken(tmp_path, trigger="task", origin=ev.Origin(kind="task", ref="k_1"))
    async with open_kit(tmp_path, ["never"]) as kit:
        kit.session.ready()
        await kit.session.settle()
        assert resumed(kit) == []


async def test_what_the_person_writes_meanwhile_takes_its_place(tmp_path: Path) -> None:
    broken(tmp_path)
    async with open_kit(tmp_path, ["something else"], ["never"]) as kit:
        await kit.say(CHAT, "leave it; do this")
        kit.session.ready()
        await kit.session.settle()
        assert resumed(kit) == [] and kit.events(CHAT, "turn.started")[-1].chain not in (None, "h_1")


async def test_what_a_broken_reply_used_is_counted_in_its_chain(tmp_path: Path) -> None:
    broken(tmp_path, ev.StepFinished(turn_id="r_1", step=1, usage=ev.Usage(input_tokens=7, cost_usd=0.5)))
    async with open_kit(tmp_path, ["and end"]) as kit:
        (chain,) = kit.store.kept(Chain, "id=?", "h_1")
        assert (chain.input_tokens, chain.cost_usd, chain.messages) == (7, 0.5, 2)
