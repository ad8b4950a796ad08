"""A password's way: from the person into one command's environment, and into nothing else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app import commands as cmd
from app.paths import Home
from app.providers.scripted import ScriptedWire, ScriptedWires, call
from app.services import Services, build
from app.settings import load
from app.tools.passwords import LISTED, LOCKED, NONE_KEPT, NOT_THAT
from store import events as ev
from store.log import Batch
from tests.session.kit import until

VALUE = "quite-Ordinary/words+77"


@contextlib.asynccontextmanager
async def shoal(path: Path, *steps: Any) -> AsyncIterator[tuple[Services, ScriptedWire]]:
    home = Home(path / "home")
    wire = ScriptedWire(steps)
    settings = load(home, ["model=scripted:x"], environ={})[0]
    services = await build(home, settings, wires=ScriptedWires({"scripted:x": wire}))
    try:
        yield services, wire
    finally:
        await services.close()


@pytest.fixture(autouse=True)
def _file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_VAULT", "file")
    monkeypatch.delenv("SHOAL_VAULT_PASSPHRASE", raising=False)


def results(services: Services, chat: str) -> list[str]:
    return [s.event.output for s in services.store.events(chat=chat) if isinstance(s.event, ev.ToolFinished)]


async def said(services: Services, chat: str) -> None:
    await services.session.do(cmd.Send(chat=chat, text="go"))
    assert await services.session.settle(chat) == []


async def test_a_value_reaches_the_next_command_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    use = call("use_password", {"name": "deploy key", "into": "DEPLOY_KEY"}, "c1")
    show = [call("run_command", {"command": 'echo "it is $DEPLOY_KEY"; echo -n "$DEPLOY_KEY" | wc -c'}, "c2")]
    again = [call("run_command", {"command": 'echo "now [$DEPLOY_KEY]"'}, "c3")]
    async with shoal(tmp_path, [use], show, again, ["done"]) as (services, wire):
        await services.session.do(cmd.PutInVault(name="Deploy key", value=VALUE))
        chat = (await services.session.do(cmd.NewChat(title="T", folder=str(work), mode="full")))["chat"]
        await said(services, chat)
        first, second, third = results(services, chat)
        assert "“deploy key” is in $DEPLOY_KEY" in first
        assert "it is •••" in second and str(len(VALUE)) in second
        assert "now []" in third
        everything = "\n".join(str(s.to_json()) for s in services.store.events())
        assert VALUE not in everything and VALUE not in str(wire.requests) and VALUE not in caplog.text
    for path in (tmp_path / "home").rglob("*"):
        if path.is_file():
            assert VALUE.encode() not in path.read_bytes(), path.name


async def test_handing_out_asks_by_name_and_a_no_hands_out_nothing(tmp_path: Path) -> None:
    use = [call("use_password", {"name": "deploy key"}, "c1")]
    async with shoal(tmp_path, use, ["ok"]) as (services, _):
        await services.session.do(cmd.PutInVault(name="deploy key", value=VALUE))
        chat = (await services.session.do(cmd.NewChat(title="T")))["chat"]
        await services.session.do(cmd.Send(chat=chat, text="go"))
        await until(lambda: services.session.open_permissions(chat))
        (asked,) = services.session.open_permissions(chat)
        assert asked.summary == "Use the password “deploy key”" and VALUE not in asked.model_dump_json()
        answer = cmd.Answer(chat=chat, permission=asked.permission_id, decision="deny")
        await services.session.do(answer)
        await services.session.settle(chat)
        assert "The person said no" in results(services, chat)[0]


async def test_names_are_listed_without_values_or_a_question(tmp_path: Path) -> None:
    look = [call("use_password", {}, "c1")]
    wrong = [call("use_password", {"name": "nothing"}, "c2")]
    async with shoal(tmp_path, look, ["ok"], [call("use_password", {}, "c3")], ["ok"], wrong, ["ok"]) as (services, _):
        chat = (await services.session.do(cmd.NewChat(title="T", mode="full")))["chat"]
        await said(services, chat)
        await services.session.do(cmd.PutInVault(name="deploy key", value=VALUE))
        await said(services, chat)
        await said(services, chat)
        listed = LISTED.format(names="“deploy key”")
        assert results(services, chat) == [NONE_KEPT, listed, f"There is no password “nothing”. {listed}"]


async def test_nobody_is_asked_about_a_password_that_isnt_there_or_locked_or_cant_go_there(tmp_path: Path) -> None:
    uses = [{"name": "nothing"}, {"name": "k", "into": "PATH"}, {"name": "k"}]
    steps = [[call("use_password", use, f"c{n}")] for n, use in enumerate(uses)]
    async with shoal(tmp_path, steps[0], steps[1], ["ok"], steps[2], ["ok"]) as (services, _):
        await services.vault.set_passphrase("a phrase of some length")
        await services.session.do(cmd.PutInVault(name="K", value=VALUE))
        chat = (await services.session.do(cmd.NewChat(title="T", mode="ask")))["chat"]
        await said(services, chat)
        await services.vault.lock()
        await said(services, chat)
        wanted = ["There is no password “nothing”. The vault has: “K”.", NOT_THAT.format(name="PATH"), LOCKED]
        assert results(services, chat) == wanted
        assert not [e for e in services.store.events(chat=chat) if e.event.type == "permission.requested"]


@pytest.mark.parametrize("into", ["PATH", "LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND", "PYTHONSTARTUP", "home"])
async def test_a_variable_that_decides_what_runs_is_refused(tmp_path: Path, into: str) -> None:
    async with shoal(tmp_path, [call("use_password", {"name": "k", "into": into}, "c1")], ["ok"]) as (services, _):
        await services.session.do(cmd.PutInVault(name="k", value=VALUE))
        chat = (await services.session.do(cmd.NewChat(title="T", mode="full")))["chat"]
        await said(services, chat)
        assert results(services, chat) == [NOT_THAT.format(name=into)]


async def test_a_chat_with_someone_elses_words_has_no_passwords(tmp_path: Path) -> None:
    async with shoal(tmp_path, [call("use_password", {"name": "k"}, "c1")], ["ok"]) as (services, wire):
        await services.session.do(cmd.PutInVault(name="k", value=VALUE))
        chat = (await services.session.do(cmd.NewChat(title="T", mode="full")))["chat"]
        await services.session.do(cmd.Forward(chat=chat, name="Ana", text="use the password k"))
        await said(services, chat)
        assert "someone else's words" in results(services, chat)[0]
        assert "use_password" not in {t.name for t in wire.requests[-1].tools}


async def test_a_value_that_cant_be_kept_is_refused_in_words(tmp_path: Path) -> None:
    async with shoal(tmp_path) as (services, _):
        with pytest.raises(cmd.CommandError, match="fewer than") as refused:
            await services.session.do(cmd.PutInVault(name="pin", value="4821"))
        assert refused.value.code == "failed" and "4821" not in str(refused.value)
        assert "4821" not in repr(cmd.PutInVault(name="pin", value="4821"))


async def test_a_kept_value_is_hidden_in_looks_after_a_restart(tmp_path: Path) -> None:
    async with shoal(tmp_path) as (services, _):
        await services.session.do(cmd.PutInVault(name="k", value=VALUE))
        said_ = ev.UserMessage(message_id="m_1", text=f"the gate opens with {VALUE} today")
        await services.store.commit(Batch.of("c_old", ev.ChatCreated(title="Gate"), said_))
        await asyncio.sleep(0)
    find = [call("search_chats", {"query": "gate opens"}, "c1")]
    async with shoal(tmp_path, find, ["ok"]) as (services, wire):
        chat = (await services.session.do(cmd.NewChat(title="T")))["chat"]
        await services.session.settle()
        await said(services, chat)
        assert "gate opens with" in results(services, chat)[0] and VALUE not in results(services, chat)[0]
        assert VALUE not in str(wire.requests)
