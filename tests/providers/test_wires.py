"""Each wire over a real socket: words, calls, history, usage, ends, cancelling."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from types import ModuleType

import pytest

from app.ports import AssistantMessage, PersonMessage, StepDone, TextDelta, ToolCall, ToolReturn, WireError
from app.providers.wires import ApiWire
from store.events import Usage
from tests.providers.kit import KEYS, NAMES, WIRES, ask, finder, request, say
from tests.servers import anthropic, gemini, openai, responses
from tests.servers.fake import FakeServer, Hang, Reply, Wait

wires = pytest.mark.parametrize(("model", "speak"), WIRES, ids=NAMES)


@wires
async def test_words_stream_as_they_come_and_usage_is_kept(model: str, speak: ModuleType) -> None:
    got, server = await say(model, speak.text("We chose ", "the Barn", " ☃ 🎉."))
    assert got.text == "We chose the Barn ☃ 🎉."
    assert len(got.pieces) >= 2
    cached = 14 if model.startswith("anthropic") else 11  # Anthropic counts what it read from its cache beside the rest
    assert got.done == StepDone("stop", Usage(input_tokens=cached, output_tokens=7, cached_tokens=3))
    assert len(server.requests) == 1


@wires
async def test_the_first_words_are_there_before_the_last_are_sent(model: str, speak: ModuleType) -> None:
    async with FakeServer() as server:
        whole = speak.text("early", "late")
        at = next(i for i, piece in enumerate(whole.pieces) if b"late" in piece)
        server.say(Reply((*whole.pieces[:at], Hang())))
        found = finder(server.url)
        stream = found.wire(model).stream(request(model))
        assert await anext(stream) == TextDelta("early")
        await stream.aclose()
        await found.close()


@wires
async def test_parallel_calls_come_whole_after_the_words(model: str, speak: ModuleType) -> None:
    wanted = [("c1", "search_chats", '{"query":"venue"}'), ("c2", "list_chats", "{}")]
    reply = gemini.calls(*[w[1:] for w in wanted]) if speak is gemini else speak.calls(*wanted)
    got, _ = await say(model, reply)
    assert [(c.name, json.loads(c.args)) for c in got.calls] == [(n, json.loads(a)) for _, n, a in wanted]
    assert len({c.id for c in got.calls}) == 2
    if speak is not gemini:
        assert [c.id for c in got.calls] == ["c1", "c2"]
    assert got.done is not None and got.done.reason == "tool-calls"


@wires
async def test_a_call_without_arguments_has_an_empty_object(model: str, speak: ModuleType) -> None:
    got, _ = await say(model, gemini.calls(("now", "{}")) if speak is gemini else speak.calls(("c1", "now", "")))
    assert [(c.name, json.loads(c.args)) for c in got.calls] == [("now", {})]


@wires
async def test_every_event_split_into_single_bytes_gives_the_same(model: str, speak: ModuleType) -> None:
    got, _ = await say(model, speak.text("Grüße 🎉 ", "```py\nx = '中'\n```").split(1))
    assert got.text == "Grüße 🎉 ```py\nx = '中'\n```"
    assert got.done is not None and got.done.reason == "stop"


@wires
async def test_closing_the_stream_hangs_up_on_the_server(model: str, speak: ModuleType) -> None:
    async with FakeServer() as server:
        server.say(speak.text("one", "two").first(4 if speak in (openai, gemini) else 5).then(Hang()))
        found = finder(server.url)
        stream = found.wire(model).stream(request(model))
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        await stream.aclose()
        await server.until_gone()
        await found.close()


@wires
@pytest.mark.parametrize("when", ["before the headers", "before the first event", "in the middle"])
async def test_cancelling_the_task_hangs_up_on_the_server(model: str, speak: ModuleType, when: str) -> None:
    replies = {
        "before the headers": Reply((Hang(),), head=False),
        "before the first event": Reply((Hang(),)),
        "in the middle": speak.text("one", "two").first(1 if speak is gemini else 3).then(Hang()),
    }
    async with FakeServer() as server:
        server.say(replies[when])
        found = finder(server.url)
        task = asyncio.ensure_future(ask(found, request(model)))
        while not server.requests:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.until_gone()


async def test_cancelling_a_countdown_ends_it_at_once() -> None:
    async with FakeServer() as server:
        server.say(Reply((b"{}",), 429, (("Retry-After", "2"),)))
        task = asyncio.ensure_future(ask(finder(server.url), request("openai:m")))
        while not server.requests:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 0.3)
        assert len(server.requests) == 1


async def test_nothing_more_is_waited_for_after_a_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from openai import _streaming_cleanup  # what the SDK waits for when it reads the body once more

    monkeypatch.setattr(_streaming_cleanup, "_DRAIN_TIMEOUT", 30.0)
    async with asyncio.timeout(15):
        got, _ = await say("openai:m", openai.text("ok"))
    assert got.done is not None


@wires
async def test_a_connection_is_used_again_for_the_next_step(model: str, speak: ModuleType) -> None:
    async with FakeServer() as server:
        server.say(speak.text("one"), speak.text("two"))
        found = finder(server.url)
        for words in ("one", "two"):
            said = [e.text async for e in found.wire(model).stream(request(model)) if isinstance(e, TextDelta)]
            assert "".join(said) == words
            await asyncio.sleep(0.02)
        assert server.open == 1
        await found.close()


HISTORY = (
    PersonMessage("first"),
    PersonMessage("second"),
    AssistantMessage("Looking.", (ToolCall("c1", "search_chats", '{"query": "x"}'), ToolCall("c2", "a b", "{broken"))),
    ToolReturn("c1", "search_chats", "found it"),
    PersonMessage("a note"),
    AssistantMessage("", (), "only thought"),
    AssistantMessage("Done.", (ToolCall("c1", "search_chats", ""),)),
    ToolReturn("c1", "search_chats", "", error=True),
    ToolReturn("c1", "search_chats", "twice"),
)


async def test_openai_gets_a_history_that_it_accepts() -> None:
    _, server = await say("openai:m", openai.text("ok"), messages=HISTORY)
    body = server.requests[0].body
    assert body["model"] == "m" and body["stream"] is True
    shape = [(m["role"], m.get("tool_call_id", [c["id"] for c in m.get("tool_calls", [])])) for m in body["messages"]]
    assert shape == [
        ("system", []),
        ("user", []),
        ("user", []),
        ("assistant", ["c1", "c2"]),
        ("tool", "c1"),
        ("tool", "c2"),
        ("user", []),
        ("assistant", ["c1_2"]),
        ("tool", "c1_2"),
    ]
    calls = body["messages"][3]["tool_calls"]
    assert [json.loads(c["function"]["arguments"]) for c in calls] == [{"query": "x"}, {"not_json": "{broken"}]
    assert calls[1]["function"]["name"] == "a_b"
    assert body["tools"][0]["function"]["name"] == "search_chats"
    assert "max_tokens" not in body and "max_completion_tokens" not in body


async def test_anthropic_gets_alternating_roles_with_results_first() -> None:
    _, server = await say("anthropic:m", anthropic.text("ok"), messages=HISTORY)
    body = server.requests[0].body
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    kinds = [[b["type"] for b in m["content"]] for m in body["messages"]]
    assert kinds == [
        ["text", "text"],
        ["text", "tool_use", "tool_use"],
        ["tool_result", "tool_result", "text"],
        ["text", "tool_use"],
        ["tool_result"],
    ]
    assert body["messages"][4]["content"][0]["is_error"] is True
    assert body["max_tokens"] > 1000


async def test_google_gets_results_for_every_call() -> None:
    _, server = await say("google:m", gemini.text("ok"), messages=HISTORY)
    contents = server.requests[0].body["contents"]
    calls = [p["functionCall"]["id"] for c in contents for p in c["parts"] if "functionCall" in p]
    results = [p["functionResponse"]["id"] for c in contents for p in c["parts"] if "functionResponse" in p]
    assert calls == results == ["c1", "c2", "c1_2"]
    assert server.requests[0].path.startswith("/v1beta/models/m:streamGenerateContent")


async def test_responses_pairs_calls_with_outputs() -> None:
    _, server = await say("openai-responses:m", responses.text("ok"), messages=HISTORY)
    items = server.requests[0].body["input"]
    assert [i["call_id"] for i in items if i.get("type") == "function_call"] == ["c1", "c2", "c1_2"]
    assert [i["call_id"] for i in items if i.get("type") == "function_call_output"] == ["c1", "c2", "c1_2"]
    assert server.requests[0].body["store"] is False


async def test_openai_always_speaks_chat_completions() -> None:
    _, server = await say("openai:gpt-5", openai.text("ok"))
    assert server.requests[0].path == "/v1/chat/completions"


@wires
async def test_nothing_about_this_computer_is_sent(model: str, speak: ModuleType) -> None:
    _, server = await say(model, speak.text("ok"))
    headers = server.requests[0].headers
    assert headers["user-agent"] == "shoal"
    assert not [name for name in headers if name.startswith("x-stainless") or name == "x-goog-api-client"]
    key = {"openai": "OPENAI", "anthropic": "ANTHROPIC", "google": "GEMINI"}[model.partition(":")[0].split("-")[0]]
    assert KEYS[f"{key}_API_KEY"] in str(headers)


async def test_thinking_comes_apart_from_the_answer() -> None:
    got, _ = await say(
        "openai:m", openai.stream([openai.chunk({"reasoning_content": "Hm."}), openai.chunk({"content": "Yes."})])
    )
    assert (got.thinking, got.text) == ("Hm.", "Yes.")
    got, _ = await say("openai:m", openai.text("<th", "ink>Hm", ".</thi", "nk>\n\nYes."))
    assert (got.thinking, got.text) == ("Hm.", "Yes.")
    got, _ = await say("openai:m", openai.text("I <think> so."))
    assert (got.thinking, got.text) == ("", "I <think> so.")
    parts = [*anthropic.words(0, ["Hm."], "thinking"), *anthropic.words(1, ["Yes."])]
    got, _ = await say("anthropic:m", anthropic.stream(parts))
    assert (got.thinking, got.text) == ("Hm.", "Yes.")
    got, _ = await say("google:m", gemini.stream([gemini.chunk([{"text": "Hm.", "thought": True}, {"text": "Yes."}])]))
    assert (got.thinking, got.text) == ("Hm.", "Yes.")


@pytest.mark.parametrize("name", ["ollama", "llamacpp", "lmstudio", "vllm"])
async def test_servers_on_this_computer_need_no_key_and_get_none(name: str) -> None:
    async with FakeServer() as server:
        server.say(openai.text("ok"))
        found = finder(server.url, env={f"{name.upper()}_BASE_URL": f"{server.url}/v1"})
        got = await ask(found, request(f"{name}:qwen3:8b"))
        assert got.text == "ok"
        assert "authorization" not in server.requests[0].headers
        assert server.requests[0].body["model"] == "qwen3:8b"


async def test_loopback_never_goes_through_a_proxy() -> None:
    async with FakeServer() as server:
        server.say(openai.text("ok"))
        found = finder(server.url, env={"HTTP_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9"})
        assert (await ask(found, request("openai:m"))).text == "ok"


async def test_other_servers_are_reached_through_the_proxy() -> None:
    async with FakeServer() as server:
        server.say(openai.text("ok"))
        env = {"HTTP_PROXY": server.url, "OPENAI_BASE_URL": "http://models.example/v1"}
        assert (await ask(finder(server.url, env=env), request("openai:m"))).text == "ok"
        assert server.requests[0].path == "http://models.example/v1/chat/completions"


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:x", "ANTHROPIC_API_KEY"),
        ("google:x", "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("openrouter:a/b", "OPENROUTER_API_KEY"),
        ("nonsense", "offline, openai:NAME"),
        ("openai:", "offline, openai:NAME"),
        ("openai: ", "offline, openai:NAME"),
    ],
)
def test_a_model_that_cannot_be_had_says_what_to_set(model: str, says: str) -> None:
    found = finder("http://x")
    found._environ = {}
    with pytest.raises(WireError, match=says) as raised:
        found.wire(model)
    assert raised.value.code == "setup"


@pytest.mark.parametrize("url", ["localhost:1234", "ftp://x", "http://", "http://x:99999", "http://[::1"])
def test_an_address_that_is_none_is_said(url: str) -> None:
    with pytest.raises(WireError, match="OPENAI_BASE_URL isn't an address"):
        finder("http://x", env={"OPENAI_BASE_URL": url}).wire("openai:m")


def test_windows_are_known_or_guessed_with_care() -> None:
    found = finder("https://models.example", env={"OPENAI_BASE_URL": "https://api.openai.com/v1"})
    sizes = {
        "openai:gpt-4o": 128_000,
        "anthropic:claude-x": 200_000,
        "openai:unheard-of": 128_000,
        "ollama:qwen3": 8_192,
    }
    for model, size in sizes.items():
        wire = found.wire(model)
        assert isinstance(wire, ApiWire)
        assert wire.context_tokens(model) == size


def test_nothing_heavy_is_imported_before_the_first_request() -> None:
    code = (
        "import sys, app.providers.wires as w, app.providers.catalogue\n"
        "f = w.WireFinder(None, None, environ={'OPENAI_BASE_URL': 'http://localhost/v1'}); f.wire('openai:m')\n"
        "heavy = ('openai', 'anthropic', 'google.genai', 'pydantic_ai', 'httpx2', 'genai_prices')\n"
        "bad = [m for m in heavy if m in sys.modules]\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


async def test_the_event_loop_stays_free_while_an_sdk_is_imported() -> None:
    code = """
import asyncio, time
from tests.providers.kit import *
async def main():
    async with FakeServer() as server:
        server.say(anthropic.text("ok"))
        worst = 0.0
        async def watch():
            nonlocal worst
            while True:
                start = time.monotonic(); await asyncio.sleep(0.01); worst = max(worst, time.monotonic() - start)
        task = asyncio.ensure_future(watch())
        got = await ask(finder(server.url), request("anthropic:m"))
        task.cancel()
        assert got.text == "ok"
        print(worst)
asyncio.run(main())
"""
    import os

    env = {**os.environ, "PYTHONPATH": "."}
    out = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True, env=env)
    assert float(out.stdout) < 1.0  # 3 s of imports in the loop would show; shared machines pause a little


async def test_a_silent_pause_shorter_than_the_limit_is_waited_for() -> None:
    reply = openai.text("one", "two")
    got, _ = await say("openai:m", Reply((*reply.pieces[:2], Wait(0.2), *reply.pieces[2:])))
    assert got.text == "onetwo"
