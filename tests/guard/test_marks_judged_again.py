"""A command's mark counts while today's rule would lay it; every other mark stays."""

import pytest

from app.guard import hazards
from app.guard.downloads import DOWNLOADERS, FETCHERS, sources
from app.guard.marks import Marks
from app.providers.scripted import call
from store import events as ev
from store.log import Batch
from tests.guard.test_gate_in_session import FakeRun
from tests.session.kit import open_kit

HOST = ev.TaintSource(kind="download", label="a.example")
PLAIN = ev.TaintSource(kind="download", label="a download")
PAGE = ev.TaintSource(kind="web", label="b.example")
ANA = ev.TaintSource(kind="person", label="Ana")


def ran(command, *marks, call_id="k1", name="run_command"):
    started = ev.ToolStarted(call_id=call_id, name=name, input={"command": command}, effect="write", family="command")
    return [started, *(ev.Taint(source=mark, call_id=call_id) for mark in marks),
            ev.ToolFinished(call_id=call_id, status="success", name=name)]  # fmt: skip


async def counted(tmp_path, *events):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new(title="T")
        await kit.store.commit(Batch.of(chat, *events))
        return Marks(kit.store).of(chat, kit.summary(chat).taints)


async def test_a_mark_of_a_command_that_downloads_nothing_counts_no_more(tmp_path):
    assert await counted(tmp_path, *ran("git fetch", PLAIN)) == ()


@pytest.mark.parametrize("command", ["curl -O https://a.example/x", "git clone https://www.a.example/r.git"])
async def test_a_mark_of_a_command_that_downloads_stays(tmp_path, command):
    assert await counted(tmp_path, *ran(command, HOST)) == (HOST,)


async def test_a_mark_that_a_later_command_laid_rightly_stays(tmp_path):
    events = [*ran("git fetch", PLAIN), *ran("wget -i list", PLAIN, call_id="k2")]
    assert await counted(tmp_path, *events) == (PLAIN,)


async def test_marks_that_no_command_laid_stay(tmp_path):
    assert await counted(tmp_path, ev.Taint(source=PLAIN), *ran("git fetch", PLAIN)) == (PLAIN,)
    assert await counted(tmp_path / "2", ev.Taint(source=HOST, call_id="k_gone")) == (HOST,)


async def test_pages_apps_and_people_are_never_judged_again(tmp_path):
    assert await counted(tmp_path, *ran("ls", PAGE, ANA, PLAIN)) == (PAGE, ANA)


async def test_what_a_process_printed_is_judged_by_the_command_that_started_it(tmp_path):
    for n, (command, kept) in enumerate([("git fetch", ()), ("wget -i list", (PLAIN,))]):
        started = ev.ToolStarted(call_id="k2", name="process_output", input={"process": "x_1"}, family="command")
        events = [ev.ProcessStarted(process_id="x_1", command=command), started, ev.Taint(source=PLAIN, call_id="k2")]
        assert await counted(tmp_path / str(n), *events) == kept


async def test_a_chat_whose_only_mark_fell_away_runs_its_next_command_without_a_question(tmp_path):
    tool = FakeRun()
    async with open_kit(tmp_path, [call("run_command", {"command": "touch x"}, "c1")], "done", tools=[tool]) as kit:
        chat = await kit.new(title="T", folder=str(tmp_path))
        await kit.store.commit(Batch.of(chat, *ran("git fetch", PLAIN, call_id="k0")))
        await kit.say(chat, "go")
        assert tool.ran == ["touch x"]
        assert kit.events(chat, "permission.requested") == []


async def test_a_chat_with_a_mark_that_holds_is_asked(tmp_path):
    tool = FakeRun()
    async with open_kit(tmp_path, [call("run_command", {"command": "touch x"}, "c1")], "done", tools=[tool]) as kit:
        chat = await kit.new(title="T", folder=str(tmp_path))
        await kit.store.commit(Batch.of(chat, *ran("curl -O https://a.example/x", HOST, call_id="k0")))
        await kit.say(chat, "go")
        (asked,) = kit.events(chat, "permission.requested")
        assert "downloaded a.example" in asked.taint
        assert tool.ran == []


def test_what_fetches_also_marks_and_the_copiers_only_mark():
    assert FETCHERS < DOWNLOADERS
    assert hazards.FETCHERS is FETCHERS
    for name in DOWNLOADERS:
        assert sources(f"{name} x") == (PLAIN,)
    assert not {"scp", "rsync", "nc", "socat"} & FETCHERS
