"""A turn from its words to its end: what is written when, and what each kind of ending looks like."""

from __future__ import annotations

import asyncio

import pytest

from app import commands as cmd
from app.ports import RetryWait, StepDone, TextDelta, ThinkingDelta, WireError
from app.providers.scripted import call
from app.session.bus import Live
from store import events as ev
from store import limits
from store.events import Usage
from store.log import Batch, NewEvent
from store.rows import NoticeRow, SaidRow, fold
from store.state import KeepLiveText
from tests.session.kit import FakeTool, open_kit, types


def rows_of(kit, chat):
    rows = {}
    for stored in kit.store.events(chat=chat):
        fold(rows, stored)
    return list(rows.values())


async def test_the_six_batches_of_a_turn_come_in_order(tmp_path):
    from app.tools.base import Ask
    from store.events import PermissionRequested
    from store.ids import PERMISSION, new_id

    class Asking:
        async def judge(self, tool, args, ctx, call_id):
            return Ask(PermissionRequested(permission_id=new_id(PERMISSION), call_id=call_id, tool_name=tool.name))

    steps = [["I look.", call("change", {"text": "a"}, "c1")], ["Done."]]
    async with open_kit(tmp_path, *steps, tools=[FakeTool("change", "write")], gate=Asking()) as kit:
        chat = await kit.new(title="T")
        kit.recorder.batches.clear()
        await kit.send(chat, "go")
        (permission,) = await kit.session.settle(chat)
        await kit.session.do(cmd.Answer(chat=chat, permission=permission, decision="allow"))
        await kit.session.settle(chat)
        batches = [(b.kind, [n.event.type for n in b.events]) for b in kit.recorder.batches if b.events]
        assert batches == [
            ("send", ["user.message", "turn.started"]),
            ("step", ["step.started"]),
            ("step", ["assistant.done", "step.finished"]),
            ("ask", ["permission.requested", "status"]),
            ("intent", ["permission.resolved", "status", "tool.started"]),
            ("result", ["tool.finished"]),
            ("step", ["step.started"]),
            ("end", ["assistant.done", "step.finished", "turn.completed"]),
        ]


async def test_deltas_are_live_signals_joined_while_they_wait_and_never_stored(tmp_path):
    async with open_kit(tmp_path, ["Hel", "lo", ThinkingDelta("hm")]) as kit:
        chat = await kit.new(title="T")
        heard = kit.session.bus.subscribe()
        await kit.say(chat, "hi")
        deltas = [i.data for i in heard.drain() if isinstance(i, Live) and i.kind == "delta"]
        assert [(d["kind"], d["offset"], d["delta"]) for d in deltas] == [
            ("text", 0, "Hello"),
            ("thinking", 0, "hm"),
        ]
        (done,) = kit.events(chat, "assistant.done")
        assert (done.text, done.thinking, done.message_id) == ("Hello", "hm", deltas[0]["message_id"])


async def test_the_text_so_far_is_kept_after_two_kilobytes_and_gone_at_the_end(tmp_path):
    async with open_kit(tmp_path, ["x" * limits.LIVE_TEXT_CHARS, 0.2, "end", 0.05]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "hi")
        await asyncio.sleep(0.15)
        (kept,) = kit.store.live_texts(chat)
        assert kept.text == "x" * limits.LIVE_TEXT_CHARS
        assert kit.session.live_text(chat).text.startswith("xxx")
        await kit.session.settle()
        assert kit.store.live_texts(chat) == ()
        assert kit.session.live_text(chat) is None


async def test_the_text_so_far_is_kept_each_second(tmp_path):
    async with open_kit(tmp_path, ["few", 1.3, "words"]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "hi")
        await asyncio.sleep(1.15)
        assert [t.text for t in kit.store.live_texts(chat)] == ["few"]
        await kit.session.settle()


async def test_reads_run_side_by_side_and_writes_in_order(tmp_path):
    running, most, order = set(), 0, []

    async def slow(args, ctx, call_id):
        nonlocal most
        running.add(call_id)
        most = max(most, len(running))
        await asyncio.sleep(0.03)
        running.discard(call_id)
        order.append(args.text)
        return f"got {args.text}"

    tools = [FakeTool("look", "read", slow), FakeTool("change", "write", slow)]
    calls = [call("look", {"text": "r1"}, "a"), call("look", {"text": "r2"}, "b"), call("change", {"text": "w1"}, "c")]
    calls += [call("change", {"text": "w2"}, "d"), call("look", {"text": "r3"}, "e")]
    async with open_kit(tmp_path, calls, ["ok"], tools=tools) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        assert most == 2
        assert sorted(order[:2]) == ["r1", "r2"]
        assert order[2:] == ["w1", "w2", "r3"]
        returns = [m for m in kit.wire.requests[1].messages if hasattr(m, "error")]
        assert [(r.id, r.text) for r in returns] == [
            (c.call.id, f"got {t}") for c, t in zip(calls, ["r1", "r2", "w1", "w2", "r3"], strict=True)
        ]


async def test_usage_and_cost_are_summed_over_the_turn(tmp_path):
    first = [call("look", {}, "a"), StepDone("tool-calls", Usage(input_tokens=10, output_tokens=1, cost_usd=0.5))]
    last = ["ok", StepDone("stop", Usage(input_tokens=20, output_tokens=2, cost_usd=0.25))]
    async with open_kit(tmp_path, first, last, tools=[FakeTool()]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        usage = kit.events(chat, "turn.completed")[0].usage
        assert (usage.input_tokens, usage.output_tokens, usage.cost_usd, usage.cached_tokens) == (30, 3, 0.75, None)
        assert kit.summary(chat).usage.input_tokens == 30


@pytest.mark.parametrize(
    ("step", "code", "text"),
    [
        ([WireError("The key was refused; set OPENAI_API_KEY.", "auth")], "auth", None),
        ([WireError("No answer came in time.", "timeout")], "timeout", None),
        (["Half a", WireError("The stream was cut.", "cut")], "cut", "Half a"),
        ([], "empty", None),
        (["  \n"], "empty", None),
        ([ThinkingDelta("only thoughts")], "empty", None),
        (["some", StepDone("length")], "length", "some"),
        (["some", StepDone("filter")], "filter", "some"),
        (["some", StepDone("unknown")], "unknown", "some"),
        (["some", StepDone("cut")], "cut", "some"),
    ],
)
async def test_each_bad_ending_is_one_clear_row_with_retry(tmp_path, step, code, text):
    async with open_kit(tmp_path, step) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        (end,) = kit.events(chat, "turn.completed")
        assert (end.outcome, end.code) == ("error", code)
        notices = [r for r in rows_of(kit, chat) if isinstance(r, NoticeRow)]
        assert len(notices) == 1 and notices[0].retry and notices[0].text == end.error
        said = [r for r in rows_of(kit, chat) if isinstance(r, SaidRow) and r.who == "assistant" and r.text.strip()]
        assert [(r.text, r.unfinished) for r in said] == ([(text, True)] if text else [])
        assert kit.store.live_texts(chat) == ()


async def test_half_a_tool_call_is_never_run(tmp_path):
    tool = FakeTool("change", "write")
    for reason in ("cut", "length", "unknown", "filter"):
        steps = [["I will", call("change", {"text": "x"}, "c"), StepDone(reason)]]
        async with open_kit(tmp_path / reason, *steps, tools=[tool]) as kit:
            chat = await kit.new(title="T")
            await kit.say(chat, "go")
            assert tool.ran == []
            assert kit.events(chat, "assistant.done")[0].calls == ()


async def test_retry_runs_the_turn_again_without_saying_anything_twice(tmp_path):
    async with open_kit(tmp_path, ["Half", WireError("Cut.", "cut")], ["Whole"]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "question")
        await kit.session.do(cmd.Retry(chat=chat))
        await kit.session.settle()
        assert len(kit.events(chat, "user.message")) == 1
        assert [t.trigger for t in kit.events(chat, "turn.started")] == ["person", "retry"]
        assert kit.events(chat, "turn.completed")[-1].outcome == "success"
        first, second = kit.wire.requests
        assert second.messages == first.messages  # the half reply is written anew
        with pytest.raises(cmd.CommandError) as refused:
            await kit.session.do(cmd.Retry(chat=chat))
        assert refused.value.code == "not-allowed"


async def test_retry_after_calls_keeps_their_results(tmp_path):
    tool = FakeTool("change", "write")
    steps = [[call("change", {"text": "x"}, "c")], [WireError("Cut.", "cut")], ["Whole"]]
    async with open_kit(tmp_path, *steps, tools=[tool]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "question")
        await kit.session.do(cmd.Retry(chat=chat))
        await kit.session.settle()
        assert tool.ran == ["x"]
        assert kit.wire.requests[2].messages == kit.wire.requests[1].messages


async def test_the_wait_before_a_retry_is_told_live(tmp_path):
    async with open_kit(tmp_path, [RetryWait(3, "the server is busy"), "ok"]) as kit:
        chat = await kit.new(title="T")
        heard = kit.session.bus.subscribe()
        await kit.say(chat, "go")
        assert {"seconds": 3, "why": "the server is busy"} in [i.data for i in heard.drain() if isinstance(i, Live)]


async def test_a_turn_without_an_end_is_paused_after_the_most_steps(tmp_path, monkeypatch):
    from app.assistant import loop

    monkeypatch.setattr(loop, "STEPS_A_TURN", 3)
    async with open_kit(tmp_path, *[[call("look", {}, f"c{n}")] for n in range(9)], tools=[FakeTool()]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        (end,) = kit.events(chat, "turn.completed")
        assert (end.code, end.paused) == ("steps", True)
        assert len(kit.wire.requests) == 3


async def test_a_broken_wire_breaks_only_its_own_chat(tmp_path):
    def bug(request):
        raise ZeroDivisionError

    async with open_kit(tmp_path, rules=[("bad", bug), ("good", [0.05, "fine"])]) as kit:
        bad, good = await kit.new(title="B"), await kit.new(title="G")
        await kit.send(good, "good")
        await kit.send(bad, "bad")
        await kit.session.settle()
        (end,) = kit.events(bad, "turn.completed")
        assert (end.outcome, end.code) == ("error", "internal")
        assert "Zero" not in end.error
        assert kit.events(good, "assistant.done")[0].text == "fine"


async def test_an_unknown_model_is_said_in_words(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new(title="T")  # the log may hold any name, such as one of a newer Shoal
        await kit.store.commit(Batch([NewEvent(chat, ev.OptionsChanged(model="nobody:x"))]))
        await kit.say(chat, "hi")
        (end,) = kit.events(chat, "turn.completed")
        assert (end.outcome, end.code) == ("error", "setup")


async def test_words_with_markup_and_escapes_go_through_unchanged(tmp_path):
    text = "[red]x[/]\x1b[31m \u202e \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")
    async with open_kit(tmp_path, [TextDelta(text)]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, text)
        assert kit.events(chat, "assistant.done")[0].text == text
        assert types(kit, chat)[-1] == "turn.completed"


async def test_a_full_answer_after_a_stop_reason_with_calls_still_runs_them(tmp_path):
    tool = FakeTool()
    async with open_kit(tmp_path, [call("look", {"text": "x"}, "c"), StepDone("stop")], ["ok"], tools=[tool]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        assert tool.ran == ["x"]


async def test_the_text_so_far_goes_in_the_batch_of_the_whole_message(tmp_path):
    async with open_kit(tmp_path, ["x" * 5000, 0.1]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        end = kit.recorder.batches[-1]
        assert end.kind == "end" and KeepLiveText in [type(c) for c in end.changes]


async def test_a_flood_of_single_letters_is_shown_whole_and_leaves_others_their_turn(tmp_path):
    late = 0.0

    async def beat():
        nonlocal late
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            await asyncio.sleep(0.01)
            late = max(late, loop.time() - begun - 0.01)

    async with open_kit(tmp_path, ["x"] * 20_000) as kit:
        chat = await kit.new(title="T")
        heard = kit.session.bus.subscribe()
        beating = asyncio.ensure_future(beat())
        await kit.say(chat, "go")
        beating.cancel()
        items = heard.drain()
        deltas = [i.data for i in items if isinstance(i, Live) and i.kind == "delta"]
        assert "".join(d["delta"] for d in deltas) == "x" * 20_000 and len(items) < 100
        assert late < 0.5
        assert kit.events(chat, "assistant.done")[0].text == "x" * 20_000
