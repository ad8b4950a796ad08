"""S12: the index is missing, unreadable, half built, older or broken; a kill at any moment; two homes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from store import db, index
from store.index_state import HEALED_WORDS
from store.models import SearchQuery
from tests.search.conftest import Home


def filled(home: Home, chats: int = 5) -> None:
    for n in range(chats):
        home.chat(f"c{n}", *[f"the heron number {n} {m}" for m in range(20)])


def found(service) -> set[str]:
    return {g.chat.id for g in service.search_sync(SearchQuery("heron", limit=100)).groups}


def files(home: Home) -> list[str]:
    return sorted(p.name for p in home.index.glob("index-*.db"))


def reopened(home: Home, **more: object):
    home.services[-1].close_sync()
    return home.service(**more)


def test_a_missing_index_is_built(home: Home) -> None:
    filled(home)
    home.service()
    home.services[-1].close_sync()
    for path in home.index.iterdir():
        path.unlink()
    assert found(home.service()) == {f"c{n}" for n in range(5)}


def test_a_closed_index_is_used_again_without_a_build(home: Home) -> None:
    filled(home)
    home.service()
    (name,) = files(home)
    home.services[-1].close_sync()
    home.say("c1", "a heron while closed")
    service = home.service()
    assert files(home) == [name]
    assert service.search_sync(SearchQuery("closed")).match == "exact"


@pytest.mark.parametrize(
    "junk", [b"", b"not a database at all" * 400, b"SQLite format 3\0" + b"\xff" * 9000], ids=["empty", "text", "torn"]
)
def test_an_unreadable_file_is_set_aside_and_built_anew(home: Home, junk: bytes) -> None:
    filled(home)
    home.service()
    home.services[-1].close_sync()
    home.index.joinpath(files(home)[0]).write_bytes(junk)
    notices: list[str] = []
    service = home.service(on_notice=notices.append)
    assert found(service) == {f"c{n}" for n in range(5)}
    assert service.status().state == "ready"
    if junk:
        assert notices == [HEALED_WORDS]


@pytest.mark.parametrize("key", ["schema", "projection", "spans"])
def test_another_version_is_built_anew(home: Home, key: str) -> None:
    filled(home)
    home.service()
    home.services[-1].close_sync()
    name = files(home)[0]
    conn = db.connect(home.index / name)
    index.write_meta(conn, {key: "0"})
    conn.close()
    service = home.service()
    assert found(service) == {f"c{n}" for n in range(5)}
    assert files(home) != [name] and len(files(home)) == 1


def test_a_half_built_file_is_thrown_away(home: Home) -> None:
    filled(home)
    home.index.mkdir()
    (home.index / "building-7.db").write_bytes(b"half")
    assert len(found(home.service())) == 5
    assert not list(home.index.glob("building-*"))


def break_file(path: Path) -> None:
    """Zero the middle of the file: the b-trees no longer hold together."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\x5a" * (size - 4096))


def test_a_file_that_breaks_in_use_heals_once_then_asks_for_repair(home: Home) -> None:
    filled(home)
    notices: list[str] = []
    service = home.service(on_notice=notices.append)
    for round_ in range(2):
        path = service._indexer.path
        conn = db.connect(path)
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        conn.close()
        break_file(path)
        service._tools.close()
        service._tools.__init__(service._indexer, 3.0)
        answer = service.search_sync(SearchQuery("heron"))
        assert answer.broken
        assert service._indexer.wait(20)
        if round_ == 0:
            assert found(service) == {f"c{n}" for n in range(5)}
            assert notices == [HEALED_WORDS]
            assert (home.index / "damaged.db").exists()
    assert service.status().state == "unavailable"
    assert "Repair" in service.search_sync(SearchQuery("heron")).broken
    service._indexer.repair()
    assert service._indexer.wait(20)
    assert service.status().state == "ready"
    assert found(service) == {f"c{n}" for n in range(5)}


def test_damage_met_while_places_are_read_is_said_without_another_word(home: Home, monkeypatch) -> None:
    filled(home)
    service = home.service()
    met: list[int] = []
    read = service._indexer._read_places

    def breaks() -> None:
        met.append(1)
        if len(met) > 1:
            return read()
        raise db.DatabaseError("malformed")

    service._indexer._failures = 1  # it was healed once already
    monkeypatch.setattr(service._indexer, "_read_places", breaks)
    service.search_sync(SearchQuery("heron"))  # places are read in after the first search
    end = time.monotonic() + 10
    while not (met and service.status().state == "unavailable") and time.monotonic() < end:
        time.sleep(0.01)
    assert met and service._indexer.wait(5)
    assert "Repair" in service.search_sync(SearchQuery("heron")).broken


def test_an_index_folder_that_cannot_be_used_is_said_in_words(home: Home) -> None:
    filled(home, 1)
    home.index.write_text("a file is in the way")
    service = home.service()
    answer = service.search_sync(SearchQuery("heron"))
    assert answer.broken and "Traceback" not in answer.broken
    assert str(home.index) not in answer.broken


def test_a_log_that_became_shorter_wins(home: Home, tmp_path: Path) -> None:
    filled(home)
    home.service()
    home.services[-1].close_sync()
    conn = db.connect(home.index / files(home)[0])
    conn.execute("UPDATE indexed SET last_id = last_id + 1000 WHERE chat='c1'")
    conn.execute("INSERT INTO indexed VALUES (99, 'ghost', 5, '', 0, 0, 0, '')")
    conn.close()
    service = home.service()
    assert found(service) == {f"c{n}" for n in range(5)}
    assert "ghost" not in service._indexer.entries


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from store.log import Store
from store.search import SearchService
from tests.search.conftest import no_spans
folder = Path({folder!r})
store = Store(folder / "store.db", readonly=True)
store.readonly = False  # the log is only read; what is killed is the index's writer
service = SearchService(store, folder / "index", spans=no_spans, spans_version=1)
service.start_sync()
print("started", flush=True)
service._indexer.wait(60)
print("done", flush=True)
sys.stdin.read()
"""


def test_a_kill_of_the_indexer_loses_nothing(home: Home) -> None:
    root = str(Path(__file__).resolve().parents[2])
    for n in range(10):
        home.chat(f"c{n}", *[f"the heron {n} {m}" for m in range(60)])
    code = textwrap.dedent(CHILD).format(root=root, folder=str(home.folder))
    for delay in (0.0, 0.02, 0.05, 0.1, 0.2):
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert child.stdout is not None and child.stdout.readline() == b"started\n"
        time.sleep(delay)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
        home.say("c3", f"a heron after the kill {delay}")
    service = home.service()
    answer = service.search_sync(SearchQuery("heron", limit=100))
    assert answer.total == 605
    assert service.status().state == "ready"
    path = service._indexer.path
    conn = db.connect(path)
    conn.execute("INSERT INTO f(f) VALUES('integrity-check')")
    assert conn.execute("SELECT count(*), count(DISTINCT anchor) FROM msg").fetchone() == (605, 605)
    conn.close()


def test_counts_after_draining_are_those_of_a_rebuild(home: Home) -> None:
    filled(home)
    service = home.service()
    home.say("c1", "heron heron and new words getUserName 東京")
    home.chat("c9", "to be deleted heron")
    assert service._indexer.wait(10)
    home.store.delete_sync("c9")
    home.store.delete_sync("c2")
    assert service._indexer.wait(10)
    drained = db.connect(service._indexer.path, readonly=True)
    kept = drained.execute("SELECT term, df, stem FROM vocab ORDER BY term").fetchall()
    drained.close()
    service._indexer.repair()
    assert service._indexer.wait(10)
    rebuilt = db.connect(service._indexer.path, readonly=True)
    assert kept == rebuilt.execute("SELECT term, df, stem FROM vocab ORDER BY term").fetchall()
    rebuilt.close()


async def test_while_the_first_index_is_built_answers_say_so(home: Home) -> None:
    import threading

    from store.search import SearchService

    filled(home)
    held = threading.Event()

    def slow(text: str) -> list[tuple[int, int]]:
        if threading.current_thread().name == "index":
            held.wait(20)
        return []

    service = SearchService(home.store, home.index, spans=slow, spans_version=1)
    home.services.append(service)
    service.start_sync()
    for _ in range(200):
        answer = await service.search(SearchQuery("heron"))
        if answer.to_index:
            break
        time.sleep(0.01)
    status = service.status()
    held.set()
    assert answer.catching_up and answer.match == "none" and answer.to_index == 100
    assert status.state == "catching-up" and "indexing" in status.words
    assert await service.caught_up(20)
    assert (await service.search(SearchQuery("heron"))).match == "exact"


async def test_the_old_index_answers_while_a_new_one_is_built(home: Home) -> None:
    import threading

    filled(home)
    home.service()
    home.services[-1].close_sync()
    held = threading.Event()

    def slow(text: str) -> list[tuple[int, int]]:
        if threading.current_thread().name == "index":
            held.wait(20)
        return []

    from store.search import SearchService

    service = SearchService(home.store, home.index, spans=slow, spans_version=2)
    home.services.append(service)
    service.start_sync()
    for _ in range(200):
        answer = await service.search(SearchQuery("heron"))
        if answer.groups:
            break
        time.sleep(0.01)
    held.set()
    assert answer.groups and answer.catching_up
    assert await service.caught_up(20)
    after = await service.search(SearchQuery("heron"))
    assert after.groups and not after.catching_up
