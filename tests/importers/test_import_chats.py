"""What an import puts in the store: each message once, marks, times, and what was deleted staying so (faults I)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from store import events as ev
from store.clock import ManualClock
from store.errors import ChatGone, StoreFull
from store.importers import run
from store.importers.run import ImportFailed, Report, import_file
from store.log import Batch, Committed, Store

BENCH = Path(__file__).parents[3] / "shared" / "bench" / "locomo-dev.jsonl.gz"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "home", ManualClock())
    yield store
    store.close()


def chat(own: str = "a/s1", **more: Any) -> dict[str, Any]:
    return {"type": "chat", "id": own, "number": 1, "started": "2023-05-08T13:56:00", "people": ["Ana", "Ben"], **more}


def message(own: str, text: str, seq: int, role: str = "you", **more: Any) -> dict[str, Any]:
    name = "Ana" if role == "you" else "Ben"
    base = {"type": "message", "id": own, "chat": "a/s1", "seq": seq, "role": role, "name": name, "text": text}
    return base | {"at": f"2023-05-08T14:{seq % 60:02}:00"} | more


def take(store: Store, tmp_path: Path, *lines: object, **options: Any) -> Report:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines), "utf-8", "surrogatepass")
    return import_file(store, path, **options)


def texts(store: Store, chat: str) -> list[str]:
    return [s.event.text for s in store.events(chat=chat) if isinstance(s.event, ev.UserMessage)]


def test_a_chat_comes_in_with_its_origin_marks_names_and_folder(store: Store, tmp_path: Path) -> None:
    report = take(
        store,
        tmp_path,
        chat(),
        message("m1", "Shall we?", 0),
        message("m2", "Yes.", 1, "them", image="two boats"),
        {"type": "question", "id": "q", "gold_chats": [], "text": "?"},
        project="/work/demo",
    )
    assert (report.chats, report.messages, report.unreadable) == (1, 2, 0)
    (summary,) = store.summaries()
    assert summary.id.endswith("/a/s1") and summary.id[0] == "i" and len(summary.id.split("/")[0]) == 5
    assert summary.origin == ev.Origin(kind="import", name="LoCoMo", ref="a/s1")
    assert summary.folder == "/work/demo" and summary.title == "Ana and Ben · 1"
    assert [(t.kind, t.label) for t in summary.taints] == [("app", "LoCoMo"), ("person", "Ben")]
    assert summary.others == ("Ben",) and summary.messages == 2
    said = [s.event for s in store.events(chat=summary.id) if isinstance(s.event, ev.UserMessage)]
    assert [(e.author, e.them) for e in said] == [("Ana", False), ("Ben", True)]
    assert said[1].attachments[0].caption == "two boats" and said[0].message_id.endswith("/m1")
    kinds = [s.event.type for s in store.events(chat=summary.id)]
    assert kinds == ["chat.created", "taint", "taint", "user.message", "user.message", "import.added"]


def test_bad_lines_are_counted_and_said_and_the_rest_is_read(store: Store, tmp_path: Path) -> None:
    report = take(
        store, tmp_path, "", "null", chat(), "[]", message("m1", "one", 0), '{"type":"message","id', "42", '{"x":1}'
    )
    assert report.messages == 1 and report.unreadable == 5
    assert "5 lines couldn't be read" in report.sentence()


def test_imported_twice_nothing_comes_twice_and_a_grown_file_adds_only_what_is_new(
    store: Store, tmp_path: Path
) -> None:
    lines = [chat(), message("m1", "one", 0), message("m2", "two", 1)]
    take(store, tmp_path, *lines)
    last = store.last_id()
    again = take(store, tmp_path, *lines)
    assert (again.messages, again.known) == (0, 2) and store.last_id() == last
    grown = take(store, tmp_path, *lines, message("m3", "three", 2, "them"))
    assert grown.messages == 1 and grown.chats == 1 and grown.new_chats == 0
    (summary,) = store.summaries()
    assert texts(store, summary.id) == ["one", "two", "three"]
    assert [t.kind for t in summary.taints] == ["app", "person"]


def test_lines_with_one_id_or_in_another_order_come_once_and_sorted(store: Store, tmp_path: Path) -> None:
    take(store, tmp_path, message("m2", "two", 1), message("m1", "one", 0), chat(), message("m1", "other", 2))
    (summary,) = store.summaries()
    assert texts(store, summary.id) == ["one", "two"] and summary.title == "Ana and Ben · 1"


def test_two_messages_with_one_seq_both_come(store: Store, tmp_path: Path) -> None:
    take(store, tmp_path, chat(), message("m1", "one", 0), message("m2", "two", 0))
    assert texts(store, store.summaries()[0].id) == ["one", "two"]


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("2023-05-08T14:00:00+02:00", 1683547200000),
        (1683547200, 1683547200000),
        (1683547200000, 1683547200000),
        (1683547200000000, 1683547200000),
        ("1683547200", 1683547200000),
        ("2023-05-08T14:00:00+99:99", 0),
        (0, 0),
        ("1970-01-01T00:00:00Z", 0),
        ("2099-01-01T00:00:00Z", 0),
        (None, 0),
        ("yesterday", 0),
        (True, 0),
        ({}, 0),
    ],
)
def test_times_of_every_form_are_read_and_impossible_ones_stay_unknown(
    store: Store, tmp_path: Path, value: object, known: int
) -> None:
    take(store, tmp_path, chat(started=value), message("m1", "one", 0, at=value))
    (summary,) = store.summaries()
    assert {s.at for s in store.events(chat=summary.id) if s.event.type != "import.added"} == {known}
    assert summary.last_active == known


def test_no_empty_chat_appears(store: Store, tmp_path: Path) -> None:
    assert take(store, tmp_path).sentence() == "There was nothing to import."
    assert take(store, tmp_path, chat()).chats == 0
    assert take(store, tmp_path, {"type": "question", "id": "q", "gold_chats": []}).messages == 0
    assert store.summaries() == []


def test_what_is_no_importable_file_says_so(store: Store, tmp_path: Path) -> None:
    for lines in (["hello", "there"], ['{"role":"user"}']):
        with pytest.raises(ImportFailed, match="isn't a file Shoal can import"):
            take(store, tmp_path, *lines)
    with pytest.raises(ImportFailed, match="no file"):
        import_file(store, tmp_path / "none.jsonl")
    with pytest.raises(ImportFailed, match="folder"):
        import_file(store, tmp_path)
    with pytest.raises(ImportFailed, match="isn't a file"):
        import_file(store, Path("/dev/zero"))


def test_hostile_ids_and_long_texts_are_tamed(store: Store, tmp_path: Path) -> None:
    take(
        store,
        tmp_path,
        chat("../../\x1b[2J" + "x" * 500),
        message("m\n1", "y" * 1_000_100, 0, chat="../../\x1b[2J" + "x" * 500, name="N\n\x1bame" * 50),
    )
    (summary,) = store.summaries()
    assert len(summary.id) <= 128 and summary.id.isprintable()
    (said,) = [s.event for s in store.events(chat=summary.id) if isinstance(s.event, ev.UserMessage)]
    assert said.message_id.isprintable() and said.text.endswith("too long to import]") and len(said.text) < 1_000_100


def test_a_deleted_import_stays_deleted(store: Store, tmp_path: Path) -> None:
    lines = [chat(), message("m1", "one", 0), chat("a/s2"), message("m9", "nine", 0, chat="a/s2")]
    take(store, tmp_path, *lines)
    gone = next(s.id for s in store.summaries() if s.id.endswith("a/s1"))
    store.delete_sync(gone)
    report = take(store, tmp_path, *lines, message("m2", "two", 1))
    assert report.deleted == 1 and [s.id.endswith("a/s2") for s in store.summaries()] == [True]
    assert "deleted here before" in report.sentence()


def test_a_stopped_import_leaves_whole_chats_and_run_again_completes_them(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "IMPORT_BATCH_CHARS", 1)
    lines = []
    for n in range(6):
        lines += [chat(f"a/s{n}"), *(message(f"m{n}-{i}", f"line {i}", i, chat=f"a/s{n}") for i in range(4))]
    real, done = Store.commit_sync, []

    def full(self: Store, batch: Batch) -> Committed:
        done.append(1)
        if len(done) > 3:
            raise StoreFull("The disk is full.")
        return real(self, batch)

    monkeypatch.setattr(Store, "commit_sync", full)
    with pytest.raises(StoreFull):
        take(store, tmp_path, *lines)
    monkeypatch.setattr(Store, "commit_sync", real)
    assert [s.messages for s in store.summaries()] == [4, 4, 4]
    take(store, tmp_path, *lines)
    assert [s.messages for s in store.summaries()] == [4] * 6


def test_chats_that_are_mixed_up_or_larger_than_what_is_held_come_whole_and_once(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "IMPORT_HELD_CHARS", 400)
    lines = [chat("a/s0"), chat("a/s1"), chat("a/s2")]
    lines += [message(f"m{n}", f"this is line number {n}", n, chat=f"a/s{n % 3}") for n in range(90)]
    report = take(store, tmp_path, *lines)
    assert report.messages == 90
    for summary in store.summaries():
        k = int(summary.id[-1])
        assert texts(store, summary.id) == [f"this is line number {n}" for n in range(90) if n % 3 == k]
        assert summary.title == "Ana and Ben · 1"
    assert take(store, tmp_path, *lines).messages == 0


def test_one_chat_gone_in_a_commit_of_many_takes_nothing_from_the_others(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Store.commit_sync

    def gone(self: Store, batch: Batch) -> Committed:
        if any(e.chat.endswith("a/s1") for e in batch.events):
            raise ChatGone("gone")
        return real(self, batch)

    monkeypatch.setattr(Store, "commit_sync", gone)
    report = take(store, tmp_path, chat(), message("m1", "x", 0), chat("a/s2"), message("m2", "y", 0, chat="a/s2"))
    assert (report.chats, report.deleted) == (1, 1)


def test_marks_are_filtered_before_they_are_kept(store: Store, tmp_path: Path) -> None:
    take(
        store,
        tmp_path,
        chat(),
        message("m", "x", 0, "them", name="Ben 12345"),
        clean=lambda t: t.replace("12345", "‹›"),
    )
    assert "12345" not in str(store.summaries()[0].taints)


def test_progress_is_told(store: Store, tmp_path: Path) -> None:
    seen: list[int] = []
    take(store, tmp_path, chat(), message("m1", "one", 0), progress=lambda report: seen.append(report.done))
    assert seen and seen[-1] == (tmp_path / "in.jsonl").stat().st_size


def test_the_benchmark_file_comes_in_quickly_and_whole(store: Store) -> None:
    if not BENCH.exists():
        print("the LoCoMo file isn't here: skipped")
        pytest.skip("no LoCoMo file")
    began = time.process_time()
    report = import_file(store, BENCH)
    assert time.process_time() - began < 10
    assert (report.chats, report.messages, report.unreadable) == (128, 2760, 0)
    assert import_file(store, BENCH).messages == 0
