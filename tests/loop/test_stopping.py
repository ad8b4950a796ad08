"""Stopping: by the person, and by a cancel at every await there is."""

from __future__ import annotations

import asyncio
import time

import pytest

from app import commands as cmd
from app.ports import ToolReturn
from app.providers.scripted import call
from app.tools.base import Ask
from store import events as ev
from store.ids import PERMISSION, new_id
from tests.session.kit import FakeTool, open_kit, until


async def stop_and_wait(kit, chat):
    begun = time.monotonic()
    assert await kit.session.do(cmd.Stop(chat=chat)) == {"stopping": True}
    await kit.session.settle(chat)
    return time.monotonic() - begun


async def test_a_stopped_reply_keeps_its_text(tmp_path):
    async with open_kit(tmp_path, ["Half a sen", 30], ["next"]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        await until(lambda: kit.session.live_text(chat))
        assert await stop_and_wait(kit, chat) < 1
        (done,) = kit.events(chat, "assistant.done")
        assert (done.text, done.unfinished) == ("Half a sen", True)
        (end,) = kit.events(chat, "turn.completed")
        assert (end.outcome, end.error) == ("interrupted", None)
        assert kit.wire.closed == 1 and kit.store.live_texts(chat) == ()
        await kit.say(chat, "go on")
        assert kit.events(chat, "turn.completed")[-1].outcome == "success"


async def test_a_wire_that_never_answers_is_stopped_at_once(tmp_path):
    async with open_kit(tmp_path, [30]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        await until(lambda: kit.wire.requests)
        assert await stop_and_wait(kit, chat) < 1


async def test_a_write_that_ignores_the_stop_ends_within_two_seconds_and_isnt_called_done(tmp_path):
    async def stubborn(args, ctx, call_id):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await asyncio.sleep(30)

    tools = [FakeTool("change", "write", stubborn)]
    calls = [call("change", {"text": "1"}, "a"), call("change", {"text": "2"}, "b")]
    async with open_kit(tmp_path, calls, ["next"], tools=tools) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        await until(lambda: tools[0].ran)
        assert await stop_and_wait(kit, chat) < 2.1
        first, second = kit.events(chat, "tool.finished")
        assert (first.call_id, first.status) == ("a", "unknown") and "may have run" in first.output
        assert (second.call_id, second.status) == ("b", "error")
        await kit.say(chat, "go on")
        results = [m for m in kit.wire.requests[-1].messages if isinstance(m, ToolReturn)]
        assert [r.error for r in results] == [True, True]


async def test_a_write_may_end_well_within_the_grace(tmp_path):
    async def quick(args, ctx, call_id):
        await ctx.stop.wait()
        return "ended by itself"

    tools = [FakeTool("change", "write", quick)]
    async with open_kit(tmp_path, [call("change", {}, "a"), call("change", {}, "b")], tools=tools) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        await until(lambda: tools[0].ran)
        assert await stop_and_wait(kit, chat) < 1
        assert [(e.call_id, e.status) for e in kit.events(chat, "tool.finished")] == [("a", "success"), ("b", "error")]
        assert tools[0].ran == [""]


async def test_reads_are_stopped_at_once(tmp_path):
    async def slow(args, ctx, call_id):
        await asyncio.sleep(30)

    tool = FakeTool(does=slow)
    async with open_kit(tmp_path, [call("look", {}, "a"), call("look", {}, "b")], tools=[tool]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        await until(lambda: len(tool.ran) == 2)
        assert await stop_and_wait(kit, chat) < 1
        assert [(e.call_id, e.status) for e in kit.events(chat, "tool.finished")] == [("a", "error"), ("b", "error")]


class Asking:
    """Asks before every call."""

    async def judge(self, tool, args, ctx, call_id):
        return Ask(PermissionRequested(call_id, tool.name))


def PermissionRequested(call_id, name):
    return ev.PermissionRequested(permission_id=new_id(PERMISSION), call_id=call_id, tool_name=name)


async def test_a_question_that_waits_expires_when_the_reply_is_stopped(tmp_path):
    tool = FakeTool("change", "write")
    async with open_kit(tmp_path, [call("change", {}, "a")], tools=[tool], gate=Asking()) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        (permission,) = await kit.session.settle(chat)
        await stop_and_wait(kit, chat)
        assert [e.decision for e in kit.events(chat, "permission.resolved")] == ["expired"]
        assert kit.events(chat, "turn.completed")[0].outcome == "interrupted" and tool.ran == []
        with pytest.raises(cmd.CommandError) as gone:
            await kit.session.do(cmd.Answer(chat=chat, permission=permission, decision="allow"))
        assert gone.value.code == "gone"
        assert kit.summary(chat).status == "idle"


async def test_stopping_a_chat_that_isnt_working_says_so(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new()
        assert await kit.session.do(cmd.Stop(chat=chat)) == {"stopping": False}


class CancelAt:
    """Runs a coroutine and cancels its task at the n-th await."""

    def __init__(self, coro, at):
        self.coro, self.at, self.awaits = coro, at, 0

    def __await__(self):
        inner = self.coro.__await__()
        value = None
        error = None
        while True:
            try:
                got = inner.throw(error) if error else inner.send(value)
            except StopIteration as stop:
                return stop.value
            self.awaits += 1
            if self.awaits == self.at:
                asyncio.current_task().cancel()
            value = error = None
            try:
                value = yield got
            except BaseException as raised:  # noqa: BLE001 - handed on to the coroutine
                error = raised


def closed_rightly(kit, chat):
    """What holds after any end of a turn."""
    events = kit.events(chat)
    assert [e.type for e in events].count("turn.completed") == 1
    assert events[-1].type == "turn.completed"
    made = [c.call_id for e in events if e.type == "assistant.done" for c in e.calls]
    started = [e.call_id for e in events if e.type == "tool.started"]
    finished = [e.call_id for e in events if e.type == "tool.finished"]
    assert sorted(finished) == sorted(set(made) | set(started))
    asked = [e.permission_id for e in events if e.type == "permission.requested"]
    assert asked == [e.permission_id for e in events if e.type == "permission.resolved"]
    assert kit.store.live_texts(chat) == ()
    assert kit.summary(chat).turn_id is None and kit.summary(chat).status in ("idle", "error")
    for call_id in kit.wrote:  # what ran is never called "not run"
        (done,) = [e for e in events if e.type == "tool.finished" and e.call_id == call_id]
        assert done.status in ("success", "unknown")
    assert len(kit.wrote) == len(set(kit.wrote))


async def cancelled_turn(path, at):
    """One turn with text, reads and a write, cancelled at its `at`-th await; how many awaits it had."""
    wrote = []

    async def write(args, ctx, call_id):
        wrote.append(call_id)
        await asyncio.sleep(0)
        return "written"

    async def read(args, ctx, call_id):
        await asyncio.sleep(0)
        return "read"

    steps = [
        ["I look", 0.0, call("look", {}, "r1"), call("look", {}, "r2"), call("change", {}, "w1")],
        ["All", " done"],
    ]
    tools = [FakeTool("look", "read", read), FakeTool("change", "write", write)]
    async with open_kit(path, *steps, tools=tools) as kit:
        kit.wrote = wrote
        chat = await kit.new(title="T")
        engine = kit.session._engine
        run = engine.run
        seen = []

        async def cancelling(turn):
            watched = CancelAt(run(turn), at)
            seen.append(watched)
            return await watched

        engine.run = cancelling
        await kit.send(chat, "go")
        while kit.session.running():
            await asyncio.sleep(0.005)
        closed_rightly(kit, chat)
        outcome = kit.events(chat, "turn.completed")[0].outcome
        return seen[0].awaits, outcome


async def test_a_cancel_at_every_await_closes_the_turn_once(tmp_path):
    awaits, outcome = await cancelled_turn(tmp_path / "0", 0)
    assert outcome == "success" and awaits > 8
    outcomes = set()
    for at in range(1, awaits + 1):
        outcomes.add((await cancelled_turn(tmp_path / str(at), at))[1])
    assert "interrupted" in outcomes


class Counting:
    """Runs a coroutine, telling `tick` of each of its awaits."""

    def __init__(self, coro, tick):
        self.coro, self.tick = coro, tick

    def __await__(self):
        inner = self.coro.__await__()
        value = error = None
        while True:
            try:
                got = inner.throw(error) if error else inner.send(value)
            except StopIteration as stop:
                return stop.value
            self.tick()
            value = error = None
            try:
                value = yield got
            except BaseException as raised:  # noqa: BLE001 - handed on to the coroutine
                error = raised


async def cancelled_inside(path, at):
    """The same turn; it is cancelled while its stream, its tools or its commits are at their `at`-th await."""
    wrote, awaits = [], 0

    async def write(args, ctx, call_id):
        wrote.append(call_id)
        await asyncio.sleep(0)
        return "written"

    steps = [["I look", 0.0, call("look", {}, "r1"), call("change", {}, "w1")], ["x" * 3000, 0.0, "done"]]
    tools = [FakeTool("look"), FakeTool("change", "write", write)]
    async with open_kit(path, *steps, tools=tools) as kit:
        kit.wrote = wrote
        chat = await kit.new(title="T")
        engine = kit.session._engine
        child = engine._child

        def tick():
            nonlocal awaits
            awaits += 1
            if awaits == at:
                kit.session._runner._running[chat].task.cancel()

        async def counted(coro):
            return await Counting(coro, tick)

        engine._child = lambda run, coro: child(run, counted(coro))
        await kit.send(chat, "go")
        while kit.session.running():
            await asyncio.sleep(0.002)
        closed_rightly(kit, chat)
        return awaits


async def test_a_cancel_at_every_await_of_stream_and_tools_closes_the_turn_once(tmp_path):
    awaits = await cancelled_inside(tmp_path / "0", 0)
    assert awaits > 10
    for at in range(1, awaits + 1):
        await cancelled_inside(tmp_path / str(at), at)


@pytest.mark.parametrize("delay", [n * 0.002 for n in range(15)])
async def test_a_stop_at_any_moment_closes_the_turn_once(tmp_path, delay):
    wrote = []

    async def write(args, ctx, call_id):
        wrote.append(call_id)
        await asyncio.sleep(0.004)
        return "written"

    steps = [["I look", 0.004, call("look", {}, "r1"), call("change", {}, "w1")], ["All", 0.004, " done"]]
    tools = [FakeTool("look"), FakeTool("change", "write", write)]
    async with open_kit(tmp_path, *steps, tools=tools) as kit:
        kit.wrote = wrote
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        await asyncio.sleep(delay)
        await kit.session.do(cmd.Stop(chat=chat))
        await kit.session.settle(chat)
        closed_rightly(kit, chat)


async def test_closing_the_session_ends_every_turn_within_three_seconds(tmp_path):
    async def slow(args, ctx, call_id):
        await asyncio.sleep(30)

    rules = [("a", ["text", 30]), ("b", [call("change", {}, "w")]), ("c", [30])]
    tool = FakeTool("change", "write", slow)
    async with open_kit(tmp_path, rules=rules, tools=[tool]) as kit:
        chats = []
        for letter in "abc":
            chats.append(await kit.new(title=letter))
            await kit.send(chats[-1], letter * 3)
        await until(lambda: len(kit.wire.requests) == 3 and kit.session.live_text(chats[0]) and tool.ran)
        begun = time.monotonic()
        await kit.session.close()
        assert time.monotonic() - begun < 3
        for chat in chats:
            assert kit.events(chat, "turn.completed")[0].outcome == "interrupted"
