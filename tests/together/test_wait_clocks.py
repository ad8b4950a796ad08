"""Clocks that jump and targets that change while a chat waits (faults K03, K04)."""

from __future__ import annotations

from pathlib import Path

from app import commands as cmd
from store.clock import ManualClock
from tests.session.kit import until
from tests.together.kit import Chats, open_chats
from tests.together.test_wait_for import busy, holding, notes, shown, wait

DAY = 86_400


def jump(clock: ManualClock, seconds: float) -> None:
    """Only the wall clock moves: somebody set it, or the computer slept."""
    clock._ms += int(seconds * 1000)


async def waiting(chats: Chats, there: str, **more: object) -> str:
    here = await chats.new("N", wait(chat=there, timeout_minutes=5, **more), ["I wait."], ["ok"])
    await chats.say_and_leave(here, "wait")
    await chats.session.settle(here)
    return here


async def test_a_wall_clock_that_jumps_ends_no_wait_before_its_time(tmp_path: Path) -> None:
    _, tool = holding()
    async with open_chats(tmp_path, tools=[tool]) as chats:
        there = await busy(chats)
        here = await waiting(chats, there)
        for jumped in (DAY, -2 * DAY, 8 * 3600):
            jump(chats.clock, jumped)
            await chats.session.tick()
            assert shown(chats, here)[0].state == "watching"
        chats.clock.tick(301)
        await chats.session.tick()
        await until(lambda: notes(chats, here))
        assert shown(chats, here)[0].state == "timed-out" and len(notes(chats, here)) == 1


async def test_after_a_long_sleep_a_time_that_has_passed_comes_once(tmp_path: Path) -> None:
    async with open_chats(tmp_path) as chats:
        here = await chats.new("N", wait("time", minutes=60), ["I wait."], ["up"], ["never"])
        await chats.say(here, "wake me")
        jump(chats.clock, 8 * 3600)
        chats.clock.tick(61)  # the next look after the computer woke up
        for _ in range(3):
            await chats.session.tick()
        await chats.session.settle()
        assert [t.trigger for t in chats.events(here, "turn.started")] == ["person", "wait"]
        assert shown(chats, here)[0].state == "done"


async def test_an_archived_target_is_waited_for_all_the_same(tmp_path: Path) -> None:
    go, tool = holding()
    async with open_chats(tmp_path, tools=[tool]) as chats:
        there = await busy(chats)
        here = await waiting(chats, there)
        await chats.session.do(cmd.Archive(chat=there))
        go.set()
        await until(lambda: notes(chats, here))
        assert shown(chats, here)[0].state == "done" and len(notes(chats, here)) == 1


async def test_a_target_that_starts_again_is_heard_of_once(tmp_path: Path) -> None:
    go, tool = holding()
    async with open_chats(tmp_path, tools=[tool]) as chats:
        there = await busy(chats, ["Fixed."], ["Fixed again."])
        here = await waiting(chats, there)
        await chats.say_and_leave(there, "and once more")  # waits in its queue, so it isn't done when the reply ends
        go.set()
        await until(lambda: notes(chats, here))
        await chats.session.settle()
        assert len(notes(chats, here)) == 1 and len(chats.events(there, "turn.started")) == 2
        assert "Fixed again." in "".join(chats.joined(here, "note"))
