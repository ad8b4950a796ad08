"""What is told can be acted on at once: commands sent from the very moment an event is published."""

from __future__ import annotations

import asyncio

import pytest

from app import commands as cmd
from app.providers.scripted import call
from tests.loop.test_stopping import Asking
from tests.session.kit import FakeTool, open_kit


def when_told(kit, kind, command_of):
    """Answers a future: what `command_of(event)` gave, sent while the first event of `kind` is being published."""
    loop, got = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    async def send(command):
        try:
            got.set_result(await kit.session.do(command))
        except cmd.CommandError as error:
            got.set_exception(error)

    def heard(events):  # on the writer's thread, before the one who commits hears of it
        for stored in events:
            if stored.event.type == kind and not sent:
                sent.append(stored)
                asyncio.run_coroutine_threadsafe(send(command_of(stored)), loop)

    sent: list[object] = []
    kit.store.listen(heard)
    return got


async def test_a_question_can_be_answered_as_soon_as_it_is_seen(tmp_path):
    tool = FakeTool("change", "write")
    async with open_kit(tmp_path, [call("change", {}, "a")], ["ok"], tools=[tool], gate=Asking()) as kit:
        chat = await kit.new(title="T")
        answered = when_told(
            kit,
            "permission.requested",
            lambda s: cmd.Answer(chat=chat, permission=s.event.permission_id, decision="allow"),
        )
        await kit.send(chat, "go")
        assert (await asyncio.wait_for(answered, 10))["decision"] == "allow"
        assert await kit.session.settle() == [] and tool.ran == [""]


async def test_a_turn_whose_end_is_seen_is_not_stopped_any_more(tmp_path):
    async with open_kit(tmp_path, ["ok"]) as kit:
        chat = await kit.new(title="T")
        stopped = when_told(kit, "turn.completed", lambda s: cmd.Stop(chat=chat))
        await kit.send(chat, "go")
        assert await asyncio.wait_for(stopped, 10) == {"stopping": False}


async def test_a_turn_from_the_queue_can_be_stopped_as_soon_as_it_is_seen(tmp_path):
    async with open_kit(tmp_path, [0.05, "one"], [20, "two"]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "a")
        await kit.send(chat, "b")
        stopped = when_told(kit, "turn.started", lambda s: cmd.Stop(chat=chat))
        assert await asyncio.wait_for(stopped, 10) == {"stopping": True}
        await kit.session.settle(chat)
        assert [e.outcome for e in kit.events(chat, "turn.completed")] == ["success", "interrupted"]


async def test_an_answer_to_a_question_that_is_not_there_is_gone_at_once(tmp_path):
    async with open_kit(tmp_path, ["ok"]) as kit:
        chat = await kit.new(title="T")
        with pytest.raises(cmd.CommandError) as refused:
            await kit.session.do(cmd.Answer(chat=chat, permission="p_none", decision="deny"))
        assert refused.value.code == "gone"
