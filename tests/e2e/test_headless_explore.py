"""Headless `explore` and `consent` from outside: the same runner, all its checks, and what it leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.headless_client import Client, script
from tests.servers import openai
from tests.servers.fake import FakeServer, Reply, Seen

CHILD = {"search_chats", "read_chat", "submit_report"}
SAID = "For the login we decided on server sessions (HERON-9)."


def settings(tmp_path: Path, **more: str) -> list[str]:
    """The explorer surface with the offline engine and a scripted main model."""
    main = script(tmp_path / "main.json", ["Noted."], ["Noted."], ["Noted."])
    told = {"plan": "pro", "explorer.engine": "offline", "history.surface": "explorer", "model": main} | more
    return [word for key, value in told.items() for word in ("--set", f'{key}="{value}"')]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Client(tmp_path / "home", *settings(tmp_path)) as made:
        yield made


def chats(client: Client, tmp_path: Path) -> tuple[str, str]:
    """An earlier chat of the project that has the fact, and one that asks."""
    work = tmp_path / "work"
    work.mkdir()
    past = client.do("new", title="Auth", folder=str(work))["chat"]
    client.do("send", chat=past, text=SAID)
    client.until(lambda x: x.get("type") == "turn.completed" and x.get("chat") == past)
    return past, client.do("new", title="Now", folder=str(work))["chat"]


def test_explore_answers_with_the_report_and_leaves_its_card(client: Client, tmp_path: Path) -> None:
    past, chat = chats(client, tmp_path)
    report: dict[str, Any] = client.do("explore", chat=chat, query="What did we decide on for the login?")
    assert report["outcome"] == "complete" and report["archival_content"] is True
    evidence = report["findings"][0]["evidence"][0]
    assert evidence["chat_id"] == past and "HERON-9" in evidence["excerpt"]
    client.until(lambda x: x.get("type") == "history.explored" and x["state"] == "complete")
    assert [e["state"] for e in client.events("history.explored") if e["chat"] == chat] == ["pending", "complete"]


def test_a_consent_holds_at_once_and_is_kept(client: Client, tmp_path: Path) -> None:
    _, chat = chats(client, tmp_path)
    assert client.do("consent", tool="explore_chat_history", value="never") == {}
    assert client.refused("explore", chat=chat, query="And the login?") == "not-allowed"
    assert 'explore_chat_history = "never"' in (tmp_path / "home" / "settings.toml").read_text()
    assert client.do("consent", tool="read_chat", value="never") == {}  # a key of its own
    assert client.do("consent", tool="explore_chat_history", value="always") == {}
    assert client.do("explore", chat=chat, query="And the login?")["findings"]
    assert client.refused("consent", tool="search_chats", value="always") == "bad-command"
    assert client.refused("consent", tool="read_chat", value="perhaps") == "bad-command"


@pytest.mark.parametrize(("changed", "why"), [({"plan": "free"}, "plan"), ({"history.surface": "direct"}, "surface")])
def test_what_the_chat_may_not_headless_may_not(tmp_path: Path, changed: dict[str, str], why: str) -> None:
    with Client(tmp_path / "home", *settings(tmp_path, **changed)) as client:
        _, chat = chats(client, tmp_path)
        assert client.refused("explore", chat=chat, query="And the login?") == "not-allowed", why
        assert not client.events("history.explored")


# -- over a real wire: what is offered, and a whole exploration by a fake engine


def offered(request: Seen) -> set[str]:
    """The names of the history tools in a request."""
    names = {tool["function"]["name"] for tool in request.body.get("tools", [])}
    return names & {"search_chats", "read_chat", "explore_chat_history"}


def over_the_wire(tmp_path: Path, server: FakeServer, **more: str) -> Client:
    env = {"OPENAI_BASE_URL": server.url + "/v1", "OPENAI_API_KEY": "made-up-" + "key-for-tests-7713"}
    words = settings(tmp_path, **{"model": "openai:main", "explorer.consent.read_chat": "always", **more})
    return Client(tmp_path / "home", *words, env=env)


@pytest.mark.parametrize(
    ("more", "tools"),
    [
        ({}, {"explore_chat_history", "read_chat"}),
        ({"plan": "free"}, set()),
        ({"explorer.engine": "openai"}, set()),  # an engine that can't be had
        ({"history.surface": "direct", "plan": "free"}, {"search_chats", "read_chat"}),
    ],
)
def test_a_request_offers_what_the_surface_says_in_every_mode(
    tmp_path: Path, more: dict[str, str], tools: set[str]
) -> None:
    modes = ["plan", "ask", "auto", "full"]
    with (
        FakeServer.in_thread(openai.text("Hello.")) as server,
        over_the_wire(tmp_path, server, **more) as client,
    ):
        for mode in modes:
            chat = client.do("new", title="Now", folder=str(tmp_path), mode=mode)["chat"]
            client.do("send", chat=chat, text="Hello?")
            client.until(lambda x, chat=chat: x.get("type") == "turn.completed" and x["chat"] == chat)
    assert len(server.requests) == len(modes)
    for asked in server.requests:
        assert offered(asked) == tools
        prompt = json.dumps(asked.body["messages"])
        assert ("explore_chat_history" in prompt) == ("explore_chat_history" in tools)
        assert ("search_chats" in prompt) == ("search_chats" in tools)


def newest(request: Seen) -> dict[str, Any]:
    """The newest tool result that the engine was given."""
    told: dict[str, Any] = json.loads(request.body["messages"][-1]["content"])
    return told


def test_a_fake_engine_reformulates_reads_and_reports_and_the_main_model_goes_on(tmp_path: Path) -> None:
    said: list[str] = []

    def reads(request: Seen) -> Reply:
        return openai.calls(("e3", "read_chat", json.dumps({"candidate": newest(request)["results"][0]["candidate"]})))

    def submits(request: Seen) -> Reply:
        said.extend(line["text"] for line in newest(request)["lines"])
        one = next(line["candidate"] for line in newest(request)["lines"] if "HERON-9" in line["text"])
        finding = {"claim": "Server sessions were chosen", "evidence": [one]}
        return openai.calls(("e4", "submit_report", json.dumps({"summary": "Sessions.", "findings": [finding]})))

    def drills(request: Seen) -> Reply:
        (finding,) = newest(request)["findings"]
        place = {"chat": finding["evidence"][0]["chat_id"], "message": finding["evidence"][0]["message_id"]}
        return openai.calls(("m2", "read_chat", json.dumps(place)))

    answers = [
        openai.text("Noted."),
        openai.calls(("m1", "explore_chat_history", json.dumps({"query": "What about signing in?"}))),
        openai.calls(("e1", "search_chats", json.dumps({"query": "signing in"}))),
        openai.calls(("e2", "search_chats", json.dumps({"query": "login sessions"}))),
        reads,
        submits,
        drills,
        openai.text("Server sessions."),
    ]
    engine_too = {"explorer.engine": "openai:engine"}
    with FakeServer.in_thread(*answers) as server, over_the_wire(tmp_path, server, **engine_too) as client:
        _, chat = chats(client, tmp_path)
        client.do("send", chat=chat, text="What did we say on signing in?")
        client.until(lambda x: x.get("type") == "turn.completed" and x.get("chat") == chat)
        events = [e for e in client.events() if e["chat"] == chat]
    asked = [r for r in server.requests if r.method == "POST"]
    engine = [r for r in asked if r.body["model"] == "engine"]
    assert len(engine) == 4 and said == [SAID, "Noted."]
    assert all({t["function"]["name"] for t in r.body["tools"]} == CHILD for r in engine)
    assert SAID not in json.dumps(engine[0].body)  # the engine sees what its own calls found, nothing before
    kinds = [e["type"] for e in events]
    card = [e for e in events if e["type"] == "history.explored"]
    assert [e["state"] for e in card] == ["pending", "complete"] and card[1]["searches"] == 2 and card[1]["reads"] == 1
    assert card[1]["findings"][0]["evidence"][0]["excerpt"] == SAID
    assert kinds.index("history.explored") < kinds.index("tool.finished") < kinds.index("chats.looked")
    assert next(e for e in reversed(events) if e["type"] == "assistant.done")["text"] == "Server sessions."
    assert not any(name in json.dumps(asked[-1].body["tools"]) for name in ("search_chats", "submit_report"))
