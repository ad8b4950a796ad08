"""What may lie where the store should be: broken, empty, foreign, newer, held (D02, D05, D06, D08)."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import db, salvage, tables
from store import events as ev
from store.batch import Batch
from store.clock import ManualClock
from store.errors import StoreBroken, StoreFull, StoreHeld, StoreNewer
from store.lock import HomeLock
from store.log import Store
from store.state import KeepState


def said(n: int, text: str = "hello") -> ev.UserMessage:
    return ev.UserMessage(message_id=f"m{n}", text=text)


def home_with(root: Path, chats: int = 12, each: int = 40) -> Path:
    home = root / "home"
    store = Store.open(home)
    for chat in range(chats):
        store.commit_sync(Batch.of(f"c{chat}", *(said(n, f"chat {chat} line {n} " * 10) for n in range(each))))
    store.commit_sync(Batch(changes=[KeepState("c1", "draft", "kept")]))
    store.delete_sync("c0")
    store.close()
    return home


def killed(home: Path, copy: Path) -> Path:
    """A copy of an open home as a kill leaves it: with its journal."""
    store = Store.open(home)
    store.commit_sync(Batch.of("late", said(1, "in the journal")))
    shutil.copytree(home, copy)
    store.close()
    return copy


def aside(home: Path) -> list[str]:
    return sorted(p.name for p in home.iterdir() if ".broken-" in p.name)


def sound(store: Store) -> None:
    for summary in store.summaries():
        assert [e.seq for e in store.events(chat=summary.id)] == list(range(summary.last_seq + 1))
    assert store.verify() == set()
    store.commit_sync(Batch.of("new", said(1)))


@pytest.mark.parametrize(
    "content", [b"", b"Dear diary,\n" * 500, os.urandom(40_000), b"\0" * 8192], ids=["empty", "text", "noise", "zeros"]
)
def test_a_file_that_isnt_a_store_is_set_aside_and_said(tmp_path: Path, content: bytes) -> None:
    home = tmp_path / "home"
    Store.open(home).close()
    (home / "store.db").write_bytes(content)
    store = Store.open(home, ManualClock())
    (kept,) = aside(home)
    assert (home / kept).read_bytes() == content
    (notice,) = store.notices
    assert kept in notice and "starts without chats" in notice
    sound(store)
    store.close()
    again = Store.open(home)
    assert again.notices == [] and aside(home) == [kept]
    again.close()


def test_two_broken_files_of_one_second_are_both_kept(tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / "store.db").write_bytes(b"broken %d" % n)
        Store.open(tmp_path, ManualClock()).close()
    assert sorted((tmp_path / name).read_bytes() for name in aside(tmp_path)) == [b"broken 0", b"broken 1", b"broken 2"]


def test_a_database_of_another_program_is_set_aside(tmp_path: Path) -> None:
    conn = db.connect(tmp_path / "store.db")
    conn.execute("CREATE TABLE event(id INTEGER)")
    conn.close()
    store = Store.open(tmp_path)
    assert len(aside(tmp_path)) == 1 and "isn't one that Shoal can read" in store.notices[0]
    sound(store)
    store.close()


def test_a_broken_first_page_loses_no_chat(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    path = home / "store.db"
    path.write_bytes(os.urandom(4096) + path.read_bytes()[4096:])
    store = Store.open(home)
    assert store.notices[0].endswith("11 chats were brought back.")
    assert len(aside(home)) == 1
    assert len(list(store.events(chat="c7"))) == 40 and store.state("c1", "draft") == "kept" and store.is_deleted("c0")
    sound(store)
    store.close()


def _break_pages(path: Path, pages: list[int]) -> None:
    with path.open("r+b") as file:
        for page in pages:
            file.seek(page * 4096)
            file.write(os.urandom(4096))


@pytest.mark.parametrize("part", range(6))
def test_a_broken_page_in_the_middle_costs_at_most_what_was_in_it(tmp_path: Path, part: int) -> None:
    home = home_with(tmp_path)
    pages = (home / "store.db").stat().st_size // 4096
    broken = 1 + part * (pages - 2) // 5
    _break_pages(home / "store.db", [broken])
    before = (home / "store.db").read_bytes()
    store = Store.open(home)
    if store.notices:
        (kept,) = aside(home)
        assert (home / kept).read_bytes() == before and kept in store.notices[0]
    found = sum(1 for c in range(1, 12) for e in store.events(chat=f"c{c}") if e.event.type == "user.message")
    assert found >= 11 * 40 - 60
    sound(store)
    lost = [c.id for c in store.summaries() if c.id != "new" and c.messages < 40]
    for chat in lost:
        assert list(store.events(chat=chat))[-1].event.type == "notice", "a chat with parts missing says so"
    store.close()


def test_a_broken_way_to_the_events_loses_none_of_them(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    conn = db.connect(home / "store.db")
    (root,) = conn.execute("SELECT rootpage FROM sqlite_schema WHERE name='event'").fetchone()
    conn.close()
    _break_pages(home / "store.db", [root - 1])
    store = Store.open(home)
    assert store.notices[0].endswith("11 chats were brought back.")
    assert (
        all(len(list(store.events(chat=f"c{n}"))) == 40 for n in range(1, 12)) and store.state("c1", "draft") == "kept"
    )
    sound(store)
    store.close()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60_000), st.text(max_size=20)), min_size=1, max_size=30))
def test_pages_read_one_by_one_give_the_rows_of_the_table(tmp_path_factory, messages: list[tuple[int, str]]) -> None:
    home = tmp_path_factory.mktemp("home")
    store = Store.open(home)
    for size, words in messages:
        store.commit_sync(Batch.of("c", said(1, "x" * size), ev.StatusChanged(status="idle"), said(2, words)))
    store.close()
    conn = db.connect(home / "store.db", readonly=True)
    table = conn.execute("SELECT id, chat, seq, at, type, v, row, body, blob FROM event ORDER BY id").fetchall()
    conn.close()
    assert sorted(salvage.event_rows(home / "store.db")) == table


@settings(max_examples=25, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 4095), st.integers(0, 9))
def test_pages_of_noise_are_read_without_an_error(tmp_path_factory, noise: bytes, at: int, page: int) -> None:
    home = tmp_path_factory.mktemp("home")
    store = Store.open(home)
    store.commit_sync(Batch.of("c", *(said(n, "x" * 700 * n) for n in range(9))))
    store.close()
    data = bytearray((home / "store.db").read_bytes())
    data[page * 4096 + at : page * 4096 + at + len(noise)] = noise
    (home / "store.db").write_bytes(data)
    list(salvage.event_rows(home / "store.db"))
    try:
        again = Store.open(home)
    except StoreNewer:  # the version's own bytes were changed
        assert page == 0 and at <= 63
        return
    again.rebuild_derived(again.verify())  # a changed letter in what was said is no fault of the file
    sound(again)
    again.close()


def test_a_new_store_of_recovered_chats_is_another_store_and_uses_no_id_again(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    store = Store.open(home)
    uuid, last = store.store_uuid(), store.last_id()
    store.close()
    _break_pages(home / "store.db", [0])
    again = Store.open(home)
    assert again.store_uuid() != uuid
    assert again.commit_sync(Batch.of("new", said(1))).last_id > last
    again.close()


def test_damage_met_while_running_is_said_and_mended_at_the_next_start(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    store = Store.open(home)
    pages = store.path.stat().st_size // 4096
    _break_pages(store.path, list(range(2, pages)))
    with pytest.raises(Exception, match="start it again"):
        for summary in store.summaries():
            store.page(summary.id)
    store.close()
    again = Store.open(home)
    assert len(again.notices) == 1 and len(aside(home)) >= 1
    sound(again)
    again.close()


def test_a_recovery_that_is_cut_off_is_finished_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = home_with(tmp_path)
    _break_pages(home / "store.db", [0])

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(
            "store.opening.os.replace", lambda old, new: die() if str(new).endswith("store.db") else os.rename(old, new)
        )
        with pytest.raises(Killed):
            Store.open(home)
    assert not (home / "store.db").exists() and len(aside(home)) == 1
    store = Store.open(home)
    assert len(store.summaries()) == 11 and "finished now" in store.notices[0]
    sound(store)
    store.close()


def test_a_missing_journal_loses_nothing_that_was_in_the_file(tmp_path: Path) -> None:
    home = killed(home_with(tmp_path), tmp_path / "killed")
    (home / "store.db-wal").unlink()
    store = Store.open(home)
    assert len(store.summaries()) == 11 and aside(home) == [] and store.notices == []
    sound(store)
    store.close()


def test_the_journal_a_kill_left_is_used(tmp_path: Path) -> None:
    home = killed(home_with(tmp_path), tmp_path / "killed")
    store = Store.open(home)
    assert [e.event.text for e in store.events(chat="late")] == ["in the journal"] and store.notices == []
    sound(store)
    store.close()


@pytest.mark.parametrize("after_a_kill", [False, True])
def test_the_journal_of_another_store_is_set_aside(tmp_path: Path, after_a_kill: bool) -> None:
    home = home_with(tmp_path)
    if after_a_kill:
        home = killed(home, tmp_path / "killed")
    other = Store.open(tmp_path / "other")
    for n in range(50):
        other.commit_sync(Batch.of("theirs", said(n, "not mine " * 50)))
    (home / "store.db-wal").write_bytes((tmp_path / "other" / "store.db-wal").read_bytes())
    other.close()
    (home / "store.db-shm").unlink(missing_ok=True)
    store = Store.open(home)
    assert store.summary("theirs") is None and len(store.summaries()) == 11
    assert len(aside(home)) == 1 and "journal" in store.notices[0]
    sound(store)
    store.close()


@pytest.mark.parametrize("content", [b"x" * 5000, random.Random(7).randbytes(100_000)], ids=["one letter", "noise"])
def test_a_journal_of_noise_does_no_harm(tmp_path: Path, content: bytes) -> None:
    home = home_with(tmp_path)
    (home / "store.db-wal").write_bytes(content)
    store = Store.open(home)
    assert len(store.summaries()) == 11
    sound(store)
    store.close()


def test_a_journal_without_its_file_isnt_taken_for_a_new_store(tmp_path: Path) -> None:
    home = killed(home_with(tmp_path), tmp_path / "killed")
    (home / "store.db").unlink()
    store = Store.open(home)
    assert store.summaries() == [] and len(store.notices) == 1 and any(n.endswith("-wal") for n in aside(home))
    sound(store)
    store.close()


def _big_journal(tmp_path: Path, megabytes: int) -> None:
    home = tmp_path / "home"
    store = Store.open(home)
    store._writer.conn.execute("PRAGMA wal_autocheckpoint=0")
    for n in range(megabytes):
        store.commit_sync(Batch.of("c", *(said(n * 20 + k, "x" * 50_000) for k in range(20))))
    copy = tmp_path / "killed"
    shutil.copytree(home, copy)
    store.close()
    assert (copy / "store.db-wal").stat().st_size > megabytes * 1_000_000
    again = Store.open(copy)
    assert (copy / "store.db-wal").stat().st_size == 0
    assert again.summary("c").messages == megabytes * 20
    sound(again)
    again.close()


def test_a_big_journal_is_brought_into_the_file(tmp_path: Path) -> None:
    _big_journal(tmp_path, 20)


@pytest.mark.soak
def test_a_journal_of_2_gb_is_brought_into_the_file(tmp_path: Path) -> None:
    _big_journal(tmp_path, 2000)


def test_a_newer_store_is_refused_in_words_and_left_as_it_is(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    conn = db.connect(home / "store.db")
    conn.execute("PRAGMA user_version=99")
    conn.close()
    before = (home / "store.db").read_bytes()
    for readonly in (False, True):
        with pytest.raises(StoreNewer, match="Update Shoal"):
            Store.open(home, readonly=readonly)
    assert (home / "store.db").read_bytes() == before and aside(home) == []
    HomeLock(home).acquire().release()


def _add_column(conn: db.Connection) -> None:
    conn.execute("ALTER TABLE state ADD COLUMN extra TEXT")
    conn.execute("UPDATE state SET extra='x'")


def test_a_migration_that_fails_leaves_the_old_version_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = home_with(tmp_path)

    def fails(conn: db.Connection) -> None:
        _add_column(conn)
        raise RuntimeError("half way")

    with monkeypatch.context() as patch:
        patch.setattr(tables, "MIGRATIONS", (*tables.MIGRATIONS, fails))
        patch.setattr(tables.migrate, "__defaults__", ((*tables.MIGRATIONS,),))
        with pytest.raises(RuntimeError):
            Store.open(home)
    store = Store.open(home)
    assert store.state("c1", "draft") == "kept"
    sound(store)
    store.close()


def test_a_migration_goes_through_and_keeps_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = home_with(tmp_path)
    monkeypatch.setattr(tables, "MIGRATIONS", (*tables.MIGRATIONS, _add_column))
    monkeypatch.setattr(tables.migrate, "__defaults__", (tables.MIGRATIONS,))
    store = Store.open(home)
    assert store.state("c1", "draft") == "kept" and len(store.summaries()) == 11
    sound(store)
    store.close()
    fresh = Store.open(tmp_path / "fresh")
    sound(fresh)
    fresh.close()


KILLED_MIGRATION = """
import os, signal, sys
from pathlib import Path
from store import tables
from store.log import Store
def dies(conn):
    conn.execute("ALTER TABLE state ADD COLUMN extra TEXT")
    conn.execute("UPDATE event SET at = at + 1")
    os.kill(os.getpid(), signal.SIGKILL)
tables.MIGRATIONS = (*tables.MIGRATIONS, dies)
tables.migrate.__defaults__ = (tables.MIGRATIONS,)
Store.open(Path(sys.argv[1]))
"""


def test_a_migration_that_is_killed_leaves_the_old_version_whole(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED_MIGRATION, str(home)], timeout=50)
    assert done.returncode == -9
    store = Store.open(home)
    assert store.state("c1", "draft") == "kept" and store.notices == []
    sound(store)
    store.close()


HOLDER = """
import sys, time
from pathlib import Path
from store.log import Store
store = Store.open(Path(sys.argv[1]))
print("open", flush=True)
time.sleep(60)
"""


def test_a_full_disk_at_the_start_opens_for_reading_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = home_with(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("store.opening._for_writing", full)
    store = Store.open(home)
    assert store.readonly and "disk is full" in store.notices[0] and len(store.summaries()) == 11
    store.close()
    with pytest.raises(StoreFull):
        Store.open(tmp_path / "new")
    HomeLock(home).acquire().release()


@pytest.mark.parametrize("content", [b"", b"text " * 3000])
def test_a_broken_store_opened_for_reading_is_told_in_words_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.db").write_bytes(content)
    with pytest.raises(StoreBroken, match="can't be read"):
        Store.open(tmp_path, readonly=True)
    assert (tmp_path / "store.db").read_bytes() == content and aside(tmp_path) == []


def test_a_second_shoal_is_told_who_holds_the_home_and_reads_it_all_the_same(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(home)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreHeld, match=f"process {holder.pid}, since ") as held:
            Store.open(home)
        assert held.value.code == "held"
        reading = Store.open(home, readonly=True)
        assert len(reading.summaries()) == 11
        reading.close()
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    store = Store.open(home)
    assert store.notices == [], "a kill needs no repair"
    sound(store)
    store.close()


def test_the_note_of_a_dead_process_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "writer.json").write_text(json.dumps({"pid": 2**22 + 5, "started": "1", "since": 1}))
    lock = HomeLock(tmp_path)
    assert lock.holder() is None
    with lock:
        assert lock.held and f"process {os.getpid()}" in (HomeLock(tmp_path).holder() or "")
        with pytest.raises(StoreHeld):
            HomeLock(tmp_path).acquire()
        (tmp_path / "writer.json").write_text("{")
        with pytest.raises(StoreHeld, match="Another Shoal has"):
            HomeLock(tmp_path).acquire()
    assert not lock.held
    HomeLock(tmp_path).acquire().release()


def test_a_reader_may_come_and_go_while_the_writer_closes(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    store = Store.open(home)
    reading = Store.open(home, readonly=True)
    store.commit_sync(Batch.of("late", said(1)))
    assert reading.summary("late") is not None
    store.close()
    assert reading.summary("late") is not None
    again = Store.open(home)
    assert again.notices == [] and again.summary("late") is not None
    reading.close()
    sound(again)
    again.close()


def test_opening_a_store_of_many_events_costs_milliseconds(tmp_path: Path) -> None:
    home = home_with(tmp_path, chats=50, each=400)
    start = time.process_time()
    store = Store.open(home)
    store.recent(50)
    assert time.process_time() - start < 0.05
    store.close()
