"""After a kill: nothing acknowledged is lost, the turn is closed, and no call that may write runs again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.assistant.closing import MAY_HAVE_RUN
from app.session.recovery import recovery
from store import events as ev
from store.log import Batch, Store
from store.state import KeepLiveText, KeepState
from tests.session.kit import FakeTool, open_kit
from tests.session.test_commands import refused

ROOT = Path(__file__).parents[2]
COMMITS = 15  # of the turn in killed.py, with room


def kill_at(root: Path, places: list[str]) -> list[Path]:
    env = dict(os.environ, PYTHONPATH=str(ROOT))
    subprocess.run([sys.executable, "-m", "tests.session.killed", str(root), *places], cwd=ROOT, env=env, timeout=50)
    return [root / place for place in places]


async def check(home: Path) -> str:
    """Open the home again and look that all is right; how far the turn had come."""
    before = Store(home / "store.db", readonly=True)
    had = list(before.events())
    live = before.live_texts()
    before.close()
    written = [int(line) for line in (home / "acknowledged").read_text().split()]
    assert {s.id for s in had} >= set(written)
    effects = (home / "effects").read_text().split() if (home / "effects").exists() else []
    tools = [FakeTool("look"), FakeTool("change", "write")]
    async with open_kit(home, ["on we go"], tools=tools) as kit:
        after = list(kit.store.events())
        assert after[: len(had)] == had
        if not had:
            return "nothing"
        chat = had[0].chat
        events = [s.event for s in after]
        kinds = [e.type for e in events]
        assert kinds.count("turn.started") == kinds.count("turn.completed")
        assert kit.store.live_texts() == () and tools[0].ran == tools[1].ran == []
        assert kit.session.open_permissions() == [] and kit.summary(chat).status == "idle"
        made = {c.call_id for e in events if isinstance(e, ev.AssistantDone) for c in e.calls}
        results = [e for e in events if isinstance(e, ev.ToolFinished)]
        assert {e.call_id for e in results} == made and len(results) == len(made)
        write = [e for e in results if e.call_id == "w1"]
        if effects:
            assert effects == ["w1"] and write[0].status in ("success", "unknown")
        asked = [e.permission_id for e in events if isinstance(e, ev.PermissionRequested)]
        assert asked == [e.permission_id for e in events if isinstance(e, ev.PermissionResolved)]
        said = {e.message_id: e.text for e in events if isinstance(e, ev.AssistantDone)}
        for text in live:
            assert said[text.message_id].startswith(text.text)
        if "turn.started" in kinds:
            end = next(e for e in events if isinstance(e, ev.TurnCompleted))
            assert end.outcome == "success" or (end.outcome == "interrupted" and end.restarted and end.error)
        await kit.say(chat, "go on")
        assert kit.events(chat, "turn.completed")[-1].outcome == "success"
        return kinds[len(had) - 1]


async def test_a_kill_at_every_batch_boundary_loses_nothing_and_runs_no_write_again(tmp_path):
    places = [f"{n}.{when}" for n in range(1, COMMITS + 1) for when in ("before", "after")]
    reached = [await check(home) for home in kill_at(tmp_path, places)]
    assert set(reached) >= {
        "nothing",
        "chat.created",
        "turn.started",
        "step.started",
        "step.finished",
        "tool.started",
        "tool.finished",
        "turn.completed",
        "status",
    }


async def test_a_kill_at_any_moment_loses_nothing(tmp_path):
    pick = random.Random(7)
    for home in kill_at(tmp_path, [f"t{n}" for n in pick.sample(range(1, 120), 12)]):
        await check(home)


def stored(*events):
    return [ev.Stored(n + 1, "c", n, 0, event) for n, event in enumerate(events)]


def started(call_id, effect):
    return ev.ToolStarted(call_id=call_id, name="x", effect=effect)


def test_open_calls_are_closed_by_what_they_may_have_done():
    calls = tuple(ev.CallMade(call_id=c, name="x", input="{}") for c in ("r", "w", "n"))
    log = stored(
        ev.TurnStarted(turn_id="r_1"),
        ev.AssistantDone(message_id="m", text="", calls=calls),
        started("r", "read"),
        started("w", "write"),
    )
    batch = recovery("c", "r_1", log, [])
    events = [n.event for n in batch.events]
    assert [(e.call_id, e.status) for e in events[:-1]] == [("r", "error"), ("w", "unknown"), ("n", "error")]
    assert events[1].output == MAY_HAVE_RUN
    assert events[-1].outcome == "interrupted" and events[-1].restarted
    assert recovery("c", "r_1", [*log, *stored(*events)], []) is None


def test_leftover_words_become_an_unfinished_message_once():
    log = stored(ev.TurnStarted(turn_id="r_1"), ev.AssistantDone(message_id="m_done", text="whole"))
    live = [("m_done", "text", "who"), ("m_live", "text", "hal"), ("m_live", "thinking", "hm")]
    batch = recovery("c", "r_1", log, live)
    (said,) = [n.event for n in batch.events if isinstance(n.event, ev.AssistantDone)]
    assert (said.message_id, said.text, said.thinking, said.unfinished) == ("m_live", "hal", "hm", True)
    assert {c.message_id for c in batch.changes} == {"m_done", "m_live"}
    leftover = recovery("c", None, log, live)
    assert [n.event.type for n in leftover.events] == ["assistant.done"]
    assert recovery("c", None, log, []) is None


async def test_only_the_chats_with_something_open_are_touched_and_queues_wait_on(tmp_path):
    store = Store.open(tmp_path)
    for chat in ("c_open", "c_idle", "c_words"):
        store.commit_sync(Batch.of(chat, ev.ChatCreated(title=chat, model="scripted:test")))
    user = ev.UserMessage(message_id="m", text="hi")
    queue = KeepState("c_open", "queue", [{"id": "m_2", "text": "later"}])
    store.commit_sync(Batch.of("c_open", user, ev.TurnStarted(turn_id="r_1"), changes=[queue]))
    store.commit_sync(Batch(changes=[KeepLiveText("c_words", "m_w", "text", "some words")]))
    store.close()
    async with open_kit(tmp_path) as kit:
        assert kit.summary("c_open").last_outcome == "interrupted"
        assert kit.events("c_words", "assistant.done")[0].unfinished
        assert len(kit.events("c_idle")) == 1
        assert kit.session.queue("c_open") == ["later"] and kit.session.running() == []
        await kit.say("c_open", "go on")
        assert [m.text for m in kit.events("c_open", "user.message")] == ["hi", "go on", "later"]


@pytest.mark.parametrize("times", [2])
async def test_recovering_twice_adds_nothing(tmp_path, times):
    store = Store.open(tmp_path)
    store.commit_sync(Batch.of("c_1", ev.ChatCreated(title="T"), ev.TurnStarted(turn_id="r_1")))
    store.close()
    counts = []
    for _ in range(times):
        async with open_kit(tmp_path) as kit:
            counts.append(kit.store.last_id())
    assert counts[0] == counts[1]


async def test_a_store_that_is_read_only_can_be_looked_at_and_refuses_to_send(tmp_path):
    from app import commands as cmd
    from app.providers.scripted import ScriptedWires
    from app.services import build_session
    from app.tools.registry import Registry
    from store.clock import ManualClock

    async with open_kit(tmp_path) as kit:
        chat = await kit.new(title="T")
    store = Store(tmp_path / "store.db", readonly=True)
    session, tasks = build_session(store, ManualClock(), ScriptedWires(), Registry())
    assert await session.start() == []
    kit.session = session
    code, words = await refused(kit, cmd.Send(chat=chat, text="hi"))
    assert code == "read-only" and words
    await session.close()
    await tasks.close()
    store.close()


@st.composite
def turns(draw):
    """A turn broken off anywhere, and the texts so far."""
    log = [ev.UserMessage(message_id="m", text="hi"), ev.TurnStarted(turn_id="r_1")]
    for step in range(draw(st.integers(0, 3))):
        log.append(ev.StepStarted(turn_id="r_1", step=step + 1))
        ids = [f"{step}.{n}" for n in range(draw(st.integers(0, 3)))]
        made = tuple(ev.CallMade(call_id=i, name="x", input="{}") for i in ids)
        log += [
            ev.AssistantDone(message_id=f"a{step}", text="t", calls=made),
            ev.StepFinished(turn_id="r_1", step=step + 1),
        ]
        for call_id in ids:
            log.append(ev.PermissionRequested(permission_id=f"p{call_id}", call_id=call_id))
            log.append(ev.PermissionResolved(permission_id=f"p{call_id}", decision="allow"))
            log.append(started(call_id, draw(st.sampled_from(["read", "write"]))))
            log.append(ev.ToolFinished(call_id=call_id, status="success"))
    kept = log[: draw(st.integers(2, len(log)))]
    live = draw(st.lists(st.tuples(st.sampled_from(["a0", "a1", "z"]), st.just("text"), st.just("half")), max_size=2))
    return kept, live


@given(turns())
@hypothesis_settings(max_examples=200, deadline=None)
def test_whatever_was_open_is_closed_once_and_nothing_twice(turn):
    log, live = turn
    batch = recovery("c", "r_1", stored(*log), live)
    events = log + [n.event for n in batch.events]
    again = recovery("c", "r_1", stored(*events), live)
    assert (again is None) if not live else not again.events
    for kind, key in (
        (ev.ToolFinished, "call_id"),
        (ev.PermissionResolved, "permission_id"),
        (ev.AssistantDone, "message_id"),
    ):
        ids = [getattr(e, key) for e in events if isinstance(e, kind)]
        assert len(ids) == len(set(ids))
    made = {c.call_id for e in events if isinstance(e, ev.AssistantDone) for c in e.calls}
    assert made == {e.call_id for e in events if isinstance(e, ev.ToolFinished)}
    assert isinstance(events[-1], ev.TurnCompleted)
