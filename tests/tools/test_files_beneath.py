"""Paths, links and races (T07, T08), Shoal's own and secret places (C07): judged by what was opened."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from app.tools import beneath
from app.tools.beneath import Refused, locate, open_file
from app.tools.bounds import LIVE, OWN, SECRET, Bounds
from tests.tools.hands import Hands, put


@pytest.fixture(params=["openat2", "checked"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of opening: the system call, and the fallback."""
    if request.param == "checked":
        monkeypatch.setattr(beneath, "openat2_works", lambda: False)
    elif not beneath.openat2_works():
        pytest.skip("this kernel has no openat2")
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "given",
    ["src/a.txt", "./src//a.txt", "src/../src/a.txt", "src/a.txt.", "src/a.txt ", "SRC/A.TXT", "{work}/src/a.txt"],
)
async def test_a_path_inside_is_read_however_it_is_written(tmp_path: Path, given: str) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "src/a.txt", "hello\n")
    assert "hello" in await hands.text("read_file", path=given.format(work=hands.work))


async def test_file_addresses_and_decomposed_names_are_understood(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "caf\u00e9 au.txt", "hello\n")
    assert "hello" in await hands.text("read_file", path=f"file://{hands.work}/caf%C3%A9%20au.txt")
    assert "hello" in await hands.text("read_file", path="cafe\u0301 au.txt")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "given", ["../outside.txt", "{root}/outside.txt", "file:{root}/outside.txt", "src/../../outside.txt"]
)
async def test_a_path_outside_is_told_whole_and_read_only_when_allowed(tmp_path: Path, given: str) -> None:
    hands = Hands(tmp_path)
    outside = put(tmp_path, "outside.txt", "far\n")
    given = given.format(root=tmp_path)
    assert (await hands.facts("read_file", path=given)).outside == (str(outside.resolve()),)
    refused = await hands("read_file", path=given)
    assert not refused.ok
    assert "far" not in refused.text
    assert "far" in (await hands("read_file", path=given, allowed=True)).text


async def test_home_is_expanded_before_it_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    hands = Hands(tmp_path)
    put(tmp_path, "notes.txt", "far\n")
    assert (await hands.facts("read_file", path="~/notes.txt")).outside == (str((tmp_path / "notes.txt").resolve()),)


@pytest.mark.usefixtures("way")
async def test_a_link_out_is_outside_and_a_link_inside_is_not(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    outside = put(tmp_path, "outside.txt", "far\n")
    put(hands.work, "real.txt", "near\n")
    (hands.work / "out").symlink_to(outside)
    (hands.work / "in").symlink_to("real.txt")
    (hands.work / "up").symlink_to(tmp_path)
    assert (await hands.facts("read_file", path="out")).outside == (str(outside.resolve()),)
    assert (await hands.facts("read_file", path="up/outside.txt")).outside == (str(outside.resolve()),)
    assert (await hands.facts("read_file", path="in")).outside == ()
    assert "near" in await hands.text("read_file", path="in")
    assert not (await hands("read_file", path="out")).ok


@pytest.mark.usefixtures("way")
async def test_a_loop_of_links_is_refused_in_words(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    (hands.work / "a").symlink_to("b")
    (hands.work / "b").symlink_to("a")
    done = await hands("read_file", path="a")
    assert not done.ok
    assert "“" in done.text


@pytest.mark.usefixtures("way")
def test_a_link_swapped_a_thousand_times_is_never_followed_out(tmp_path: Path) -> None:
    work = tmp_path / "work"
    outside = put(tmp_path, "out/f.txt", "far")
    put(work, "dir/f.txt", "near")
    stop = threading.Event()
    other = work / "other"
    other.symlink_to(outside.parent)

    def swap() -> None:
        while not stop.is_set():
            for a, b in (("dir", "kept"), ("other", "dir"), ("dir", "other"), ("kept", "dir")):
                os.rename(work / a, work / b)

    swapper = threading.Thread(target=swap)
    swapper.start()
    bounds, seen = Bounds.of(tmp_path / "home"), set()
    try:
        for _ in range(1_000):
            try:
                place = locate(str(work), "dir/f.txt")
                if place.inside is None:
                    continue  # this one asks
                fd, _ = open_file(place, bounds)
            except Refused:
                continue
            seen.add(os.read(fd, 10))
            os.close(fd)
    finally:
        stop.set()
        swapper.join()
    assert seen <= {b"near"}


async def test_what_was_allowed_is_what_is_opened(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(tmp_path, "one.txt", "first\n")
    put(tmp_path, "two.txt", "second\n")
    link = hands.work / "link"
    link.symlink_to(tmp_path / "one.txt")
    tool = hands.tools["read_file"]
    args = tool.args.model_validate({"path": "link"})
    await tool.facts(args, hands.ctx)  # type: ignore[attr-defined]
    link.unlink()
    link.symlink_to(tmp_path / "two.txt")
    assert "first" in (await tool.run(args, hands.ctx, "x")).text


async def test_an_allowed_file_outside_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    one = put(tmp_path, "one.txt", "first\n")
    put(tmp_path, "two.txt", "second\n")
    tool = hands.tools["read_file"]
    args = tool.args.model_validate({"path": str(one)})
    await tool.facts(args, hands.ctx)  # type: ignore[attr-defined]
    one.unlink()
    one.symlink_to(tmp_path / "two.txt")
    done = await tool.run(args, hands.ctx, "x")
    assert not done.ok
    assert "second" not in done.text


async def test_writing_through_a_link_out_asks_and_never_happens_unasked(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    outside = put(tmp_path, "outside.txt", "far\n")
    (hands.work / "out").symlink_to(outside)
    (hands.work / "dir").symlink_to(tmp_path)
    for path in ("out", "dir/new.txt"):
        assert (await hands.facts("write_file", path=path, content="x")).outside
        assert not (await hands("write_file", path=path, content="x")).ok
    assert outside.read_text() == "far\n"
    assert not (tmp_path / "new.txt").exists()


@pytest.mark.parametrize("name", ["settings.toml", "store.db", "rules.toml", "new/deep.txt", "."])
async def test_shoals_own_home_is_out_of_reach_even_while_missing(tmp_path: Path, name: str) -> None:
    hands = Hands(tmp_path)
    path = str(hands.home / name)
    assert (await hands.facts("write_file", path=path, content="x")).never == OWN
    assert (await hands.facts("read_file", path=path)).never == OWN
    done = await hands("write_file", path=path, content="x")
    assert not done.ok
    assert done.text == OWN
    assert not hands.home.exists()


async def test_a_link_into_the_home_and_its_other_case_are_the_home(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.home, "store.db", "words")
    (hands.work / "link").symlink_to(hands.home)
    assert (await hands.facts("read_file", path="link/store.db")).never == OWN
    assert (await hands.facts("read_file", path=str(tmp_path / "HOME" / "store.db"))).never == OWN


async def test_a_hard_link_to_the_store_is_still_the_store(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    os.link(put(hands.home, "store.db", "words"), hands.work / "innocent.txt")
    done = await hands("read_file", path="innocent.txt")
    assert not done.ok
    assert done.text == OWN


async def test_a_home_inside_the_work_folder_is_neither_listed_nor_searched(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    hands.desk.bounds = Bounds.of(hands.work / "home")
    put(hands.work, "home/settings.toml", "secretword")
    put(hands.work, "a.txt", "hello")
    assert "home" not in await hands.text("list_files")
    assert "settings" not in await hands.text("search_files", pattern="secretword")
    assert "Nothing" in await hands.text("search_files", pattern="secretword")


@pytest.mark.parametrize(
    "path",
    ["~/.ssh/id_rsa", "~/.AWS/credentials", "~/.netrc", "~/.config/gcloud/x", ".npmrc", "~/.mozilla/firefox/p/key4.db"],
)
async def test_places_of_passwords_are_denied_in_any_case(tmp_path: Path, path: str) -> None:
    hands = Hands(tmp_path)
    assert (await hands.facts("read_file", path=path)).never == SECRET
    assert (await hands.facts("write_file", path=path, content="")).never == SECRET


async def test_live_files_of_the_system_are_denied(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    (hands.work / "env").symlink_to("/proc/self/environ")
    for path in ("/proc/self/environ", "/dev/zero", "env", "/proc/self/root/etc/passwd", "/dev/fd/0"):
        told = await hands.facts("read_file", path=path)
        assert told.never == LIVE or (told.outside and "/proc" not in told.outside[0]), path


async def test_git_hooks_and_a_folders_own_rules_are_never_written(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    for path in (".git/hooks/pre-commit", ".git/config", ".shoal/rules.toml", "sub/.shoal.toml"):
        assert (await hands.facts("write_file", path=path, content="x")).never
        assert not (await hands("write_file", path=path, content="x")).ok
    assert (await hands.facts("write_file", path=".vscode/tasks.json", content="x")).outside  # this one asks


async def test_a_path_that_is_none_is_refused_in_words(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    for path in ("a\0b", "x" * 4_000, "a/" * 1_000):
        done = await hands("read_file", path=path)
        assert not done.ok
        assert len(done.text) < 5_000


async def test_where_a_file_lies_must_be_known_one_way_or_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "a.txt", "words\n")
    monkeypatch.setattr(beneath, "whereabouts", lambda fd: None)
    if beneath.openat2_works():
        assert "words" in await hands.text("read_file", path="a.txt")
    monkeypatch.setattr(beneath, "openat2_works", lambda: False)
    assert not (await hands("read_file", path="a.txt")).ok
