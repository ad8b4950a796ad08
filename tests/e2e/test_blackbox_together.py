"""The real program with three chats in one folder: each hears the right lines, messages wait for the person, waits
survive a kill, and a loop of three ends by itself."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.e2e.headless_client import Client


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"call": {"name": name, "args": args}}


def script(path: Path, *steps: list[Any], rules: list[Any] | None = None) -> str:
    path.write_text(json.dumps({"steps": list(steps), "rules": rules or []}))
    return f"scripted:{path}"


def notes(client: Client, chat: str) -> list[str]:
    client.lines.clear()
    client.do("events", after=0, chat=chat)
    events = [x["event"] for x in client.lines if "event" in x]
    return [p["text"] for e in events if e["type"] == "step.started" for p in e["joined"] if p["kind"] == "note"]


def events(client: Client, chat: str, kind: str) -> list[dict[str, Any]]:
    client.lines.clear()
    client.do("events", after=0, chat=chat)
    return [x["event"] for x in client.lines if "event" in x and x["event"]["type"] == kind]


def until(client: Client, chat: str, kind: str, true: Any, seconds: float = 30) -> list[dict[str, Any]]:
    """The chat's events of a kind, once they are as they should be."""
    end = time.monotonic() + seconds
    while not true(found := events(client, chat, kind)):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found


def test_one_edits_one_tests_and_one_writes_and_each_hears_the_right_lines_once(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    (work / "auth.py").write_text("a = 1\n")
    edits = script(
        tmp_path / "edit.json",
        [call("write_file", path="new.py", content="x = 1\n")],
        [call("run_command", command="sleep 3")],
        ["edited"],
    )
    tests = script(tmp_path / "test.json", [call("run_command", command="sleep 3; true pytest")], ["tested"])
    writes = script(
        tmp_path / "notes.json", [call("list_chats")], [call("list_files")], [call("list_files")], ["written"]
    )
    with Client(home) as client:
        made = {}
        for name, model in (("Edit", edits), ("Test", tests), ("Write", writes)):
            made[name] = client.do("new", title=name, folder=str(work), mode="full", model=model)["chat"]
        client.do("send", chat=made["Edit"], text="go")
        until(client, made["Edit"], "files.changed", len)
        client.do("send", chat=made["Test"], text="go")
        until(client, made["Test"], "tool.started", len)
        client.do("send", chat=made["Write"], text="go")
        until(client, made["Write"], "turn.completed", len)
        heard = notes(client, made["Write"])
        changing = [n for n in heard if "is changing files in this folder" in n or "changing files in this folder" in n]
        running = [n for n in heard if "is running commands in this folder" in n]
        assert len(changing) == 1 and "“Edit”" in changing[0] and "new.py" in changing[0]
        assert len(running) == 1 and "“Test”" in running[0]
        (listed,) = events(client, made["Write"], "chats.listed")
        assert listed["working"] == 2 and {c["title"] for c in listed["chats"]} == {"Edit", "Test"}
        client.do("stop", chat=made["Edit"])
        client.do("stop", chat=made["Test"])


def test_a_message_is_held_passed_on_and_read(tmp_path: Path) -> None:
    with Client(tmp_path / "home") as client:
        reads = script(tmp_path / "there.json", ["I read it."])
        there = client.do("new", title="There", model=reads)["chat"]
        client.do("set", chat=there, inbound="hold")
        writes = script(
            tmp_path / "here.json",
            [call("message_chat", chat=there, text="Hold the deploy.", start_reply=True)],
            ["ok"],
        )
        here = client.do("new", title="Here", model=writes)["chat"]
        client.do("send", chat=here, text="tell it")
        client.do("settle")
        (card,) = events(client, there, "chat.message")
        assert (card["state"], card["direction"], card["other"]["title"]) == ("held", "from", "Here")
        message = card["message_id"]
        assert client.do("message", chat=there, message=message, action="pass-on") == {"state": "waiting"}
        client.do("settle")
        for chat in (here, there):
            assert [e["state"] for e in events(client, chat, "chat.message")] == ["held", "waiting", "read"]
        assert events(client, there, "assistant.done")[-1]["text"] == "I read it."
        assert events(client, there, "user.message") == []
        again = client.ask("message", chat=there, message=message, action="dismiss")
        assert again["error"]["code"] == "gone"


def test_a_wait_survives_a_kill_and_wakes_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    model = script(tmp_path / "s.json", [call("wait_for", kind="time", minutes=30)], ["I wait."])
    woken = script(tmp_path / "w.json", ["It is time."])
    env = {"SHOAL_CLOCK": "manual"}
    with Client(home, env=env) as client:
        chat = client.do("new", title="Wait", model=model)["chat"]
        client.do("send", chat=chat, text="wait half an hour")
        client.do("settle")
        assert events(client, chat, "wait")[-1]["wait"]["state"] == "watching"
        client.process.kill()
        client.process.wait()
    with Client(home, env=env) as client:
        client.do("set", chat=chat, model=woken)
        client.do("settle")
        client.do("tick", seconds=86_000)
        client.do("settle")
        until(client, chat, "turn.completed", lambda found: len(found) == 2)
        assert [e["trigger"] for e in events(client, chat, "turn.started")] == ["person", "wait"]
        assert events(client, chat, "wait")[-1]["wait"]["state"] == "done"
        wait = events(client, chat, "wait")[-1]["wait_id"]
        assert client.ask("wait", chat=chat, wait=wait, action="stop")["error"]["code"] == "gone"


def test_a_loop_of_three_ends_at_its_bounds(tmp_path: Path) -> None:
    with Client(tmp_path / "home") as client:
        chats = [client.do("new", title=f"C{n}")["chat"] for n in range(3)]
        for n, chat in enumerate(chats):
            other = chats[(n + 1) % 3]
            steps: list[list[Any]] = []
            for k in range(12):
                steps += [[call("message_chat", chat=other, text=f"{n} says {k}", start_reply=True)], ["told"]]
            client.do("set", chat=chat, model=script(tmp_path / f"{n}.json", *steps))
        client.do("send", chat=chats[0], text="begin")
        client.do("settle", timeout=60)
        started = [e for chat in chats for e in events(client, chat, "turn.started") if e["trigger"] == "message"]
        cards = {e["message_id"] for chat in chats for e in events(client, chat, "chat.message")}
        assert len(started) == 4 and len(cards) <= 8
        assert len({e["chain"] for chat in chats for e in events(client, chat, "turn.started")}) == 1
        assert client.do("chain", chat=chats[0], action="stop")["stopped"] == []


def test_a_task_works_beside_its_chat_and_after_a_kill_one_press_resumes_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    slow = script(tmp_path / "t.json", [call("run_command", command="sleep 60")], ["Finished."])
    quick = script(tmp_path / "q.json", ["Finished after all."])
    main = script(
        tmp_path / "m.json",
        [call("start_background_task", title="Slow", instructions="Sleep.", model=slow)],
        ["sent away"],
    )
    with Client(home) as client:
        chat = client.do("new", title="Main", model=main, mode="full", folder=str(tmp_path))["chat"]
        client.do("send", chat=chat, text="go")
        card = until(client, chat, "task", lambda found: found and found[-1]["state"] == "running")[-1]
        until(client, card["task_chat"], "tool.started", len)
        client.process.kill()
        client.process.wait()
    with Client(home) as client:
        until(client, chat, "task", lambda found: found[-1]["state"] == "interrupted")
        client.do("settle")
        client.do("set", chat=card["task_chat"], model=quick)
        client.do("task", task=card["task_id"], action="resume")
        done = until(client, chat, "task", lambda found: found[-1]["state"] == "done")[-1]
        assert done["summary"] == "Finished after all."
