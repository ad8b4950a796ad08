"""A command that was killed with Shoal: what it changed is told at the next start, and undone like any other."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from app.tools import changes as module
from app.tools import pack
from app.tools.changes import ChangeTracker
from store.events import FilesChanged, ToolFinished, ToolStarted
from store.log import Batch
from tests.e2e.headless_client import Client, script
from tests.session.kit import until
from tests.tools.hands import all_files, put
from tests.tools.test_changes import Bench

COMMAND = "echo new > made.txt; echo changed > kept.txt; rm gone.txt; touch {done}; sleep 60"


def killed_home(root: Path) -> Path:
    """The home as a kill leaves it: a copy, made while everything is open."""
    copy = root / "after"
    shutil.copytree(root / "home" / pack.FOLDER, copy / pack.FOLDER, copy_function=shutil.copy2)
    return copy


async def begun(bench: Bench, chat: str = "c_a", call_id: str = "call_1") -> None:
    ctx = await bench.chat(chat)
    started = ToolStarted(call_id=call_id, name="run_command", family="command", effect="write", label="Ran it")
    await bench.store.commit(Batch.of(chat, started))
    await bench.tracker.before(ctx, call_id)


async def opened(root: Path) -> Bench:
    (root / "home").mkdir()
    return Bench(root)


async def test_what_a_broken_off_command_changed_is_one_set_of_its_call(tmp_path: Path) -> None:
    bench = await opened(tmp_path)
    put(bench.work, "a.txt", "one\n")
    put(bench.work, "b.txt", "two\n")
    put(bench.work, "same.txt", "same\n")
    await begun(bench)
    put(bench.work, "a.txt", "three\n")
    (bench.work / "b.txt").unlink()
    put(bench.work, "c.txt", "new\n")
    after = ChangeTracker(bench.store, killed_home(tmp_path), bench.hands.bounds)
    made = await after.recovered()
    (event,) = made["c_a"][0]
    assert isinstance(event, FilesChanged)
    assert [(f.path, f.change) for f in event.files] == [
        ("a.txt", "changed"), ("b.txt", "deleted"), ("c.txt", "created"),
    ]  # fmt: skip
    assert (event.call_id, event.label, event.shared, event.undoable) == ("call_1", "Ran it", False, True)
    await bench.store.commit(Batch.of("c_a", event, changes=made["c_a"][1]))
    await bench.undo.restore("c_a", event.change_id, "undo")
    assert all_files(bench.work) == {"a.txt": b"one\n", "b.txt": b"two\n", "same.txt": b"same\n"}
    assert await after.recovered() == {}
    assert list((tmp_path / "after" / pack.FOLDER).iterdir()) == []
    await bench.close()


async def test_a_command_that_had_its_result_is_not_told_again(tmp_path: Path) -> None:
    bench = await opened(tmp_path)
    await begun(bench)
    put(bench.work, "a.txt", "x")
    await bench.store.commit(Batch.of("c_a", ToolFinished(call_id="call_1", status="success", name="run_command")))
    assert await ChangeTracker(bench.store, killed_home(tmp_path), bench.hands.bounds).recovered() == {}
    await bench.close()


async def test_what_changed_long_after_the_kill_is_nobodys(tmp_path: Path) -> None:
    bench = await opened(tmp_path)
    put(bench.work, "a.txt", "one")
    await begun(bench)
    copy = killed_home(tmp_path)
    for journal in (copy / pack.FOLDER).glob("*.jsonl"):
        old = os.stat(journal).st_mtime_ns - int((module.CHANGE_LATE_SECONDS + 60) * 1e9)
        os.utime(journal, ns=(old, old))
    put(bench.work, "a.txt", "by the person, the day after")
    (bench.work / "b.txt").write_text("as well")
    assert await ChangeTracker(bench.store, copy, bench.hands.bounds).recovered() == {}
    await bench.close()


async def test_two_broken_off_commands_in_one_folder_share_what_they_did(tmp_path: Path) -> None:
    bench = await opened(tmp_path)
    await begun(bench)
    await begun(bench, "c_b", "call_2")
    put(bench.work, "a.txt", "x")
    made = await ChangeTracker(bench.store, killed_home(tmp_path), bench.hands.bounds).recovered()
    assert {chat: events[0].shared for chat, (events, _) in made.items()} == {"c_a": True, "c_b": True}  # type: ignore[attr-defined]
    await bench.close()


async def test_a_journal_that_ends_within_a_line_or_before_the_first_whole_look_is_read_as_far_as_it_goes(
    tmp_path: Path,
) -> None:
    bench = await opened(tmp_path)
    put(bench.work, "a.txt", "one")
    await begun(bench)
    copy = killed_home(tmp_path)
    (journal,) = (copy / pack.FOLDER).glob("*.jsonl")
    text = journal.read_text()
    journal.write_text(text + '{"p": "a.txt", "g": [1,')
    assert [kept.known.keys() for kept in pack.left(copy)] == [{"a.txt"}]
    journal.write_text("".join(line for line in text.splitlines(True) if "apart" not in line))
    assert pack.left(copy) == []
    await bench.close()


async def test_while_a_command_runs_its_folder_is_noted_as_watched(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "CHANGE_BEAT_SECONDS", 0.01)
    bench = await opened(tmp_path)
    await begun(bench)
    (journal,) = (tmp_path / "home" / pack.FOLDER).glob("*.jsonl")
    os.utime(journal, (0, 0))
    await until(lambda: journal.stat().st_mtime > 1)
    await bench.close()
    assert list((tmp_path / "home" / pack.FOLDER).iterdir()) == []


def test_through_headless_a_command_killed_with_shoal_is_told_at_the_next_start_and_undone(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    (work / "kept.txt").write_text("kept\n")
    (work / "gone.txt").write_text("gone\n")
    command = COMMAND.format(done="done.txt")
    call = {"call": {"id": "k1", "name": "run_command", "args": {"command": command}}}
    model = script(tmp_path / "s.json", [call], ["Done."])
    with Client(home) as client:
        chat = client.do("new", folder=str(work), model=model, mode="full")["chat"]
        client.do("send", chat=chat, text="go")
        client.until(lambda line: line.get("type") == "tool.started")
        wait_for(work / "done.txt")
        client.process.kill()
        client.process.wait()
    with Client(home) as client:
        events = events_of(client, chat)
        (changed,) = [e for e in events if e["type"] == "files.changed"]
        assert {f["path"]: f["change"] for f in changed["files"]} == {
            "made.txt": "created", "kept.txt": "changed", "gone.txt": "deleted", "done.txt": "created",
        }  # fmt: skip
        kinds = [e["type"] for e in events]
        assert kinds.index("tool.finished") < kinds.index("files.changed") < kinds.index("turn.completed")
        client.do("undo", chat=chat, change=changed["change_id"])
    assert all_files(work) == {"kept.txt": b"kept\n", "gone.txt": b"gone\n"}


def wait_for(path: Path) -> None:
    end = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.02)


def events_of(client: Client, chat: str) -> list[dict[str, Any]]:
    seen = len(client.lines)
    client.do("events", chat=chat, after=0)
    return [line["event"] for line in client.lines[seen:] if isinstance(line.get("event"), dict)]
