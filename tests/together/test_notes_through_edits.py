"""Real edits of chats side by side: the check before an edit, worktrees, and who hears nothing (decisions 28, 29)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app import commands as cmd
from app.ports import Joining, Turn
from app.providers.scripted import ScriptedWire
from app.together.lines import Notes
from store import events as ev
from store.limits import NOTES_A_TURN
from store.log import Batch
from tests.session.kit import until
from tests.together.kit import Chats, Holds, call, open_chats


def read(path: str = "a.py") -> list[Any]:
    return [call("read_file", {"path": path})]


def edit(old: str, new: str, path: str = "a.py") -> list[Any]:
    return [call("edit_file", {"path": path, "old_text": old, "new_text": new})]


def write(path: str = "n.py") -> list[Any]:
    return [call("write_file", {"path": path, "content": "x"})]


async def begun(chats: Chats, chat: str, calls: int) -> None:
    await until(lambda: len(chats.events(chat, "tool.started")) >= calls)


def git(folder: Path, *args: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True)


def notes_with(chats: Chats, chat: str, words: str) -> list[str]:
    return [n for n in chats.joined(chat, "note") if words in n]


async def two_edit(
    chats: Chats, holds: Holds, theirs: Sequence[Any], mine: Sequence[Any], **folders: Any
) -> tuple[str, str]:
    """Mine reads and holds; theirs changes the file and holds; then mine goes on to its end."""
    there = await chats.new("Fix login", *theirs, holds.step("there"), ["ok"], mode="full", **folders.get("there", {}))
    here = await chats.new("Notes", read(), holds.step("here"), *mine, ["ok"], mode="full", **folders.get("here", {}))
    await chats.say_and_leave(here, "go")
    await begun(chats, here, 2)
    await chats.say_and_leave(there, "go")
    await begun(chats, there, len(theirs) + 1)
    holds.let_go("here")
    await begun(chats, here, 2 + len(mine))
    return there, here


async def test_an_edit_over_another_replys_is_not_made_until_the_file_was_read_again(tmp_path: Path) -> None:
    holds = Holds()
    async with open_chats(tmp_path, tools=[holds.tool], files=True) as chats:
        (chats.folder / "a.py").write_text("one = 1\ntwo = 2\n")
        there, here = await two_edit(
            chats,
            holds,
            [read(), edit("one = 1", "one = 11")],
            [edit("two = 2", "two = 22"), read(), edit("two = 2", "two = 22"), holds.step("end")],
        )
        refused, seen, made = chats.results(here)[2:]
        assert "a.py was changed by another of the person's chats, “Fix login”" in refused and there in refused
        assert "Nothing was changed; read it first" in refused
        assert "one = 11" in seen and "a.py" in made
        assert (chats.folder / "a.py").read_text() == "one = 11\ntwo = 22\n"
        assert [e.status for e in chats.events(here, "tool.finished")][2:] == ["error", "success", "success"]
        # the notes beside it: each once in each chat, and the refusal is none of them
        assert len(notes_with(chats, here, "is changing files in this folder")) == 1
        assert len(notes_with(chats, here, "have both changed a.py: read it again")) == 1
        holds.let_go("there")
        await chats.session.settle(there)
        assert len(notes_with(chats, there, "is changing files in this folder")) == 1
        assert len(notes_with(chats, there, "have both changed a.py")) == 1


async def test_once_the_other_reply_has_ended_only_the_files_own_state_counts(tmp_path: Path) -> None:
    holds = Holds()
    async with open_chats(tmp_path, tools=[holds.tool], files=True) as chats:
        (chats.folder / "a.py").write_text("one = 1\n")
        here = await chats.new("Notes", read(), holds.step("here"), edit("one = 1", "one = 2"), ["ok"], mode="full")
        await chats.say_and_leave(here, "go")
        await begun(chats, here, 2)
        there = await chats.new("Fix login", read(), edit("one = 1", "one = 11"), ["ok"], mode="full")
        await chats.session.do(cmd.Send(chat=there, text="go"))
        await chats.session.settle(there)
        holds.let_go("here")
        await chats.session.settle()
        last = chats.results(here)[-1]
        assert "was changed since you read it" in last and "Fix login" not in last


async def test_the_check_does_not_count_towards_the_four_lines(tmp_path: Path) -> None:
    holds = Holds()
    names = [f"f{n}.py" for n in range(NOTES_A_TURN + 2)]
    async with open_chats(tmp_path, tools=[holds.tool], files=True) as chats:
        for name in names:
            (chats.folder / name).write_text("x = 1\n")
        theirs = [step for name in names for step in (read(name), edit("x = 1", "x = 2", name))]
        there = await chats.new("Fix login", *theirs, holds.step("there"), ["ok"], mode="full")
        mine = [step for n in names for step in (edit("x = 1", "x = 3", n), read(n), edit("x = 2", "x = 4", n))]
        reads = [read(name) for name in names]
        here = await chats.new("Notes", *reads, holds.step("here"), *mine, ["ok"], mode="full")
        await chats.say_and_leave(here, "go")
        await begun(chats, here, len(names) + 1)
        await chats.say_and_leave(there, "go")
        await begun(chats, there, len(theirs) + 1)
        holds.let_go("here")
        await chats.session.settle(here)
        refused = [r for r in chats.results(here) if "read it first" in r]
        assert len(refused) == len(names)
        told = [n for n in chats.joined(here, "note") if "another of the person's" in n or "have both" in n]
        assert len(told) == NOTES_A_TURN


async def test_the_same_file_in_another_worktree_is_checked_and_told(tmp_path: Path) -> None:
    holds = Holds()
    async with open_chats(tmp_path, tools=[holds.tool], files=True) as chats:
        (chats.folder / "a.py").write_text("one = 1\ntwo = 2\n")
        git(chats.folder, "init", "-q")
        git(chats.folder, "add", ".")
        git(chats.folder, "commit", "-q", "-m", "x")
        git(chats.folder, "worktree", "add", "-q", str(tmp_path / "tree"))
        there, here = await two_edit(
            chats,
            holds,
            [read(), edit("one = 1", "one = 11")],
            [edit("two = 2", "two = 22"), read(), edit("two = 2", "two = 22")],
            here={"folder": str(tmp_path / "tree")},
        )
        await chats.session.settle(here)
        refused, _seen, made = chats.results(here)[2:]
        assert f"“Fix login” (chat {there}), which is still working in another worktree" in refused
        assert "a.py" in made and (tmp_path / "tree" / "a.py").read_text() == "one = 1\ntwo = 22\n"
        assert len(notes_with(chats, here, "have both changed a.py in another worktree")) == 1
        # another worktree is a separate place for all else
        assert notes_with(chats, here, "changing files in this folder") == []


# -- silent


async def test_notes_are_silent_once_the_reply_is_to_end(tmp_path: Path) -> None:
    holds = Holds()
    async with open_chats(tmp_path, tools=[holds.tool], files=True) as chats:
        there = await chats.new(
            "Fix login",
            [call("write_file", {"path": "n.py", "content": "x"})],
            holds.step("there"),
            ["ok"],
            mode="full",
        )
        await chats.say_and_leave(there, "go")
        await begun(chats, there, 2)
        here = await chats.new("Notes")
        notes = Notes(chats.store, chats.snapshot, str)
        turn = Turn(here, "r_1", "scripted:Notes")
        turn.stop.set()
        assert await notes.take(turn, 1) == Joining() and await notes.take(turn, 2) == Joining()
        again = Turn(here, "r_1", "scripted:Notes")
        assert len((await notes.take(again, 2)).parts) == 1  # it was the stop that silenced it


async def test_a_reply_that_is_stopped_in_a_step_hears_no_line_after(tmp_path: Path) -> None:
    holds = Holds()
    async with open_chats(tmp_path, tools=[holds.tool], files=True) as chats:
        here = await chats.new("Notes", holds.step("here"), ["never said"], mode="full")
        await chats.say_and_leave(here, "go")
        await begun(chats, here, 1)
        there = await chats.new(
            "Fix login",
            [call("write_file", {"path": "n.py", "content": "x"})],
            holds.step("there"),
            ["ok"],
            mode="full",
        )
        await chats.say_and_leave(there, "go")
        await begun(chats, there, 2)
        await chats.session.do(cmd.Stop(chat=here))
        holds.let_go("here")
        await chats.session.settle(here)
        assert chats.joined(here, "note") == [] and len(chats.events(here, "step.started")) == 1
        assert chats.events(here, "turn.completed")[-1].outcome == "interrupted"


@pytest.mark.parametrize("kind", ["peer", "client", "artifact", "import"])
async def test_a_chat_that_is_not_the_persons_own_hears_nothing_and_nobody_hears_of_it(
    tmp_path: Path, kind: Any
) -> None:
    holds = Holds()
    async with open_chats(tmp_path, tools=[holds.tool], files=True) as chats:
        there = await chats.new("Fix login", write(), holds.step("there"), ["ok"], mode="full")
        await chats.say_and_leave(there, "go")
        await begun(chats, there, 2)
        origin = ev.Origin(kind=kind, name="Other")
        await chats.store.commit(
            Batch.of("c_x", ev.ChatCreated(title="X", folder=str(chats.folder), origin=origin, model="scripted:X"))
        )
        turn = Turn("c_x", "r_1", "scripted:X")
        assert await Notes(chats.store, chats.snapshot, str).take(turn, 1) == Joining()
        changed = ev.FilesChanged(change_id="f_1", files=(ev.FileChange(path="b.py", change="changed"),))
        await chats.commit("c_x", ev.TurnStarted(turn_id="r_1"), changed)
        here = await chats.new("Notes", ["ok"])
        await chats.session.do(cmd.Send(chat=here, text="go"))
        await chats.session.settle(here)
        (line,) = chats.joined(here, "note")
        assert "Fix login" in line and "(chat c_x)" not in line


# -- a task


async def test_a_task_hears_the_notes_without_being_pointed_at_list_chats(tmp_path: Path) -> None:
    holds = Holds()
    async with open_chats(tmp_path, tools=[holds.tool], files=True) as chats:
        there = await chats.new("Fix login", write(), holds.step("there"), ["ok"], mode="full")
        await chats.say_and_leave(there, "go")
        await begun(chats, there, 2)
        chats.wires["scripted:task"] = ScriptedWire([["done"]])
        start = {"title": "Smoke", "instructions": "Look.", "model": "scripted:task"}
        here = await chats.new("Main", [call("start_background_task", start)], ["ok"])
        await chats.session.do(cmd.Send(chat=here, text="go"))
        await until(lambda: any(e.state == "done" for e in chats.events(here, "task")))
        own = chats.events(here, "task")[-1].task_chat
        (line,) = notes_with(chats, own, "is changing files in this folder")
        assert f"“Fix login” (chat {there}), changing n.py" in line and "list_chats" not in line
