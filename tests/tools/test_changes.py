"""What a reply changed: whose it is, what is left out, undone and redone byte for byte."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.commands import CommandError
from app.ports import TurnContext
from app.tools import changes as module
from app.tools import shadow
from app.tools.changes import ChangeTracker
from app.tools.undo import EXPIRED, NOT_KEPT, SHARED, Undo
from store.clock import ManualClock
from store.events import ChatCreated, FilesChanged, FilesRestored, TurnStarted
from store.log import Batch, Store
from store.rows import ChangeRow, fold
from tests.tools.hands import Hands, all_files, put

DAY = 86_400


class Bench:
    """A store, a tracker, and chats that share one work folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        self.store = Store.open(root / "home", self.clock)
        self.hands = Hands(root)
        self.tracker = ChangeTracker(self.store, root / "home", self.hands.bounds)
        self.undo = Undo(self.store, self.clock, self.tracker, self.hands.bounds)
        self.hands.desk.changes = self.tracker
        self.work = self.hands.work

    async def chat(self, chat: str = "c_a", turn: str = "tu_1") -> TurnContext:
        """A chat in a turn."""
        if self.store.summary(chat) is None:
            await self.store.commit(Batch.of(chat, ChatCreated(folder=str(self.work))))
        await self.store.commit(
            Batch.of(chat, TurnStarted(turn_id=turn, trigger="person", mode="auto", model="offline"))
        )
        return replace(self.hands.ctx, chat=chat, turn_id=turn)

    async def tool(self, ctx: TurnContext, name: str, **args: Any) -> FilesChanged | None:
        """A file tool's call, with its result's batch."""
        made = self.hands.tools[name].args.model_validate(args)
        done = await self.hands.tools[name].run(made, ctx, "call_1")
        assert done.ok, done.text
        await self.store.commit(Batch.of(ctx.chat, *done.events, changes=done.changes))
        return next((e for e in done.events if isinstance(e, FilesChanged)), None)

    async def ended(self, ctx: TurnContext, call_id: str = "call_1") -> FilesChanged | None:
        """A command has ended."""
        events, changes = await self.tracker.after(ctx, call_id, "Ran a command")
        await self.store.commit(Batch.of(ctx.chat, *events, changes=changes))
        return next(iter(events), None)  # type: ignore[arg-type]

    @asynccontextmanager
    async def command(self, ctx: TurnContext, out: list[FilesChanged | None]) -> AsyncIterator[None]:
        """What happens inside is what the command does."""
        await self.tracker.before(ctx, "call_1")
        yield
        out.append(await self.ended(ctx))

    async def close(self) -> None:
        await self.tracker.close()
        self.store.close()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    (tmp_path / "home").mkdir()
    made = Bench(tmp_path)
    yield made
    await made.close()


async def test_a_file_tools_change_is_told_undone_and_redone(bench: Bench) -> None:
    ctx = await bench.chat()
    path = put(bench.work, "src/auth.ts", "one\ntwo\nthree\n")
    path.chmod(0o755)
    await bench.tool(ctx, "read_file", path="src/auth.ts")
    event = await bench.tool(ctx, "edit_file", path="src/auth.ts", old_text="two\n", new_text="2\n2b\n")
    assert event is not None
    assert (event.call_id, event.label, event.shared, event.undoable) == ("call_1", "Edited src/auth.ts", False, True)
    [file] = event.files
    assert (file.path, file.change, file.added, file.removed) == ("src/auth.ts", "changed", 2, 1)
    files, last_id = await bench.undo.restore("c_a", event.change_id, "undo")
    assert files == ["src/auth.ts"]
    assert path.read_text() == "one\ntwo\nthree\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert [s.event.type for s in bench.store.events(after=last_id)] == ["files.restored"]
    with pytest.raises(CommandError) as twice:
        await bench.undo.restore("c_a", event.change_id, "undo")
    assert twice.value.code == "gone"
    await bench.undo.restore("c_a", event.change_id, "redo")
    assert path.read_text() == "one\n2\n2b\nthree\n"
    rows: dict[str, Any] = {}
    for stored in bench.store.events(chat="c_a"):
        fold(rows, stored)
    [row] = [r for r in rows.values() if isinstance(r, ChangeRow)]
    assert not row.undone


async def test_a_made_file_goes_at_undo_and_comes_back_at_redo(bench: Bench) -> None:
    ctx = await bench.chat()
    event = await bench.tool(ctx, "write_file", path="new/a.txt", content="a\nb\n")
    assert event is not None
    assert (event.files[0].change, event.files[0].added, event.files[0].removed) == ("created", 2, 0)
    await bench.undo.restore("c_a", event.change_id, "undo")
    assert all_files(bench.work) == {}
    await bench.undo.restore("c_a", event.change_id, "redo")
    assert all_files(bench.work) == {"new/a.txt": b"a\nb\n"}


async def test_what_a_command_made_changed_and_deleted_is_one_set(bench: Bench) -> None:
    ctx = await bench.chat()
    put(bench.work, "keep.txt", "same\n")
    put(bench.work, "edit.txt", "old\n")
    put(bench.work, "run.sh", "#!/bin/sh\n").chmod(0o755)
    before = all_files(bench.work)
    out: list[FilesChanged | None] = []
    async with bench.command(ctx, out):
        put(bench.work, "edit.txt", "new\n")
        put(bench.work, "deep/made.bin", b"\0\1\2" * 10)
        (bench.work / "run.sh").unlink()
        os.utime(bench.work / "keep.txt", (5, 5))
    [event] = out
    assert event is not None
    assert not event.shared
    assert {f.path: f.change for f in event.files} == {
        "edit.txt": "changed",
        "deep/made.bin": "created",
        "run.sh": "deleted",
    }
    assert next(f for f in event.files if f.path == "deep/made.bin").added is None
    after = all_files(bench.work)
    await bench.undo.restore("c_a", event.change_id, "undo")
    assert all_files(bench.work) == before
    assert (bench.work / "run.sh").stat().st_mode & 0o777 == 0o755
    await bench.undo.restore("c_a", event.change_id, "redo")
    assert all_files(bench.work) == after


async def test_a_command_that_changes_nothing_says_nothing(bench: Bench) -> None:
    ctx = await bench.chat()
    put(bench.work, "a.txt", "a")
    out: list[FilesChanged | None] = []
    async with bench.command(ctx, out):
        os.utime(bench.work / "a.txt", (7, 7))
        put(bench.work, "b.txt", "b").unlink()
    assert out == [None]


async def test_same_size_and_same_time_is_still_seen(bench: Bench) -> None:
    ctx = await bench.chat()
    path = put(bench.work, "a.txt", "aaa")
    os.utime(path, (5, 5))
    out: list[FilesChanged | None] = []
    async with bench.command(ctx, out):
        path.write_text("bbb")
        os.utime(path, (5, 5))
    assert out[0] is not None
    assert out[0].files[0].path == "a.txt"


async def test_what_the_system_tells_of_is_compared_by_content(bench: Bench) -> None:
    ctx = await bench.chat()
    put(bench.work, "sub/a.txt", "aaa")
    await bench.tracker.before(ctx, "call_1")
    [call] = bench.tracker._calls.values()
    for _ in range(100):
        put(bench.work, "sub/a.txt", "bbb")
        await asyncio.sleep(0.05)
        if call.hinted:
            break
    assert call.hinted == {"sub/a.txt"}
    assert await bench.ended(ctx) is not None


async def test_files_changed_since_are_left_alone_and_named(bench: Bench) -> None:
    ctx = await bench.chat()
    put(bench.work, "a.txt", "a\n")
    put(bench.work, "b.txt", "b\n")
    out: list[FilesChanged | None] = []
    async with bench.command(ctx, out):
        put(bench.work, "a.txt", "A\n")
        put(bench.work, "b.txt", "B\n")
    assert out[0] is not None
    put(bench.work, "b.txt", "the person's\n")
    files, last_id = await bench.undo.restore("c_a", out[0].change_id, "undo")
    assert files == ["a.txt"]
    assert all_files(bench.work) == {"a.txt": b"a\n", "b.txt": b"the person's\n"}
    restored = next(s.event for s in bench.store.events(after=last_id))
    assert isinstance(restored, FilesRestored)
    assert (restored.files, restored.left) == (("a.txt",), ("b.txt",))
    put(bench.work, "a.txt", "also the person's\n")
    with pytest.raises(CommandError) as no:
        await bench.undo.restore("c_a", out[0].change_id, "redo")
    assert "changed since" in no.value.message


async def test_a_file_replaced_by_a_link_is_left_alone(bench: Bench) -> None:
    ctx = await bench.chat()
    outside = put(bench.root, "far.txt", "a\n")
    event = await bench.tool(ctx, "write_file", path="a.txt", content="a\n")
    assert event is not None
    (bench.work / "a.txt").unlink()
    (bench.work / "a.txt").symlink_to(outside)
    with pytest.raises(CommandError):
        await bench.undo.restore("c_a", event.change_id, "undo")
    assert outside.read_text() == "a\n"


async def test_a_command_beside_anothers_is_shared_and_not_undone_by_one_press(bench: Bench) -> None:
    a, b = await bench.chat("c_a"), await bench.chat("c_b")
    await bench.tracker.before(a, "call_1")
    await bench.tracker.before(b, "call_1")
    put(bench.work, "x.txt", "x\n")
    first, second = await bench.ended(a), await bench.ended(b)
    assert first is not None
    assert first.shared
    assert second is None
    with pytest.raises(CommandError) as no:
        await bench.undo.restore("c_a", first.change_id, "undo")
    assert no.value.message == SHARED
    assert bench.tracker.changed_since("c_a", "tu_1") == frozenset()


async def test_a_file_tool_beside_a_command_keeps_its_own_and_makes_the_rest_shared(bench: Bench) -> None:
    a, b = await bench.chat("c_a"), await bench.chat("c_b")
    await bench.tracker.before(a, "call_1")
    own = await bench.tool(b, "write_file", path="tool.txt", content="mine\n")
    put(bench.work, "cmd.txt", "x\n")
    event = await bench.ended(a)
    assert own is not None
    assert not own.shared
    assert event is not None
    assert event.shared
    assert [f.path for f in event.files] == ["cmd.txt"]
    assert bench.tracker.changed_since("c_b", "tu_1") == {"tool.txt"}


async def test_one_chats_own_tool_does_not_make_its_command_shared(bench: Bench) -> None:
    a = await bench.chat("c_a")
    await bench.tool(a, "write_file", path="tool.txt", content="mine\n")
    out: list[FilesChanged | None] = []
    async with bench.command(a, out):
        put(bench.work, "cmd.txt", "x\n")
    assert out[0] is not None
    assert not out[0].shared
    assert bench.tracker.changed_since("c_a", "tu_1") == {"tool.txt", "cmd.txt"}
    assert bench.tracker.changed_since("c_a", "tu_0") == frozenset()


async def test_what_changed_without_a_tool_is_told_at_the_turns_end(bench: Bench) -> None:
    ctx = await bench.chat()
    out: list[FilesChanged | None] = []
    put(bench.work, "before.txt", "nobody's\n")
    async with bench.command(ctx, out):
        pass
    put(bench.work, "later.txt", "a daemon's\n")
    events, _ = await bench.tracker.turn_ended("c_a", "tu_1")
    [event] = events
    assert isinstance(event, FilesChanged)
    assert (event.label, event.call_id, event.shared) == (module.DURING, None, True)
    assert [f.path for f in event.files] == ["later.txt"]
    assert await bench.tracker.turn_ended("c_a", "tu_1") == module.NOTHING


async def test_changes_between_turns_are_nobodys(bench: Bench) -> None:
    first = await bench.chat(turn="tu_1")
    out: list[FilesChanged | None] = []
    async with bench.command(first, out):
        pass
    await bench.tracker.turn_ended("c_a", "tu_1")
    put(bench.work, "person.txt", "x")
    second = await bench.chat(turn="tu_2")
    async with bench.command(second, out):
        pass
    assert out == [None, None]
    assert await bench.tracker.turn_ended("c_a", "tu_2") == module.NOTHING


async def test_a_command_that_was_broken_off_is_told_at_the_turns_end(bench: Bench) -> None:
    ctx = await bench.chat()
    await bench.tracker.before(ctx, "call_1")
    put(bench.work, "half.txt", "x")
    bench.tracker.dropped(ctx, "call_1")
    events, _ = await bench.tracker.turn_ended("c_a", "tu_1")
    assert [f.path for f in events[0].files] == ["half.txt"]  # type: ignore[attr-defined]
    other = await bench.chat("c_b")
    out: list[FilesChanged | None] = []
    async with bench.command(other, out):
        put(bench.work, "b.txt", "x")
    assert out[0] is not None
    assert not out[0].shared


async def test_links_large_files_git_and_built_things_are_left_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow, "CHANGE_FILE_BYTES", 1_000)
    ctx = await bench.chat()
    put(bench.work, "grows.txt", "small")
    put(bench.work, "shrinks.txt", b"x" * 2_000)
    out: list[FilesChanged | None] = []
    async with bench.command(ctx, out):
        put(bench.work, "grows.txt", b"x" * 2_000)
        put(bench.work, "shrinks.txt", "small")
        put(bench.work, "big.txt", b"x" * 2_000)
        for name in (".git/index", "node_modules/a.js", "dist/a.js", "a/__pycache__/m.pyc", ".venv/x", ".ssh/id"):
            put(bench.work, name, "x")
        (bench.work / "link").symlink_to("grows.txt")
        put(bench.work, "seen.txt", "x")
    assert out[0] is not None
    assert [f.path for f in out[0].files] == ["seen.txt"]


async def test_a_folder_past_the_limits_has_file_tool_undo_only(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow, "CHANGE_FOLDER_FILES", 10)
    ctx = await bench.chat()
    for i in range(11):
        put(bench.work, f"{i}.txt", "x")
    out: list[FilesChanged | None] = []
    async with bench.command(ctx, out):
        put(bench.work, "0.txt", "changed")
    assert out == [None]
    event = await bench.tool(ctx, "write_file", path="tool.txt", content="x")
    assert event is not None
    await bench.undo.restore("c_a", event.change_id, "undo")
    assert not (bench.work / "tool.txt").exists()


async def test_a_set_of_too_many_files_is_shown_and_not_undone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHANGE_SET_FILES", 3)
    ctx = await bench.chat()
    out: list[FilesChanged | None] = []
    async with bench.command(ctx, out):
        for i in range(5):
            put(bench.work, f"{i}.txt", "x")
    assert out[0] is not None
    assert (len(out[0].files), out[0].undoable) == (3, False)
    assert "2 more files" in out[0].label
    with pytest.raises(CommandError) as no:
        await bench.undo.restore("c_a", out[0].change_id, "undo")
    assert no.value.message == NOT_KEPT


async def test_undo_survives_a_restart(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    bench = Bench(tmp_path)
    ctx = await bench.chat()
    put(bench.work, "a.txt", "old\n")
    out: list[FilesChanged | None] = []
    async with bench.command(ctx, out):
        (bench.work / "a.txt").unlink()
    await bench.close()
    assert out[0] is not None
    again = Bench(tmp_path)
    await again.undo.restore("c_a", out[0].change_id, "undo")
    assert all_files(again.work) == {"a.txt": b"old\n"}
    await again.undo.restore("c_a", out[0].change_id, "redo")
    assert all_files(again.work) == {}
    await again.close()


async def test_sets_expire_after_thirty_days_and_past_their_room(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = await bench.chat()
    path = put(bench.work, "a.txt", "old\n")
    await bench.tool(ctx, "read_file", path="a.txt")
    event = await bench.tool(ctx, "write_file", path="a.txt", content="new\n")
    assert event is not None
    await bench.undo.tidy()
    sha = event.files[0].before
    assert sha is not None
    assert bench.store.blobs.get(sha) == b"old\n"
    bench.clock.tick(31 * DAY)
    with pytest.raises(CommandError) as no:
        await bench.undo.restore("c_a", event.change_id, "undo")
    assert no.value.message == EXPIRED
    await bench.undo.tidy()
    assert bench.store.blobs.get(sha) is None
    later = await bench.tool(ctx, "write_file", path="a.txt", content="newest\n")
    assert later is not None
    monkeypatch.setattr("app.tools.undo.CHANGE_KEPT_BYTES", 1)
    await bench.undo.tidy()
    with pytest.raises(CommandError) as gone:
        await bench.undo.restore("c_a", later.change_id, "undo")
    assert gone.value.message == EXPIRED
    assert path.read_text() == "newest\n"


async def test_a_file_outside_is_named_whole_and_undone(bench: Bench) -> None:
    ctx = await bench.chat()
    outside = put(bench.root, "far.txt", "old\n").resolve()
    tools = bench.hands.tools
    for name, args in (("read_file", {}), ("write_file", {"content": "new\n"})):
        made = tools[name].args.model_validate({"path": str(outside), **args})
        await tools[name].facts(made, ctx)  # type: ignore[attr-defined]
        done = await tools[name].run(made, ctx, "call_1")
        assert done.ok
        await bench.store.commit(Batch.of("c_a", *done.events, changes=done.changes))
    [event] = [e for e in done.events if isinstance(e, FilesChanged)]
    assert event.files[0].path == str(outside)
    await bench.undo.restore("c_a", event.change_id, "undo")
    assert outside.read_text() == "old\n"


async def test_an_unknown_change_and_another_chats_are_refused_alike(bench: Bench) -> None:
    a = await bench.chat("c_a")
    await bench.chat("c_b")
    event = await bench.tool(a, "write_file", path="a.txt", content="x")
    assert event is not None
    for chat, change in (("c_a", "nothing"), ("c_b", event.change_id)):
        with pytest.raises(CommandError) as no:
            await bench.undo.restore(chat, change, "undo")
        assert no.value.code == "gone"


async def test_diffs_of_a_set_are_there_before_and_after_undo(bench: Bench) -> None:
    ctx = await bench.chat()
    put(bench.work, "a.txt", "one\ntwo\n")
    await bench.tool(ctx, "read_file", path="a.txt")
    event = await bench.tool(ctx, "edit_file", path="a.txt", old_text="two", new_text="2")
    assert event is not None
    [diff] = bench.undo.diffs("c_a", event.change_id)
    assert (diff.path, diff.note) == ("a.txt", "")
    assert diff.lines == ("@@ -1,2 +1,2 @@", " one", "-two", "+2")
    await bench.undo.restore("c_a", event.change_id, "undo")
    assert bench.undo.diffs("c_a", event.change_id) == [diff]


async def test_a_folder_that_is_gone_is_no_fault(bench: Bench) -> None:
    ctx = await bench.chat()
    put(bench.work, "a.txt", "x")
    out: list[FilesChanged | None] = []
    async with bench.command(ctx, out):
        shutil.rmtree(bench.work)
    assert out[0] is not None
    assert out[0].files[0].change == "deleted"
    async with bench.command(ctx, out):
        pass
    bench.work.mkdir()
    await bench.undo.restore("c_a", out[0].change_id, "undo")
    assert all_files(bench.work) == {"a.txt": b"x"}


NAMES = st.sampled_from(["a.txt", "b/c.txt", "d.bin"])
FILES = st.dictionaries(NAMES, st.binary(max_size=40), max_size=3)


@settings(max_examples=12, deadline=None)
@given(FILES, FILES)
async def test_any_change_is_undone_and_redone_byte_for_byte(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "home").mkdir()
        bench = Bench(Path(folder))
        try:
            ctx = await bench.chat()
            for name, data in before.items():
                put(bench.work, name, data)
            out: list[FilesChanged | None] = []
            async with bench.command(ctx, out):
                for name in before.keys() - after.keys():
                    (bench.work / name).unlink()
                for name, data in after.items():
                    put(bench.work, name, data)
            if out[0] is None:
                assert before == after
                return
            for _ in range(2):
                await bench.undo.restore("c_a", out[0].change_id, "undo")
                assert all_files(bench.work) == before
                await bench.undo.restore("c_a", out[0].change_id, "redo")
                assert all_files(bench.work) == after
        finally:
            await bench.close()


async def test_many_files_are_looked_at_again_quickly(bench: Bench) -> None:
    for i in range(2_000):
        put(bench.work, f"{i % 50}/{i}.txt", f"{i}\n")
    ctx = await bench.chat()
    out: list[FilesChanged | None] = []
    async with bench.command(ctx, out):
        put(bench.work, "0/0.txt", "changed\n")
    begun = asyncio.get_running_loop().time()
    async with bench.command(ctx, out):
        put(bench.work, "0/0.txt", "again\n")
    assert asyncio.get_running_loop().time() - begun < 1
    assert out[1] is not None
