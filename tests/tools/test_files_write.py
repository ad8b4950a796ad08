"""Writing and editing: only what was read, whole or not at all, byte for byte elsewhere."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.guard.secrets import MASK
from app.tools.base import to_come
from app.tools.files import atomic, editing
from app.tools.files.write_file import MASKED
from tests.tools.hands import Hands, all_files, put


async def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    assert "Made src/deep/a.ts: 2 lines." in await hands.text("write_file", path="src/deep/a.ts", content="a\nb\n")
    assert all_files(hands.work) == {"src/deep/a.ts": b"a\nb\n"}


async def test_a_file_that_was_not_read_is_not_written_over(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "a.txt", "mine\n")
    for call in ({"content": "x"}, {"old_text": "mine", "new_text": "x"}):
        done = await hands("write_file" if "content" in call else "edit_file", path="a.txt", **call)
        assert not done.ok
        assert "read it first" in done.text
    assert all_files(hands.work) == {"a.txt": b"mine\n"}
    await hands.text("read_file", path="a.txt")
    await hands.text("edit_file", path="a.txt", old_text="mine", new_text="yours")
    await hands.text("write_file", path="a.txt", content="again\n")  # what it wrote itself it knows
    assert all_files(hands.work) == {"a.txt": b"again\n"}


async def test_a_file_changed_since_it_was_read_is_left_alone_and_one_only_touched_is_not(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    path = put(hands.work, "a.txt", "one\n")
    await hands.text("read_file", path="a.txt")
    os.utime(path, ns=(1, 1))
    await hands.text("edit_file", path="a.txt", old_text="one", new_text="two")
    path.write_text("the person's\n")
    done = await hands("edit_file", path="a.txt", old_text="two", new_text="three")
    assert not done.ok
    assert "changed since you read it" in done.text
    assert path.read_text() == "the person's\n"


async def test_what_one_chat_read_another_has_not(tmp_path: Path) -> None:
    a = Hands(tmp_path)
    b = Hands(tmp_path, chat="c_b")
    b.desk = a.desk
    b.tools = a.tools
    put(a.work, "a.txt", "one\n")
    await a.text("read_file", path="a.txt")
    assert not (await b("write_file", path="a.txt", content="x")).ok


async def test_two_chats_that_edit_one_file_at_once_lose_nothing(tmp_path: Path) -> None:
    a, b = Hands(tmp_path), Hands(tmp_path, chat="c_b")
    b.desk, b.tools = a.desk, a.tools
    put(a.work, "a.txt", "one\ntwo\n")
    for hands in (a, b):
        await hands.text("read_file", path="a.txt")
    done = await asyncio.gather(
        a("edit_file", path="a.txt", old_text="one", new_text="1"),
        b("edit_file", path="a.txt", old_text="two", new_text="2"),
    )
    assert sorted(d.ok for d in done) == [False, True]
    assert (a.work / "a.txt").read_text() in ("1\ntwo\n", "one\n2\n")


async def test_a_file_that_comes_between_looking_and_writing_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands = Hands(tmp_path)
    put_there = atomic._put

    def late(folder: int, beside: str, name: str, *rest: object) -> None:
        put(hands.work, name, "the person's")
        put_there(folder, beside, name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(atomic, "_put", late)
    done = await hands("write_file", path="a.txt", content="mine")
    assert not done.ok
    assert all_files(hands.work) == {"a.txt": b"the person's"}


async def test_the_mode_stays_and_nothing_is_left_beside(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    path = put(hands.work, "run.sh", "#!/bin/sh\n")
    path.chmod(0o751)
    await hands.text("read_file", path="run.sh")
    await hands.text("edit_file", path="run.sh", old_text="sh\n", new_text="sh -e\n")
    assert path.stat().st_mode & 0o777 == 0o751
    assert os.listdir(hands.work) == ["run.sh"]


async def test_a_failing_disk_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "a.txt", "old\n")
    await hands.text("read_file", path="a.txt")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    done = await hands("write_file", path="a.txt", content="new\n")
    assert not done.ok
    assert "disk is full" in done.text
    assert all_files(hands.work) == {"a.txt": b"old\n"}


async def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "a.txt", "old\n").chmod(0o444)
    await hands.text("read_file", path="a.txt")
    done = await hands("edit_file", path="a.txt", old_text="old", new_text="new")
    assert not done.ok
    assert "read-only" in done.text


async def test_a_link_inside_stays_a_link(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "real.txt", "one\n")
    (hands.work / "link").symlink_to("real.txt")
    await hands.text("read_file", path="link")
    await hands.text("edit_file", path="link", old_text="one", new_text="two")
    assert (hands.work / "link").is_symlink()
    assert (hands.work / "real.txt").read_text() == "two\n"


async def test_the_filters_mask_is_never_written(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, ".env.sample", "KEY=abc\nOTHER=1\n")
    await hands.text("read_file", path=".env.sample")
    for name, args in (
        ("write_file", {"content": f"KEY={MASK}\n"}),
        ("edit_file", {"old_text": "OTHER=1", "new_text": f"OTHER={MASK}"}),
        ("edit_file", {"old_text": f"KEY={MASK}", "new_text": "KEY=x"}),
    ):
        done = await hands(name, path=".env.sample", **args)
        assert not done.ok
        assert done.text == MASKED.format(mask=MASK)
    assert all_files(hands.work)[".env.sample"] == b"KEY=abc\nOTHER=1\n"


async def test_an_edit_must_fit_exactly_once(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "a.txt", "x = 1\ny = 1\n  x = 1\n")
    await hands.text("read_file", path="a.txt")
    twice = await hands("edit_file", path="a.txt", old_text="x = 1", new_text="x = 2")
    assert "2 times" in twice.text
    assert "lines 1, 3" in twice.text
    other = await hands("edit_file", path="a.txt", old_text="y  =  1", new_text="z")
    assert "other spaces" in other.text
    for old, new in (("", "a"), ("y", "y"), ("nowhere", "a")):
        assert not (await hands("edit_file", path="a.txt", old_text=old, new_text=new)).ok
    assert "in 2 places" in await hands.text(
        "edit_file", path="a.txt", old_text="x = 1", new_text="x = 2", replace_all=True
    )
    assert (hands.work / "a.txt").read_text() == "x = 2\ny = 1\n  x = 2\n"


async def test_a_file_of_windows_lines_keeps_them(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    path = put(hands.work, "a.txt", b"one\r\ntwo\r\nthree\r\n")
    await hands.text("read_file", path="a.txt")
    await hands.text("edit_file", path="a.txt", old_text="one\ntwo", new_text="1\n2\n2b")
    assert path.read_bytes() == b"1\r\n2\r\n2b\r\nthree\r\n"


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig"])
async def test_an_edit_keeps_the_encoding(tmp_path: Path, encoding: str) -> None:
    hands = Hands(tmp_path)
    path = put(hands.work, "a.txt", "héllo wörld\nrest ünd so\n".encode(encoding))
    await hands.text("read_file", path="a.txt")
    await hands.text("edit_file", path="a.txt", old_text="wörld", new_text="wélt")
    assert path.read_bytes() == "héllo wélt\nrest ünd so\n".encode(encoding)
    if encoding == "latin-1":
        done = await hands("edit_file", path="a.txt", old_text="wélt", new_text="東京")
        assert not done.ok
        assert "can't hold" in done.text


async def test_broken_bytes_elsewhere_come_through_an_edit(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    data = "naïve café ünd élan vital, dèjà vu\n".encode() + b"broken \xff here\n" + b"end\n"
    path = put(hands.work, "a.txt", data)
    await hands.text("read_file", path="a.txt")
    await hands.text("edit_file", path="a.txt", old_text="end", new_text="fin")
    assert path.read_bytes() == data.replace(b"end", b"fin")


async def test_a_binary_file_is_not_written_over(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "p.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    await hands.text("read_file", path="p.png")
    done = await hands("write_file", path="p.png", content="x")
    assert not done.ok
    assert "PNG" in done.text


async def test_a_stopped_turn_writes_nothing(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    assert hands.ctx.stop is not None
    hands.ctx.stop.set()
    assert not (await hands("write_file", path="a.txt", content="x")).ok
    assert all_files(hands.work) == {}


async def test_the_card_shows_a_diff_of_a_write_and_the_words_of_an_edit(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "a.txt", "one\ntwo\nthree\n")
    told = await hands.facts("write_file", path="a.txt", content="one\n2\nthree\n")
    assert "-two\n+2" in told.preview
    assert told.paths == (str((hands.work / "a.txt").resolve()),)
    told = await hands.facts("edit_file", path="a.txt", old_text="two", new_text="2")
    assert told.preview == "-two\n+2"
    assert (told.effect, told.family, told.outside) == ("write", "files", ())


async def test_a_card_asks_about_what_is_to_come_and_a_row_says_what_was_done(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    calls: dict[str, tuple[dict[str, str], str]] = {
        "write_file": ({"path": "a.txt", "content": "x"}, "Write a.txt"),
        "edit_file": ({"path": "a.txt", "old_text": "x", "new_text": "y"}, "Edit a.txt"),
        "read_file": ({"path": "/etc/hosts"}, "Read /etc/hosts"),
        "list_files": ({"path": "/etc"}, "List /etc"),
        "glob_files": ({"pattern": "*.py"}, "Look for files *.py"),
        "search_files": ({"pattern": "Wrote"}, "Search files for “Wrote”"),
    }
    assert {name: (await hands.facts(name, **args)).summary for name, (args, _) in calls.items()} == {
        name: words for name, (_, words) in calls.items()
    }
    assert to_come("Stopped a background process") == "Stop a background process"


async def test_the_hook_before_an_edit_can_hold_it_back(tmp_path: Path) -> None:
    hands = Hands(tmp_path)

    class Watch:
        def noted(self, ctx: object, place: object) -> None:
            raise AssertionError("nothing was read or written")

        async def why_not(self, ctx: object, place: object) -> str:
            return "Another chat changed it."

    hands.desk.watch = Watch()
    done = await hands("write_file", path="a.txt", content="x")
    assert not done.ok
    assert done.text == "Another chat changed it."


TEXT = st.text(st.sampled_from("ab \r\n\u00e9"), max_size=30)


@given(TEXT, TEXT.filter(bool), TEXT, st.booleans())
def test_a_replaced_text_differs_only_where_it_was_replaced(text: str, old: str, new: str, every: bool) -> None:
    got = editing.replaced(text, old, new, every=every, path="a")
    if isinstance(got, str):
        times = text.count(old)
        assert "\r\n" in text or old == new or times == 0 or (times > 1 and not every)
        return
    assert got.times >= 1
    if "\r\n" not in text:
        assert got.text == text.replace(old, new)
        assert every or text.count(old) == 1


@given(TEXT)
def test_lines_put_together_are_the_text(text: str) -> None:
    assert "".join(editing.lines(text)) == text
    assert editing.lines(text) == text.splitlines(keepends=True)


@given(TEXT, TEXT)
def test_counted_lines_add_up(before: str, after: str) -> None:
    added, removed = editing.counted(before, after)
    assert len(editing.lines(before)) - removed + added == len(editing.lines(after))


@settings(max_examples=30, deadline=None)
@given(TEXT, TEXT)
async def test_what_is_written_is_what_is_read_back(before: str, after: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hands = Hands(Path(folder))
        await hands.text("write_file", path="a", content=before)
        await hands.text("write_file", path="a", content=after)
        assert (hands.work / "a").read_bytes() == after.encode()
