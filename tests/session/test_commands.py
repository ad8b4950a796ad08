"""Every command: its `ok`, its events, and its refusals."""

from __future__ import annotations

import asyncio

import pytest

from app import commands as cmd
from app.providers.scripted import call
from app.session.recovery import recover_chat
from store import events as ev
from store.errors import StoreFull
from store.log import Batch, NewEvent
from tests.session.kit import FakeTool, open_kit, types, until


async def refused(kit, command):
    with pytest.raises(cmd.CommandError) as error:
        await kit.session.do(command)
    assert error.value.message.endswith((".", "!")) and "\n" not in error.value.message
    return error.value.code, error.value.message


def every(chat):
    """One command of each kind for a chat."""
    return [
        cmd.Send(chat=chat, text="x"),
        cmd.Stop(chat=chat),
        cmd.Retry(chat=chat),
        cmd.Answer(chat=chat, permission="p_x", decision="allow"),
        cmd.Forward(chat=chat, name="Ana", text="x"),
        cmd.Archive(chat=chat),
        cmd.Rename(chat=chat, title="x"),
        cmd.Pin(chat=chat),
        cmd.Delete(chat=chat),
        cmd.Fork(chat=chat),
        cmd.SetOptions(chat=chat, mode="ask"),
        cmd.SetQueue(chat=chat, texts=[]),
        cmd.Clear(chat=chat),
    ]


async def test_an_unknown_and_a_deleted_chat_are_refused_in_the_same_words(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new()
        await kit.session.do(cmd.Delete(chat=chat))
        for known, unknown in zip(every(chat), every("c_nothing"), strict=True):
            first, second = await refused(kit, known), await refused(kit, unknown)
            assert first == second and first[0] == "unknown-chat"


async def test_last_id_is_the_highest_before_and_what_was_caused_comes_after(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new()
        for command in [
            cmd.Send(chat=chat, text="x"),
            cmd.Forward(chat=chat, name="Ana", text="x"),
            cmd.Archive(chat=chat),
            cmd.Rename(chat=chat, title="x"),
            cmd.Pin(chat=chat),
            cmd.Fork(chat=chat),
            cmd.SetOptions(chat=chat, mode="ask"),
            cmd.SetQueue(chat=chat, texts=["later"]),
        ]:
            await kit.session.settle()
            before = kit.store.last_id()
            ok = await kit.session.do(command)
            assert ok["last_id"] == before, command
        await kit.session.settle()
        before = kit.store.last_id()
        assert (await kit.session.do(cmd.Delete(chat=chat)))["last_id"] == before


async def test_new_takes_the_defaults_where_it_is_silent(tmp_path):
    async with open_kit(tmp_path) as kit:
        plain = kit.summary(await kit.new())
        given = kit.summary(
            await kit.new(title=" My  title ", mode="plan", model="offline", folder=str(tmp_path), private=True)
        )
        assert (plain.title, plain.mode, plain.model, plain.private) == ("", "auto", "scripted:test", False)
        assert (given.title, given.mode, given.model, given.folder) == ("My title", "plan", "offline", str(tmp_path))
        assert given.private and given.title_by == "person"


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("nobody:x", "isn't a model's name"),
        ("gpt", "isn't a model's name"),
        ("offline:x", "isn't a model's name"),
        ("openai:", "lacks the model's name"),
        ("anthropic: ", "lacks the model's name"),
    ],
)
async def test_a_model_that_no_provider_can_have_is_refused_before_anything_is_written(tmp_path, model, why):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new()
        before = kit.store.last_id()
        for command in (cmd.NewChat(model=model), cmd.SetOptions(chat=chat, model=model, mode="plan")):
            code, words = await refused(kit, command)
            assert code == "bad-command" and why in words
        assert kit.store.last_id() == before
        await kit.session.do(cmd.SetOptions(chat=chat, model="openai:any-name"))


async def test_words_sent_while_it_works_wait_and_go_one_by_one(tmp_path):
    async with open_kit(tmp_path, ["a", 0.1], ["b"], ["c"]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "one")
        queued = [await kit.send(chat, "two"), await kit.send(chat, "three")]
        assert [q["queued"] for q in queued] == [True, True]
        assert kit.session.queue(chat) == ["two", "three"]
        await kit.session.settle()
        said = kit.events(chat, "user.message")
        assert [m.text for m in said] == ["one", "two", "three"]
        assert [m.message_id for m in said[1:]] == [q["message_id"] for q in queued]
        assert [e.type for e in kit.events(chat) if e.type in ("user.message", "turn.completed")] == [
            "user.message",
            "turn.completed",
        ] * 3
        assert kit.session.queue(chat) == []


@pytest.mark.parametrize("how", ["stop", "fail"])
async def test_a_stopped_or_failed_reply_leaves_the_queue_waiting(tmp_path, how):
    from app.ports import WireError

    first = ["a", 30] if how == "stop" else ["a", 0.1, WireError("Busy.", "overloaded")]
    async with open_kit(tmp_path, first, ["b"], ["c"]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "one")
        await kit.send(chat, "two")
        if how == "stop":
            await until(lambda: kit.wire.requests)
            await kit.session.do(cmd.Stop(chat=chat))
        await kit.session.settle()
        assert kit.session.queue(chat) == ["two"] and len(kit.events(chat, "user.message")) == 1
        await kit.say(chat, "three")
        assert [m.text for m in kit.events(chat, "user.message")] == ["one", "three", "two"]


async def test_what_waits_after_a_stop_is_sent_when_the_person_says_so_and_only_then(tmp_path):
    async with open_kit(tmp_path, ["a", 30], ["b"], ["c"], ["d", 0.2], ["e"]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "one")
        for text in ("two", "three"):
            await kit.send(chat, text)
        await until(lambda: kit.wire.requests)
        told = await kit.session.do(cmd.SetQueue(chat=chat, texts=["three", "two"], go=True))
        assert kit.session.queue(chat) == ["three", "two"], "while a reply is written it only waits"
        await kit.session.do(cmd.Stop(chat=chat))
        await kit.session.settle()
        assert kit.session.queue(chat) == ["three", "two"]
        told = await kit.session.do(cmd.SetQueue(chat=chat, texts=["three", "two"], go=True))
        await kit.session.settle()
        said = kit.events(chat, "user.message")
        assert [m.text for m in said] == ["one", "three", "two"]
        assert told["last_id"] < kit.store.last_id() and kit.session.queue(chat) == []
        await kit.session.do(cmd.SetQueue(chat=chat, texts=[], go=True))
        assert len(kit.events(chat, "user.message")) == 3


async def test_the_queue_can_be_edited_and_has_an_end(tmp_path):
    async with open_kit(tmp_path, ["a", 1.5]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "one")
        two = await kit.send(chat, "two")
        await kit.session.do(cmd.SetQueue(chat=chat, texts=["new", "  ", "two"]))
        assert kit.session.queue(chat) == ["new", "two"]
        for n in range(48):
            await kit.send(chat, f"m{n}")
        assert (await refused(kit, cmd.Send(chat=chat, text="too much")))[0] == "busy"
        await kit.session.settle()
        said = kit.events(chat, "user.message")
        assert [m.text for m in said[:3]] == ["one", "new", "two"] and said[2].message_id == two["message_id"]


async def test_an_empty_message_is_refused(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new()
        assert (await refused(kit, cmd.Send(chat=chat, text=" \n ")))[0] == "bad-command"
        assert types(kit, chat) == ["chat.created"]


async def test_forwarded_words_are_marked_first_start_no_turn_and_arent_the_persons(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new()
        for _ in range(2):
            ok = await kit.session.do(cmd.Forward(chat=chat, name="Ana", text="hello"))
        assert types(kit, chat) == ["chat.created", "taint", "forwarded.message", "forwarded.message"]
        assert kit.events(chat)[-1].message_id == ok["message_id"]
        assert kit.events(chat, "taint")[0].source == ev.TaintSource(kind="person", label="Ana")
        assert kit.session.running() == []


async def test_writing_in_an_archived_chat_brings_it_back(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new(title="T")
        await kit.session.do(cmd.Pin(chat=chat))
        await kit.session.do(cmd.Archive(chat=chat))
        assert kit.summary(chat).archived_at and not kit.summary(chat).pinned
        await kit.say(chat, "hi")
        assert kit.summary(chat).archived_at is None
        assert kit.events(chat, "chat.archived")[-1].archived is False


async def test_pins_keep_their_order(tmp_path):
    async with open_kit(tmp_path) as kit:
        first, second = await kit.new(), await kit.new()
        await kit.session.do(cmd.Pin(chat=first))
        await kit.session.do(cmd.Pin(chat=second))
        await kit.session.do(cmd.Pin(chat=first))
        assert (kit.summary(first).pinned, kit.summary(second).pinned) == (1, 2)
        await kit.session.do(cmd.Pin(chat=first, pinned=False))
        assert kit.summary(first).pinned == 0


async def test_a_title_of_the_persons_is_never_replaced(tmp_path):
    async with open_kit(tmp_path, ["a", 0.05]) as kit:
        chat = await kit.new()
        await kit.send(chat, "some first words")
        await kit.session.do(cmd.Rename(chat=chat, title="  Mine "))
        await kit.session.settle()
        assert kit.summary(chat).title == "Mine"
        assert [e.title for e in kit.events(chat, "title")] == ["Mine"]


async def test_private_only_while_empty(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new(title="T")
        await kit.session.do(cmd.SetOptions(chat=chat, private=True))
        assert kit.summary(chat).private
        await kit.say(chat, "hi")
        assert (await refused(kit, cmd.SetOptions(chat=chat, private=False)))[0] == "not-allowed"
        assert (await refused(kit, cmd.SetOptions(chat=chat)))[0] == "bad-command"


async def test_a_deleted_chat_is_stopped_first_and_gone(tmp_path):
    async with open_kit(tmp_path, ["a", 30]) as kit:
        chat, other = await kit.new(title="T"), await kit.new(title="O")
        await kit.send(chat, "hi")
        await until(lambda: kit.session.live_text(chat))
        await kit.session.do(cmd.Delete(chat=chat))
        assert kit.summary(chat) is None and types(kit, chat) == [] and kit.session.running() == []
        await kit.say(other, "still fine")
        assert kit.events(other, "turn.completed")[0].outcome == "success"


async def test_a_fork_carries_on_with_the_history_and_all_marks(tmp_path):
    steps = [[call("look", {}, "c1")], ["first answer"], ["second answer"], ["in the fork"]]
    async with open_kit(tmp_path, *steps, tools=[FakeTool()]) as kit:
        chat = await kit.new(title="Trip", mode="plan")
        await kit.say(chat, "one")
        await kit.session.do(cmd.Forward(chat=chat, name="Ana", text="hello"))
        await kit.say(chat, "two")
        message = kit.events(chat, "assistant.done")[1].message_id
        fork = (await kit.session.do(cmd.Fork(chat=chat, message=message)))["chat"]
        summary = kit.summary(fork)
        assert (summary.title, summary.mode, summary.forked_from, summary.origin) == ("Trip (fork)", "plan", chat, None)
        assert summary.taints == kit.summary(chat).taints != ()
        assert [m.text for m in kit.events(fork, "user.message")] == ["one"]
        assert summary.usage == ev.Usage() and summary.turn_id is None and summary.status == "idle"
        await kit.say(fork, "three")
        shared = kit.wire.requests[-1].messages
        assert shared[: len(kit.wire.requests[1].messages)] == kit.wire.requests[1].messages
        whole = (await kit.session.do(cmd.Fork(chat=chat)))["chat"]
        assert len(kit.events(whole, "user.message")) == 2 and len(kit.events(whole, "forwarded.message")) == 1
        assert (await refused(kit, cmd.Fork(chat=chat, message="m_none")))[0] == "bad-command"


async def test_a_fork_of_a_summarised_chat_keeps_its_context(tmp_path):
    steps = [["a" * 3000], ["SUMMARY"], ["second"], ["forked"]]
    async with open_kit(tmp_path, *steps, tokens=1500) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "one " + "q" * 1500)
        await kit.say(chat, "two " + "q" * 1500)
        fork = (await kit.session.do(cmd.Fork(chat=chat)))["chat"]
        await kit.say(fork, "three")
        sent = kit.wire.requests[-1].messages
        assert sent[:-1] == (*kit.wire.requests[2].messages, sent[-2]) and "SUMMARY" in sent[0].text


def imported(kit, chat="iab12/x"):
    origin = ev.Origin(kind="import", name="Some Program")
    kit.store.commit_sync(
        Batch(
            [
                NewEvent(chat, ev.ChatCreated(title="Old talk", origin=origin), at=1000),
                NewEvent(chat, ev.Taint(source=ev.TaintSource(kind="app", label="Some Program")), at=1000),
                NewEvent(chat, ev.UserMessage(message_id="m1", text="an old question"), at=1000),
                NewEvent(chat, ev.AssistantDone(message_id="m2", text="an old answer"), at=2000),
            ],
            kind="import",
        )
    )
    return chat


async def test_an_imported_chat_is_read_only_and_carries_on_in_a_fork(tmp_path):
    async with open_kit(tmp_path, ["new answer"]) as kit:
        chat = imported(kit)
        for command in [
            cmd.Send(chat=chat, text="x"),
            cmd.Retry(chat=chat),
            cmd.Forward(chat=chat, name="Ana", text="x"),
            cmd.SetOptions(chat=chat, mode="full"),
            cmd.SetQueue(chat=chat, texts=["x"]),
        ]:
            code, words = await refused(kit, command)
            assert code == "not-allowed" and "fork" in words
        fork = (await kit.session.do(cmd.Fork(chat=chat)))["chat"]
        summary = kit.summary(fork)
        assert summary.origin is None and summary.model == "scripted:test"
        assert summary.taints == (ev.TaintSource(kind="app", label="Some Program"),)
        assert [s.at for s in kit.store.events(chat=fork) if s.event.type == "user.message"] == [1000]
        await kit.say(fork, "and now?")
        assert kit.wire.requests[0].messages[0].words == "an old question"
        await kit.session.do(cmd.Delete(chat=chat))
        assert kit.summary(fork) is not None


async def test_a_second_answer_is_gone(tmp_path):
    from tests.loop.test_stopping import Asking

    tool = FakeTool("change", "write")
    async with open_kit(tmp_path, [call("change", {}, "a")], ["ok"], tools=[tool], gate=Asking()) as kit:
        chat, other = await kit.new(title="T"), await kit.new()
        await kit.send(chat, "go")
        (permission,) = await kit.session.settle()
        assert [p.permission_id for p in kit.session.open_permissions(chat)] == [permission]
        assert kit.summary(chat).status == "awaiting-permission"
        answer = {"permission": permission, "decision": "deny"}
        assert (await refused(kit, cmd.Answer(chat=other, **answer)))[0] == "gone"
        assert await kit.session.do(cmd.Answer(chat=chat, **answer)) == answer
        assert (await refused(kit, cmd.Answer(chat=chat, **answer)))[0] == "gone"
        await kit.session.settle()
        assert tool.ran == [] and kit.session.open_permissions() == []
        assert kit.events(chat, "tool.finished")[0].status == "error"


async def test_settle_says_busy_when_it_takes_too_long(tmp_path):
    async with open_kit(tmp_path, ["a", 30]) as kit:
        chat, idle = await kit.new(title="T"), await kit.new()
        await kit.send(chat, "go")
        assert await kit.session.settle(idle) == []
        with pytest.raises(cmd.CommandError) as busy:
            await kit.session.settle(timeout=0.1)
        assert busy.value.code == "busy"
        await kit.session.do(cmd.Stop(chat=chat))


async def test_settle_waits_for_the_index(tmp_path):
    class Search:
        ready = False

        async def caught_up(self, timeout):
            return self.ready

    search = Search()
    async with open_kit(tmp_path, search=search) as kit:
        with pytest.raises(cmd.CommandError):
            await kit.session.settle(timeout=0.1)
        search.ready = True
        assert await kit.session.settle() == []


async def test_a_full_disk_ends_the_reply_in_words_and_the_next_one_works(tmp_path):
    async with open_kit(tmp_path, ["a" * 100], ["fine"]) as kit:
        chat = await kit.new(title="T")
        commit, full = kit.store.commit, True
        heard = kit.session.bus.subscribe()

        async def filling(batch):
            if full and batch.kind in ("end", "step") and batch.events:
                raise StoreFull("The disk is full. Make room, then try again.")
            return await commit(batch)

        kit.store.commit = filling
        await kit.say(chat, "one")
        assert kit.session.running() == []
        trouble = [i.data["text"] for i in heard.drain() if getattr(i, "kind", "") == "trouble"]
        assert trouble == ["The disk is full. Make room, then try again."]
        full = False
        await kit.say(chat, "two")
        outcomes = [e.outcome for e in kit.events(chat, "turn.completed")]
        assert outcomes == ["interrupted", "success"]
        assert not await recover_chat(kit.store, chat)


async def test_a_store_error_of_one_command_is_said_in_words(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new()

        async def failing(batch):
            raise StoreFull("The disk is full.")

        kit.store.commit = failing
        assert await refused(kit, cmd.Send(chat=chat, text="x")) == ("failed", "The disk is full.")
        assert kit.session.running() == []


async def test_many_chats_work_at_once(tmp_path):
    async with open_kit(tmp_path, rules=[("", ["ok", 0.02])]) as kit:
        chats = [await kit.new(title=str(n)) for n in range(20)]
        await asyncio.gather(*(kit.send(c, f"hello {n} {m}") for m in range(3) for n, c in enumerate(chats)))
        await kit.session.settle()
        for chat in chats:
            assert len(kit.events(chat, "user.message")) == 3 == len(kit.events(chat, "turn.completed"))


async def test_a_fork_of_a_working_chat_closes_what_is_open_in_it(tmp_path):
    async def slow(args, ctx, call_id):
        await asyncio.sleep(30)

    async with open_kit(tmp_path, [call("change", {}, "a")], tools=[FakeTool("change", "write", slow)]) as kit:
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        await until(lambda: kit.events(chat, "tool.started"))
        fork = (await kit.session.do(cmd.Fork(chat=chat)))["chat"]
        assert [(e.call_id, e.status) for e in kit.events(fork, "tool.finished")] == [("a", "unknown")]
        assert kit.events(chat, "tool.finished") == [] and kit.session.running() == [chat]


async def test_retry_needs_something_that_was_said(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new(title="T")
        await kit.session.do(cmd.Forward(chat=chat, name="Ana", text="hello"))
        assert (await refused(kit, cmd.Retry(chat=chat)))[0] == "not-allowed"


async def test_a_deleted_chat_is_told_over_the_bus(tmp_path):
    async with open_kit(tmp_path) as kit:
        chat = await kit.new(title="T")
        heard = kit.session.bus.subscribe()
        await kit.session.do(cmd.Delete(chat=chat))
        item = await anext(heard)
        assert (item.chat, item.kind) == (chat, "deleted")


async def test_a_message_sent_while_its_chat_is_deleted_leaves_nothing_running(tmp_path):
    for n in range(6):
        async with open_kit(tmp_path / str(n), ["a", 0.02] * 3) as kit:
            chat = await kit.new(title="T")
            heard = kit.session.bus.subscribe()
            send = asyncio.ensure_future(kit.session.do(cmd.Send(chat=chat, text="hi")))
            await asyncio.sleep(n * 0.001)
            await kit.session.do(cmd.Delete(chat=chat))
            await asyncio.wait([send])
            assert send.exception() is None or send.exception().code == "unknown-chat"
            await kit.session.settle()
            assert kit.summary(chat) is None and kit.session.running() == []
            assert "trouble" not in [getattr(i, "kind", "") for i in heard.drain()]


async def test_after_clear_the_model_starts_afresh_and_nothing_is_deleted(tmp_path):
    async with open_kit(tmp_path, ["one"], ["two"]) as kit:
        chat = await kit.new(title="T")
        await kit.say(chat, "before")
        await kit.session.do(cmd.Clear(chat=chat))
        await kit.say(chat, "after")
        asked = " ".join(str(m) for m in kit.wire.requests[-1].messages)
        assert "after" in asked and "before" not in asked
        assert [m.text for m in kit.events(chat, "user.message")] == ["before", "after"]


async def test_a_queued_message_that_nobody_attends_stays_so(tmp_path):
    async with open_kit(tmp_path, ["a long ", 0.1, "answer"], ["second"]) as kit:
        chat = await kit.new()
        await kit.send(chat, "first")
        done = await kit.session.do(cmd.Send(chat=chat, text="second", attended=False))
        assert done["queued"]
        await kit.session.settle()
        assert [(t.trigger, t.attended) for t in kit.events(chat, "turn.started")] == [("person", True), ("ask", False)]
