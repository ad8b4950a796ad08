"""The queue of a chat: no message lost, none sent twice, order kept, whatever is done when."""

from __future__ import annotations

import asyncio

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app import commands as cmd
from app.ports import WireError
from app.session import queue
from tests.session.kit import open_kit


@given(st.lists(st.text("ab", max_size=3), max_size=8), st.lists(st.text("ab", max_size=3), max_size=8))
def test_an_edited_queue_keeps_the_ids_of_the_texts_that_stay(old, new):
    had = queue.replaced((), old)
    now = queue.replaced(had, new)
    assert [w.text for w in now] == [t for t in new if t.strip()]
    assert len({w.message_id for w in now}) == len(now)
    before = {w.message_id: w.text for w in had}
    for waiting in now:
        assert before.get(waiting.message_id, waiting.text) == waiting.text
    stay = sum(min([t.text for t in had].count(x), [t.text for t in now].count(x)) for x in {w.text for w in had})
    assert len({w.message_id for w in had} & {w.message_id for w in now}) == stay


ACTS = st.lists(st.sampled_from(["send", "stop", "wait", "pause", "fail", "retry"]), min_size=1, max_size=14)


@given(ACTS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_message_is_lost_doubled_or_overtaken(tmp_path_factory, acts):
    asyncio.run(play(tmp_path_factory.mktemp("queue"), acts))


async def play(path, acts):
    failing = False

    def step(request):
        return [0.001, WireError("Busy.", "overloaded")] if failing else ["ok", 0.002]

    async with open_kit(path, rules=[("", step)]) as kit:
        chat = await kit.new(title="T")
        sent = []
        for n, act in enumerate(acts):
            failing = act == "fail"
            if act in ("send", "fail"):
                sent.append((await kit.send(chat, f"m{n}"))["message_id"])
            elif act == "stop":
                await kit.session.do(cmd.Stop(chat=chat))
            elif act == "wait":
                await kit.session.settle()
            elif act == "pause":
                await asyncio.sleep(0.002)
            else:
                try:
                    await kit.session.do(cmd.Retry(chat=chat))
                except cmd.CommandError as error:
                    assert error.code in ("busy", "not-allowed")
        await kit.session.settle()
        said = [m.message_id for m in kit.events(chat, "user.message")]
        waiting = [w.message_id for w in queue.read(kit.store, chat)]
        assert sorted(said + waiting) == sorted(sent)
        assert waiting == [m for m in sent if m in waiting]
        assert len(kit.events(chat, "turn.started")) == len(kit.events(chat, "turn.completed"))
        depth = 0
        for event in kit.events(chat):  # never two turns at once
            depth += {"turn.started": 1, "turn.completed": -1}.get(event.type, 0)
            assert depth in (0, 1)
