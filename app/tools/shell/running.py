"""One running command: started, read, and ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from app.aio import TaskSet
from app.tools.shell.reaper import descendants, signal_all, stand_still
from app.tools.shell.sandbox import Prepared, Sandbox
from store.limits import COMMAND_GRACE_SECONDS, COMMAND_PROGRESS_SECONDS

End = Literal["exited", "stopped", "limit", "closed"]

_CHUNK = 64 * 1024
_FREEZES = 20
_BURIED_SECONDS = 0.8  # after TERM and its grace
_LAST_WORDS_SECONDS = 0.5


class Sink(Protocol):
    """Takes what comes out."""

    def feed(self, data: bytes) -> None:
        """Take more."""


class Running:
    """A command with its whole tree. Made by `start`."""

    def __init__(self, proc: asyncio.subprocess.Process, prepared: Prepared, sandbox: Sandbox, sink: Sink) -> None:
        self._proc = proc
        self._prepared = prepared
        self._sandbox = sandbox
        self._sink = sink
        self._tasks = TaskSet()
        self._reading = self._tasks.spawn(self._read())
        self._dying = self._tasks.spawn(proc.wait())
        self._released = False

    @classmethod
    async def start(cls, sandbox: Sandbox, prepared: Prepared, folder: Path, sink: Sink) -> Running:
        """Start it; raises OSError when that can't be done."""
        sandbox.hold(prepared)
        try:
            proc = await asyncio.create_subprocess_exec(
                *prepared.argv,
                stdin=asyncio.subprocess.DEVNULL if prepared.sandboxed else asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=folder,
                env=dict(prepared.env),
                start_new_session=True,
            )
        except BaseException:
            sandbox.release(prepared)
            raise
        return cls(proc, prepared, sandbox, sink)

    @property
    def code(self) -> int | None:
        """The exit code once it has ended; 128 and a signal's number where one ended it."""
        code = self._proc.returncode
        return code if code is None or code >= 0 else 128 - code

    async def wait(
        self,
        seconds: float | None,
        stop: asyncio.Event | None = None,
        told: Callable[[], None] | None = None,
    ) -> End:
        """Until it ends, its limit or `stop`; the tree is gone when this returns. `told` is called as it runs."""
        loop = asyncio.get_running_loop()
        ends = None if seconds is None else loop.time() + seconds
        stopping = self._tasks.spawn(stop.wait()) if stop is not None else None
        how: End = "exited"
        while not self._dying.done():
            left = COMMAND_PROGRESS_SECONDS if ends is None else min(COMMAND_PROGRESS_SECONDS, ends - loop.time())
            if stopping is not None and stopping.done():
                how = "stopped"
            elif left <= 0:
                how = "limit"
            if how != "exited":
                await self.end()
                break
            waited = {self._dying, stopping} if stopping is not None else {self._dying}
            done, _ = await asyncio.wait(waited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if told is not None and not done:
                told()
        await self._close()
        return how

    async def end(self) -> None:
        """TERM to all of it, KILL after a second; nothing of it runs when this returns."""
        pid = self._proc.pid
        if self._dying.done():
            return
        if self._prepared.sandboxed:
            signal_all(descendants(pid), signal.SIGTERM)
        elif self._proc.stdin is not None:
            self._proc.stdin.close()  # the reaper ends the tree by itself
        grace = COMMAND_GRACE_SECONDS + (0.0 if self._prepared.sandboxed else _BURIED_SECONDS)
        await asyncio.wait({self._dying}, timeout=grace)
        if not self._dying.done():
            self.kill()
            await asyncio.wait({self._dying}, timeout=_BURIED_SECONDS)

    def kill(self) -> None:
        """KILL to all of it, at once and without waiting."""
        if self._proc.returncode is not None:
            return
        tree = [self._proc.pid]
        for _ in range(_FREEZES):  # stopped first, so that none starts another (or outlives a bubblewrap that begins)
            stand_still(tree)
            found = [self._proc.pid, *descendants(self._proc.pid)]
            if set(found) == set(tree):
                break
            tree = found
        signal_all(tree[::-1], signal.SIGKILL)
        if sys.platform != "linux":
            with contextlib.suppress(OSError):
                os.killpg(self._proc.pid, signal.SIGKILL)

    async def _close(self) -> None:
        await asyncio.wait({self._reading}, timeout=_LAST_WORDS_SECONDS)
        self.drop()
        await self._tasks.close(_LAST_WORDS_SECONDS)

    def drop(self) -> None:
        """The last resort of every path, a cancelled one too: kill what runs, clear away what was made."""
        self.kill()
        self._reading.cancel()
        if self._proc.stdin is not None:
            self._proc.stdin.close()
        if not self._released:
            self._released = True
            self._sandbox.release(self._prepared)

    async def _read(self) -> None:
        assert self._proc.stdout is not None
        while data := await self._proc.stdout.read(_CHUNK):
            self._sink.feed(data)
