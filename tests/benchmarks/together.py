"""What chats know of each other, among 10,000 chats of which 50 are working."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.together.lines import Said, notes
from app.together.snapshot import Snapshot
from store import events as ev
from store.log import Batch, NewEvent, Store


def run(full: bool = False) -> Iterator[dict[str, Any]]:
    """Milliseconds for the running chats alone, and for the notes of one step."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder))
        snapshot = Snapshot(store)
        events = [NewEvent(f"c_{n:05}", ev.ChatCreated(title=f"Chat {n}", folder=f"/w/{n % 7}")) for n in range(10_000)]
        for at in range(0, len(events), 2_000):
            store.commit_sync(Batch(events[at : at + 2_000]))
        for n in range(50):
            changed = ev.FilesChanged(change_id=f"f_{n}", files=(ev.FileChange(path=f"{n}.py", change="changed"),))
            store.commit_sync(Batch.of(f"c_{n:05}", ev.TurnStarted(turn_id=f"r_{n}"), changed))
        spent = [_timed(snapshot.working) for _ in range(300)]
        value = statistics.median(spent)
        yield {"name": "chats(working) ms, 50 of 10,000", "value": round(value, 4), "bar": 0.2, "passed": value <= 0.2}
        working = snapshot.working()
        spent = [_timed(lambda: notes(working[0], working[1:], Said())) for _ in range(100)]
        yield {"name": "notes of one step ms", "value": round(statistics.median(spent), 4)}
        store.close()


def _timed(work: Any) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000
