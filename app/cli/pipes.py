"""Standard input and output as lines, each on a thread of its own, so that neither ever holds up the event loop."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

from store.limits import HEADLESS_LINE_BYTES

CHUNK = 65_536
OUT_MOST = 2_000  # lines waiting to be written before events are held back


class LinesIn:
    """Reads lines from a descriptor; `take` gives None at the end of input, and b"" … for each line.

    A line over the limit comes as None's opposite: `TOO_LONG`.
    """

    TOO_LONG = b"\0too long"

    def __init__(self, fd: int = 0, most: int = HEADLESS_LINE_BYTES) -> None:
        self._fd = fd
        self._most = most
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="lines-in", daemon=True).start()

    async def take(self) -> bytes | None:
        """The next line without its end; None when there are no more."""
        return await self._lines.get()

    def _read(self) -> None:
        pending, skipping = bytearray(), False
        while True:
            try:
                chunk = os.read(self._fd, CHUNK)
            except OSError:
                chunk = b""
            if not chunk:
                break
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                pending += line
                self._put(self.TOO_LONG if skipping or len(pending) > self._most else bytes(pending))
                pending, skipping = bytearray(), False
            pending += rest
            if len(pending) > self._most:
                pending, skipping = bytearray(), True
        if pending or skipping:
            self._put(self.TOO_LONG if skipping else bytes(pending))
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            return  # the loop is closed: nobody takes lines any more


class LinesOut:
    """Writes JSON lines to a descriptor, in order. `on_broken` is called in the loop when nobody reads any more."""

    def __init__(self, on_broken: Callable[[], None], fd: int = 1) -> None:
        self._fd = fd
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        self._room = asyncio.Event()
        self._room.set()
        self._thread = threading.Thread(target=self._write, name="lines-out", daemon=True)
        self._thread.start()

    def put(self, line: Mapping[str, Any]) -> None:
        """One more line."""
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        self._waiting += 1
        if self._waiting >= OUT_MOST:
            self._room.clear()
        self._lines.put(text.encode("utf-8", "replace") + b"\n")

    async def room(self) -> None:
        """Wait while too much isn't read yet."""
        await self._room.wait()

    def close(self, seconds: float) -> None:
        """Write what waits, at most this long."""
        self._lines.put(None)
        self._thread.join(seconds)

    def _write(self) -> None:
        broken = False
        while (line := self._lines.get()) is not None:
            group = [line]
            while len(group) < 200 and not self._lines.empty():
                more = self._lines.get()
                if more is None:
                    self._lines.put(None)
                    break
                group.append(more)
            if not broken:
                broken = not self._out(b"".join(group))
                if broken:
                    self._later(self._on_broken)
            self._later(self._written, len(group))

    def _out(self, data: bytes) -> bool:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            return False
        return True

    def _written(self, count: int) -> None:
        self._waiting -= count
        if self._waiting < OUT_MOST // 2:
            self._room.set()

    def _later(self, call: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            return  # the loop is closed
