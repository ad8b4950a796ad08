"""The same call over and over: pointed out at three, paused at five."""

import json

from hypothesis import given
from hypothesis import strategies as st

from app import commands as cmd
from app.assistant.turn_watch import TurnWatch, canonical
from app.ports import ToolCall
from app.providers.scripted import call
from app.tools.base import OpenGate
from store.limits import REPEATS_PAUSE, REPEATS_TOLD, REPEATS_WITHIN
from store.rows import NoticeRow, fold
from tests.session.kit import FakeTool, open_kit
from widgets.rows.notice_row import Notice


def saw(watch: TurnWatch, name: str, args: str = "{}", result: str = "same", *, reads: bool = True) -> None:
    watch.saw(ToolCall("x", name, args), result, reads=reads)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("123"), st.sampled_from("xy")), max_size=40))
def test_a_turn_pauses_exactly_when_one_call_fills_five_of_the_last_twelve(calls):
    watch, seen = TurnWatch(), []
    for name, arg, result in calls:
        saw(watch, name, json.dumps({"n": arg}), result)
        seen = [*seen, (name, arg, result)][-REPEATS_WITHIN:]
        most = max(seen.count(one) for one in seen)
        assert (watch.paused() is not None) == (most >= REPEATS_PAUSE)


@given(st.lists(st.sampled_from("abcd"), max_size=60))
def test_what_is_pointed_out_was_made_three_times_and_is_said_once_while_it_stays(names):
    watch, seen, told = TurnWatch(), [], set()
    for name in names:
        saw(watch, name)
        seen = [*seen, name][-REPEATS_WITHIN:]
        often = {one for one in seen if seen.count(one) >= REPEATS_TOLD}
        note = watch.note()
        told &= often
        assert (note is not None) == bool(often - told)
        told |= often


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=5))
def test_the_order_of_keys_and_the_spaces_make_no_other_call(args):
    turned = dict(reversed(list(args.items())))
    assert canonical(json.dumps(args)) == canonical(" " + json.dumps(turned, indent=3))


@given(st.text(max_size=30))
def test_input_that_is_no_json_is_compared_as_it_is(text):
    assert canonical(text) == canonical(text)


def test_a_read_whose_answer_changed_is_no_repetition():
    watch = TurnWatch()
    for n in range(REPEATS_WITHIN):
        saw(watch, "process_output", '{"process": "p_1"}', f"line {n}")
    assert watch.note() is None
    assert watch.paused() is None


def test_tests_run_again_after_each_edit_are_no_repetition_while_they_say_something_else():
    watch = TurnWatch()
    for n in range(5):
        saw(watch, "edit_file", json.dumps({"n": n}), "done", reads=False)
        saw(watch, "run_command", '{"command": "pytest"}', f"{5 - n} failed", reads=False)
    assert watch.note() is None


def test_a_command_that_only_took_another_time_gave_the_same_result():
    watch = TurnWatch()
    for n in range(REPEATS_PAUSE):
        saw(watch, "run_command", '{"command": "ls"}', f"[Shoal: exit code 0 after 0.{n} s (sandbox)]\na", reads=False)
    assert watch.paused() == (
        "Paused: run_command was called 5 times with the same input and gave the same result. "
        "Carry on if it should go on."
    )


def test_a_write_counts_whatever_it_answers():
    watch = TurnWatch()
    for n in range(REPEATS_TOLD):
        saw(watch, "message_chat", '{"text": "hi"}', f"sent as m_{n}", reads=False)
    assert "message_chat was called 3 times with the same input. Calling" in (watch.note() or "")


def test_waiting_is_meant_to_repeat():
    watch = TurnWatch()
    for _ in range(REPEATS_PAUSE):
        saw(watch, "wait_for", '{"kind": "time", "minutes": 1}')
    assert watch.paused() is None


async def test_the_third_same_call_is_pointed_out_with_its_results_and_kept_out_of_them(tmp_path):
    steps = [[call("look", {"text": "a"}, f"c{n}")] for n in range(3)]
    async with open_kit(tmp_path, *steps, "done", tools=[FakeTool()], gate=OpenGate()) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        last = kit.wire.requests[3].messages
        assert "[Shoal: look was called 3 times with the same input and gave the same result." in last[-1].text
        assert not any("[Shoal: look" in m.text for m in kit.wire.requests[2].messages)
        assert not any("3 times" in e.output for e in kit.events(chat, "tool.finished"))


async def test_the_fifth_same_call_pauses_the_turn_as_a_success_and_it_can_be_carried_on(tmp_path):
    steps = [[call("look", {"text": "a"}, f"c{n}")] for n in range(5)]
    async with open_kit(tmp_path, *steps, "found another way", tools=[FakeTool()], gate=OpenGate()) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        (end,) = kit.events(chat, "turn.completed")
        assert (end.outcome, end.code, end.paused) == ("success", "repeats", True)
        assert len(kit.wire.requests) == 5
        await kit.session.do(cmd.Retry(chat=chat))
        await kit.session.settle(chat)
        assert kit.events(chat, "turn.completed")[-1].paused is False
        assert "the person pressed Carry on" in kit.wire.requests[5].messages[-1].text
        assert kit.events(chat, "assistant.done")[-1].text == "found another way"


async def test_a_reply_that_ended_well_by_itself_is_still_not_tried_again(tmp_path):
    async with open_kit(tmp_path, "fine", tools=[]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        try:
            await kit.session.do(cmd.Retry(chat=chat))
        except cmd.CommandError as no:
            assert no.code == "not-allowed"
        else:
            raise AssertionError


async def test_a_paused_reply_offers_to_carry_on_in_its_row_until_the_next_begins(tmp_path):
    steps = [[call("look", {"text": "a"}, f"c{n}")] for n in range(5)]
    async with open_kit(tmp_path, *steps, "done", tools=[FakeTool()], gate=OpenGate()) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "go")
        (row,) = notices(kit, chat)
        assert (row.paused, row.retry, row.level) == (True, True, "info")
        assert [line.plain.strip() for line in Notice(row).make(60)][-1] == "[r] Carry on"
        await kit.session.do(cmd.Retry(chat=chat))
        await kit.session.settle(chat)
        assert [row.retry for row in notices(kit, chat)] == [False]


def notices(kit, chat):
    rows = {}
    for stored in kit.store.events(chat=chat):
        fold(rows, stored)
    return [row for row in rows.values() if isinstance(row, NoticeRow)]
