"""Tool calls that are wrong, doubled, forbidden or that fail (faults T01 to T06, P10)."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from app.ports import ToolOutcome, ToolReturn
from app.providers.scripted import call
from app.tools.base import Refuse
from store.errors import StoreError, StoreFull
from store.events import ChatsLooked, TaintSource
from store.limits import TOOL_ARGS_CHARS, TOOL_RESULT_CHARS
from tests.session.kit import FakeTool, open_kit


class Strict(BaseModel):
    """Arguments with all the kinds that are guessed at elsewhere."""

    text: str
    count: int = 0
    sure: bool = False


def strict(name="look", effect="read", does=None):
    tool = FakeTool(name, effect, does)
    tool.args = Strict
    return tool


def returns(kit, at=-1):
    return [m for m in kit.wire.requests[at].messages if isinstance(m, ToolReturn)]


@pytest.mark.parametrize(
    ("args", "names"),
    [
        ("not json", "arguments"),
        ('{"text": "cut off', "arguments"),
        ("[1]", "arguments"),
        ('"words"', "arguments"),
        ("null", "arguments"),
        ("", "text"),
        ("{}", "text"),
        ('{"text": null}', "text"),
        ('{"Text": "x"}', "text"),
        ('{"text": 5}', "text"),
        ('{"text": "x", "count": "3"}', "count"),
        ('{"text": "x", "count": 2.5}', "count"),
        ('{"text": "x", "sure": "true"}', "sure"),
        ('{"text": "x", "sure": 1}', "sure"),
        ('{"text": "' + "x" * TOOL_ARGS_CHARS + '"}', "arguments"),
        ("[" * 100_000, "arguments"),
        ('{"text": "\ud800"}', ""),
    ],
    ids=str,
)
async def test_wrong_arguments_are_refused_in_words_naming_the_field(tmp_path, args, names):
    tool = strict()
    async with open_kit(tmp_path, [call("look", args, "c1")], ["ok"], tools=[tool]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        (result,) = returns(kit)
        assert (result.error and f'"{names}"' in result.text) or not names
        assert tool.ran == [] or not names
        assert len(result.text) < 400 and "pydantic" not in result.text
        assert kit.events(chat, "turn.completed")[0].outcome == "success"
        assert len(kit.events(chat, "tool.finished")) == 1


async def test_unknown_fields_are_ignored_by_every_tool(tmp_path):
    tool = strict()
    async with open_kit(tmp_path, [call("look", {"text": "x", "force": True}, "c1")], ["ok"], tools=[tool]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        assert tool.ran == ["x"]
        assert kit.events(chat, "tool.started")[0].input == {"text": "x"}


@pytest.mark.parametrize("name", ["searchchats", "LOOK", "look ", "Bash", "функция", "x" * 5000, "secret"])
async def test_a_tool_the_chat_doesnt_have_is_refused_without_being_named(tmp_path, name):
    hidden = FakeTool("secret", refuses=lambda ctx: "Not available here.")
    tool = FakeTool()
    async with open_kit(tmp_path, [call(name, {}, "c1")], ["ok"], tools=[tool, hidden]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        (result,) = returns(kit)
        assert result.error and "secret" not in result.text and "look" not in result.text
        assert tool.ran == [] and hidden.ran == []
        assert [t.name for t in kit.wire.requests[0].tools] == ["look"]


async def test_the_same_id_twice_runs_once_and_every_call_has_its_own_result(tmp_path):
    tool = FakeTool("change", "write")
    calls = [call("change", {"text": "one"}, "c1"), call("change", {"text": "two"}, "c1")]
    async with open_kit(tmp_path, calls, ["ok"], tools=[tool]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        assert tool.ran == ["one"]
        first, second = returns(kit)
        assert first.id == "c1" and first.text == "change gave one"
        assert second.id != "c1" and second.error and '"id"' in second.text


async def test_a_call_without_id_or_name_is_refused_naming_it(tmp_path):
    tool = FakeTool()
    async with open_kit(tmp_path, [call("look", {}, ""), call("", {}, "c2")], ["ok"], tools=[tool]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        first, second = returns(kit)
        assert '"id"' in first.text and '"name"' in second.text and tool.ran == []
        assert first.id and second.id and first.id != second.id


async def test_an_id_of_an_earlier_answer_is_replaced_and_the_call_runs(tmp_path):
    tool = FakeTool("change", "write")
    steps = [[call("change", {"text": "one"}, "call_0")], [call("change", {"text": "two"}, "call_0")], ["ok"]]
    async with open_kit(tmp_path, *steps, tools=[tool]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        assert tool.ran == ["one", "two"]
        first, second = returns(kit)
        assert (first.text, second.text) == ("change gave one", "change gave two") and first.id != second.id


async def test_ten_calls_of_which_one_fails_each_get_their_own_result(tmp_path):
    def does(args, ctx, call_id):
        if args.text == "3":
            raise ValueError("kaput /home/someone/secret")
        return f"gave {args.text}"

    calls = [call("look", {"text": str(n)}, f"c{n}") for n in range(10)]
    async with open_kit(tmp_path, calls, ["ok"], tools=[FakeTool(does=does)]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        results = returns(kit)
        assert [r.id for r in results] == [f"c{n}" for n in range(10)]
        assert [r.text for r in results if not r.error] == [f"gave {n}" for n in range(10) if n != 3]
        assert "kaput" not in results[3].text and "/home" not in results[3].text
        assert kit.events(chat, "turn.completed")[0].outcome == "success"


async def test_results_are_cleaned_then_cut(tmp_path):
    secret = "sk-" + "a1B2c3D4e5" * 3
    long = "y" * (TOOL_RESULT_CHARS - 10) + " " + secret
    async with open_kit(tmp_path, [call("look", {}, "c")], ["ok"], tools=[FakeTool(does=lambda *_: long)]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        (result,) = returns(kit)
        assert "sk-a1B2" not in result.text
        (finished,) = kit.events(chat, "tool.finished")
        assert finished.output == result.text and len(result.text) < TOOL_RESULT_CHARS + 100


async def test_a_taint_is_written_once_and_before_the_words_are_sent(tmp_path):
    web = TaintSource(kind="web", label="example.com")

    def does(args, ctx, call_id):
        return ToolOutcome("read it", taints=(web,), events=(ChatsLooked(look_id="l_1", action="search"),))

    calls = [call("look", {}, "a"), call("look", {}, "b")]
    async with open_kit(tmp_path, calls, [call("look", {}, "c")], ["ok"], tools=[FakeTool(does=does)]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        assert [e.source for e in kit.events(chat, "taint")] == [web]
        (batch,) = [b for b in kit.recorder.batches if any(n.event.type == "taint" for n in b.events)]
        assert [n.event.type for n in batch.events] == ["taint", "tool.finished", "chats.looked"]
        assert kit.summary(chat).taints == (web,)


async def test_words_whose_taint_cant_be_written_dont_go_to_the_model(tmp_path):
    def does(args, ctx, call_id):
        return ToolOutcome("SECRET WORDS", taints=(TaintSource(kind="web", label="x"),))

    async with open_kit(tmp_path, [call("look", {}, "a")], ["ok"], tools=[FakeTool(does=does)]) as kit:
        chat = await kit.new(title="T")
        commit = kit.store.commit

        async def failing(batch):
            if any(n.event.type == "taint" for n in batch.events):
                raise StoreFull("The disk is full.")
            return await commit(batch)

        kit.store.commit = failing
        await kit.say(chat, "go")
        (result,) = returns(kit)
        assert result.error and "SECRET" not in result.text
        assert "SECRET" not in str([e.model_dump() for e in kit.events(chat)])


async def test_a_call_whose_intent_cant_be_written_isnt_run(tmp_path):
    tool = FakeTool("change", "write")
    async with open_kit(tmp_path, [call("change", {}, "a")], ["ok"], tools=[tool]) as kit:
        chat = await kit.new(title="T")
        commit = kit.store.commit

        async def failing(batch):
            if batch.kind == "intent":
                raise StoreError("Can't be saved.")
            return await commit(batch)

        kit.store.commit = failing
        await kit.say(chat, "go")
        assert tool.ran == []
        assert returns(kit)[0].error


async def test_a_tool_is_asked_again_whether_it_may_when_it_runs(tmp_path):
    from store.events import Taint

    def may(ctx):
        return "Someone else writes here." if any(t.kind == "person" for t in ctx.taints) else None

    tool = FakeTool("look", refuses=may)
    async with open_kit(tmp_path, tools=[tool]) as kit:
        chat = await kit.new(title="T")
        person = Taint(source=TaintSource(kind="person", label="Ana"))

        def mark(request):
            from store.log import Batch

            kit.store.commit_sync(Batch.of(chat, person))
            return [call("look", {}, "a")]

        kit.wire.add(mark, ["ok"])
        await kit.say(chat, "go")
        assert tool.ran == []
        assert returns(kit)[0].text == "Someone else writes here."
        assert [len(r.tools) for r in kit.wire.requests] == [1, 0]


async def test_a_gate_can_refuse_in_every_mode(tmp_path):
    class No:
        async def judge(self, tool, args, ctx, call_id):
            return Refuse(f"Not in {ctx.mode}.")

    tool = FakeTool("change", "write")
    async with open_kit(tmp_path, [call("change", {}, "a")], ["ok"], tools=[tool], gate=No()) as kit:
        chat = await kit.new(title="T", mode="full")
        await kit.say(chat, "go")
        assert tool.ran == [] and returns(kit)[0].text == "Not in full."
        assert kit.events(chat, "tool.started") == []


async def test_what_a_tool_changes_in_the_store_goes_in_the_batch_of_its_result(tmp_path):
    from store.state import KeepState

    def does(args, ctx, call_id):
        return ToolOutcome("noted", changes=(KeepState(ctx.chat, "note", "x"),))

    async with open_kit(tmp_path, [call("note", {}, "a")], ["ok"], tools=[FakeTool("note", "write", does)]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        (batch,) = [b for b in kit.recorder.batches if b.kind == "result"]
        assert [n.event.type for n in batch.events] == ["tool.finished"] and len(batch.changes) == 1
        assert kit.store.state(chat, "note") == "x"
