"""One key on a change's row undoes it, and does it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import commands as cmd
from app.providers.scripted import call
from store import events as ev
from store.log import Batch
from store.models import FileDiff
from tests.screens.deck_tools import open_deck, running, until
from tests.screens.fakes import FakeServices, fake_services
from tests.screens.real_tools import real
from widgets.rows.change_row import UNDONE, Change


@pytest.fixture
def services(tmp_path: Path) -> FakeServices:
    return fake_services(tmp_path)


async def test_u_on_a_change_asks_the_session_to_undo_it_and_then_to_redo_it(services: FakeServices) -> None:
    chat = services.seed("Chat", ("you", "edit it"), ("assistant", "done"))
    file = ev.FileChange(path="src/auth.ts", change="changed", added=3, removed=1, before="b", after="a")
    changed = ev.FilesChanged(change_id="fc_1", label="Edited src/auth.ts", files=(file,))
    services.store.commit_sync(Batch.of(chat, changed))
    open_deck(services, chat)
    async with running(services) as (pilot, deck):
        await until(pilot, lambda: bool(deck.query(Change)))
        row = deck.query_one(Change)
        row.focus()
        await pilot.press("u")
        await until(pilot, lambda: cmd.UndoChange(chat=chat, change="fc_1") in services.session.commands)
        await services.session.write(chat, ev.FilesRestored(change_id="fc_1", direction="undo", files=("src/auth.ts",)))
        await until(pilot, lambda: deck.query_one(Change).model.undone)
        deck.query_one(Change).focus()
        await pilot.press("u")
        await until(pilot, lambda: cmd.RedoChange(chat=chat, change="fc_1") in services.session.commands)


async def test_enter_on_a_change_brings_what_it_did_to_the_file(services: FakeServices) -> None:
    chat = services.seed("Chat", ("you", "edit it"), ("assistant", "done"))
    file = ev.FileChange(path="src/auth.ts", change="changed", added=1, removed=1, before="b", after="a")
    services.store.commit_sync(Batch.of(chat, ev.FilesChanged(change_id="fc_1", files=(file,))))
    services.session.diffed["fc_1"] = [FileDiff("src/auth.ts", ("@@ -1 +1 @@", "-Strict", "+Lax"))]
    open_deck(services, chat)
    async with running(services) as (pilot, deck):
        await until(pilot, lambda: bool(deck.query(Change)))
        deck.query_one(Change).focus()
        await pilot.press("enter")
        await until(pilot, lambda: "+ Lax" in deck.query_one(Change).source())
        assert "− Strict" in deck.query_one(Change).source()


async def test_a_reply_that_wrote_a_file_shows_its_lines_before_and_after_undo(tmp_path: Path) -> None:
    write = [call("write_file", {"path": "notes.md", "content": "one\ntwo\n"}, "c_1")]
    async with real(tmp_path, write, ["Written."]) as shoal:
        await shoal.services.session.do(cmd.SetOptions(chat=shoal.chat, mode="full"))
        await shoal.say("write it")
        await until(shoal.pilot, lambda: bool(shoal.deck.query(Change)))
        row = shoal.deck.query_one(Change)
        row.focus()
        await shoal.pilot.press("enter")
        await until(shoal.pilot, lambda: "+ one" in row.source() and "+ two" in row.source())
        await shoal.pilot.press("u")
        await until(shoal.pilot, lambda: row.model.undone and UNDONE in row.source())
        assert not (tmp_path / "notes.md").exists()
        await shoal.pilot.press("enter", "enter")  # read anew: both sides are kept
        await until(shoal.pilot, lambda: "+ one" in row.source())
