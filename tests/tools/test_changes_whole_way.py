"""File tools and changes through the whole program: scripted model, guard, session, headless commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app import commands as cmd
from app.cli.protocol import command_of
from app.paths import Home
from app.providers.scripted import ScriptedWire, ScriptedWires
from app.providers.scripted import call as scripted_call
from app.services import Services, build
from app.settings import load
from store.ids import CALL, new_id
from tests.session.kit import MODEL, until
from tests.tools.hands import all_files, put


def call(name: str, args: dict[str, Any]) -> Any:
    """A call with an id of its own."""
    return scripted_call(name, args, new_id(CALL))


@asynccontextmanager
async def working(root: Path, *steps: Any, mode: str = "auto") -> AsyncIterator[tuple[Services, str, Any]]:
    """A whole Shoal with one chat in `root/work`, and a function that says something and gives the events."""
    home = Home(root / "home")
    (root / "work").mkdir(exist_ok=True)
    services = await build(home, load(home, [], environ={})[0], wires=ScriptedWires({MODEL: ScriptedWire(steps)}))
    try:
        made = await services.session.do(cmd.NewChat(title="T", folder=str(root / "work"), model=MODEL, mode=mode))  # type: ignore[arg-type]
        chat = str(made["chat"])

        async def say(text: str = "go") -> list[Any]:
            after = services.store.last_id()
            await services.session.do(cmd.Send(chat=chat, text=text))
            await services.session.settle(chat)
            return [s.event for s in services.store.events(after=after, chat=chat)]

        yield services, chat, say
    finally:
        await services.close()


def of(events: list[Any], kind: str) -> list[Any]:
    return [e for e in events if e.type == kind]


async def test_a_chat_edits_a_file_and_the_person_takes_it_back(tmp_path: Path) -> None:
    steps = [
        [call("read_file", {"path": "src/auth.ts"})],
        [call("edit_file", {"path": "src/auth.ts", "old_text": "two", "new_text": "2"})],
        ["Edited."],
    ]
    put(tmp_path / "work", "src/auth.ts", "one\ntwo\n")
    async with working(tmp_path, *steps) as (services, chat, say):
        events = await say()
        assert [e.status for e in of(events, "tool.finished")] == ["success", "success"]
        assert [e.label for e in of(events, "tool.started")] == ["Read src/auth.ts", "Edited src/auth.ts"]
        [changed] = of(events, "files.changed")
        kinds = [e.type for e in events]
        assert kinds.index("files.changed") == len(kinds) - 1 - kinds[::-1].index("tool.finished") + 1
        assert not of(events, "taint")
        _, command = command_of(f'{{"do":"undo","chat":"{chat}","change":"{changed.change_id}"}}'.encode())
        ok = await services.session.do(command)  # type: ignore[arg-type]
        assert ok["files"] == ["src/auth.ts"]
        assert all_files(tmp_path / "work") == {"src/auth.ts": b"one\ntwo\n"}
        ok = await services.session.do(cmd.RedoChange(chat=chat, change=changed.change_id))
        assert all_files(tmp_path / "work") == {"src/auth.ts": b"one\n2\n"}
        [last] = services.store.events(after=ok["last_id"])
        assert (last.event.type, last.id > ok["last_id"]) == ("files.restored", True)
        with pytest.raises(cmd.CommandError) as no:
            await services.session.do(cmd.UndoChange(chat="c_nowhere", change=changed.change_id))
        assert no.value.code == "unknown-chat"


async def test_a_commands_changes_are_in_the_batch_of_its_result(tmp_path: Path) -> None:
    steps = [[call("run_command", {"command": "echo new > made.txt"})], ["Done."]]
    async with working(tmp_path, *steps, mode="full") as (_, _chat, say):
        events = await say()
        finished = of(events, "tool.finished")
        assert [e.status for e in finished] == ["success"], finished[0].output
        [changed] = of(events, "files.changed")
        assert [(f.path, f.change, f.added) for f in changed.files] == [("made.txt", "created", 1)]
        assert not changed.shared
        assert changed.call_id == finished[0].call_id


@pytest.mark.parametrize("mode", ["auto", "full", "ask", "plan"])
async def test_no_mode_writes_shoals_own_settings(tmp_path: Path, mode: str) -> None:
    settings = tmp_path / "home" / "settings.toml"
    steps = [[call("write_file", {"path": str(settings), "content": "mode = 'full'"})], ["Done."]]
    async with working(tmp_path, *steps, mode=mode) as (_, _chat, say):
        events = await say()
        assert [e.status for e in of(events, "tool.finished")] == ["error"]
        assert not of(events, "permission.requested")
        assert not settings.exists()


async def test_a_path_outside_asks_with_the_whole_path_and_allowed_reads_it(tmp_path: Path) -> None:
    outside = put(tmp_path, "far.txt", "far words\n")
    steps = [[call("read_file", {"path": "../far.txt"})], ["Done."]]
    async with working(tmp_path, *steps) as (services, chat, say):
        events = await say()
        [asked] = of(events, "permission.requested")
        assert asked.place == str(outside.resolve())
        after = services.store.last_id()
        await services.session.do(cmd.Answer(chat=chat, permission=asked.permission_id, decision="allow"))
        await services.session.settle(chat)
        events = [s.event for s in services.store.events(after=after, chat=chat)]
        assert ["far words" in e.output for e in of(events, "tool.finished")] == [True]


async def test_plan_mode_reads_and_never_writes(tmp_path: Path) -> None:
    steps = [
        [call("list_files", {}), call("write_file", {"path": "a.txt", "content": "x"})],
        ["Done."],
    ]
    async with working(tmp_path, *steps, mode="plan") as (_, _chat, say):
        statuses = {e.name: e.status for e in of(await say(), "tool.finished")}
        assert statuses == {"list_files": "success", "write_file": "error"}
        assert all_files(tmp_path / "work") == {}


async def test_a_secret_that_was_read_is_hidden_and_cannot_be_written_back(tmp_path: Path) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9b"
    put(tmp_path / "work", "conf.txt", f"url=x\ntoken={token}\n")
    steps = [
        [call("read_file", {"path": "conf.txt"})],
        [
            call(
                "edit_file",
                {"path": "conf.txt", "old_text": "url=x\ntoken=‹hidden›", "new_text": "url=y\ntoken=‹hidden›"},
            )
        ],
        ["Done."],
    ]
    async with working(tmp_path, *steps) as (services, _chat, say):
        read, edit = of(await say(), "tool.finished")
        assert token not in read.output
        assert "‹hidden›" in read.output
        assert edit.status == "error"
        assert token in (tmp_path / "work" / "conf.txt").read_text()
        assert not any(token in s.event.model_dump_json() for s in services.store.events())


async def test_a_fork_shows_a_change_and_leaves_its_undo_to_the_chat_that_made_it(tmp_path: Path) -> None:
    steps = [[call("write_file", {"path": "a.txt", "content": "x"})], ["Done."]]
    async with working(tmp_path, *steps) as (services, chat, say):
        [changed] = of(await say(), "files.changed")
        fork = (await services.session.do(cmd.Fork(chat=chat)))["chat"]
        with pytest.raises(cmd.CommandError) as no:
            await services.session.do(cmd.UndoChange(chat=fork, change=changed.change_id))
        assert no.value.code == "not-allowed"
        assert all_files(tmp_path / "work") == {"a.txt": b"x"}
        await services.session.do(cmd.UndoChange(chat=chat, change=changed.change_id))
        assert all_files(tmp_path / "work") == {}


async def test_a_stopped_command_is_told_of_at_the_turns_end(tmp_path: Path) -> None:
    steps = [[call("run_command", {"command": "echo x > half.txt; sleep 60"})], ["Done."]]
    async with working(tmp_path, *steps, mode="full") as (services, chat, _say):
        await services.session.do(cmd.Send(chat=chat, text="go"))
        await until((tmp_path / "work" / "half.txt").exists)
        await services.session.do(cmd.Stop(chat=chat))
        await services.session.settle(chat)
        events = [s.event for s in services.store.events(chat=chat)]
        assert [e.outcome for e in of(events, "turn.completed")] == ["interrupted"]
        [changed] = of(events, "files.changed")
        assert [f.path for f in changed.files] == ["half.txt"]


async def test_the_session_shows_what_a_change_did_to_its_files(tmp_path: Path) -> None:
    steps = [[call("write_file", {"path": "notes.md", "content": "one\ntwo\n"})], ["Written."]]
    async with working(tmp_path, *steps) as (services, chat, say):
        [changed] = of(await say(), "files.changed")
        [diff] = await services.session.diffs(chat, changed.change_id)
        assert (diff.path, diff.lines, diff.note) == ("notes.md", ("+one", "+two"), "")
        assert await services.session.diffs(chat, "fc_nothing") == []
