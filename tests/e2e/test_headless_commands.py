"""The commands as real processes: what they print, what they refuse, exit codes, and one writer a home (D08)."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from store.log import Store
from tests.e2e.headless_client import SHOAL, Client, environment, script, shoal

BENCH = Path(__file__).parents[3] / "shared" / "bench" / "locomo-dev.jsonl.gz"
LINES = [
    {"type": "chat", "id": "a/s1", "number": 1, "started": "2023-05-08T13:56:00", "people": ["Ana", "Ben"]},
    *(
        {
            "type": "message",
            "id": f"m{n}",
            "chat": "a/s1",
            "seq": n,
            "role": role,
            "name": name,
            "at": f"2023-05-08T14:0{n}:00",
            "text": text,
        }
        for n, (role, name, text) in enumerate(
            [("you", "Ana", "Shall we take the ferry?"), ("them", "Ben", "Yes, the ferry at nine.")]
        )
    ),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def one_line(text: str) -> str:
    assert text.count("\n") == 1 and "Traceback" not in text and "\x1b" not in text, text
    return text


def test_import_search_export_and_back(home: Path, file: Path, tmp_path: Path) -> None:
    done = shoal(home, "import", str(file), "--project", str(tmp_path))
    assert done.returncode == 0 and done.stdout == "Imported 2 messages in 1 chat from LoCoMo.\n" and done.stderr == ""
    again = shoal(home, "import", str(file))
    assert again.returncode == 0 and "Nothing new" in again.stdout
    found = json.loads(shoal(home, "search", "ferry", "--json").stdout)
    assert found["match"] == "exact" and [x["who"] for x in found["chats"][0]["lines"]].count("them") == 1
    assert found["chats"][0]["untrusted"] is True and found["chats"][0]["from"] == "LoCoMo"
    assert json.loads(shoal(home, "search", "ferry", "--who", "them", "--json").stdout)["total"] == 1
    assert json.loads(shoal(home, "search", "ferry", "--project", str(home.parent), "--json").stdout)["total"] == 2
    assert json.loads(shoal(home, "search", "ferry", "--before", "2020-01-01", "--json").stdout)["match"] == "none"
    words = shoal(home, "search", "ferry", env={"LC_ALL": "C", "LANG": "C", "NO_COLOR": "1", "TERM": "dumb"})
    assert "Ana and Ben · 1" in words.stdout and "Ben: Yes, the ferry at nine." in words.stdout
    chat = found["chats"][0]["chat"]
    exported = shoal(home, "export", chat, "--format", "json")
    copy = tmp_path / "copy.jsonl"
    copy.write_text(exported.stdout)
    assert shoal(home, "import", str(copy)).returncode == 0
    assert len(json.loads(shoal(home, "search", "ferry", "--json").stdout)["chats"]) == 2
    assert shoal(home, "export", chat).stdout.startswith("# Ana and Ben · 1\n")
    assert "<h1>Ana and Ben · 1</h1>" in shoal(home, "export", chat, "--format", "html").stdout
    for path in home.rglob("*"):
        assert path.is_dir() or path.stat().st_mode & 0o077 == 0, path


def test_help_and_version(home: Path) -> None:
    assert "headless" in shoal(home, "--help").stdout
    assert shoal(home, "--version").stdout.startswith("shoal ")
    for name in ("ask", "search", "import", "export", "doctor", "redact", "headless"):
        done = shoal(home, name, "--help")
        assert done.returncode == 0 and f"usage: shoal {name}" in done.stdout
    assert not home.exists()


def test_ask_prints_the_answer_and_keeps_the_chat(home: Path) -> None:
    done = shoal(home, "ask", "hello")
    assert done.returncode == 0 and done.stdout.strip() and done.stderr == ""
    line = json.loads(shoal(home, "ask", "-", "--json", given="hello from a pipe").stdout)
    assert line["outcome"] == "success" and line["text"] and line["chat"].startswith("c_")
    more = json.loads(shoal(home, "ask", "once more", "--chat", line["chat"], "--json").stdout)
    assert more["chat"] == line["chat"]
    assert json.loads(shoal(home, "search", "pipe", "--json").stdout)["chats"][0]["chat"] == line["chat"]
    exported = [json.loads(x) for x in shoal(home, "export", line["chat"], "--format", "json").stdout.splitlines()]
    started = [x for x in exported if x["type"] == "turn.started"]
    assert [(x["trigger"], x["attended"]) for x in started] == [("ask", False)] * 2


def test_ask_looks_through_what_was_imported(home: Path, file: Path) -> None:
    shoal(home, "import", str(file))
    done = shoal(home, "ask", "what did we say about the ferry?")
    assert done.returncode == 0 and "ferry at nine" in done.stdout and "Ana and Ben" in done.stdout


def test_ask_says_in_one_line_what_failed(home: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.json", ["half ", {"error": {"sentence": "The server went away.", "code": "cut"}}])
    done = shoal(home, "ask", "x", "--model", model)
    assert done.returncode == 1 and done.stdout == "half \n" and "The server went away." in one_line(done.stderr)
    done = shoal(home, "ask", "x", "--model", "openai:none")
    assert done.returncode == 1 and "OPENAI_API_KEY" in one_line(done.stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ask_that_is_stopped_ends_its_turn_and_keeps_what_came(home: Path, tmp_path: Path, number: int) -> None:
    model = script(tmp_path / "s.json", ["some words ", {"delay": 60}])
    words = [*SHOAL, "ask", "the heron", "--model", model]
    with subprocess.Popen(words, stderr=subprocess.PIPE, env=environment(home)) as process:
        wait_until(lambda: streaming(home))
        process.send_signal(number)
        began = time.monotonic()
        _, error = process.communicate(timeout=10)
        assert process.returncode == 1 and one_line(error.decode()) and time.monotonic() - began < 4
    chat = json.loads(shoal(home, "search", "heron", "--json").stdout)["chats"][0]["chat"]
    kept = [json.loads(line) for line in shoal(home, "export", chat, "--format", "json").stdout.splitlines()]
    assert kept[-1]["type"] == "turn.completed" or any(x.get("outcome") == "interrupted" for x in kept)
    assert any(x["type"] == "assistant.done" and x["unfinished"] for x in kept)


def streaming(home: Path) -> bool:
    if not (home / "store.db").exists():
        return False
    store = Store.open(home, readonly=True)
    try:
        return any(s.event.type == "step.started" for s in store.events())
    finally:
        store.close()


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)
    time.sleep(0.3)


def test_one_writer_a_home_and_readers_always(home: Path, file: Path) -> None:
    shoal(home, "import", str(file))
    with Client(home) as client:
        client.do("settle")
        pid = str(client.process.pid)
        for words in (["ask", "x"], ["import", str(file)], ["headless"], ["doctor", "--repair"]):
            done = shoal(home, *words)
            assert done.returncode == 4 and pid in one_line(done.stderr) and done.stdout == "", words
        found = json.loads(shoal(home, "search", "ferry", "--json").stdout)
        assert found["total"] == 2
        assert shoal(home, "export", found["chats"][0]["chat"]).returncode == 0
        told = json.loads(shoal(home, "doctor", "--json").stdout)
        assert pid in told["held"] and told["counts"]["messages"] == 2
        assert shoal(home, "redact", given="plain words").stdout == "plain words"
        before = client.do("chats")["chats"]
        assert client.do("search", query="ferry")["total"] == 2
        assert client.do("chats")["chats"] == before
    assert shoal(home, "doctor", "--repair").returncode == 0


def test_doctor_tells_and_mends(home: Path, file: Path) -> None:
    assert shoal(home, "doctor").returncode == 0 and not home.exists()
    shoal(home, "import", str(file))
    (home / "settings.toml").write_text("mode = 'yolo'\ncolour = 1\n")
    told = json.loads(shoal(home, "doctor", "--json").stdout)
    assert told["store"]["ok"] and told["index"]["state"] == "ready" and told["counts"]["chats"] == 1
    assert len(told["problems"]) == 2 and told["paths"]["store"]["path"] == str(home / "store.db")
    assert {s["key"] for s in told["settings"]} >= {"model", "mode", "history.surface", "providers.openai.base_url"}
    words = shoal(home, "doctor").stdout
    assert "colour" in words and "no setting" in words
    for path in (home / "index").iterdir():
        path.write_bytes(b"garbage" * 1000)
    mended = shoal(home, "doctor", "--repair", "--json")
    assert mended.returncode == 0 and any("index" in x for x in json.loads(mended.stdout)["repaired"])
    assert json.loads(shoal(home, "search", "ferry", "--json").stdout)["total"] == 2


def test_doctor_says_when_the_store_is_broken(home: Path) -> None:
    home.mkdir()
    (home / "store.db").write_bytes(b"not a database at all" * 500)
    done = shoal(home, "doctor", "--json")
    assert done.returncode == 3 and json.loads(done.stdout)["store"]["ok"] is False
    done = shoal(home, "search", "x")
    assert done.returncode == 3 and one_line(done.stderr)


def test_redact_hides_shapes_and_every_known_key(home: Path) -> None:
    shape = "ghp_" + "Ab3" * 12
    known = "made-up-provider-value-7731"
    env = {"OPENAI_API_KEY": known}
    text = f"one {shape}\ntwo {known}\nthree plain"
    out = shoal(home, "redact", given=text, env=env).stdout
    assert shape not in out and known not in out and out.endswith("three plain") and out.count("\n") == 2
    given = "".join(json.dumps({"text": t}) + "\n" for t in (f"a {shape}", "plain", f"b {known}"))
    rows = [json.loads(x) for x in shoal(home, "redact", "--jsonl", given=given, env=env).stdout.splitlines()]
    assert [bool(r["removed"]) for r in rows] == [True, False, True]
    assert rows[1] == {"text": "plain", "removed": []} and shape not in rows[0]["text"] and known not in rows[2]["text"]
    assert not home.exists()


def test_redact_says_which_lines_it_left_out(home: Path) -> None:
    done = shoal(home, "redact", "--jsonl", given='{"text":"a"}\nnot json\n{"text":5}\n\n{"text":"b"}\n')
    assert done.returncode == 1 and len(done.stdout.splitlines()) == 2 and len(done.stderr.splitlines()) == 2


def test_settings_problems_are_said_once_and_the_command_goes_on(home: Path) -> None:
    home.mkdir()
    (home / "settings.toml").write_text("mode = 'plan'\nmodel = 'offline\n")
    done = shoal(home, "ask", "hello")
    assert done.returncode == 0 and "line 2" in one_line(done.stderr)


def test_a_key_reaches_no_output_log_export_or_crash_file(home: Path, tmp_path: Path) -> None:
    key = "made-up-key-" + "Zx81" * 5
    home.mkdir()
    (home / "settings.toml").write_text(f"[providers.openai]\napi_key = '{key}'\n")
    (home / "settings.toml").chmod(0o600)
    model = script(tmp_path / "s.json", [f"the key is {key}", {"error": {"sentence": f"bad {key}", "code": "auth"}}])
    outputs = [shoal(home, "ask", "x", "--model", model, "--json")]
    chat = json.loads(outputs[0].stdout)["chat"]
    outputs += [shoal(home, "export", chat, "--format", form) for form in ("md", "json", "html")]
    outputs += [shoal(home, "search", "key", "--json"), shoal(home, "doctor", "--json")]
    for done in outputs:
        assert key not in done.stdout + done.stderr
    for path in (home / "logs").glob("*"):
        assert key not in path.read_text()


def test_without_a_terminal_the_screen_says_so_in_one_line(home: Path) -> None:
    done = shoal(home)
    assert done.returncode == 2 and "terminal" in one_line(done.stderr)


def test_a_dumb_terminal_is_said_in_one_line(home: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        SHOAL, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment(home, {"TERM": "dumb"})
    ) as process:
        _, error = process.communicate(timeout=30)
    assert process.returncode == 2 and one_line(error.decode())
    assert not select.select([ours], [], [], 0)[0]  # nothing was written to it
    os.close(theirs)
    os.close(ours)


def test_search_imports_neither_the_screen_nor_a_provider(home: Path, file: Path) -> None:
    shoal(home, "import", str(file))
    seen = subprocess.run(
        [SHOAL[0], "-X", "importtime", *SHOAL[1:], "search", "ferry"],
        capture_output=True,
        text=True,
        env=environment(home),
        check=True,
    ).stderr
    for name in ("textual", "rich", "pydantic_ai", "openai", "anthropic", "google.genai", "httpx", "keyring"):
        assert f"| {name}\n" not in seen.replace("|   ", "| ").replace("  ", " "), name


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["search", "--help"]])
def test_quick_commands_import_next_to_nothing(home: Path, words: list[str]) -> None:
    seen = subprocess.run(
        [SHOAL[0], "-X", "importtime", *SHOAL[1:], *words],
        capture_output=True,
        text=True,
        env=environment(home),
        check=True,
    ).stderr
    names = {line.rsplit("|", 1)[-1].strip() for line in seen.splitlines()}
    assert not names & {"textual", "rich", "pydantic_ai", "openai", "anthropic", "asyncio.base_events"} - {
        "asyncio.base_events"
    }


def test_the_benchmark_file_is_imported_in_seconds(home: Path) -> None:
    if not BENCH.exists():
        print("the LoCoMo file isn't here: skipped")
        pytest.skip("no LoCoMo file")
    began = time.monotonic()
    done = shoal(home, "import", str(BENCH))
    assert done.stdout == "Imported 2,760 messages in 128 chats from LoCoMo.\n"
    assert time.monotonic() - began < 20
    answer = shoal(home, "ask", "what did we decide about the support group?").stdout
    assert "support group" in answer and "Caroline and Melanie" in answer
