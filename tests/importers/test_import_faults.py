"""Imports that are killed, huge or hostile (faults I02, I12, I13, I14)."""

from __future__ import annotations

import base64
import json
import random
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from store.importers.run import import_file
from store.log import Store
from tests.e2e.headless_client import SHOAL, environment, shoal

CORPORA = Path(__file__).parents[1] / "corpora"
BIDI = "\u202a\u202b\u202d\u202e\u2066\u2067"


def write(path: Path, chats: int, messages: int, words: int) -> Path:
    rng = random.Random(7)
    with path.open("w") as file:
        for c in range(chats):
            head = {
                "type": "chat",
                "id": f"k/s{c}",
                "number": c,
                "started": "2023-05-08T13:56:00",
                "people": ["Ana", "Ben"],
            }
            file.write(json.dumps(head) + "\n")
            for m in range(messages):
                text = " ".join(f"w{rng.randrange(5_000)}" for _ in range(words))
                line: dict[str, Any] = {"type": "message", "id": f"{c}:{m}", "chat": f"k/s{c}", "seq": m, "role": "you"}
                file.write(json.dumps(line | {"name": "Ana", "text": text, "at": "2023-05-08T14:00:00"}) + "\n")
    return path


def counts(home: Path) -> list[int]:
    if not (home / "store.db").exists():
        return []
    store = Store.open(home, readonly=True)
    try:
        return [summary.messages for summary in store.summaries()]
    finally:
        store.close()


@pytest.mark.parametrize(
    "waits",
    [(0.3, 0.7, 1.0, 1.3), pytest.param(tuple(0.3 + 0.1 * n for n in range(24)), marks=pytest.mark.soak)],
)
def test_a_killed_import_leaves_whole_chats_and_run_again_completes_them(
    tmp_path: Path, waits: tuple[float, ...]
) -> None:
    home, path = tmp_path / "home", write(tmp_path / "in.jsonl", 60, 40, 800)
    part = 0
    for wait in waits:
        process = subprocess.Popen([*SHOAL, "import", str(path)], env=environment(home), stdout=subprocess.DEVNULL)
        time.sleep(wait)
        process.kill()
        process.wait()
        there = counts(home)
        assert set(there) <= {40} and len(there) >= part
        part = len(there)
    store = Store.open(home)
    try:
        report = import_file(store, path)
    finally:
        store.close()
    assert report.new_chats == 60 - part and counts(home) == [40] * 60


@pytest.mark.parametrize(
    ("chats", "long_line"),
    [(12, 24), pytest.param(1_900, 100, marks=pytest.mark.soak)],  # 40 MB, and 2 GB; the one long line in MB
)
def test_a_large_file_is_imported_in_bounded_memory(tmp_path: Path, chats: int, long_line: int) -> None:
    path = write(tmp_path / "in.jsonl", chats, 200, 900)
    with path.open("a") as file:
        file.write('{"type":"message","id":"long","chat":"k/s1","seq":900,"role":"you","text":"')
        for _ in range(long_line):
            file.write("lorem ipsum " * 87_381)
        file.write('"}\n')
    # VmHWM is the process's own peak; ru_maxrss would carry the test runner's over the exec
    code = (
        "import re,sys;from pathlib import Path;from store.log import Store;"
        "from store.importers.run import import_file;s=Store.open(Path(sys.argv[1]));"
        "print(import_file(s,Path(sys.argv[2])).messages);s.close();"
        "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    done = subprocess.run(
        [SHOAL[0], "-c", code, str(tmp_path / "home"), str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    messages, memory = done.stdout.split()
    assert int(messages) == chats * 200 + 1
    assert int(memory) < 300_000  # kilobytes


def hostile() -> list[str]:
    rows = [json.loads(line) for line in (CORPORA / "injection-dev.jsonl").read_text().splitlines()]
    texts = [base64.b64decode(v).decode("utf-8", "replace") for r in rows for k, v in r.items() if k.endswith("_b64")]
    texts += [v for r in rows for k, v in r.items() if k in ("text", "title", "payload") and isinstance(v, str)]
    return [
        *texts,
        "\x1b]0;title\x07 heron",
        "\x1b[2Jheron",
        "\u202eheron",
        "[/] [@click=app.quit]heron[/]",
        "heron\r\x08\x00",
    ]


def test_hostile_words_titles_and_names_leave_the_command_line_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    lines: list[dict[str, Any]] = []
    for n, text in enumerate(hostile()):
        lines.append({"type": "chat", "id": f"x/{n}", "number": n, "people": [text[:80], "Ben"]})
        said = {"type": "message", "id": f"m{n}", "chat": f"x/{n}", "seq": 0, "role": "them", "name": text[:80]}
        lines.append(said | {"text": f"heron {text}"})
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["import", "in.jsonl"]) == 0
    assert main(["search", "heron", "--limit", "100"]) == 0
    store = Store.open(tmp_path / "home", readonly=True)
    chats = store.summaries()
    store.close()
    assert len(chats) == len(hostile())
    assert all(t.kind in ("app", "person") and t.label.isprintable() for c in chats for t in c.taints)
    for chat in chats[:40]:
        assert main(["export", chat.id]) == 0
        assert main(["export", chat.id, "--format", "html"]) == 0
    out, err = capsysbinary.readouterr()
    text = (out + err).decode("utf-8")
    bad = {
        c
        for c in text
        if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c in "\u202a\u202b\u202d\u202e\u2066\u2067"
    }
    assert not bad, bad


def test_secrets_in_what_is_imported_show_nowhere(tmp_path: Path) -> None:
    home, value = tmp_path / "home", "ghp_" + "Qw7" * 12
    lines = [
        {"type": "chat", "id": "s/1", "number": 1, "people": ["Ana", "Ben"]},
        {
            "type": "message",
            "id": "m",
            "chat": "s/1",
            "seq": 0,
            "role": "you",
            "text": f"heron {value} ok",
        },
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    outputs = [shoal(home, "import", "in.jsonl"), shoal(home, "search", "heron", "--json")]
    found = json.loads(outputs[1].stdout)
    outputs += [shoal(home, "search", "heron"), shoal(home, "ask", "what did I say about the heron?")]
    outputs += [shoal(home, "export", found["chats"][0]["chat"], "--format", f) for f in ("md", "json", "html")]
    assert found["total"] == 1
    for done in outputs:
        assert value not in done.stdout + done.stderr
    for path in (home / "logs").glob("*"):
        assert value not in path.read_text()
