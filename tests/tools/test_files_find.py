"""Listing, finding by name, searching text."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.tools.hands import Hands, put


def a_project(hands: Hands) -> None:
    put(hands.work, "src/auth.ts", "const token = 1\nlogin()\n")
    put(hands.work, "src/ui/page.tsx", "Login\nlogin(login)\n")
    put(hands.work, "notes.md", "log in here\n")
    put(hands.work, ".gitignore", "*.log\n/cache/\n")
    put(hands.work, "debug.log", "login\n")
    put(hands.work, "cache/x.ts", "login\n")
    put(hands.work, "node_modules/m/index.ts", "login\n")
    put(hands.work, ".git/HEAD", "login\n")
    put(hands.work, "bin.dat", b"login\0\1\2\3\4\5\6\7")


async def test_a_folder_is_listed_with_sizes_and_links(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    a_project(hands)
    (hands.work / "to").symlink_to("src")
    text = await hands.text("list_files")
    assert "src/" in text.split("\n")
    assert "notes.md  12 bytes" in text
    assert "to -> src" in text
    assert "auth.ts" not in text
    assert "src/ui/page.tsx" in await hands.text("list_files", depth=3)
    (hands.work / "hollow").mkdir()
    assert "is empty" in await hands.text("list_files", path="hollow")


async def test_names_with_anything_in_them_stay_on_one_line(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "a\nb\x1b[31m\u202e.txt", "login\n")
    for name, args in (
        ("list_files", {}),
        ("glob_files", {"pattern": "*.txt"}),
        ("search_files", {"pattern": "login"}),
    ):
        text = await hands.text(name, **args)
        assert len(text.split("\n")) == 1
        assert "\x1b" not in text
        assert "\u202e" not in text


async def test_globs_find_what_git_would_not_ignore_newest_first(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    a_project(hands)
    os.utime(hands.work / "src/auth.ts", (2_000_000_000, 2_000_000_000))
    assert (await hands.text("glob_files", pattern="**/*.{ts,tsx}")).split("\n") == ["src/auth.ts", "src/ui/page.tsx"]
    assert await hands.text("glob_files", pattern="*.ts", path="src") == "src/auth.ts"
    assert "debug.log" in await hands.text("glob_files", pattern="*.log", include_ignored=True)
    assert "No file fits" in await hands.text("glob_files", pattern="*.log")


async def test_search_gives_lines_once_with_their_numbers(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    a_project(hands)
    text = await hands.text("search_files", pattern="login")
    assert text.split("\n") == ["src/auth.ts:2: login()", "src/ui/page.tsx:2: login(login)"]
    text = await hands.text("search_files", pattern="^log ?in", regex=True, ignore_case=True, glob="*.{md,tsx}")
    assert text.split("\n") == [
        "notes.md:1: log in here",
        "src/ui/page.tsx:1: Login",
        "src/ui/page.tsx:2: login(login)",
    ]
    assert await hands.text("search_files", pattern="token", path="src/auth.ts") == "src/auth.ts:1: const token = 1"
    assert "Nothing found." in await hands.text("search_files", pattern="a.b")


async def test_a_bad_expression_is_told_and_a_hostile_one_is_quick(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "a.txt", "a" * 200_000 + "\n")
    done = await hands("search_files", pattern="(a", regex=True)
    assert not done.ok
    assert "RE2" in done.text
    begun = time.monotonic()
    await hands.text("search_files", pattern="(a+)+b", regex=True)
    assert time.monotonic() - begun < 3


async def test_search_numbers_agree_with_read(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "mix", "one\r\ntwo\rthree\nneedle é".encode("utf-16"))
    assert await hands.text("search_files", pattern="needle") == "mix:4: needle é"
    assert "     4\tneedle é" in await hands.text("read_file", path="mix")


async def test_long_lines_and_many_matches_are_cut_and_said(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "long", "x" * 5_000 + "needle" + "y" * 5_000)
    text = await hands.text("search_files", pattern="needle")
    assert "needle" in text
    assert len(text) < 500
    for i in range(30):
        put(hands.work, f"m{i}", "needle\n" * 20)
    text = await hands.text("search_files", pattern="needle", limit=10)
    assert "cut at 10 lines" in text
    assert len(text.split("\n")) <= 12


async def test_large_files_are_not_searched_and_that_is_said(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "big", b"needle\n" + b"x" * (6 * 1024**2))
    text = await hands.text("search_files", pattern="needle")
    assert "1 files larger than 5 MB" in text


async def test_links_out_are_neither_followed_nor_searched(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(tmp_path, "far/secret.txt", "needle\n")
    (hands.work / "dir").symlink_to(tmp_path / "far")
    (hands.work / "file").symlink_to(tmp_path / "far/secret.txt")
    assert "Nothing found." in await hands.text("search_files", pattern="needle")
    assert "secret" not in await hands.text("glob_files", pattern="**/*.txt")
    assert (await hands.facts("search_files", pattern="needle", path="dir")).outside


async def test_a_stopped_search_ends(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    for i in range(200):
        put(hands.work, f"{i}.txt", "needle\n")
    assert hands.ctx.stop is not None
    hands.ctx.stop.set()
    done = await hands("search_files", pattern="nothere")
    assert "stopped" in done.text or "too long" in done.text
