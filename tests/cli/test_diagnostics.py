"""Logs and crash files: filtered, private, bounded, and never in the way."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from app import cli, diagnostics
from app.cli import main
from app.diagnostics import start_log, write_crash
from app.paths import Home
from store.clock import ManualClock
from store.errors import StoreBroken, StoreHeld


def hide(text: str) -> str:
    return text.replace("s3cret", "‹›")


def test_the_log_is_filtered_private_and_turns_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "LOG_BYTES", 2_000)
    home = Home(tmp_path)
    start_log(home, hide)
    log = logging.getLogger("shoal.test")
    for n in range(100):
        log.info("line %d with s3cret", n)
    try:
        raise ValueError("s3cret inside")
    except ValueError:
        log.exception("it failed")
    files = sorted(home.logs.iterdir())
    assert 1 < len(files) <= diagnostics.LOG_FILES + 1
    for path in files:
        assert "s3cret" not in path.read_text() and path.stat().st_mode & 0o777 == 0o600
    assert "ValueError" in (home.logs / "shoal.log").read_text()


def test_a_log_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    start_log(Home(tmp_path / "file"), hide)
    logging.getLogger("shoal.test").error("nowhere to go")


def test_crash_files_are_filtered_and_only_the_newest_stay(tmp_path: Path) -> None:
    clock = ManualClock()
    for _ in range(14):
        clock.tick(1)
        path = write_crash(Home(tmp_path), RuntimeError("s3cret \ud83d"), hide, clock)
        assert path is not None and "s3cret" not in path.read_text() and path.stat().st_mode & 0o777 == 0o600
    assert len(list((tmp_path / "logs").glob("crash-*"))) == diagnostics.CRASH_FILES
    (tmp_path / "file").write_text("x")
    assert write_crash(Home(tmp_path / "file"), RuntimeError("x"), hide, clock) is None


@pytest.mark.parametrize(
    ("error", "code"), [(StoreBroken("It is broken."), 3), (StoreHeld("It is held."), 4), (RuntimeError("odd"), 1)]
)
def test_whatever_goes_wrong_is_one_sentence_and_never_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, code: int
) -> None:
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path))

    def fail(words: list[str]) -> int:
        raise error

    monkeypatch.setattr(cli, "_dispatch", fail)
    assert main(["search", "x"]) == code
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "Traceback" not in err
    assert len(list((tmp_path / "logs").glob("crash-*"))) == (1 if code == 1 else 0)


def test_ctrl_c_and_a_reader_that_left_end_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(words: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_dispatch", stop)
    assert main(["search", "x"]) == 1
    assert capsys.readouterr().err == "shoal: stopped.\n"
