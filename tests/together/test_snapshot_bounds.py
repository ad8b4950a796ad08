"""What is kept of running replies: bounded, never stale for long, and compared only within one place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.ports import TurnContext
from app.together import snapshot as module
from app.together.lines import EditWatch, Said, notes
from app.together.snapshot import Snapshot, Working, real
from app.tools.beneath import locate
from store import events as ev
from store.clock import ManualClock
from store.limits import LINK_SECONDS, LINKS_KEPT
from store.log import Batch, Store
from store.models import ChatSummary


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.open(tmp_path / "home", ManualClock())
    yield made
    made.close()


def begin(store: Store, chat: str, folder: Path, **turn: Any) -> None:
    store.commit_sync(
        Batch.of(chat, ev.ChatCreated(title=chat, folder=str(folder)), ev.TurnStarted(turn_id=f"r_{chat}", **turn))
    )


def change(store: Store, chat: str, *paths: str, change: str = "f_1", **more: Any) -> None:
    files = tuple(ev.FileChange(path=p, change="changed") for p in paths)
    store.commit_sync(Batch.of(chat, ev.FilesChanged(change_id=change, files=files, **more)))


def end(store: Store, chat: str) -> None:
    store.commit_sync(Batch.of(chat, ev.TurnCompleted(turn_id=f"r_{chat}", outcome="success")))


def ctx(chat: str, folder: Path) -> TurnContext:
    return TurnContext(chat, f"r_{chat}", "auto", None, (), folder=str(folder))


# -- place


def test_one_path_on_two_computers_is_not_one_file() -> None:
    def at(chat: str, place: str) -> Working:
        made = ChatSummary(id=chat, title=chat, folder="/w", turn_id="r", place=place)
        return Working(made, ("/w/a.py",))

    assert notes(at("c_me", "computer"), [at("c_b", "ssh:box")], Said()) == []
    said = notes(at("c_me", "computer"), [at("c_b", "computer")], Said())
    assert any("have both changed a.py" in line for line in said)


async def test_the_check_before_an_edit_compares_the_place(store: Store, tmp_path: Path) -> None:
    seen = Snapshot(store)
    watch = EditWatch(store, seen)
    place = locate(str(tmp_path), "a.py")
    begin(store, "c_me", tmp_path)
    begin(store, "c_far", tmp_path, place="ssh:box")
    change(store, "c_far", "a.py")
    assert await watch.why_not(ctx("c_me", tmp_path), place) is None
    begin(store, "c_near", tmp_path)
    change(store, "c_near", "a.py")
    change(store, "c_far", "a.py", change="f_2")  # the newest is elsewhere; the one beside still counts
    why = await watch.why_not(ctx("c_me", tmp_path), place)
    assert why is not None and "c_near" in why


# -- links


def test_a_link_that_is_pointed_elsewhere_is_followed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(module, "monotonic", lambda: now)
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    link = tmp_path / "link"
    link.symlink_to("one")
    path = str(link / "a.py")
    assert real(path) == str(tmp_path / "one" / "a.py")
    link.unlink()
    link.symlink_to("two")
    now += LINK_SECONDS
    assert real(path) == str(tmp_path / "two" / "a.py")


def test_case_is_folded_only_where_the_disk_takes_both_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = str(tmp_path / "App.py"), str(tmp_path / "aPP.py")
    module.ignores_case.cache_clear()
    assert len({module._Links().real(name) for name in names}) == 2
    monkeypatch.setattr(module.os.path, "samefile", lambda a, b: a.casefold() == b.casefold())
    module.ignores_case.cache_clear()
    try:
        assert len({module._Links().real(name) for name in names}) == 1
    finally:
        module.ignores_case.cache_clear()


def test_paths_are_known_for_a_while_and_not_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = module._Links()
    looked: list[str] = []
    real_one = module.os.path.realpath
    monkeypatch.setattr(module.os.path, "realpath", lambda p: looked.append(p) or real_one(p))
    assert links.real(str(tmp_path)) == links.real(str(tmp_path)) and looked == [str(tmp_path)]
    monkeypatch.setattr(module.os.path, "realpath", str)
    for n in range(LINKS_KEPT * 2 + 10):
        links.real(f"/w/{n}")
    assert len(links._known) <= LINKS_KEPT


# -- what was read


def test_what_was_read_is_kept_only_while_it_can_matter(store: Store, tmp_path: Path) -> None:
    seen = Snapshot(store)
    me = ctx("c_me", tmp_path)
    for n in range(100):
        seen.noted(me, locate(str(tmp_path), f"{n}.py"))
    assert seen._read == {}  # no running reply has changed anything
    begin(store, "c_a", tmp_path)
    begin(store, "c_b", tmp_path)
    change(store, "c_a", "a.py")
    seen.noted(me, locate(str(tmp_path), "a.py"))
    change(store, "c_b", "b.py")
    seen.noted(me, locate(str(tmp_path), "b.py"))
    assert seen.changed_by(me, str(tmp_path / "a.py"), "computer") is None and len(seen._read) == 2
    end(store, "c_a")
    assert list(seen._read) == [("c_me", real(str(tmp_path / "b.py")))]  # the other was read before all that is left
    assert seen.changed_by(me, str(tmp_path / "b.py"), "computer") is None
    end(store, "c_b")
    assert seen._read == {} and seen._changed == {} and seen._replies == {}


async def test_a_deleted_chats_reads_and_reply_are_forgotten(store: Store, tmp_path: Path) -> None:
    seen = Snapshot(store)
    begin(store, "c_a", tmp_path)
    change(store, "c_a", "a.py")
    begin(store, "c_me", tmp_path)
    seen.noted(ctx("c_me", tmp_path), locate(str(tmp_path), "a.py"))
    await store.delete("c_me")
    assert seen._read == {} and [w.chat.id for w in seen.working()] == ["c_a"]
    await store.delete("c_a")
    assert seen._changed == {} and seen.working() == []


def test_what_was_undone_is_not_told_and_what_was_done_again_is(store: Store, tmp_path: Path) -> None:
    seen = Snapshot(store)
    begin(store, "c_a", tmp_path)
    change(store, "c_a", "a.py", "b.py")

    def told() -> list[str]:
        return [Path(path).name for path in seen.working()[0].files]

    for direction, files in (("undo", ["b.py"]), ("redo", ["a.py", "b.py"])):
        restored = ev.FilesRestored(change_id="f_1", direction=direction, files=("a.py",))  # type: ignore[arg-type]
        store.commit_sync(Batch.of("c_a", restored))
        assert told() == files
