"""The whole program without a screen: built over a home, used, closed, opened again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app import commands as cmd
from app.paths import Home
from app.services import build
from app.settings import load
from store.errors import StoreHeld
from tests.session.kit import until


def settings_of(home, *overrides):
    return load(home, overrides, environ={})[0]


async def test_the_offline_assistant_finds_what_was_decided_in_another_chat(tmp_path):
    home = Home(tmp_path / "home")
    services = await build(home, settings_of(home))
    session = services.session
    try:
        first = (await session.do(cmd.NewChat(title="Trip")))["chat"]
        await session.do(cmd.Send(chat=first, text="We decided to take the night train to Lisbon."))
        await session.settle()
        second = (await session.do(cmd.NewChat()))["chat"]
        await session.do(cmd.Send(chat=second, text="What did we decide about Lisbon?"))
        assert await session.settle() == []
        events = [s.event for s in services.store.events(chat=second)]
        said = "".join(e.text for e in events if e.type == "assistant.done")
        assert "night train to Lisbon" in said and "Trip" in said
        (look, *_) = [e for e in events if e.type == "chats.looked"]
        assert look.chats[0].id == first
        assert [e.outcome for e in events if e.type == "turn.completed"] == ["success"]
    finally:
        begun = time.monotonic()
        await services.close()
        assert time.monotonic() - begun < 3


async def test_a_home_has_one_writer_and_is_free_again_after_it(tmp_path):
    home = Home(tmp_path)
    services = await build(home, settings_of(home))
    with pytest.raises(StoreHeld):
        await build(home, settings_of(home))
    await services.close()
    again = await build(home, settings_of(home))
    await again.close()


async def test_a_scripted_model_is_read_from_its_file(tmp_path):
    script = tmp_path / "steps.json"
    steps = [
        [{"thinking": "hm"}, {"call": {"name": "search_chats", "args": {"query": "boats"}}}],
        ["Nothing ", {"delay": 0.01}, {"text": "found."}, {"done": "stop", "usage": {"input_tokens": 5}}],
        [{"error": {"sentence": "The model is busy.", "code": "overloaded"}}],
    ]
    script.write_text(json.dumps({"steps": steps, "rules": [{"when": "knock", "do": ["Who is there?"]}]}))
    home = Home(tmp_path / "home")
    services = await build(home, settings_of(home, f"model=scripted:{script}"))
    try:
        session = services.session
        chat = (await session.do(cmd.NewChat(title="T")))["chat"]
        for text in ("find the boats", "again", "knock knock"):
            await session.do(cmd.Send(chat=chat, text=text))
            await session.settle()
        events = [s.event for s in services.store.events(chat=chat)]
        assert [e.outcome for e in events if e.type == "turn.completed"] == ["success", "error", "success"]
        assert [e.text for e in events if e.type == "assistant.done"][-2:] == ["Nothing found.", "Who is there?"]
        assert any(e.type == "chats.looked" for e in events)
    finally:
        await services.close()


async def test_a_script_that_isnt_one_is_said_in_words(tmp_path):
    (tmp_path / "bad.json").write_text("{")
    home = Home(tmp_path / "home")
    services = await build(home, settings_of(home))
    try:
        chat = (await services.session.do(cmd.NewChat(model=f"scripted:{tmp_path}/bad.json")))["chat"]
        await services.session.do(cmd.Send(chat=chat, text="hi"))
        await services.session.settle()
        (end,) = [s.event for s in services.store.events(chat=chat) if s.event.type == "turn.completed"]
        assert (end.outcome, end.code) == ("error", "setup") and str(tmp_path) not in end.error
    finally:
        await services.close()


async def test_trouble_of_the_store_is_told_over_the_bus(tmp_path):
    home = Home(tmp_path)
    services = await build(home, settings_of(home))
    heard = services.session.bus.subscribe()
    services.store._trouble("Another program is using Shoal's store.")
    item = await anext(heard)
    assert (item.chat, item.kind, item.data["text"]) == ("", "store", "Another program is using Shoal's store.")
    await services.close()


async def test_keys_of_the_settings_are_hidden_from_tool_results(tmp_path):
    from pydantic import BaseModel

    from app.providers.scripted import ScriptedWire, ScriptedWires, call
    from tests.session.kit import FakeTool

    key = "an-unusual-key-of-no-known-shape-77"
    home = Home(tmp_path)
    tool = FakeTool("peek", does=lambda *_: f"it says {key}")
    assert issubclass(tool.args, BaseModel)
    wire = ScriptedWire([[call("peek", {}, "c1")], ["ok"]])
    settings = settings_of(home, f"providers.openai.api_key={key}", "model=scripted:x")
    services = await build(home, settings, wires=ScriptedWires({"scripted:x": wire}), tools=[tool])
    try:
        chat = (await services.session.do(cmd.NewChat(title="T")))["chat"]
        await services.session.do(cmd.Send(chat=chat, text="go"))
        await until(lambda: len(wire.requests) == 2)
        assert key not in str(wire.requests[1].messages) and "it says" in str(wire.requests[1].messages)
    finally:
        await services.close()


async def test_keys_of_the_environment_are_known_before_any_wire_uses_them(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "an-unusual-key-of-no-known-shape-88")
    home = Home(tmp_path)
    services = await build(home, settings_of(home))
    assert "shape-88" not in services.redactor.clean("x an-unusual-key-of-no-known-shape-88 y")
    await services.close()


async def test_a_home_is_free_again_when_building_fails(tmp_path, monkeypatch):
    from app import services as module

    home = Home(tmp_path)

    def failing(*args, **more):
        raise RuntimeError("no index today")

    monkeypatch.setattr(module, "SearchService", failing)
    with pytest.raises(RuntimeError):
        await build(home, settings_of(home))
    monkeypatch.undo()
    await (await build(home, settings_of(home))).close()


def test_building_imports_no_screen_and_no_provider_sdk(tmp_path):
    code = (
        "import asyncio, sys, pathlib\n"
        "from app.paths import Home\nfrom app.services import build\nfrom app.settings import load\n"
        "async def main():\n"
        "    home = Home(pathlib.Path(sys.argv[1]))\n"
        "    services = await build(home, load(home, (), environ={})[0])\n"
        "    await services.close()\n"
        "asyncio.run(main())\n"
        "heavy = {'textual', 'rich', 'pydantic_ai', 'openai', 'anthropic', 'google.genai', 'keyring', 'httpx2'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    root = Path(__file__).parents[2]
    got = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=root, capture_output=True, text=True, timeout=30
    )
    assert got.stdout.strip() == "[]", got.stderr
