"""Kill −9 at any moment: nothing acknowledged is lost, nothing is half there, nothing needs repair by hand."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from store.log import Store

CHILD = Path(__file__).with_name("kill_child.py")
KILLS = int(os.environ.get("SHOAL_KILLS", "20"))


class Acknowledged:
    """What the children were told is durable."""

    def __init__(self) -> None:
        self.events: dict[tuple[str, int], tuple[int, str]] = {}
        self.deleted: set[str] = set()
        self.maybe_deleted: str | None = None

    def take(self, lines: str) -> None:
        self.maybe_deleted = None
        for line in lines.splitlines():
            if not line.endswith("}"):
                continue  # cut off by the kill
            told = json.loads(line)
            assert "trouble" not in told, told
            for chat, seq, id_, type_ in told.get("kept", ()):
                self.events[chat, seq] = (id_, type_)
            self.maybe_deleted = told.get("deleting")
            if gone := told.get("deleted"):
                self.forget(gone)

    def forget(self, chat: str) -> None:
        self.deleted.add(chat)
        self.events = {k: v for k, v in self.events.items() if k[0] != chat}

    def check(self, home: Path) -> None:
        store = Store.open(home)
        try:
            assert store.notices == []
            if self.maybe_deleted and store.is_deleted(self.maybe_deleted):
                self.forget(self.maybe_deleted)
            there = {(e.chat, e.seq): (e.id, e.event.type) for e in store.events()}
            assert self.events.items() <= there.items(), "an acknowledged event is lost or changed"
            ends: dict[str, int] = {}
            for chat, seq in there:
                assert seq == ends.get(chat, -1) + 1, f"a gap in {chat}"
                ends[chat] = seq
                assert chat not in self.deleted
            assert {s.id: s.last_seq for s in store.summaries()} == ends
            assert store.verify() == set()
            for turn in store.open_turns():
                assert turn.chat in ends and (turn.turn is not None or turn.live)
            assert len(list((home / "blobs").glob("*"))) < 500
        finally:
            store.close()


def _run(home: Path, seed: int, at: str, seconds: float) -> str:
    out = home.with_suffix(".out")
    with out.open("w") as stdout:
        child = subprocess.Popen(
            [sys.executable, str(CHILD), str(home), str(seed), at], stdout=stdout, cwd=CHILD.parents[2],
            env=os.environ | {"PYTHONPATH": str(CHILD.parents[2])},
        )  # fmt: skip
        if at == "random":
            end = time.monotonic() + 20
            while '"kept"' not in out.read_text() and time.monotonic() < end:
                time.sleep(0.005)
            time.sleep(seconds)
            child.kill()
        assert child.wait(timeout=40) == -9
    return out.read_text()


def _kill_again_and_again(home: Path, kills: int, rng: random.Random) -> None:
    told = Acknowledged()
    for n in range(kills):
        # half at a chosen statement (every boundary of every batch, spread over the kills), half at any time
        at = str(1 + n * 7 % 160) if n % 4 < 2 else "random"
        told.take(_run(home, n + 1, at, rng.random() * 0.15))
        told.check(home)
    assert len(told.events) > kills


def test_a_kill_at_any_moment_loses_nothing_acknowledged(tmp_path: Path) -> None:
    _kill_again_and_again(tmp_path / "home", KILLS, random.Random(7))


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_200_kills_lose_nothing_acknowledged(tmp_path: Path) -> None:
    _kill_again_and_again(tmp_path / "home", 200, random.Random(11))
