"""`shoal headless` as a script meets it: replies, events, order, refusals, and every way to end."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.headless_client import Client, script


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def client(home: Path) -> Iterator[Client]:
    with Client(home) as client:
        yield client


def test_a_chat_from_new_to_quit(client: Client, home: Path) -> None:
    assert client.ready["ready"] == 1 and client.ready["protocol"] == 1 and isinstance(client.ready["version"], str)
    chat = client.do("new", title="First", folder=str(home.parent))["chat"]
    sent = client.do("send", chat=chat, text="hello")
    assert sent["chat"] == chat and sent["queued"] is False
    assert client.do("settle") == {"waiting": []}
    kinds = [e["type"] for e in client.events()]
    assert kinds[:3] == ["chat.created", "user.message", "turn.started"] and "turn.completed" in kinds
    said = client.events("user.message")[0]
    assert said["message_id"] == sent["message_id"] and said["text"] == "hello" and said["id"] > sent["last_id"]
    assert [e["seq"] for e in client.events()] == list(range(len(kinds)))
    answer = client.events("assistant.done")[0]
    deltas = [x for x in client.lines if x.get("live") and x.get("message_id") == answer["message_id"]]
    assert "".join(d["delta"] for d in deltas) == answer["text"] and all("seq" not in d for d in deltas)
    (summary,) = client.do("chats")["chats"]
    assert summary["id"] == chat and summary["title"] == "First" and summary["messages"] == 2
    assert client.do("quit") == {}
    assert client.end() == 0 and client.stderr() == ""


def test_a_reply_comes_before_the_events_it_caused_and_last_id_before_them(client: Client) -> None:
    chat = client.do("new")["chat"]
    for title in ("one", "two", "three"):
        ok = client.do("rename", chat=chat, title=title)
        event = client.until(lambda line: line.get("type") == "title")
        assert event["title"] == title and event["id"] == ok["last_id"] + 1


def test_send_answers_once_committed_and_stop_ends_the_turn_within_two_seconds(home: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.json", ["slowly ", {"delay": 30}, "never"])
    with Client(home, "--set", f"model={model}") as client:
        chat = client.do("new")["chat"]
        began = time.monotonic()
        client.do("send", chat=chat, text="go")
        assert time.monotonic() - began < 5
        client.until(lambda line: bool(line.get("live")))
        assert client.do("stop", chat=chat) == {"stopping": True}
        ended = client.until(lambda line: line.get("type") == "turn.completed", 3)
        assert ended["outcome"] == "interrupted"
        client.do("settle")
        assert client.do("stop", chat=chat) == {"stopping": False}
        assert client.events("assistant.done")[-1]["unfinished"] is True


def test_a_second_message_waits_in_the_queue_and_settle_waits_for_both(home: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.json", [{"delay": 0.3}, "first"], ["second"])
    with Client(home, "--set", f"model={model}") as client:
        chat = client.do("new")["chat"]
        assert client.do("send", chat=chat, text="a")["queued"] is False
        assert client.do("send", chat=chat, text="b")["queued"] is True
        client.do("settle", chat=chat)
        assert [e["text"] for e in client.events("assistant.done")] == ["first", "second"]
        assert len(client.events("turn.completed")) == 2


def test_settle_past_its_time_out_is_busy_and_other_commands_go_on_meanwhile(home: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.json", [{"delay": 20}, "x"])
    with Client(home, "--set", f"model={model}") as client:
        chat = client.do("new")["chat"]
        client.do("send", chat=chat, text="a")
        client.write('{"do":"settle","ref":"slow","timeout":1.5}\n')
        assert client.do("chats")["chats"]
        reply = client.until(lambda line: line.get("ref") == "slow")
        assert reply["error"]["code"] == "busy"


def test_every_chat_command(client: Client, tmp_path: Path) -> None:
    chat = client.do("new", title="A", mode="plan", model="offline", private=False)["chat"]
    client.do("send", chat=chat, text="remember the heron")
    client.do("settle")
    assert client.do("pin", chat=chat)["last_id"] > 0
    client.do("archive", chat=chat)
    client.do("archive", chat=chat, archived=False)
    client.do("set", chat=chat, mode="ask", inbound="hold")
    message = client.do("forward", chat=chat, name="Ana", text="see you there")["message_id"]
    fork = client.do("fork", chat=chat)["chat"]
    chats = {c["id"]: c for c in client.do("chats")["chats"]}
    assert chats[chat]["mode"] == "ask" and chats[chat]["inbound"] == "hold" and "archived_at" not in chats[chat]
    assert {"kind": "person", "label": "Ana"} in chats[chat]["taints"]
    assert chats[fork]["forked_from"] == chat
    taint, forwarded = client.events("taint")[0], client.events("forwarded.message")[0]
    assert taint["id"] < forwarded["id"] and forwarded["message_id"] == message
    client.do("delete", chat=fork)
    assert client.refused("send", chat=fork, text="x") == "unknown-chat"
    assert fork not in {c["id"] for c in client.do("chats")["chats"]}


def test_private_only_while_empty_and_marked(client: Client) -> None:
    chat = client.do("new", private=True)["chat"]
    client.do("send", chat=chat, text="the quetzal is hidden")
    client.do("settle")
    (summary,) = client.do("chats")["chats"]
    assert summary["private"] is True
    (found,) = client.do("search", query="quetzal")["chats"]
    assert found["private"] is True


BAD_LINES: list[tuple[str, str | None, str]] = [
    ("not json", None, "bad-command"),
    ("[1,2]", None, "bad-command"),
    ('"text"', None, "bad-command"),
    ("{}", None, "bad-command"),
    ('{"do":"new","ref":7}', None, "bad-command"),
    ('{"do":"fly","ref":"a"}', "a", "bad-command"),
    ('{"do":"task","ref":"a","task":"k","action":"stop"}', "a", "gone"),
    ('{"do":"task","ref":"a","task":"k","action":"fly"}', "a", "bad-command"),
    ('{"do":"message","ref":"a","chat":"c_x","message":"m","action":"pass-on"}', "a", "gone"),
    ('{"do":"wait","ref":"a","chat":"c_x","wait":"w","action":"check"}', "a", "gone"),
    ('{"do":"chain","ref":"a","chat":"c_none","action":"stop"}', "a", "unknown-chat"),
    ('{"do":"explore","ref":"a","chat":"c_none","query":"x"}', "a", "unknown-chat"),
    ('{"do":"consent","ref":"a","tool":"rm","value":"ask"}', "a", "bad-command"),
    ('{"do":"new","ref":"a","colour":"red"}', "a", "bad-command"),
    ('{"do":"new","ref":"a","mode":"yolo"}', "a", "bad-command"),
    ('{"do":"send","ref":"a"}', "a", "bad-command"),
    ('{"do":"send","ref":"a","chat":"c_x","text":""}', "a", "bad-command"),
    ('{"do":"send","ref":"a","chat":"c_x","text":"x"}', "a", "unknown-chat"),
    ('{"do":"send","ref":"a","chat":7,"text":"x"}', "a", "bad-command"),
    ('{"do":"search","ref":"a","query":"x","limit":0}', "a", "bad-command"),
    ('{"do":"search","ref":"a","query":"x","limit":101}', "a", "bad-command"),
    ('{"do":"search","ref":"a","query":"x","limit":"5"}', "a", "bad-command"),
    ('{"do":"search","ref":"a","query":"x","after":"2026-02-30"}', "a", "bad-command"),
    ('{"do":"search","ref":"a","query":"x","after":"2026-03-01","before":"2026-02-01"}', "a", "bad-command"),
    ('{"do":"search","ref":"a","query":"x","who":"nobody"}', "a", "bad-command"),
    ('{"do":"search","ref":"a","query":"x","chat":"c_none"}', "a", "unknown-chat"),
    ('{"do":"events","ref":"a","after":0,"chat":"c_none"}', "a", "unknown-chat"),
    ('{"do":"events","ref":"a","after":-1}', "a", "bad-command"),
    ('{"do":"tick","ref":"a","seconds":1}', "a", "not-allowed"),
    ('{"do":"tick","ref":"a","seconds":NaN}', None, "bad-command"),
    ('{"do":"settle","ref":"a","chat":"c_none"}', "a", "unknown-chat"),
    ('{"do":"answer","ref":"a","chat":"c_none","permission":"p","decision":"allow"}', "a", "unknown-chat"),
    ('{"do":' + '{"a":' * 5_000, None, "bad-command"),
]


def test_a_bad_line_gets_one_error_and_the_process_goes_on(client: Client) -> None:
    for line, ref, code in BAD_LINES:
        client.write(line + "\n")
        reply = client.until(lambda got: "error" in got or "ok" in got)
        assert (reply["ref"], reply["error"]["code"]) == (ref, code), line[:80]
        assert "Traceback" not in reply["error"]["message"] and "\n" not in reply["error"]["message"]
    client.write("\n  \n")
    client.write(b"\xff\xfe\n")
    assert client.until(lambda got: "error" in got)["ref"] is None
    client.write(b'{"do":"new","title":"' + b"x" * 17_000_000 + b'"}\n')
    assert "too long" in client.until(lambda got: "error" in got)["error"]["message"]
    assert client.do("new")["chat"]


def test_any_text_comes_through(client: Client) -> None:
    chat = client.do("new")["chat"]
    text = "a\\u0000b \\ud83d \\ud83d\\ude00 \\u001b[2J"
    client.write(f'{{"do":"send","ref":"s","chat":"{chat}","text":"{text}"}}\n')
    assert "ok" in client.until(lambda line: line.get("ref") == "s")
    client.do("settle")
    assert client.events("user.message")[0]["text"] == "a\x00b \ufffd 😀 \x1b[2J"


def test_search_has_the_shape_of_search_chats_uncut(client: Client) -> None:
    chat = client.do("new", title="Boats")["chat"]
    client.do("send", chat=chat, text="we decided to paint the kestrel boat green")
    client.do("settle")
    found = client.do("search", query="kestrel", who="you")
    assert found["match"] == "exact" and found["total"] >= 1 and found["hidden"] == 0
    (hit,) = found["chats"]
    assert hit["chat"] == chat and hit["title"] == "Boats" and hit["last_active"][4] == "-" and hit["matches"] == 1
    (line,) = hit["lines"]
    assert line["who"] == "you" and "kestrel" in line["text"] and line["message"].startswith("m_") and line["when"]
    assert client.do("search", query="zebrafinch")["match"] == "none"
    assert client.do("search", query="kestrel", before="2001-01-01")["chats"] == []


def test_events_replays_from_the_store_before_its_reply(client: Client) -> None:
    one, two = client.do("new")["chat"], client.do("new")["chat"]
    client.do("rename", chat=one, title="x")
    before = len(client.lines)
    client.do("events", after=0)
    replayed = [line["event"] for line in client.lines[before:] if "event" in line]
    assert [e["type"] for e in replayed] == ["chat.created", "chat.created", "title"]
    assert "ok" in client.lines[-1]
    before = len(client.lines)
    client.do("events", after=replayed[0]["id"], chat=two)
    assert [line["event"]["chat"] for line in client.lines[before:] if "event" in line] == [two]


def test_at_start_nothing_old_is_sent_and_everything_is_there(home: Path) -> None:
    with Client(home) as client:
        chat = client.do("new", title="Kept")["chat"]
        client.do("send", chat=chat, text="hello")
        client.do("settle")
        client.do("quit")
        assert client.end() == 0
        was = client.events()
    with Client(home) as client:
        client.do("events", after=0)
        assert client.events() == []
        assert [line["event"] for line in client.lines if "event" in line] == was


def test_the_manual_clock_moves_only_by_tick(home: Path) -> None:
    with Client(home, env={"SHOAL_CLOCK": "manual"}) as client:
        chat = client.do("new")["chat"]
        client.do("tick", seconds=3600)
        client.do("rename", chat=chat, title="later")
        client.do("settle")
        created, title = client.events("chat.created")[0], client.events("title")[0]
        assert title["at"] - created["at"] == 3_600_000


def running(home: Path, tmp_path: Path) -> tuple[Client, str]:
    model = script(tmp_path / "s.json", ["some words ", {"delay": 60}, "never"])
    client = Client(home, "--set", f"model={model}")
    chat = client.do("new")["chat"]
    client.do("send", chat=chat, text="go")
    client.until(lambda line: bool(line.get("live")))
    return client, chat


@pytest.mark.parametrize("way", ["quit", "end of input", "SIGTERM", "SIGHUP", "SIGINT"])
def test_every_way_to_end_cancels_commits_and_exits_within_three_seconds(home: Path, tmp_path: Path, way: str) -> None:
    client, _ = running(home, tmp_path)
    with client:
        began = time.monotonic()
        if way == "quit":
            client.do("quit")
        elif way == "end of input":
            assert client.process.stdin is not None
            client.process.stdin.close()
        else:
            client.process.send_signal(getattr(signal, way))
        assert client.end() == 0
        assert time.monotonic() - began < 3.5
        ended = client.events("turn.completed")
        assert [e["outcome"] for e in ended] == ["interrupted"]
        assert client.events("assistant.done")[-1]["text"].startswith("some words")
        assert client.stderr() == ""


def test_a_kill_loses_no_acknowledged_event_and_the_reply_is_marked_at_the_next_start(
    home: Path, tmp_path: Path
) -> None:
    client, chat = running(home, tmp_path)
    with client:
        client.process.kill()
        client.process.wait()
        seen = client.events()
    with Client(home) as again:
        again.do("events", after=0, chat=chat)
        events: list[dict[str, Any]] = [line["event"] for line in again.lines if "event" in line]
        assert [e for e in events if e["id"] <= seen[-1]["id"]] == seen
        ended = [e for e in events if e["type"] == "turn.completed"]
        assert len(ended) == 1 and ended[0]["outcome"] == "interrupted"
        again.stop_carried_on(chat)
        assert again.do("settle") == {"waiting": []}


def test_commands_written_before_the_end_of_input_are_all_answered(home: Path) -> None:
    with Client(home) as client:
        client.write("".join(json.dumps({"do": "new", "ref": str(n)}) + "\n" for n in range(20)))
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.end() == 0
        assert [x["ref"] for x in client.lines if "ok" in x] == [str(n) for n in range(20)]
        assert len(client.events("chat.created")) == 20
