"""Keys planted in titles, messages, commands and names: none goes to a model, a look, or standard output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import SecretLine, secret_lines
from tests.e2e.blackbox import KEY, OPENAI, Box, box
from tests.e2e.headless_client import shoal

A_CHAT = 12
PLANTED = [line for line in secret_lines() if line.label == "secret" and line.tier == "core"]


def planted(path: Path, lines: list[SecretLine]) -> int:
    """A Shoal export whose chats hold these lines as messages, commands and titles; how many chats."""
    out: list[dict[str, Any]] = []
    chats = [lines[i : i + A_CHAT] for i in range(0, len(lines), A_CHAT)]

    def add(chat: str, seq: int, kind: str, **body: Any) -> None:
        at = 1_700_000_000_000 + len(out) * 60_000
        out.append({"id": len(out) + 1, "chat": chat, "seq": seq, "at": at, "type": kind, "v": 1, **body})

    for n, part in enumerate(chats):
        chat = f"c_{n:016d}".replace("0", "a").replace("1", "b").replace("8", "c").replace("9", "d")
        add(chat, 0, "chat.created", title=f"zebu {part[0].text}"[:200], folder="", mode="auto", model="offline")
        for m, line in enumerate(part):
            if m % 3 == 2:
                call = {"call_id": f"t_{n}_{m}", "name": "run_command"}
                add(chat, m + 1, "tool.started", **call, input={"command": f"zebu {line.text}"}, effect="write")
            elif m % 3 == 1:
                add(chat, m + 1, "assistant.done", message_id=f"m_{n}_{m}", text=f"zebu {line.text}")
            else:
                add(chat, m + 1, "user.message", message_id=f"m_{n}_{m}", text=f"zebu {line.text}")
    path.write_text("".join(json.dumps(x, ensure_ascii=False) + "\n" for x in out))
    return len(chats)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    base = tmp_path_factory.mktemp("secrets")
    chats = planted(base / "in.jsonl", PLANTED)
    done = shoal(base / "home", "import", "in.jsonl")
    assert done.returncode == 0 and f"{chats} chats" in done.stdout
    left = [x.id for x in PLANTED if not x.hidden_in(done.stdout + done.stderr)]
    assert not left, left
    with box(base / "home", OPENAI) as made:
        yield made


def test_no_planted_key_reaches_the_model_a_look_or_standard_output(here: Box) -> None:
    asking = here.new()
    found, _ = here.search(asking, query="zebu", limit=8)
    assert len(found["chats"]) >= 4  # fewer where the budget cut
    for hit in here.client.do("search", query="zebu", limit=100)["chats"]:
        if hit["chat"] == asking:
            continue
        read, _ = here.read(asking, chat=hit["chat"], direction="after")
        assert len(read["lines"]) >= 4
    here.client.do("chats")
    sent, told = here.requests(), here.told()
    assert "‹" in sent
    for where, text in (("sent", sent), ("told", told), ("sent raw", json.loads(json.dumps(sent)))):
        left = [x.id for x in PLANTED if not x.hidden_in(text)]
        assert not left, (where, left)
    labels = [t["label"] for c in here.client.do("chats")["chats"] for t in c["taints"]]
    assert labels and all(len(x) <= 120 for x in labels)
    for log in (here.home / "logs").glob("*"):
        left = [x.id for x in PLANTED if not x.hidden_in(log.read_text())]
        assert not left, (log.name, left)


def test_a_query_that_is_a_key_is_not_echoed(here: Box) -> None:
    key = "ghp_" + "Zk9" * 12
    asking = here.new()
    at = len(here.client.lines)
    found, events = here.search(asking, query=f"zebu {key}")
    looks = [e for e in events if e["type"] == "chats.looked"]
    assert key not in found["query"] and key not in json.dumps(looks)
    finished = [x for x in here.client.lines[at:] if x.get("type") in ("tool.finished", "chats.looked")]
    assert key not in json.dumps(finished)
    answer = here.client.do("search", query=f"zebu {key}")
    assert key not in json.dumps(answer)


def test_the_providers_key_is_hidden_where_a_chat_holds_it(here: Box) -> None:
    here.new(f"the gerenuk says {KEY}", title=f"gerenuk {KEY}")
    asking = here.new()
    found, events = here.search(asking, query="gerenuk")
    assert found["chats"] and KEY not in json.dumps(found) + json.dumps(events)
    assert KEY not in json.dumps(here.client.do("search", query="gerenuk"))
    assert KEY not in json.dumps(here.client.do("chats"))


@pytest.mark.parametrize("words", [("search", "zebu", "--limit", "100"), ("search", "zebu", "--json")])
def test_the_command_line_shows_none(here: Box, words: tuple[str, ...]) -> None:
    done = shoal(here.home, *words)
    assert done.returncode == 0 and "zebu" in done.stdout
    left = [x.id for x in PLANTED if not x.hidden_in(done.stdout + done.stderr)]
    assert not left, left


def test_a_fork_is_not_a_way_around(here: Box) -> None:
    chat = here.client.do("search", query="zebu", limit=1)["chats"][0]["chat"]
    fork = here.client.do("fork", chat=chat)["chat"]
    asking = here.new()
    read, events = here.read(asking, chat=fork)
    assert read["untrusted"] is True and [e for e in events if e["type"] == "taint"]
    text = json.dumps(read, ensure_ascii=False)
    left = [x.id for x in PLANTED if not x.hidden_in(text)]
    assert not left, left
