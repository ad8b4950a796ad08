"""Locked, full, read-only and moved stores (D01, D03, D04, D07): a sentence, nothing half written, and it goes on."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from store import db
from store import events as ev
from store.batch import Batch
from store.errors import StoreFull, StoreLocked, StoreMoved, StoreReadOnly
from store.log import Store


def said(n: int, text: str = "hello") -> ev.UserMessage:
    return ev.UserMessage(message_id=f"m{n}", text=text)


@pytest.fixture
def store(tmp_path: Path):
    made = Store.open(tmp_path / "home")
    yield made
    made.close()


async def _another_program_holds_the_lock(store: Store, seconds: float, notice: float) -> None:
    told: list[str | None] = []
    others: list[str | None] = []

    def broken(_: object) -> None:
        raise RuntimeError("no")

    store.on_trouble = told.append
    store.listen_trouble(broken)
    store.listen_trouble(others.append)
    store._writer.lock_notice = notice
    await store.commit(Batch.of("c", said(0)))
    other = db.connect(store.path)
    other.execute("BEGIN IMMEDIATE")
    task = asyncio.create_task(store.commit(Batch.of("c", said(1))))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        assert len(store.page("c").events) == 1 and store.summaries()
        await asyncio.sleep(0.01)
        assert time.monotonic() - start < 0.1, "neither reading nor the loop is held up"
    assert not task.done() and len(told) == 1 and told[0] is not None and "waits" in told[0]
    other.execute("ROLLBACK")
    other.close()
    await task
    assert told[1:] == [None] and others == told
    assert [e.seq for e in store.events(chat="c")] == [0, 1]


async def test_a_lock_held_by_another_program_is_waited_for_and_told_of(store: Store) -> None:
    await _another_program_holds_the_lock(store, 0.8, 0.2)


@pytest.mark.soak
async def test_a_lock_held_for_30_seconds_is_waited_for_and_told_of(store: Store) -> None:
    await _another_program_holds_the_lock(store, 30, 2.0)


def test_a_lock_held_too_long_is_given_up_in_words_and_the_next_commit_works(store: Store) -> None:
    told: list[str | None] = []
    store.on_trouble = told.append
    store._writer.lock_wait, store._writer.lock_notice = 0.4, 0.1
    other = db.connect(store.path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLocked, match="try again"):
        store.commit_sync(Batch.of("c", said(1)))
    assert told[0] and told[1:] == [None]
    other.execute("ROLLBACK")
    other.close()
    store.commit_sync(Batch.of("c", said(2)))
    assert [e.seq for e in store.events()] == [0]


def test_closing_isnt_held_up_for_long_by_somebody_elses_lock(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.writer.CLOSING_WAIT_SECONDS", 0.3)
    other = db.connect(store.path)
    other.execute("BEGIN IMMEDIATE")
    late = store._submit_batch(Batch.of("c", said(1)))
    start = time.monotonic()
    threading.Timer(0.1, lambda: None).start()
    store.close()
    assert time.monotonic() - start < 2
    assert isinstance(late.exception(), StoreLocked)
    other.close()


def test_a_full_disk_is_said_and_nothing_is_half_written_and_it_goes_on_with_space(store: Store) -> None:
    store.commit_sync(Batch.of("c", said(0)))
    conn = store._writer.conn
    pages = conn.execute("PRAGMA page_count").fetchone()[0]
    conn.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(StoreFull, match="disk is full"):
        store.commit_sync(Batch.of("c", *(said(n, "x" * 9000) for n in range(1, 20))))
    assert [e.event.message_id for e in store.events()] == ["m0"] and store.verify() == set()
    conn.execute("PRAGMA max_page_count=1000000")
    store.commit_sync(Batch.of("c", *(said(n, "x" * 9000) for n in range(1, 20))))
    assert [e.seq for e in store.events()] == list(range(20))


async def test_one_batch_too_big_for_the_disk_doesnt_take_the_small_ones_with_it(store: Store) -> None:
    await store.commit(Batch.of("c", said(0)))
    conn = store._writer.conn
    conn.execute(f"PRAGMA max_page_count={conn.execute('PRAGMA page_count').fetchone()[0] + 3}")
    hold = threading.Event()
    store.listen(lambda _: hold.wait(5))
    first = asyncio.create_task(store.commit(Batch.of("c", said(1))))
    await asyncio.sleep(0.05)
    big = Batch.of("c", *(said(n, "x" * 9000) for n in range(100, 110)))
    tasks = [asyncio.create_task(store.commit(b)) for b in (Batch.of("c", said(2)), big, Batch.of("c", said(3)))]
    await asyncio.sleep(0.05)
    hold.set()
    await first
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[1], StoreFull)
    assert [e.event.message_id for e in store.events()] == ["m0", "m1", "m2", "m3"]
    assert [e.seq for e in store.events()] == [0, 1, 2, 3] and store.verify() == set()


FILE_LIMIT = """
import resource, sys
from pathlib import Path
from store.errors import StoreFull
from store.events import UserMessage
from store.log import Batch, Store
store = Store.open(Path(sys.argv[1]))
say = lambda n: store.commit_sync(Batch.of("c", UserMessage(message_id=f"m{n}", text="x" * 20000)))
say(0)
size = store.path.with_name("store.db-wal").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 60000, resource.RLIM_INFINITY))
kept, refused = 1, 0
for n in range(1, 8):
    try:
        say(n)
        kept += 1
    except StoreFull as error:
        assert "disk is full" in str(error), error
        refused += 1
assert refused, "the limit was reached"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
say(100)
assert [e.seq for e in store.events()] == list(range(kept + 1))
assert store.verify() == set()
store.close()
again = Store.open(Path(sys.argv[1]))
assert len(list(again.events())) == kept + 1 and again.notices == []
again.close()
print("went on", refused)
"""


def test_a_file_that_may_not_grow_is_a_full_disk_and_it_goes_on_without_a_restart(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILE_LIMIT, str(tmp_path / "home")], capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0 and done.stdout.startswith("went on"), done.stderr


FULL_AT_CHECKPOINT = """
import resource, sys
from pathlib import Path
from store import opening
from store.errors import StoreFull
from store.events import UserMessage
from store.log import Batch, Store
home = Path(sys.argv[1])
store = Store.open(home)
def say(n):
    store.commit_sync(Batch.of("c", UserMessage(message_id=f"m{n}", text="x" * 20000)))
for n in range(40):
    say(n)
opening.checkpoint(store._writer.conn)  # from here on the file must grow at a checkpoint, and may not
resource.setrlimit(resource.RLIMIT_FSIZE, (store.path.stat().st_size, resource.RLIM_INFINITY))
kept, refused = 40, 0
for n in range(40, 120):
    try:
        say(n)
        kept += 1
    except StoreFull:
        refused += 1
assert kept > 45 and refused, (kept, refused)
try:
    assert not opening.checkpoint(store._writer.conn), "the checkpoint was refused"
except Exception as error:
    assert "full" in str(error) or "I/O" in str(error), error
assert len(list(store.events())) == kept
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
say(200)
store.close()
again = Store.open(home)
assert [e.seq for e in again.events()] == list(range(kept + 1)) and again.notices == [] and again.verify() == set()
again.close()
print("went on", refused)
"""


def test_a_disk_that_fills_at_a_checkpoint_loses_nothing_and_goes_on_with_space(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_AT_CHECKPOINT, str(tmp_path / "home")], capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0 and done.stdout.startswith("went on"), done.stderr


def test_a_moved_folder_is_said_and_no_empty_store_is_made_and_putting_it_back_is_enough(store: Store) -> None:
    home = store.path.parent
    store.commit_sync(Batch.of("c", said(0)))
    away = home.with_name("away")
    home.rename(away)
    with pytest.raises(StoreMoved, match="moved"):
        store.commit_sync(Batch.of("c", said(1)))
    assert not home.exists()
    away.rename(home)
    store.commit_sync(Batch.of("c", said(2)))
    assert [e.event.message_id for e in store.events()] == ["m0", "m2"]


def test_a_deleted_folder_is_said_and_not_made_again(store: Store) -> None:
    store.commit_sync(Batch.of("c", said(0)))
    shutil.rmtree(store.path.parent)
    for n in (1, 2):
        with pytest.raises(StoreMoved, match="deleted"):
            store.commit_sync(Batch.of("c", said(n)))
    store.close()
    assert not store.path.parent.exists()


def test_another_store_put_in_its_place_isnt_written_to(store: Store, tmp_path: Path) -> None:
    store.commit_sync(Batch.of("c", said(0)))
    store.path.parent.rename(tmp_path / "away")
    other = Store.open(store.path.parent)
    with pytest.raises(StoreMoved):
        store.commit_sync(Batch.of("c", said(1)))
    assert list(other.events()) == []
    other.close()


READ_ONLY = """
import concurrent.futures.thread, filelock, os, random, sys
import store.recover
from pathlib import Path
from store.errors import StoreReadOnly
from store.events import UserMessage
from store.log import Batch, Store
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
store = Store.open(Path(sys.argv[1]))
assert store.readonly and len(store.notices) == 1 and "read-only" in store.notices[0], store.notices
assert [e.event.message_id for e in store.events()] == sys.argv[2].split(","), list(store.events())
assert store.summaries() and store.page("c").events
try:
    store.commit_sync(Batch.of("c", UserMessage(message_id="x", text="y")))
except StoreReadOnly as error:
    print("refused:", error)
store.close()
"""


@pytest.fixture
def open_folder():
    """A folder anybody may come to: pytest's own are for one person, and root must become another to be refused."""
    with tempfile.TemporaryDirectory(prefix="shoal-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        for path in Path(folder).rglob("*"):
            path.chmod(0o755)


@pytest.mark.parametrize("with_journal", [False, True])
@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_read_only_store_is_read_and_refuses_to_save_in_words(
    tmp_path: Path, open_folder: Path, what: str, with_journal: bool
) -> None:
    home, copy = tmp_path / "home", open_folder / "copy"
    store = Store.open(home)
    store.commit_sync(Batch.of("c", said(0)))
    if not with_journal:
        store.close()
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("*-shm"))
    store.close()
    for path in copy.rglob("*"):
        path.chmod(0o644 if path.name != "store.db" else 0o444)
    copy.chmod(0o555 if what == "folder" else 0o777)
    temporary = open_folder / "temporary"
    temporary.mkdir()
    temporary.chmod(0o777)
    probe = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(copy), "m0"],
        capture_output=True,
        text=True,
        timeout=50,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    assert probe.returncode == 0 and probe.stdout.startswith("refused: Nothing can be saved"), probe.stderr
    assert list(temporary.iterdir()) == [], "no copy of the chats is left"


def test_a_disk_that_became_read_only_is_said(store: Store) -> None:
    store.commit_sync(Batch.of("c", said(0)))
    store._writer.conn.execute("PRAGMA query_only=ON")
    with pytest.raises(StoreReadOnly, match="read-only"):
        store.commit_sync(Batch.of("c", said(1)))
    store._writer.conn.execute("PRAGMA query_only=OFF")
    store.commit_sync(Batch.of("c", said(2)))
    assert os.path.exists(store.path) and [e.seq for e in store.events()] == [0, 1]
