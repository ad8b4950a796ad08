"""What holds tasks back for a while, and that it is looked at again by itself: pauses, memory, turns that hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ports import RetryWait
from app.providers.scripted import ScriptedWire
from app.providers.wires import ApiWire
from app.tasks import arranging
from app.tasks.pace import Pace, Paces, Recovery
from app.tasks.room import Cost, Machine, Waiting, Working, decide
from store import events as ev
from store.limits import ROOM_RECOVERY_SECONDS, ROOM_RECOVERY_SLOT_SECONDS
from tests.session.kit import until
from tests.together.kit import Chats, Holds, call, open_chats

SMALL = Cost(0.1, 100)


def waiting(*ids: str, **more: Any) -> list[Waiting]:
    return [Waiting(id_, f"c_{id_}", SMALL, float(n), **more) for n, id_ in enumerate(ids)]


def working(id_: str, started: float, **more: Any) -> Working:
    return Working(id_, f"c_{id_}", SMALL, started, **more)


# -- memory that was short


def test_after_memory_was_short_there_is_headroom_first_and_then_one_starts_at_a_time() -> None:
    recovery = Recovery()
    assert recovery.begins() is None
    recovery.short(100.0)
    at = recovery.begins()
    assert at == 100.0 + ROOM_RECOVERY_SECONDS
    busy = [working("w", 0.0)]
    held = decide(Machine(8, 99_999), busy, waiting("a", "b"), 110.0, now_ms=1_000_000, recovered_at=at)
    assert held.start == () and {w.reason for w in held.waits.values()} == {"recovering"}
    assert held.waits["a"].expected_at == 1_000_000 + 20_000 and held.words == "Memory was short a moment ago"
    now = at + 1
    first = decide(Machine(8, 99_999), busy, waiting("a", "b"), now, now_ms=1, recovered_at=at)
    assert first.start == ("a",) and first.waits["b"].reason == "recovering"
    recovery.started(now)
    assert recovery.begins() == now + ROOM_RECOVERY_SLOT_SECONDS
    recovery.over()
    assert recovery.begins() is None


def test_start_now_and_an_idle_computer_do_not_wait_for_recovery() -> None:
    later = 10_000.0
    assert decide(Machine(8, 99_999), [], waiting("a"), 1.0, recovered_at=later).start == ("a",)
    pressed = waiting("a", start_now=True)
    assert decide(Machine(8, 99_999), [working("w", 0.0)], pressed, 1.0, recovered_at=later).start == ("a",)


@given(st.integers(1, 12), st.integers(2, 16))
def test_everything_that_waited_for_memory_starts_in_the_end(tasks: int, processors: int) -> None:
    left, busy, now, recovery = [f"t{n:02}" for n in range(tasks)], [working("w", 0.0)], 100.0, Recovery()
    recovery.short(now)
    for _ in range(tasks + 4):
        decision = decide(Machine(processors, 99_999), busy[-1:], waiting(*left), now, recovered_at=recovery.begins())
        assert len(decision.start) <= 1
        for one in decision.start:
            left.remove(one)
            recovery.started(now)
        now += max(ROOM_RECOVERY_SECONDS, ROOM_RECOVERY_SLOT_SECONDS)
    assert left == []


# -- guesses


def test_when_it_begins_is_guessed_from_how_long_tasks_take() -> None:
    busy = [working(f"w{n}", 10.0 * n) for n in range(4)]  # two processors: four at once
    got = decide(Machine(2), busy, waiting("a", "b"), 50.0, now_ms=1_000_000, typical=100.0).waits
    assert [w.reason for w in got.values()] == ["room", "room"]
    assert [w.expected_at for w in got.values()] == [1_000_000 + 50_000, 1_000_000 + 60_000]


def test_nothing_is_guessed_without_a_measure_or_about_what_is_late_already() -> None:
    busy = [working(f"w{n}", 0.0) for n in range(4)]
    assert decide(Machine(2), busy, waiting("a"), 50.0, now_ms=1).waits["a"].expected_at is None
    assert decide(Machine(2), busy, waiting("a"), 50.0, now_ms=1, typical=20.0).waits["a"].expected_at is None


def test_what_begins_after_another_is_guessed_only_when_that_one_works() -> None:
    after = waiting("a", after=frozenset({"w"}))
    got = decide(Machine(8), [working("w", 0.0)], after, 50.0, going=["w"], now_ms=1_000, typical=100.0)
    assert got.waits["a"].reason == "after" and got.waits["a"].expected_at == 51_000
    queued = decide(Machine(8), [working("x", 0.0)], after, 50.0, going=["w"], now_ms=1_000, typical=100.0)
    assert queued.waits["a"].expected_at is None


def test_a_busy_providers_guess_looks_only_at_its_own_tasks() -> None:
    busy = [working("w", 0.0, provider="x"), working("v", 40.0, provider="local")]
    got = decide(
        Machine(8),
        busy,
        waiting("a", provider="local"),
        50.0,
        now_ms=1_000,
        typical=100.0,
        paces={"local": Pace(1)},
    )
    assert got.waits["a"].reason == "provider-busy" and got.waits["a"].expected_at == 1_000 + 90_000


# -- in a session


def start(model: str, **args: Any) -> Any:
    return call(
        "start_background_task", {"title": model, "instructions": "Do it.", "model": f"scripted:{model}"} | args
    )


def cards(chats: Chats, chat: str) -> dict[str, ev.Task]:
    return {e.title: e for e in chats.events(chat, "task")}


async def test_a_pause_inside_a_reply_holds_the_providers_next_tasks_and_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arranging, "ROOM_LOOK_SECONDS", 0.05)
    holds = Holds()
    async with open_chats(tmp_path, tools=[holds.tool]) as chats:
        chats.wires["scripted:one"] = ScriptedWire(
            [[RetryWait(7.0, "busy", 7.0), RetryWait(6.0, "busy"), *holds.step("one")], ["done"]]
        )
        chats.wires["scripted:two"] = ScriptedWire([["done"]])
        here = await chats.new("Main", [start("one")], ["ok"], [start("two")], ["ok"])
        await chats.say_and_leave(here, "go")
        await until(lambda: "one" in cards(chats, here))
        await until(lambda: chats.events(cards(chats, here)["one"].task_chat, "tool.started"))
        await chats.say_and_leave(here, "and the other")
        await until(lambda: "two" in cards(chats, here) and cards(chats, here)["two"].waiting)
        why = cards(chats, here)["two"].waiting
        assert why is not None and why.reason == "provider"
        assert why.retry_at is not None and abs(why.retry_at - chats.clock.now_ms() - 7_000) < 50  # as long as it asked
        before = len([e for e in chats.events(here, "task") if e.title == "two"])
        chats.clock.tick(7.1)  # nothing moves, and nobody says so
        await until(lambda: cards(chats, here)["two"].state == "done")
        states = [e.state for e in chats.events(here, "task") if e.title == "two"][before - 1 :]
        assert states[0] == "queued" and states[-1] == "done"
        holds.let_go("one")
        await until(lambda: cards(chats, here)["one"].state == "done")


def test_a_pause_is_fed_to_the_pace_once_with_its_length() -> None:
    paces = Paces()
    paces.slowed("x", "remote", 100.0, 45.0)
    assert paces.now("x", "remote", 100.0) == Pace(4, 145.0)


async def test_only_a_pause_the_provider_asked_for_is_told_as_one_and_only_once() -> None:
    async def sleep(_seconds: float) -> None:
        return None

    wire = ApiWire(None, None, sleep)  # type: ignore[arg-type]
    asked = [w async for w in wire._countdown(3.0, "busy", slowed=True)]
    assert [(w.seconds, w.slowed) for w in asked] == [(3.0, 3.0), (2.0, None), (1.0, None)]
    other = [w async for w in wire._countdown(2.0, "no connection", slowed=False)]
    assert [w.slowed for w in other] == [None, None]


async def test_a_task_whose_turn_holds_gives_its_room_back_whatever_its_steps_are_called(tmp_path: Path) -> None:
    holds = Holds()
    async with open_chats(tmp_path, tools=[holds.tool], machine=Machine(1)) as chats:
        chats.wires["scripted:waits"] = ScriptedWire([[call("wait_for", {"kind": "time", "minutes": 1})], ["done"]])
        chats.wires["scripted:second"] = ScriptedWire([holds.step("x"), ["done"]])
        chats.wires["scripted:third"] = ScriptedWire([["done"]])
        here = await chats.new("Main", [start("waits")], ["ok"], [start("second"), start("third")], ["ok"])
        await chats.say_and_leave(here, "go")
        await until(lambda: "waits" in cards(chats, here))
        await until(lambda: chats.events(cards(chats, here)["waits"].task_chat, "wait"))
        await chats.say_and_leave(here, "two more")  # for one processor: one has the room of the one that waits
        await until(lambda: "second" in cards(chats, here))
        await until(lambda: chats.events(cards(chats, here)["second"].task_chat, "tool.started"))
        await until(lambda: cards(chats, here)["third"].waiting is not None)
        assert {n: c.state for n, c in cards(chats, here).items()} == {
            "waits": "running",
            "second": "running",
            "third": "queued",
        }
        holds.let_go("x")
        await until(lambda: cards(chats, here)["third"].state == "done")
        chats.clock.tick(61)
        await chats.session.tick()
        await until(lambda: cards(chats, here)["waits"].state == "done")
