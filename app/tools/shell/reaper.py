"""Runs one command without a sandbox and leaves nothing of it alive; started as a script, standard library only.

It is the subreaper of everything the command starts, so that a daemon with a session of its own comes back to it.
Its standard input is held by Shoal: when that ends (a stop, or Shoal's own end) the whole tree is ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
GRACE = 1.0  # seconds from TERM to KILL
GIVE_UP = 3.0


def descendants(root: int) -> list[int]:
    """Every living process under `root` (itself not counted); empty where there is no /proc."""
    below: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            if fields[0] not in (b"Z", b"X"):
                below.setdefault(int(fields[1]), []).append(int(name))
    out: list[int] = []
    todo = [root]
    while todo:
        found = below.get(todo.pop(), [])
        out += found
        todo += found
    return out


def signal_all(pids: list[int], number: int) -> None:
    """Send a signal to each that is still there."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def stand_still(pids: list[int], seconds: float = 0.5) -> None:
    """Stop each and wait until it has stopped: one that is inside clone() still makes its child before it stops."""
    signal_all(pids, signal.SIGSTOP)
    ends = time.monotonic() + seconds
    while any(_state(pid) not in b"TtZX" for pid in pids) and time.monotonic() < ends:
        time.sleep(0.0002)


def _state(pid: int) -> bytes:
    """The letter of a process's state; X when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return b"X"


class Reaper:
    """The command's parent, and the one that buries all it started."""

    def __init__(self, argv: list[str]) -> None:
        if sys.platform == "linux":
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
        self.status: int | None = None
        self.wake, self.waker = os.pipe()
        os.set_blocking(self.waker, False)
        signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._noted)
        self.ending = False
        # Kept, since a Popen that is dropped reaps its process by itself and the status is lost.
        self.command = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
        self.child = self.command.pid

    def _noted(self, number: int, _frame: object) -> None:
        self.ending = self.ending or number != signal.SIGCHLD

    def run(self) -> int:
        """The command's exit code (128 and the signal's number when one ended it)."""
        while self.status is None and not self.ending:
            ready = select.select([0, self.wake], [], [], 1.0)[0]
            if self.wake in ready:
                os.read(self.wake, 512)
            if 0 in ready and not os.read(0, 512):
                self.ending = True
            self.bury()
        self.end(GRACE if self.status is None else 0.0)
        return 143 if self.status is None else self.status

    def bury(self) -> None:
        """Reap what has died."""
        while True:
            try:
                pid, raw = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.status = 1 if self.status is None else self.status
                return
            if pid == 0:
                return
            if pid == self.child:
                code = os.waitstatus_to_exitcode(raw)
                self.status = code if code >= 0 else 128 - code

    def end(self, grace: float) -> None:
        """TERM, then KILL, until nothing is left."""
        begun = time.monotonic()
        if grace:
            signal_all(descendants(os.getpid()), signal.SIGTERM)
            self._group(signal.SIGTERM)
        while time.monotonic() - begun < GIVE_UP:
            self.bury()
            left = descendants(os.getpid())
            if not left and self.status is not None:
                break
            if time.monotonic() - begun >= grace:
                signal_all(left, signal.SIGKILL)
                self._group(signal.SIGKILL)
            time.sleep(0.01)
        self._group(signal.SIGKILL)

    def _group(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.child, number)


if __name__ == "__main__":
    try:
        sys.exit(Reaper(sys.argv[1:]).run())
    except OSError as failed:
        sys.stderr.write(f"{failed.strerror}\n")
        sys.exit(127)
