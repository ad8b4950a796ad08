"""Whole conversations over real HTTP, with every provider's stream: tools, cuts, retries, stops, a second turn."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest

from app import commands as cmd
from app.paths import Home
from app.services import build
from app.settings import load
from tests.providers.kit import KEYS, NAMES, WIRES, finder
from tests.servers import openai
from tests.servers.fake import Cut, FakeServer, Hang, plain
from tests.session.kit import until


@asynccontextmanager
async def talking(tmp_path, model, *answers):
    """A chat with one line said in another chat before, its server, and what happened."""
    async with FakeServer() as server:
        server.say(*answers)
        home = Home(tmp_path)
        settings = load(home, [f"model={model}"], environ={})[0]
        services = await build(home, settings, wires=finder(server.url))
        session = services.session
        old = (await session.do(cmd.NewChat(title="Boat", model="offline")))["chat"]
        await session.do(cmd.Send(chat=old, text="We decided to paint the boat green."))
        await session.settle()
        chat = (await session.do(cmd.NewChat(title="T")))["chat"]

        async def say(text):
            await session.do(cmd.Send(chat=chat, text=text))
            await session.settle()
            return [s.event for s in services.store.events(chat=chat)]

        try:
            yield server, session, chat, say
        finally:
            await services.close()


def call_of(kind, call_id, name, args):
    return (name, args) if kind.__name__.endswith("gemini") else (call_id, name, args)


@pytest.mark.parametrize(("model", "kind"), WIRES, ids=NAMES)
async def test_a_conversation_with_two_looks_and_a_second_turn(tmp_path, model, kind):
    looks = kind.calls(
        call_of(kind, "call_one_of_this_step", "search_chats", json.dumps({"query": "boat green"})),
        call_of(kind, "call_two_of_this_step", "search_chats", json.dumps({"query": "zeppelin"})),
    )
    async with talking(tmp_path, model, looks, kind.text("It is ", "green."), kind.text("Gladly.")) as (
        server,
        _,
        _,
        say,
    ):
        events = await say("which colour was it?")
        results = [e for e in events if e.type == "tool.finished"]
        assert [e.status for e in results] == ["success"] * 2
        outputs = sorted(e.output for e in results)
        assert "paint the boat green" in outputs[0] and '"match":"none"' in outputs[1]
        assert events[-1].type == "turn.completed" and events[-1].outcome == "success"
        assert [e.text for e in events if e.type == "assistant.done"][-1] == "It is green."
        assert events[-1].usage.input_tokens
        second = server.requests[1].raw.decode()
        assert "paint the boat green" in second and "which colour was it?" in second
        events = await say("thanks")
        assert [e.text for e in events if e.type == "assistant.done"][-1] == "Gladly."
        third = server.requests[2].raw.decode()
        assert "It is green." in third and "thanks" in third and third.count("which colour was it?") == 1
        assert not any(key in str([e.model_dump() for e in events]) for key in KEYS.values())


@pytest.mark.parametrize(("model", "kind"), WIRES, ids=NAMES)
async def test_a_cut_stream_keeps_its_words_and_retry_answers_anew(tmp_path, model, kind):
    whole = kind.text("Half", " of it", " comes")
    broken = whole.first(max(2, len(whole.pieces) - 3)).then(Cut(reset=True))
    async with talking(tmp_path, model, broken, kind.text("Whole.")) as (server, session, chat, say):
        events = await say("tell me")
        assert events[-1].outcome == "error" and events[-1].code in ("cut", "connect") and events[-1].error
        await session.do(cmd.Retry(chat=chat))
        await session.settle()
        events = await say("and then?")
        assert sum(e.type == "user.message" for e in events) == 2
        texts = [(e.text, e.unfinished) for e in events if e.type == "assistant.done"]
        assert ("Whole.", False) in texts
        assert "Half" not in server.requests[-1].raw.decode()


@pytest.mark.parametrize(("model", "kind"), WIRES, ids=NAMES)
async def test_a_busy_server_is_waited_for_and_a_wrong_call_goes_back_to_the_model(tmp_path, model, kind):
    busy = plain(429, {"error": {"message": "slow down"}}, [("Retry-After", "0")])
    wrong = kind.calls(call_of(kind, "call_wrong_of_this_step", "search_chats", '{"limit": 5}'))
    async with talking(tmp_path, model, busy, wrong, kind.text("Sorry.")) as (server, _, _, say):
        events = await say("look")
        (finished,) = [e for e in events if e.type == "tool.finished"]
        assert finished.status == "error"
        assert events[-1].outcome == "success" and len(server.requests) == 3


@pytest.mark.parametrize(("model", "kind"), WIRES, ids=NAMES)
async def test_stop_closes_the_connection(tmp_path, model, kind):
    endless = kind.text("Once", " upon").first(3).then(Hang())
    async with talking(tmp_path, model, endless, kind.text("Fine.")) as (server, session, chat, say):
        await session.do(cmd.Send(chat=chat, text="a long story"))
        await until(lambda: server.requests)
        await session.do(cmd.Stop(chat=chat))
        await session.settle()
        await server.until_gone()
        events = await say("a short one")
        outcomes = [e.outcome for e in events if e.type == "turn.completed"]
        assert outcomes == ["interrupted", "success"]


async def test_a_refused_key_is_one_clear_row_without_the_key(tmp_path):
    key = KEYS["OPENAI_API_KEY"]
    refused = plain(401, {"error": {"message": f"Incorrect API key provided: {key}"}})
    async with talking(tmp_path, "openai:m", refused) as (server, _, _, say):
        events = await say("hello")
        assert (events[-1].outcome, events[-1].code) == ("error", "auth")
        assert key not in str([e.model_dump() for e in events]) and len(server.requests) == 1


async def test_a_server_that_counts_its_call_ids_from_zero_works_for_many_turns(tmp_path):
    look = openai.calls(("call_0", "search_chats", '{"query": "boat"}'))
    answers = [look, openai.text("Green."), look, openai.text("Still green."), look, openai.text("Green.")]
    async with talking(tmp_path, "openai:m", *answers) as (server, _, _, say):
        for _ in range(3):
            events = await say("which colour?")
        assert [e.status for e in events if e.type == "tool.finished"] == ["success"] * 3
        assert [e.outcome for e in events if e.type == "turn.completed"] == ["success"] * 3
        sent = server.requests[-1].body["messages"]
        ids = [m["tool_call_id"] for m in sent if m["role"] == "tool"]
        assert len(set(ids)) == 3
