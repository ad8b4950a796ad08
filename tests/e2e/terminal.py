"""The real program in a pseudo-terminal: keys in, the drawn screen and the raw bytes out."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pyte

ROOT = Path(__file__).resolve().parents[2]
KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "f1": "\x1bOP",
    "f2": "\x1bOQ",
    "f3": "\x1bOR",
    "f4": "\x1bOS",
    "f5": "\x1b[15~",
    "f7": "\x1b[18~",
    "f8": "\x1b[19~",
    "f10": "\x1b[21~",
    "backspace": "\x7f",
}


class Terminal:
    """A shoal of its own in a window of `columns` × `lines`."""

    def __init__(
        self, home: Path, *args: str, columns: int = 132, lines: int = 40, env: dict[str, str] | None = None
    ) -> None:
        unwanted = ("SHOAL_", "OPENAI", "ANTHROPIC", "GOOGLE", "COLUMNS", "LINES")  # the window tells its own size
        base = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
        base |= {"SHOAL_HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8", "COLORTERM": "truecolor"}
        base |= {"TEXTUAL_ANIMATIONS": "none", "GEMINI_API_KEY": "", **(env or {})}
        self.raw = b""
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        command = [str(ROOT / "shoal.py"), *args]
        self.child = pexpect.spawn(
            sys.executable, command, env=base, dimensions=(lines, columns), cwd=str(home.parent), use_poll=True
        )
        self.child.delaybeforesend = None

    def pump(self, seconds: float = 0.05) -> None:
        """Take in what the program wrote."""
        end = time.monotonic() + seconds
        while True:
            try:
                chunk = self.child.read_nonblocking(65536, timeout=max(0.0, min(0.05, end - time.monotonic())))
            except pexpect.TIMEOUT:
                chunk = b""
            except pexpect.EOF:
                return
            if chunk:
                self.raw += chunk
                with contextlib.suppress(Exception):  # pyte doesn't know every private sequence
                    self._stream.feed(_for_pyte(chunk))
            if time.monotonic() >= end:
                return

    @property
    def text(self) -> str:
        """The screen as lines of text."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait(self, until: str | Callable[[str], bool], seconds: float = 25) -> str:
        """Until the words are on screen (or the test of it holds); fails showing the screen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump()
            if until in self.text if isinstance(until, str) else until(self.text):
                return self.text
            if not self.child.isalive():
                break
        raise AssertionError(
            f"not on screen: {until!r}; alive: {self.child.isalive()}\n{self.text}\n{self.raw[-2000:]!r}"
        )

    def press(self, *keys: str) -> None:
        """Keys by name, `ctrl+x`, or text as it is."""
        for key in keys:
            if key.startswith("ctrl+"):
                self.child.send(chr(ord(key[5:].upper()) - 64))
            else:
                self.child.send(KEYS.get(key, key))
            self.pump(0.08 if key in KEYS or key.startswith("ctrl+") else 0.02)

    def resize(self, columns: int, lines: int) -> None:
        """Another window size."""
        self.child.setwinsize(lines, columns)
        self.screen.resize(lines, columns)

    def kill(self, number: int = signal.SIGTERM) -> None:
        """Send a signal."""
        self.child.kill(number)

    def ended(self, seconds: float = 15) -> int | None:
        """Wait for the end; the exit code, or minus the signal."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.child.isalive():
            self.pump(0.1)
        if self.child.isalive():
            raise AssertionError(f"still running\n{self.text}")
        self.pump(0.1)
        return -self.child.signalstatus if self.child.signalstatus else self.child.exitstatus

    def close(self) -> None:
        """End it, whatever it does."""
        if self.child.isalive():
            self.child.terminate(force=True)
        self.child.close(force=True)


_PRIVATE = re.compile(rb"\x1b\[[<>=?][0-9;:]*[A-Za-z]|\x1b\[\d* q")


def _for_pyte(chunk: bytes) -> bytes:
    return _PRIVATE.sub(lambda m: m[0] if m[0].endswith((b"h", b"l")) else b"", chunk)
