"""Room: what starts, in which order, why the rest waits, and that nothing stalls with room free."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.tasks.pace import Pace, Paces
from app.tasks.room import Cost, Machine, Waiting, Working, ceiling, cost, decide

BIG = Machine(8, 64_000)
SMALL = Cost(0.1, 32)


def waiting(id_: str, since: float = 0, **more: Any) -> Waiting:
    return Waiting(id_, more.pop("chat", "c_1"), more.pop("cost", SMALL), since, **more)


def working(id_: str, **more: Any) -> Working:
    return Working(id_, more.pop("chat", "c_1"), more.pop("cost", SMALL), more.pop("started", 0.0), **more)


def test_costs_are_as_they_are_told() -> None:
    assert cost("light", "remote", waits_on_network=False) == Cost(0.30, 224)
    assert cost("medium", "program", waits_on_network=False) == Cost(0.75, 640)
    assert cost("heavy", "local", waits_on_network=False) == Cost(1.5, 1536)
    assert cost("heavy", "remote", much_cpu=True, much_memory=True, disk=True) == Cost(1.175, 2080)


def test_the_ceiling_is_twice_the_processors_between_two_and_twelve() -> None:
    assert [ceiling(n) for n in (1, 2, 4, 6, 64)] == [2, 4, 8, 12, 12]


def test_with_nothing_working_one_may_always_start() -> None:
    poor = Machine(1, 100, commands=9)
    done = decide(poor, [], [waiting("a", cost=Cost(9, 9_000)), waiting("b", cost=Cost(9, 9_000))], 0)
    assert done.start == ("a",) and done.waits["b"].reason == "memory"


def test_start_now_goes_first_and_two_past_the_ceiling_and_no_further() -> None:
    full = [working(f"w{n}") for n in range(ceiling(8))]
    pressed = [waiting(f"n{n}", since=9 - n, start_now=True) for n in range(3)]
    done = decide(BIG, full, [waiting("old"), *pressed], 10)
    assert done.start == ("n2", "n1") and done.waits["n0"].reason == done.waits["old"].reason == "room"
    assert done.waits["old"].can_start_now and not done.waits["n0"].can_start_now


def test_the_order_is_patience_then_the_chat_with_the_fewest_then_age() -> None:
    at_work = [working("w", chat="c_busy")] + [working(f"x{n}", chat="c_x") for n in range(ceiling(8) - 3)]
    tasks = [
        waiting("young", 95, chat="c_new"),
        waiting("busy-old", 20, chat="c_busy"),
        waiting("patient", 5, chat="c_busy"),
        waiting("idle", 60, chat="c_idle"),
    ]
    assert decide(BIG, at_work, tasks, 100).start == ("patient", "idle")


def test_what_waited_for_memory_needs_a_quarter_more_than_its_cost() -> None:
    at_work = [working("w")]
    need = Cost(0.1, 1_000)
    just = Machine(8, 1_024 + 32 + 1_100)
    assert decide(just, at_work, [waiting("a", cost=need)], 0).start == ("a",)
    assert decide(just, at_work, [waiting("a", cost=need, short_of="memory")], 0).waits["a"].reason == "memory"


def test_a_need_that_waits_is_kept_so_that_smaller_ones_do_not_pass_it_for_ever() -> None:
    machine = Machine(4, 64_000)
    at_work = [working("w", cost=Cost(1.5, 10), started=-100)]
    tasks = [waiting("big", 0, cost=Cost(2.0, 10)), waiting("small", 1, cost=Cost(0.2, 10))]
    done = decide(machine, at_work, tasks, 10)
    assert done.start == () and {w.reason for w in done.waits.values()} == {"cpu"}


def test_conflicts_and_order_after_another() -> None:
    at_work = [working("w", changes=frozenset({"README.md"}))]
    tasks = [
        waiting("same", changes=frozenset({"README.md"})),
        waiting("later", after=frozenset({"w"})),
        waiting("twin-1", 1, changes=frozenset({"x"})),
        waiting("twin-2", 2, changes=frozenset({"x"})),
    ]
    done = decide(BIG, at_work, tasks, 3, going=["w", "same", "later"])
    assert done.start == ("twin-1",)
    assert (done.waits["same"].reason, done.waits["same"].on) == ("conflict", ("w",))
    assert (done.waits["later"].reason, done.waits["later"].on) == ("after", ("w",))
    assert done.waits["twin-2"].on == ("twin-1",)


def test_a_batch_starts_together_if_all_of_it_fits() -> None:
    three = [working(f"w{n}") for n in range(ceiling(8) - 3)]
    batch = [waiting(f"b{n}", group="g") for n in range(3)]
    assert decide(BIG, three, [waiting("z", -1), *batch], 0).start == ("z", "b0", "b1")
    assert set(decide(BIG, three, batch, 0).start) == {"b0", "b1", "b2"}


def test_a_provider_that_asked_for_a_pause_is_left_alone_until_then() -> None:
    pace = {"openai": Pace(2, retry_at=50.0)}
    done = decide(BIG, [working("w")], [waiting("a", provider="openai")], 30, paces=pace, now_ms=1_000)
    assert (done.waits["a"].reason, done.waits["a"].retry_at) == ("provider", 21_000)
    assert decide(BIG, [working("w")], [waiting("a", provider="openai")], 51, paces=pace).start == ("a",)
    busy = [working("w1", provider="openai"), working("w2", provider="openai")]
    assert decide(BIG, busy, [waiting("a", provider="openai")], 51, paces=pace).waits["a"].reason == "provider-busy"


COSTS = st.builds(Cost, st.floats(0, 4), st.integers(0, 4_000))
TASKS = st.lists(
    st.tuples(COSTS, st.integers(0, 3), st.booleans(), st.sampled_from([None, "g"]), st.sampled_from(["", "x", "y"])),
    min_size=1,
    max_size=14,
)


@given(TASKS, st.integers(1, 16), st.one_of(st.none(), st.integers(0, 32_000)), st.integers(0, 5))
def test_no_set_of_tasks_stalls_with_room_free(made: Any, processors: int, memory: int | None, commands: int) -> None:
    machine = Machine(processors, memory, commands)
    left = [
        Waiting(f"t{n}", f"c{chat}", price, n, now_, group, changes=frozenset(filter(None, [thing])))
        for n, (price, chat, now_, group, thing) in enumerate(made)
    ]
    for round_ in range(len(left) + 1):
        if not left:
            break
        done = decide(machine, [], left, 1_000.0 * round_, going=[w.id for w in left])
        assert done.start, "with nothing working one always starts"
        assert set(done.start) | set(done.waits) == {w.id for w in left}
        left = [w for w in left if w.id not in done.start]  # and they end
    assert left == []


@given(TASKS, st.integers(1, 8))
def test_the_ceiling_holds_and_conflicts_never_run_together(made: Any, processors: int) -> None:
    tasks = [
        Waiting(f"t{n}", f"c{chat}", price, n, now_, group, changes=frozenset(filter(None, [thing])))
        for n, (price, chat, now_, group, thing) in enumerate(made)
    ]
    done = decide(Machine(processors), [], tasks, 500)
    assert len(done.start) <= ceiling(processors) + 2
    things = [t for w in tasks if w.id in done.start for t in w.changes]
    assert len(things) == len(set(things))


def test_a_provider_that_asks_to_slow_down_is_halved_and_given_back_one_a_minute() -> None:
    paces = Paces()
    assert paces.now("openai", "remote", 0) == Pace(8) and paces.now("ollama", "local", 0) == Pace(1)
    paces.slowed("openai", "remote", 0)
    assert paces.now("openai", "remote", 1) == Pace(4, 20.0)
    paces.slowed("openai", "remote", 30)
    assert paces.now("openai", "remote", 31) == Pace(2, 70.0)
    for _ in range(5):
        paces.slowed("openai", "remote", 100)
    assert paces.now("openai", "remote", 101) == Pace(1, 220.0)
    paces.slowed("openai", "remote", 300, asked=1)
    assert paces.now("openai", "remote", 301) == Pace(1, 305.0)
    assert paces.now("openai", "remote", 400) == Pace(1)
    assert paces.now("openai", "remote", 425) == Pace(2) and paces.now("openai", "remote", 426) == Pace(2)
    assert paces.now("openai", "remote", 485) == Pace(3) and paces.now("openai", "remote", 5_000) == Pace(8)
