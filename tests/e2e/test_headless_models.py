"""An imported chat asked about over real wires, through `shoal headless`: the tools, the look, the marks, the key."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.e2e.headless_client import Client, shoal
from tests.servers import anthropic, openai
from tests.servers.fake import FakeServer, plain

KEY = "made-up-" + "key-for-tests-5521"
SECRET = "ghp_" + "Rt5" * 12
CASES = [
    pytest.param("openai:m", "OPENAI", "/v1", openai, id="openai"),
    pytest.param("anthropic:m", "ANTHROPIC", "", anthropic, id="anthropic"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    lines = [
        {"type": "chat", "id": "a/1", "number": 1, "started": "2023-05-08T13:56:00", "people": ["Ana", "Ben"]},
        {"type": "message", "id": "m1", "chat": "a/1", "seq": 0, "role": "you", "name": "Ana", "text": "Which ferry?"},
        {
            "type": "message",
            "id": "m2",
            "chat": "a/1",
            "seq": 1,
            "role": "them",
            "name": "Ben",
            "text": f"The ferry at nine. token {SECRET}",
        },
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    home = tmp_path / "home"
    assert shoal(home, "import", "in.jsonl").returncode == 0
    return home


@pytest.mark.parametrize(("model", "name", "path", "speak"), CASES)
def test_a_question_about_an_imported_chat(home: Path, model: str, name: str, path: str, speak: ModuleType) -> None:
    search = speak.calls(("k1", "search_chats", json.dumps({"query": "ferry"})))
    answer = speak.text("Ben said ", "the ferry ", "at nine.")
    with FakeServer.in_thread(search, answer) as server:
        env = {"SHOAL_MODEL": model, f"{name}_BASE_URL": server.url + path, f"{name}_API_KEY": KEY}
        with Client(home, env=env) as client:
            chat = client.do("new", title="Trip")["chat"]
            client.do("send", chat=chat, text="Which ferry did we want?")
            assert client.do("settle") == {"waiting": []}
            client.do("quit")
            assert client.end() == 0
            lines = client.lines
    kinds = [e["type"] for e in client.events()]
    assert kinds.count("turn.completed") == 1 and client.events("turn.completed")[0]["outcome"] == "success"
    assert kinds.index("taint") < kinds.index("chats.looked")
    (look,) = client.events("chats.looked")
    assert look["query"] == "ferry" and {x["who"] for x in look["chats"][0]["lines"]} == {"you", "them"}
    assert client.events("taint")[0]["source"]["kind"] == "app"
    assert client.events("assistant.done")[-1]["text"] == "Ben said the ferry at nine."
    assert client.events("turn.completed")[0]["usage"].get("input_tokens")
    asked = [r for r in server.requests if r.method == "POST"]
    second: Any = json.dumps(asked[1].body)
    assert "ferry at nine" in second and SECRET not in second
    assert KEY not in json.dumps(lines) and SECRET not in json.dumps(lines)
    for log in (home / "logs").glob("*"):
        assert KEY not in log.read_text()


@pytest.mark.parametrize(("model", "name", "path", "speak"), CASES)
def test_a_key_that_is_refused_is_one_sentence_without_the_key(
    home: Path, model: str, name: str, path: str, speak: ModuleType
) -> None:
    with FakeServer.in_thread(plain(401, {"error": {"message": f"bad key {KEY}", "type": "auth"}})) as server:
        env = {f"{name}_BASE_URL": server.url + path, f"{name}_API_KEY": KEY}
        done = shoal(home, "ask", "hello", "--model", model, env=env)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and f"{name}_API_KEY" in done.stderr
    assert KEY not in done.stdout + done.stderr and len(server.requests) == 1


def test_a_key_alone_never_switches_away_from_offline(home: Path) -> None:
    with FakeServer.in_thread(openai.text("no")) as server:
        env = {"OPENAI_BASE_URL": server.url + "/v1", "OPENAI_API_KEY": KEY}
        done = shoal(home, "ask", "what did we say about the ferry?", env=env)
    assert done.returncode == 0 and "ferry at nine" in done.stdout and server.requests == []
