"""Words of the command line that can't be done, in this process (the commands that work are in tests/e2e)."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import main


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["fly"], 2),
        (["--fly"], 2),
        (["--set"], 2),
        (["--set", "mode", "search", "x"], 2),
        (["--set", "mode=yolo", "search", "x"], 2),
        (["search"], 2),
        (["search", "x", "--limit", "0"], 2),
        (["search", "x", "--limit", "many"], 2),
        (["search", "x", "--after", "2026-02-30"], 2),
        (["search", "x", "--who", "me"], 2),
        (["search", "x", "--project", "/no/such/folder/at/all"], 0),
        (["export", "c_none"], 1),
        (["export", "c_none", "--format", "pdf"], 2),
        (["import", "/no/such/file.jsonl"], 1),
        (["import"], 2),
        (["ask", "  "], 2),
        (["ask", "x", "--chat", "c_none"], 1),
        (["ask", "x", "--model", "gibberish"], 2),
        (["ask", "x", "--model", "openai:"], 2),
        (["ask", "x", "--mode", "yolo"], 2),
        (["headless", "--what"], 2),
    ],
)
def test_what_cannot_be_done_is_one_line_and_the_right_code(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
) -> None:
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert main(words) == code
    out, err = capsys.readouterr()
    if code:
        assert err.count("\n") == 1 and "Traceback" not in err and "\x1b" not in err, err
        assert out == ""


@pytest.mark.parametrize("words", [["search", "x"], ["ask", "x"], ["doctor"], ["export", "c_x"], ["import", "x"]])
def test_a_home_that_is_a_file_is_said_by_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    (tmp_path / "home").write_text("not a folder")
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path / "home"))
    assert main(words) == 3
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "isn't a folder" in err


def test_an_import_that_ends_too_early_isnt_a_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(f'{{"text": "line {n}"}}\n' for n in range(2_000))
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(lines.encode())[:16])
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path / "home"))
    assert main(["import", str(tmp_path / "cut.jsonl.gz")]) == 1
    assert "damaged or ends too early" in "".join(capsys.readouterr())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", ["--help", "--version", "search x", "doctor"])
def test_output_that_cannot_be_written_is_one_sentence_and_no_crash(tmp_path: Path, words: str) -> None:
    root = Path(__file__).parents[2]
    home = tmp_path / "home"
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, str(root / "shoal.py"), *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"SHOAL_HOME": str(home)},
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == "shoal: not all of the answer could be written (no space left on device).\n"
    assert not list(home.glob("logs/crash*"))
