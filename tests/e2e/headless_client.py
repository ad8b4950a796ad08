"""Drives a real `shoal headless` process over its pipes, as a script would."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
SHOAL = [sys.executable, str(ROOT / "shoal.py")]
PATIENCE = 30.0


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """A clean environment: no keys, no proxies, this home."""
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "TMPDIR", "COVERAGE_PROCESS_START")}
    return kept | {"SHOAL_HOME": str(home), "HOME": str(home.parent)} | dict(more or {})


def shoal(
    home: Path, *words: str, given: str | bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    raw = subprocess.run(
        [*SHOAL, *words],
        input=given.encode() if isinstance(given, str) else given,
        capture_output=True,
        env=environment(home, env),
        timeout=PATIENCE * 2,
        check=False,
        cwd=cwd or home.parent,
    )
    out, err = (stream.decode("utf-8", "replace") for stream in (raw.stdout, raw.stderr))
    return subprocess.CompletedProcess(raw.args, raw.returncode, out, err)


class Client:
    """A headless process; `do` sends a command and waits for its reply, keeping every other line in `lines`."""

    def __init__(self, home: Path, *words: str, env: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*SHOAL, *words, "headless"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(home, env),
            cwd=home.parent,
        )
        self.lines: list[dict[str, Any]] = []
        self._got: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._ref = 0
        threading.Thread(target=self._read, daemon=True).start()
        self.ready = self.next()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            self._got.put(json.loads(raw))
        self._got.put(None)

    def next(self, seconds: float = PATIENCE) -> dict[str, Any]:
        """The next line; fails when none comes."""
        line = self._got.get(timeout=seconds)
        assert line is not None, "the process ended"
        self.lines.append(line)
        return line

    def write(self, raw: str | bytes) -> None:
        """Something on standard input, as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(raw if isinstance(raw, bytes) else raw.encode())
        self.process.stdin.flush()

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        """The whole reply."""
        self._ref += 1
        ref = f"r{self._ref}"
        self.write(json.dumps({"do": do, "ref": ref, **fields}) + "\n")
        return self.until(lambda line: line.get("ref") == ref and "event" not in line)

    def do(self, do: str, **fields: Any) -> dict[str, Any]:
        """The `ok` of the reply."""
        reply = self.ask(do, **fields)
        assert "ok" in reply, reply
        ok = reply["ok"]
        assert isinstance(ok, dict)
        return ok

    def refused(self, do: str, **fields: Any) -> str:
        """The code of the error."""
        reply = self.ask(do, **fields)
        assert "error" in reply, reply
        assert "\n" not in reply["error"]["message"] and reply["error"]["message"]
        return str(reply["error"]["code"])

    def until(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = PATIENCE) -> dict[str, Any]:
        """The next line that is wanted."""
        end = time.monotonic() + seconds
        while True:
            line = self.next(max(0.01, end - time.monotonic()))
            if wanted(line):
                return line

    def stop_carried_on(self, chat: str, seconds: float = PATIENCE) -> None:
        """Wait until the chat's broken reply carries on by itself, and stop it."""
        end = time.monotonic() + seconds
        while "resume" not in [e["trigger"] for e in self.events("turn.started") if e["chat"] == chat]:
            assert time.monotonic() < end, "the reply didn't carry on"
            self.do("chats")
            time.sleep(0.01)
        assert self.do("stop", chat=chat) == {"stopping": True}

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The stored events that came so far."""
        return [x for x in self.lines if "seq" in x and kind in (None, x["type"])]

    def end(self, seconds: float = 10) -> int:
        """Wait for the exit code; what still came is in `lines`."""
        code = self.process.wait(seconds)
        while (line := self._got.get(timeout=5)) is not None:
            self.lines.append(line)
        return code

    def stderr(self) -> str:
        """What it said on the error stream (after its end)."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue


def script(path: Path, *steps: list[Any]) -> str:
    """A scripted model's name; see `providers.scripted.scripted_from`."""
    path.write_text(json.dumps({"steps": list(steps)}))
    return f"scripted:{path}"
