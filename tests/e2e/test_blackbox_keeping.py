"""What is kept, taken in, given out and deleted, seen from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.blackbox import OPENAI, Box, Model, imported, said_of, tools_of
from tests.e2e.headless_client import SHOAL, Client, environment, script, shoal
from tests.servers import openai
from tests.servers.fake import FakeServer, Reply, Seen, plain


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def found(home: Path, *words: str) -> dict[str, Any]:
    done = shoal(home, "search", *words, "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def holds(home: Path, token: str) -> list[str]:
    """The files that hold these bytes."""
    raw, wide = token.encode(), token.encode("utf-16-le")
    files = [p for p in home.rglob("*") if p.is_file()]
    return [p.name for p in files if raw in p.read_bytes() or wide in p.read_bytes()]


# -- deleting


def test_deleting_leaves_nothing_of_the_chat(home: Path) -> None:
    small, big = "qzxvtoken", "wyrgtoken"
    with Client(home) as client:
        kept = client.do("new", title="Kept")["chat"]
        client.do("send", chat=kept, text="nothing special")
        chat = client.do("new", title=f"title {small}")["chat"]
        client.do("send", chat=chat, text=f"{small} " + f"{big} " * 20_000)
        client.do("settle")
        fork = client.do("fork", chat=chat)["chat"]
        client.do("settle")
        assert len(client.do("search", query=small)["chats"]) == 2 and holds(home, big)
        assert client.do("delete", chat=fork)["last_id"] > 0
        client.do("delete", chat=chat)
        client.do("settle")
        for do, more in (
            ("send", {"text": "x"}),
            ("rename", {"title": "x"}),
            ("delete", {}),
            ("fork", {}),
            ("stop", {}),
        ):
            assert client.refused(do, chat=chat, **more) == "unknown-chat", do
        assert client.refused("events", after=0, chat=chat) == "unknown-chat"
        assert client.do("search", query=small)["match"] == "none"
        assert [c["id"] for c in client.do("chats")["chats"]] == [kept]
        client.do("events", after=0)
        assert {x["event"]["chat"] for x in client.lines if "event" in x} == {kept}
        assert holds(home, small) == [] and holds(home, big) == []
        client.do("quit")
        assert client.end() == 0
    assert holds(home, small) == [] and holds(home, big) == []
    assert shoal(home, "export", chat).returncode == 1
    assert json.loads(shoal(home, "doctor", "--json").stdout)["store"]["ok"] is True


# -- imports


def test_an_import_that_grew_adds_only_what_is_new_and_a_deleted_chat_stays_away(home: Path, tmp_path: Path) -> None:
    file = imported(tmp_path / "in.jsonl", chats=3)
    assert shoal(home, "import", "in.jsonl").stdout == "Imported 12 messages in 3 chats from LoCoMo.\n"
    gone = next(h["chat"] for h in found(home, "ferry")["chats"] if h["chat"].endswith("s02"))
    with Client(home) as client:
        client.do("delete", chat=gone)
        client.do("quit")
        client.end()
    lines = file.read_text().splitlines()
    one = json.loads(lines[-1]) | {"id": "conv-1/D0:9", "chat": "conv-1/s00", "seq": 9, "text": "a late heron"}
    file.write_text("\n".join([*lines, json.dumps(one)]) + "\n")
    done = shoal(home, "import", "in.jsonl")
    assert done.returncode == 0 and "1 message" in done.stdout and "12" not in done.stdout
    assert "Nothing new" in shoal(home, "import", "in.jsonl").stdout
    (hit,) = found(home, "heron")["chats"]
    assert hit["chat"].endswith("conv-1/s00") and hit["lines"][0]["text"] == "Ben: a late heron"
    assert gone not in json.dumps(found(home, "ferry"))


def test_bad_lines_are_counted_and_the_rest_comes_in(home: Path, tmp_path: Path) -> None:
    file = imported(tmp_path / "in.jsonl")
    good = file.read_text().splitlines()
    deep = "[" * 10_000 + "]" * 10_000
    bad = ["null", "[]", "42", "{not json", '{"type":"message"}', deep, '{"type":"message","seq":' + "9" * 400 + "}"]
    file.write_text("\ufeff" + "\r\n".join([*good[:2], *bad, "", *good[2:]]) + '\r\n{"type":"message","id":"conv')
    done = shoal(home, "import", "in.jsonl")
    assert done.returncode == 0 and "Imported 4 messages in 1 chat" in done.stdout, done
    assert f"{len(bad) + 1} lines couldn't be read" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert found(home, "ferry")["total"] == 4


def test_files_with_nothing_in_them_and_files_that_are_not_there(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "head.jsonl").write_text(json.dumps({"type": "chat", "id": "a", "people": ["A", "B"]}) + "\n")
    (tmp_path / "bin.jsonl").write_bytes(bytes(range(256)) * 50)
    for name, code in (("empty.jsonl", None), ("head.jsonl", None), ("bin.jsonl", None), ("none.jsonl", 1), (".", 1)):
        done = shoal(home, "import", name)
        assert done.returncode in ((0, 1) if code is None else (code,)), (name, done)
        said = (done.stdout + done.stderr).strip()
        assert said and said.count("\n") == 0 and "Traceback" not in said and str(tmp_path) not in said, (name, said)
    with Client(home) as client:
        assert client.do("chats")["chats"] == []


def test_shoals_own_export_comes_in_as_an_import_that_keeps_what_it_read(tmp_path: Path) -> None:
    one, two = tmp_path / "one" / "home", tmp_path / "two" / "home"
    one.parent.mkdir()
    two.parent.mkdir()
    with Client(one) as client:
        chat = client.do("new", title="Boats")["chat"]
        client.do("send", chat=chat, text="paint the kestrel boat green")
        client.do("settle")
        client.do("forward", chat=chat, name="Eve", text="or blue, says the kestrel")
        client.do("quit")
        client.end()
    file = tmp_path / "boats.jsonl"
    file.write_text(shoal(one, "export", chat, "--format", "json").stdout)
    first = shoal(two, "import", str(file))
    assert first.returncode == 0 and "1 chat" in first.stdout
    assert "Nothing new" in shoal(two, "import", str(file)).stdout
    with Client(one) as client:
        client.do("send", chat=chat, text="a late osprey")
        client.do("settle")
        client.do("quit")
        client.end()
    file.write_text(shoal(one, "export", chat, "--format", "json").stdout)
    assert shoal(two, "import", str(file)).returncode == 0
    with Client(two) as client:
        (made,) = client.do("chats")["chats"]
        assert made["origin"]["kind"] == "import" and made["title"] == "Boats" and made["id"].endswith(chat)
        taints = {(t["kind"], t["label"]) for t in made["taints"]}
        assert ("person", "Eve") in taints and any(kind == "app" for kind, _ in taints)
        assert client.refused("send", chat=made["id"], text="x") == "not-allowed"
        (hit,) = client.do("search", query="osprey")["chats"]
        assert hit["matches"] == 1 and hit["untrusted"] is True
        assert client.do("search", query="kestrel")["chats"][0]["others"] == "Eve"
    for form, begins in (("md", "# Boats"), ("html", "<!"), ("json", "{")):
        text = shoal(two, "export", made["id"], "--format", form).stdout
        assert text.startswith(begins) and "kestrel" in text, form


def test_an_import_that_is_killed_is_completed_by_the_next(home: Path, tmp_path: Path) -> None:
    imported(tmp_path / "in.jsonl", chats=100, messages=30)
    words = [*SHOAL, "import", "in.jsonl"]
    with subprocess.Popen(words, env=environment(home), cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        end = time.monotonic() + 20
        while not (home / "store.db").exists() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.15)
        process.send_signal(signal.SIGKILL)
    done = shoal(home, "import", "in.jsonl")
    assert done.returncode == 0, done
    assert found(home, "ferry")["total"] >= 1_000
    store = json.loads(shoal(home, "doctor", "--json").stdout)
    assert store["store"]["ok"] is True and store["counts"]["messages"] == 3_000 and store["counts"]["chats"] == 100


# -- the context


def test_a_long_chat_is_summarised_within_the_models_window_and_stays_searchable(home: Path) -> None:
    sizes: list[int] = []

    def answer(seen: Seen) -> Reply:
        sizes.append(len(json.dumps(seen.body["messages"])))
        if not tools_of(seen):
            return openai.text("They spoke of many things.")
        return model(seen)

    model = Model(openai)
    with FakeServer.in_thread(answer) as server:
        env = OPENAI.env(server) | {"SHOAL_MODEL": "openai:gpt-4"}
        with Client(home, env=env) as client:
            here = Box(client, server, home)
            chat = here.new(title="Long")
            here.say(chat, "the okapi comes first. " + "filler words " * 700)
            for n in range(5):
                here.say(chat, f"part {n} " + "more filler " * 700)
            assert max(sizes) <= 8_192 * 4
            assert client.events("context.compacted")
            hit = client.do("search", query="okapi")["chats"][0]
            assert hit["chat"] == chat
            assert "okapi" not in said_of(server.requests[-1])
            read, events = here.read(chat, chat=chat, message=hit["lines"][0]["message"])
            assert "okapi" in json.dumps(read) and [e["type"] for e in events].count("chats.looked") == 1
            done = client.events("turn.completed")
            assert {e["outcome"] for e in done} == {"success"} and len(done) == 7


def test_a_context_that_is_too_long_is_shortened_once_then_told(home: Path) -> None:
    error = {"error": {"message": "maximum context length is 10 tokens", "code": "context_length_exceeded"}}
    with FakeServer.in_thread(plain(400, error)) as server, Client(home, env=OPENAI.env(server)) as client:
        chat = client.do("new", title="T")["chat"]
        client.do("send", chat=chat, text="hello " * 100)
        client.do("settle")
        (end,) = client.events("turn.completed")
        assert end["outcome"] == "error" and "\n" not in end["error"] and len(server.requests) <= 4


# -- one writer, and what may be said on the command line


def test_settings_and_the_model_of_the_environment(home: Path) -> None:
    done = shoal(home, "ask", "hello", "--json", env={"SHOAL_MODEL": "nonsense"})
    assert done.returncode == 0 and "nonsense" in done.stderr and json.loads(done.stdout)["outcome"] == "success"
    assert shoal(home, "--set", "model=offline", "ask", "hello", env={"SHOAL_MODEL": "openai:none"}).returncode == 0
    assert shoal(home, "--set", "nothing=1", "ask", "hello").returncode == 2
    (home / "settings.toml").write_text('model = "offline"\nmode = "yolo"\nnonsense = 1\n')
    done = shoal(home, "ask", "hello")
    assert done.returncode == 0 and "line 2" in done.stderr and "line 3" in done.stderr
    with Client(home) as client:
        client.do("new")
        client.do("settle")
        assert client.do("chats")["chats"][0]["mode"] == "ask"
    assert shoal(home, "--set", "mode=plan", "headless", given='{"do":"new"}\n').stdout.count('"mode":"plan"') == 1


USAGE = [
    ("fly",),
    ("ask",),
    ("ask", "x", "--mode", "yolo"),
    ("search", "x", "--limit", "0"),
    ("search", "x", "--after", "2026-02-30"),
    ("export", "c_x", "--format", "pdf"),
    ("headless", "--fly"),
]


@pytest.mark.parametrize("words", USAGE, ids=" ".join)
def test_wrong_usage_is_code_two_and_makes_no_home(home: Path, words: tuple[str, ...]) -> None:
    done = shoal(home, *words)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr, done
    assert 1 <= done.stderr.count("\n") <= 12


def test_what_is_not_there_is_code_one_and_a_sentence(home: Path) -> None:
    for words in (("export", "c_none"), ("ask", "x", "--chat", "c_none"), ("ask", "x", "--chat", "../../x")):
        done = shoal(home, *words)
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, (words, done)


def test_while_one_writes_the_others_say_who_and_reading_goes_on(home: Path, tmp_path: Path) -> None:
    imported(tmp_path / "in.jsonl")
    with Client(home) as client:
        chat = client.do("new", title="Open")["chat"]
        client.do("send", chat=chat, text="the eland waits")
        client.do("settle")
        for words in (("ask", "x"), ("import", "in.jsonl"), ("headless",), ("doctor", "--repair")):
            done = shoal(home, *words)
            assert done.returncode == 4 and str(client.process.pid) in done.stderr, (words, done)
            assert done.stderr.count("\n") == 1
        assert found(home, "eland")["chats"][0]["chat"] == chat
        assert "eland" in shoal(home, "export", chat).stdout
        assert shoal(home, "doctor").returncode == 0
        assert json.loads(shoal(home, "redact", "--jsonl", given='{"text":"x"}\n').stdout) == {
            "text": "x",
            "removed": [],
        }


def test_a_broken_store_and_a_newer_one_are_said_in_words(home: Path) -> None:
    shoal(home, "ask", "the bongo is here")
    store = home / "store.db"
    raw = store.read_bytes()
    store.write_bytes(b"garbage!" * 512 + raw[4096:])
    done = shoal(home, "ask", "hello")
    assert done.returncode in (0, 3) and done.stderr.strip() and "Traceback" not in done.stderr, done
    assert any(p.is_file() and b"garbage!" in p.read_bytes()[:64] for p in home.rglob("*"))
    again = shoal(home, "ask", "hello")
    assert again.returncode in (0, 3)


def test_a_read_only_home_is_read_and_refuses_to_write(home: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    shoal(home, "ask", "the kudu is here")
    home.chmod(0o500)
    try:
        assert found(home, "kudu")["chats"]
        assert shoal(home, "ask", "x").returncode in (1, 3)
    finally:
        home.chmod(0o700)


# -- the index


def test_an_index_that_is_missing_or_broken_heals_and_the_chat_goes_on(home: Path) -> None:
    def index() -> list[Path]:
        return [p for p in home.rglob("*") if p.is_file() and "index" in str(p.relative_to(home))]

    shoal(home, "ask", "the gaur grazes at dawn")
    assert index()
    for path in index():
        path.write_bytes(b"no index " * 600)
    done = shoal(home, "ask", "what did we say about the gaur?")
    assert done.returncode == 0 and "the gaur grazes at dawn" in done.stdout, done
    for path in index():
        path.unlink()
    assert "grazes" in shoal(home, "search", "gaur").stdout
    with Client(home) as client:
        client.do("settle")
        assert client.do("search", query="gaur")["total"] >= 1


# -- clocks, kills


def test_the_kinds_of_end_of_a_killed_reply(home: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.json", ["some words that came ", {"delay": 60}, "never"], ["and on"])
    with Client(home, "--set", f"model={model}") as client:
        chat = client.do("new", title="K")["chat"]
        client.do("send", chat=chat, text="go")
        client.do("send", chat=chat, text="waiting in the queue")
        client.until(lambda x: "live" in x and "delta" in x)
        time.sleep(1.2)
        client.process.kill()
        client.process.wait()
    with Client(home, "--set", f"model={model}") as client:
        client.do("events", after=0, chat=chat)
        events = [x["event"] for x in client.lines if "event" in x]
        (done,) = [e for e in events if e["type"] == "assistant.done"]
        assert done["text"] == "some words that came " and done["unfinished"] is True
        (end,) = [e for e in events if e["type"] == "turn.completed"]
        assert end["outcome"] == "interrupted"
        assert client.do("search", query="words that came")["chats"][0]["chat"] == chat
        client.stop_carried_on(chat)
        client.do("settle")
        assert [e["seq"] for e in events] == list(range(len(events)))


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Client(tmp_path_factory.mktemp("clock") / "home", env={"SHOAL_CLOCK": "manual"}) as client:
        yield client


def test_a_clock_moved_back_and_forth_keeps_the_order(manual: Client) -> None:
    chat = manual.do("new", title="Clock")["chat"]
    for seconds in (0, 86_400, 0.5):
        assert manual.do("tick", seconds=seconds) == {}
        manual.do("send", chat=chat, text=f"after {seconds}")
        manual.do("settle", chat=chat)
    assert manual.refused("tick", seconds=-5) == "bad-command"
    events = [e for e in manual.events() if e["chat"] == chat]
    assert [e["at"] for e in events] == sorted(e["at"] for e in events)
    assert manual.do("search", query="after", after="2000-01-01")["total"] >= 3
