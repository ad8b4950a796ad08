"""Questions to the person: answered once, expired when nobody is there, allowed with what follows."""

from __future__ import annotations

import asyncio

from app import commands as cmd
from app.providers.scripted import call
from store import events as ev
from store.log import Batch
from store.rows import PermissionRow, ToolRow, fold
from tests.loop.test_stopping import Asking
from tests.session.kit import FakeTool, open_kit


async def test_a_yes_and_the_start_of_the_call_are_one_batch(tmp_path):
    tool = FakeTool("change", "write")
    async with open_kit(tmp_path, [call("change", {}, "a")], ["ok"], tools=[tool], gate=Asking()) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        (permission,) = await kit.session.settle()
        await kit.session.do(cmd.Answer(chat=chat, permission=permission, decision="allow-always"))
        assert [e.type for e in kit.events(chat)][-3:] != [] and kit.events(chat, "tool.started")
        await kit.session.settle()
        assert tool.ran == [""] and kit.summary(chat).status == "idle"


async def test_two_questions_at_once_keep_the_chat_waiting_until_both_are_answered(tmp_path):
    calls = [call("look", {"text": "1"}, "a"), call("look", {"text": "2"}, "b")]
    tool = FakeTool("look")
    async with open_kit(tmp_path, calls, ["ok"], tools=[tool], gate=Asking()) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        first, second = await kit.session.settle()
        await kit.session.do(cmd.Answer(chat=chat, permission=second, decision="deny"))
        assert kit.summary(chat).status == "awaiting-permission"
        assert await kit.session.settle() == [first]
        await kit.session.do(cmd.Answer(chat=chat, permission=first, decision="allow"))
        await kit.session.settle()
        assert tool.ran == ["1"]
        rows = {}
        for stored in kit.store.events(chat=chat):
            fold(rows, stored)
        asked = [row.decision for row in rows.values() if isinstance(row, PermissionRow)]
        ran = [row.status for row in rows.values() if isinstance(row, ToolRow)]
        assert sorted(asked) == ["allow", "deny"] and ran == ["success"], "a no is one row, without a failed call"


async def test_a_question_nobody_is_there_to_answer_expires_after_an_hour(tmp_path):
    tool = FakeTool("change", "write")
    async with open_kit(tmp_path, [call("change", {}, "a")], ["ok"], tools=[tool], gate=Asking()) as kit:
        chat = "c_routine"
        created = ev.ChatCreated(title="R", model="scripted:test", origin=ev.Origin(kind="routine", name="daily"))
        kit.store.commit_sync(Batch.of(chat, created))
        await kit.send(chat, "go")
        (permission,) = await kit.session.settle()
        kit.clock.tick(3599)
        await kit.session.tick()
        assert await kit.session.settle() == [permission]
        kit.clock.tick(1)
        await kit.session.tick()
        await kit.session.settle()
        assert [e.decision for e in kit.events(chat, "permission.resolved")] == ["expired"]
        assert tool.ran == [] and kit.events(chat, "turn.completed")[0].outcome == "success"


async def test_a_question_somebody_is_there_for_never_expires(tmp_path):
    async with open_kit(tmp_path, [call("change", {}, "a")], tools=[FakeTool("change", "write")], gate=Asking()) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        waiting = await kit.session.settle()
        kit.clock.tick(100_000)
        await kit.session.tick()
        assert await kit.session.settle() == waiting


async def test_two_answers_at_the_same_moment_give_one(tmp_path):
    tool = FakeTool("change", "write")
    async with open_kit(tmp_path, [call("change", {}, "a")], ["ok"], tools=[tool], gate=Asking()) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        (permission,) = await kit.session.settle()
        answers = [cmd.Answer(chat=chat, permission=permission, decision="allow") for _ in range(5)]
        got = await asyncio.gather(*(kit.session.do(a) for a in answers), return_exceptions=True)
        assert sum(isinstance(g, dict) for g in got) == 1
        await kit.session.settle()
        assert tool.ran == [""] and len(kit.events(chat, "permission.resolved")) == 1
