"""Big bodies, and the one removal there is."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from store import db
from store import events as ev
from store.batch import Batch
from store.blobs import Blobs, KeepBlob
from store.errors import StoreFull
from store.events import UnknownEvent
from store.limits import BIG_BODY_BYTES
from store.log import Store
from store.state import KeepLiveText, KeepState
from store.tables import MIGRATIONS

BIG = "wörter " * (BIG_BODY_BYTES // 4)


def big(n: int, text: str = BIG) -> ev.UserMessage:
    return ev.UserMessage(message_id=f"m{n}", text=text)


def blobs_in(home: Path) -> list[Path]:
    return sorted((home / "blobs").iterdir()) if (home / "blobs").exists() else []


@pytest.fixture
def store(tmp_path: Path):
    made = Store.open(tmp_path)
    yield made
    made.close()


def test_a_big_body_lies_in_a_blob_and_reads_as_if_it_didnt(store: Store, tmp_path: Path) -> None:
    store.commit_sync(Batch.of("c", big(1), big(2, "small")))
    assert [e.event.text for e in store.events()] == [BIG, "small"] == [e.event.text for e in store.page("c").events]
    (blob,) = blobs_in(tmp_path)
    assert stat.S_IMODE(blob.stat().st_mode) == 0o600 and stat.S_IMODE(blob.parent.stat().st_mode) == 0o700
    assert (tmp_path / "store.db-wal").stat().st_size < BIG_BODY_BYTES * 2


def test_a_message_of_20_mb_is_kept_whole(store: Store) -> None:
    text = "x" * 20_000_000
    store.commit_sync(Batch.of("c", big(1, text)))
    assert next(store.events()).event.text == text and len(store.summary("c").preview) <= 160


def test_the_same_big_body_is_kept_once_and_stays_while_a_chat_needs_it(store: Store, tmp_path: Path) -> None:
    store.commit_sync(Batch.of("a", big(1)))
    store.commit_sync(Batch.of("b", big(1)))
    assert len(blobs_in(tmp_path)) == 1
    store.delete_sync("a")
    assert next(store.events(chat="b")).event.text == BIG
    store.delete_sync("b")
    assert blobs_in(tmp_path) == []


def test_a_blob_nothing_points_at_is_harmless_and_one_that_was_changed_isnt_believed(
    store: Store, tmp_path: Path
) -> None:
    store.commit_sync(Batch.of("c", big(1)))
    (blob,) = blobs_in(tmp_path)
    (blob.parent / ("0" * 64)).write_bytes(b"left over")
    assert next(store.events()).event.text == BIG
    blob.write_bytes(b"changed")
    assert isinstance(next(store.events()).event, UnknownEvent)


def test_a_blob_that_cant_be_written_fails_its_batch_in_words_and_leaves_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("store.blobs.os.fsync", full)
        with pytest.raises(StoreFull):
            store.commit_sync(Batch.of("c", big(1)))
    assert blobs_in(tmp_path) == [] and list(store.events()) == []
    store.commit_sync(Batch.of("c", big(1)))


def test_pre_images_are_kept_with_their_chat_and_go_with_it(store: Store, tmp_path: Path) -> None:
    kept = KeepBlob(store.blobs, "c", b"before the change")
    store.commit_sync(Batch.of("c", big(1, "x"), changes=[kept]))
    assert store.blobs.get(kept.sha) == b"before the change"
    store.delete_sync("c")
    assert store.blobs.get(kept.sha) is None


def test_a_deleted_chat_leaves_nothing_but_a_tombstone(store: Store, tmp_path: Path) -> None:
    heard: list[str] = []
    store.listen_deleted(heard.append)
    secret = "xyzzy-unlikely-word"
    changes = [KeepState("c", "draft", secret), KeepLiveText("c", "m9", "text", secret)]
    store.commit_sync(Batch.of("c", big(1, secret), big(2, BIG + secret), changes=changes))
    store.commit_sync(Batch.of("d", big(1, "stays")))
    assert store.delete_sync("c") is True and heard == ["c"]
    assert store.delete_sync("c") is False and store.delete_sync("never") is False
    assert [e.chat for e in store.events()] == ["d"] and store.summary("c") is None and store.page("c").events == ()
    assert store.state("c", "draft") is None and store.live_texts() == () and store.is_deleted("c")
    store.close()
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes(), path.name
    again = Store.open(tmp_path)
    assert again.is_deleted("c") and not again.is_deleted("never") and again.verify() == set()
    again.close()


def test_ids_arent_used_again_after_a_delete(store: Store) -> None:
    last = store.commit_sync(Batch.of("c", big(1, "x"))).last_id
    store.delete_sync("c")
    assert store.commit_sync(Batch.of("d", big(1, "y"))).events[0].id > last


def test_a_fault_in_a_listener_of_deletes_hides_no_delete(store: Store) -> None:
    def broken(_: str) -> None:
        raise RuntimeError("no")

    heard: list[str] = []
    store.listen_deleted(broken)
    store.listen_deleted(heard.append)
    store.commit_sync(Batch.of("c", big(1, "x")))
    assert store.delete_sync("c") and heard == ["c"]


def test_putting_a_blob_leaves_no_half_file(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    sha = blobs.put(b"x" * 100)
    (tmp_path / "blobs" / sha).write_bytes(b"cut")
    assert blobs.get(sha) is None and blobs.put(b"x" * 100) == sha and blobs.get(sha) == b"x" * 100
    assert [p.name for p in (tmp_path / "blobs").iterdir()] == [sha]


def test_files_are_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    store = Store.open(home)
    store.commit_sync(Batch.of("c", big(1)))
    for path in [home, *home.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path.name
    store.close()
    assert all(stat.S_IMODE(p.stat().st_mode) & 0o077 == 0 for p in home.rglob("*"))
    assert db.connect(home / "store.db").execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
