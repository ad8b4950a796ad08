"""Memories, vault and Activity of the real program: by headless, in exports, and on a terminal."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.headless_client import Client, shoal
from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.timeout(120)
KEY = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5q" * 2
VALUE = "quite-Ordinary/words+77"
FILE = {"SHOAL_VAULT": "file"}


def scripted(path: Path, *steps: list[Any]) -> str:
    """A model of these steps; every chat starts at the first."""
    path.write_text(json.dumps(list(steps)))
    return f"scripted:{path}"


def called(name: str, **args: Any) -> dict[str, Any]:
    return {"call": {"name": name, "args": args}}


def test_headless_keeps_forgets_and_undoes_memories(tmp_path: Path) -> None:
    model = scripted(tmp_path / "m.json", [called("remember", content="Likes tea.", kind="preference")], ["ok"])
    with Client(tmp_path / "home") as client:
        chat = client.do("new", title="One", model=model)["chat"]
        client.do("send", chat=chat, text="I like tea")
        client.do("settle")
        (saved,) = client.events("memory.saved")
        memory = saved["memory_id"]
        done = client.do("memory", memory=memory, action="undo")
        assert done["state"] == "forgotten" and isinstance(done["last_id"], int)
        event = client.until(lambda line: line.get("type") == "memory.forgotten")
        assert event["id"] > done["last_id"]
        assert client.refused("memory", memory=memory, action="keep") == "gone"
        assert client.do("memory", memory=memory, action="undo")["state"] == "kept"
        assert client.refused("memory", memory="y_nothere", action="forget") == "gone"
        assert client.refused("memory", memory=memory, action="burn") == "bad-command"
        client.do("quit")
    assert (tmp_path / "home" / "memories" / f"{memory}.md").read_text().endswith("---\nLikes tea.\n")


def test_headless_takes_a_value_and_never_says_it_again(tmp_path: Path) -> None:
    with Client(tmp_path / "home", env=FILE) as client:
        assert client.do("vault", name="deploy", value=VALUE) == {}
        assert client.refused("vault", name="pin", value="4821") == "failed"
        assert client.refused("vault", name="deploy") == "bad-command"
        chat = client.do("new", title=f"About {VALUE}")["chat"]
        client.do("send", chat=chat, text="hello")
        client.do("settle")
        found = client.do("search", query="about")
        assert VALUE not in json.dumps(found)
        client.do("quit")
        client.end()
        assert VALUE not in client.stderr()
    for path in [*(tmp_path / "home" / "vault").iterdir(), *(tmp_path / "home").glob("logs/*")]:
        assert VALUE.encode() not in path.read_bytes(), path.name


def test_an_export_of_a_chat_has_no_memories(tmp_path: Path) -> None:
    model = scripted(tmp_path / "m.json", [called("remember", content="Likes tea.")], ["ok"])
    with Client(tmp_path / "home") as client:
        chat = client.do("new", title="One", model=model)["chat"]
        client.do("send", chat=chat, text="hm")
        client.do("settle")
        client.do("quit")
    for form in ("json", "md", "html"):
        out = shoal(tmp_path / "home", "export", chat, "--format", form).stdout
        assert "memory." not in out and "Likes tea" not in out and "hm" in out


def test_a_key_of_an_earlier_chat_is_in_no_request_event_or_terminal_byte(tmp_path: Path) -> None:
    """Planted in a title, a message, a command and a memory; another chat looks back, remembers, recalls, and F3."""
    home = tmp_path / "home"
    plant = scripted(
        tmp_path / "plant.json",
        [called("remember", content=f"Deploys the marmot blog to the blue server with {KEY} on Fridays")],
        ["ok"],
    )
    looks = scripted(
        tmp_path / "looks.json",
        [called("search_chats", query="marmot")],
        [called("search_chats", query=f"marmot {KEY}")],
        [called("recall", query="blue server")],
        ["found"],
    )
    work = tmp_path / "work"
    work.mkdir()
    commands = scripted(tmp_path / "commands.json", [called("run_command", command=f"echo marmot {KEY}")], ["ok"])
    with Client(home) as client:
        for model in (plant, commands):
            made = client.do("new", title=f"marmot {KEY}", model=model, folder=str(work), mode="full")["chat"]
            client.do("send", chat=made, text=f"the marmot key is {KEY}")
            client.do("settle")
        asking = client.do("new", title="Looking", model=looks)["chat"]
        before = len(client.lines)
        client.do("send", chat=asking, text="what about marmots?")
        client.do("settle")
        mine = [x for x in client.lines[before:] if x.get("chat") == asking]
        told = [x for x in mine if x["type"] not in ("tool.started", "assistant.done")]  # its own raw call has it
        assert len([x for x in told if x.get("type") == "chats.looked"]) == 2
        assert KEY[8:] not in json.dumps(told) and "blue server" in json.dumps(told)
        client.do("quit")
    for path in (home / "memories").iterdir():
        assert KEY[8:] not in path.read_text()
    terminal = Terminal(home, columns=110, lines=36)
    try:
        terminal.wait("Looking")
        terminal.press("\x1bOR")
        shown = terminal.wait("Activity")
        shown = terminal.wait("Remembered: Deploys the marmot blog")
        assert "Looked through your chats for “marmot”" in shown and "Asked" not in shown
        terminal.press("tab", "tab")
        time.sleep(0.3)
        terminal.pump(0.3)
        assert KEY[8:].encode() not in terminal.raw and KEY[8:20].encode() not in terminal.raw
        terminal.press("escape", "ctrl+q")
        terminal.ended()
    finally:
        terminal.close()
