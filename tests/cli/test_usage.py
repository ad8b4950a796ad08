"""Words of the command line that can't be done, in this process (the commands that work are in tests/e2e)."""

from __future__ import annotations

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
