"""What no mode lifts once there is too much of it: the 50th delete, one change over and over, the 100th message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.guard.counts import Counts, deletes_of, of_turn
from app.guard.judge import Allowed, Question, Refused, Situation, judge
from app.ports import CallFacts, ToolOutcome
from app.providers.scripted import call
from store import events as ev
from store.ids import MESSAGE, new_id
from store.limits import DELETES_ASK, MESSAGES_ASK, MESSAGES_REFUSED, MESSAGES_WITHIN_MS, SAME_CHANGE_ASKS
from store.log import Batch
from store.together import Put, SentMessage
from tests.guard.test_gate_in_session import FakeRun
from tests.session.kit import FakeTool, open_kit, until

FOLDER = "/home/me/work/proj"
MODES = ("ask", "auto", "full")


def now(mode, counts, **more):
    return Situation(mode, folder=FOLDER, home="/home/me", counts=counts, **more)


def run(text):
    return CallFacts("run_command", "command", "write", command=text, folder=FOLDER)


def message():
    return CallFacts("message_chat", "together", "write")


def ran(command, call_id="k", gone=None, status="success"):
    out = [
        ev.ToolStarted(call_id=call_id, name="run_command", input={"command": command}, effect="write",
                       family="command"),
        ev.ToolFinished(call_id=call_id, status=status, name="run_command"),
    ]  # fmt: skip
    if gone is not None:
        files = tuple(ev.FileChange(path=f"f{n}", change="deleted") for n in range(gone)) or (
            ev.FileChange(path="f", change="changed"),
        )
        out.append(ev.FilesChanged(change_id="f_" + call_id, call_id=call_id, files=files))
    return out


# -- the rule


@given(st.integers(0, 400), st.integers(0, 200))
def test_deletes_ask_exactly_when_a_multiple_of_fifty_is_reached(before, more):
    reached = any(n % DELETES_ASK == 0 for n in range(before + 1, before + more + 1))
    assert (Counts(deleted=before, deletes=more).question() is not None) == reached


@given(st.integers(0, 700))
def test_messages_ask_at_each_hundredth_and_are_refused_from_the_five_hundredth(sent):
    counts = Counts(sends=True, sent=sent)
    assert (counts.refusal() is not None) == (sent + 1 >= MESSAGES_REFUSED)
    assert (counts.question() is not None) == ((sent + 1) % MESSAGES_ASK == 0)


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_lifts_them(mode):
    for facts, counts in (
        (run("rm a"), Counts(deleted=DELETES_ASK - 1, deletes=1)),
        (run("touch x"), Counts(same=SAME_CHANGE_ASKS - 1)),
        (message(), Counts(sends=True, sent=MESSAGES_ASK - 1)),
    ):
        asked = judge(facts, now(mode, counts))
        assert isinstance(asked, Question) and asked.key is None and asked.detail
        assert not asked.full_allows
    assert isinstance(judge(message(), now(mode, Counts(sends=True, sent=MESSAGES_REFUSED - 1))), Refused)
    assert isinstance(judge(message(), now(mode, Counts(sends=True, sent=MESSAGES_ASK - 2))), Allowed)


def test_read_only_still_refuses_before_anything_is_counted():
    assert isinstance(judge(run("rm a"), now("plan", Counts(deleted=DELETES_ASK - 1, deletes=1))), Refused)


# -- counting


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("ls", 0), ("rm a", 1), ("rm -rf a b c", 3), ("rm a; rm b && rm -f c", 3), ("sudo bash -c 'rm a b'", 2),
        ("find . -name '*.o' -delete", 1), ("git rm a b", 2), ("git status", 0), ("ls | xargs rm", 1), ("echo rm a", 0),
        ("rm", 1), ("unlink x", 1), ("rm -- a b", 2),
    ],
)  # fmt: skip
def test_the_files_a_command_names_to_be_deleted(command, count):
    assert deletes_of(command) == count


def test_deletes_add_up_over_the_commands_of_a_turn_by_what_they_named_or_really_deleted():
    turn = [*ran("rm a b", "k1"), *ran("rm *.log", "k2", gone=30), *ran("make clean", "k3", gone=9), *ran("ls", "k4")]
    counts = of_turn(turn, "run_command", {"command": "rm c d"}, "rm c d")
    assert (counts.deleted, counts.deletes) == (2 + 30 + 9, 2)


def test_the_same_command_counts_where_it_changed_files_and_tests_run_again_dont():
    turn = [*ran("./gen", "k1", gone=0), *ran("./gen", "k2", gone=0), *ran("pytest", "k3"), *ran("pytest", "k4")]
    assert of_turn(turn, "run_command", {"command": "./gen"}, "./gen").same == 2
    assert of_turn(turn, "run_command", {"command": "pytest"}, "pytest").same == 0
    assert of_turn(turn, "run_command", {"command": "./gen", "timeout": 5}, "./gen").same == 0


def test_the_same_write_of_a_tool_counts_where_it_went_well():
    turn = []
    for n, status in enumerate(("success", "error", "success")):
        turn += [
            ev.ToolStarted(call_id=f"k{n}", name="write_file", input={"path": "a"}, effect="write", family="files"),
            ev.ToolFinished(call_id=f"k{n}", status=status, name="write_file"),
        ]
    assert of_turn(turn, "write_file", {"path": "a"}, None).same == 2
    assert of_turn(turn, "write_file", {"path": "b"}, None).same == 0


# -- in a session


async def test_in_full_trust_the_fiftieth_delete_of_a_turn_asks_and_a_no_deletes_nothing(tmp_path):
    tool = FakeRun()
    many = " ".join(f"f{n}" for n in range(DELETES_ASK - 1))
    steps = [[call("run_command", {"command": f"rm {many}"}, "c1")], [call("run_command", {"command": "rm g"}, "c2")]]
    async with open_kit(tmp_path / "home", *steps, "done", tools=[tool]) as kit:
        chat = await kit.new(title="T", folder=str(tmp_path), mode="full")
        await kit.send(chat, "go")
        await until(lambda: kit.session.open_permissions(chat))
        (asked,) = kit.session.open_permissions(chat)
        assert asked.detail.startswith(f"With it, this reply has deleted {DELETES_ASK} files or more.")
        assert tool.ran == [f"rm {many}"]


async def test_a_chats_hundredth_message_of_the_day_asks_also_after_a_restart_and_an_old_one_doesnt_count(tmp_path):
    def tool():
        return FakeTool("message_chat", "write", lambda args, ctx, call_id: ToolOutcome("sent"))

    step = [call("message_chat", {"text": "x"}, "c1")]
    async with open_kit(tmp_path / "home", step, "done", tools=[tool()]) as kit:
        chat, other = await kit.new(title="T", mode="full"), await kit.new(title="U")
        at = kit.clock.now_ms()
        for n in range(MESSAGES_ASK - 1):
            old = n == 0
            sent = SentMessage(new_id(MESSAGE), chat, other, f"{n}", "read", "h_1", at - MESSAGES_WITHIN_MS * old)
            await kit.store.commit(Batch(changes=[Put(sent)]))
        await kit.say(chat, "go")
        assert kit.events(chat, "permission.requested") == []
        await kit.store.commit(
            Batch(changes=[Put(SentMessage(new_id(MESSAGE), chat, other, "one more", "read", "h_1", at))])
        )
    async with open_kit(tmp_path / "home", step, "done", tools=[tool()]) as kit:
        await kit.send(chat, "again")
        await until(lambda: kit.session.open_permissions(chat))
        (asked,) = kit.session.open_permissions(chat)
        assert f"the chat's {MESSAGES_ASK}th message" in asked.detail
