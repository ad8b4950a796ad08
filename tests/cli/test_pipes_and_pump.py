"""The pipes of headless: long lines, slow readers, and a bus that dropped something."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.cli import pipes
from app.cli.headless import Headless
from app.cli.pipes import LinesIn, LinesOut
from app.paths import Home
from app.services import Services, build
from app.session.bus import Bus
from app.settings import Settings
from store.clock import ManualClock


async def test_lines_of_any_length_come_whole_or_are_refused() -> None:
    read, write = os.pipe()
    lines = LinesIn(read, most=100)
    os.write(write, b"one\n" + b"x" * 100 + b"\n" + b"y" * 101 + b"\n\ntwo\r\nlast")
    os.close(write)
    got = []
    while (line := await asyncio.wait_for(lines.take(), 5)) is not None:
        got.append(line)
    assert got == [b"one", b"x" * 100, LinesIn.TOO_LONG, b"", b"two\r", b"last"]
    os.close(read)


async def test_a_line_that_never_ends_is_dropped_without_being_kept() -> None:
    read, write = os.pipe()
    lines = LinesIn(read, most=1_000)
    feeder = threading.Thread(
        target=lambda: (os.write(write, b"z" * 50_000), os.write(write, b"\nok\n"), os.close(write))
    )
    feeder.start()
    assert await asyncio.wait_for(lines.take(), 5) == LinesIn.TOO_LONG
    assert await asyncio.wait_for(lines.take(), 5) == b"ok"
    assert await asyncio.wait_for(lines.take(), 5) is None
    feeder.join()
    os.close(read)


async def test_a_reader_that_is_slow_holds_events_back_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "OUT_MOST", 10)
    read, write = os.pipe()
    out = LinesOut(lambda: None, write)
    for n in range(50):
        out.put({"n": n, "pad": "x" * 5_000})
    await asyncio.sleep(0.05)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(out.room(), 0.1)
    data = bytearray()

    def drain() -> None:
        while data.count(b"\n") < 50:
            data.extend(os.read(read, 65_536))

    await asyncio.wait_for(asyncio.to_thread(drain), 5)
    await asyncio.wait_for(out.room(), 5)
    assert [json.loads(line)["n"] for line in data.splitlines()] == list(range(50))
    out.close(1)
    os.close(read)
    os.close(write)


async def test_when_nobody_reads_any_more_it_is_told_once() -> None:
    read, write = os.pipe()
    broken = asyncio.Event()
    out = LinesOut(broken.set, write)
    os.close(read)
    out.put({"a": 1})
    await asyncio.wait_for(broken.wait(), 5)
    out.put({"a": 2})
    out.close(1)
    os.close(write)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[Services, int, int]]:
    """A session served on pipes in this process; the ends a client holds."""
    services = await build(Home(tmp_path / "home"), Settings(), ManualClock())
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    headless = Headless(services, their_in, their_out)
    task = asyncio.get_running_loop().create_task(headless.serve())
    yield services, our_out, our_in
    os.close(our_out)
    await asyncio.wait_for(task, 10)
    await services.close()
    for fd in (their_in, their_out, our_in):
        os.close(fd)


async def test_what_the_bus_dropped_is_read_from_the_log(
    served: tuple[Services, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    services, send, receive = served
    small = Bus(most=3)
    assert small is not services.session.bus
    services.session.bus._subscribers[0]._most = 3
    wanted = 40
    os.write(send, b"".join(b'{"do":"new","ref":"%d"}\n' % n for n in range(wanted)))
    lines: list[dict[str, Any]] = []

    def read() -> None:
        pending = b""
        while sum(line.get("type") == "chat.created" for line in lines) < wanted:
            *whole, pending = (pending + os.read(receive, 65_536)).split(b"\n")
            lines.extend(json.loads(line) for line in whole)

    await asyncio.wait_for(asyncio.to_thread(read), 20)
    ids = [line["id"] for line in lines if "seq" in line]
    assert ids == sorted(set(ids)) and len(ids) == wanted
