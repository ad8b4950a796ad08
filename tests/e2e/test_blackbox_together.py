"""The real program with three chats in one folder: each hears the right lines, messages wait for the person, waits
survive a kill, and a loop of three ends by itself."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

from tests.e2e.headless_client import Client
from tests.servers import openai
from tests.servers.fake import FakeServer, Reply, Seen


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


class Speaks:
    """A model by HTTP for each chat: its steps in order, by the name of the model; then "Done."."""

    def __init__(self, **steps: list[Any]) -> None:
        self.steps = {name: iter(said) for name, said in steps.items()}
        self.read: dict[str, list[str]] = {name: [] for name in steps}  # what each was given last, a text a request

    def __call__(self, seen: Seen) -> Reply:
        """The reply to one request."""
        name = seen.body["model"]
        self.read[name].append(json.dumps(seen.body["messages"], ensure_ascii=False))
        step = next(self.steps[name], "Done.")
        if isinstance(step, str):
            return openai.text(step)
        return openai.calls(*((f"call_{name}_{len(self.read[name])}_{n}", *made) for n, made in enumerate(step)))

    def env(self, server: FakeServer) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "made-up-" + "key-for-tests-3311"}


def tool(name: str, **args: Any) -> tuple[str, str]:
    return name, json.dumps(args)


def signals(work: Path) -> Path:
    """A folder of the work folder whose files nobody counts as changed: commands wait for files in it."""
    go = work / "node_modules" / "go"
    go.mkdir(parents=True)
    return go


def until_there(file: Path, then: str = "true") -> tuple[str, str]:
    """A command that runs until the file is there."""
    return tool("run_command", command=f"until [ -e node_modules/go/{file.name} ]; do sleep 0.05; done; {then}")


def lines_of(client: Client, chat: str) -> list[tuple[str, ...]]:
    """The lines it heard of other chats, as (about whom, what, file)."""
    out: list[tuple[str, ...]] = []
    for note in notes(client, chat):
        if found := re.search(
            r"is changing files in this folder right now: “(.+?)” \(chat \w+\)(?:, changing (\S+))?\.", note
        ):
            out.append((found[1], "changes", found[2] or ""))
        elif found := re.search(r"chats, “(.+?)” \(chat \w+\), is running commands in this folder", note):
            out.append((found[1], "runs", ""))
        elif found := re.search(r"“(.+?)” \(chat \w+\) and this reply have both changed (\S+?):", note):
            out.append((found[1], "both", found[2]))
    return out


def test_one_edits_one_tests_and_one_writes_and_each_hears_the_right_lines_once(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    go = signals(work)
    look = [tool("list_files", path=".")]
    speaks = Speaks(
        edit=[[tool("write_file", path="new.py", content="x = 1\n")], [until_there(go / "edit")], look, look, "edited"],
        test=[[until_there(go / "test", "echo pytest")], look, look, "tested"],
        write=[
            [tool("list_chats")],
            [tool("write_file", path="notes.md", content="new.py is new\n")],
            [until_there(go / "write")],
            look,
            "written",
        ],
    )
    with FakeServer.in_thread(speaks) as server, Client(home, env=speaks.env(server)) as client:
        made = {}
        for name in ("edit", "test", "write"):
            fields = {"title": name.title(), "folder": str(work), "mode": "full", "model": f"openai:{name}"}
            made[name] = client.do("new", **fields)["chat"]

        def runs(name: str, steps: int) -> None:
            """The chat's command runs, which is its call number `steps`."""
            until(client, made[name], "tool.started", lambda found: len(found) == steps)

        for name, steps in (("edit", 2), ("test", 1), ("write", 3)):
            client.do("send", chat=made[name], text="go")
            runs(name, steps)
        for name in ("edit", "test", "write"):  # each goes on, and to its end, while those after it still run
            (go / name).touch()
            until(client, made[name], "turn.completed", len)
        heard = {name: lines_of(client, chat) for name, chat in made.items()}
        assert heard == {
            "edit": [("Write", "changes", "notes.md"), ("Test", "runs", "")],
            "test": [("Edit", "changes", "new.py"), ("Write", "changes", "notes.md")],
            "write": [("Test", "runs", ""), ("Edit", "changes", "new.py")],
        }
        (listed,) = events(client, made["write"], "chats.listed")
        assert listed["working"] == 2
        assert {c["title"]: (c["doing"], c["files"]) for c in listed["chats"]} == {
            "Edit": ("running a command", ["new.py"]),
            "Test": ("running tests", []),
        }
        # what was told went to the models too, with their steps and under Shoal's name
        assert "[Shoal: another of the person's chats is changing files" in speaks.read["test"][0]
        assert "notes.md" in speaks.read["edit"][2] and "notes.md" not in speaks.read["edit"][1]


def test_two_that_change_one_file_are_both_told_and_neither_writes_over_the_other(tmp_path: Path) -> None:
    work = tmp_path / "work"
    go = signals(work)
    (work / "a.py").write_text("one = 1\ntwo = 2\n")
    read = [tool("read_file", path="a.py")]
    first = [tool("edit_file", path="a.py", old_text="one = 1", new_text="one = 11")]
    second = [tool("edit_file", path="a.py", old_text="two = 2", new_text="two = 22")]
    look = [tool("list_files", path=".")]
    speaks = Speaks(
        one=[read, first, [until_there(go / "one")], look, "done"],
        two=[read, [until_there(go / "two")], second, read, second, look, [until_there(go / "end")], "done"],
    )
    with FakeServer.in_thread(speaks) as server, Client(tmp_path / "home", env=speaks.env(server)) as client:
        one, two = (
            client.do("new", title=n.title(), folder=str(work), mode="full", model=f"openai:{n}")["chat"]
            for n in ("one", "two")
        )
        client.do("send", chat=two, text="go")
        until(client, two, "tool.started", lambda found: len(found) == 2)
        client.do("send", chat=one, text="go")
        until(client, one, "tool.started", lambda found: len(found) == 3)
        (go / "two").touch()
        until(client, two, "tool.started", lambda found: len(found) == 7)
        (go / "one").touch()
        until(client, one, "turn.completed", len)
        (go / "end").touch()
        until(client, two, "turn.completed", len)
        results = [e["output"] for e in events(client, two, "tool.finished")]
        assert "“One”" in results[2] and "read it first" in results[2]
        assert (work / "a.py").read_text() == "one = 11\ntwo = 22\n"
        assert lines_of(client, one).count(("Two", "both", "a.py")) == 1
        assert lines_of(client, two).count(("One", "both", "a.py")) == 1
        assert lines_of(client, two).count(("One", "changes", "a.py")) == 1


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
        said = [e["output"] for chat in chats for e in events(client, chat, "tool.finished")]
        assert sum("replies were started by messages since the person last wrote" in words for words in said) == 1
        assert client.do("chain", chat=chats[0], action="stop")["stopped"] == []


def test_two_tasks_work_side_by_side_and_a_question_is_allowed_on_its_card(tmp_path: Path) -> None:
    """One only looks; the other asks, and goes on once it was allowed where its card is."""
    work = tmp_path / "work"
    work.mkdir()
    looks = script(tmp_path / "looks.json", [call("list_files")], ["Nothing there."])
    asks = script(
        tmp_path / "asks.json",
        [call("write_file", path="out.txt", content="written")],
        [call("list_files")],
        ["Wrote it."],
    )
    tasks = [
        call("start_background_task", title=title, instructions="Do it.", model=model)
        for title, model in (("Looks", looks), ("Asks", asks))
    ]
    main = script(tmp_path / "m.json", tasks, ["sent away"], [call("task_status")], ["told"])
    with Client(tmp_path / "home") as client:
        chat = client.do("new", title="Main", model=main, mode="ask", folder=str(work))["chat"]
        client.do("send", chat=chat, text="go")
        for n in range(2):  # in Ask the person allows that tasks are started
            question = until(client, chat, "permission.requested", lambda found, n=n: len(found) == n + 1)[-1]
            client.do("answer", chat=chat, permission=question["permission_id"], decision="allow")

        def cards() -> dict[str, dict[str, Any]]:
            return {e["title"]: e for e in events(client, chat, "task")}

        until(client, chat, "task", lambda _: {c["state"] for c in cards().values()} == {"done", "needs-you"})
        now = cards()
        assert now["Looks"]["summary"] == "Nothing there." and now["Asks"]["state"] == "needs-you"
        asking = now["Asks"]["asking"]
        assert asking["tool"] == "write_file" and asking["here"] and not (work / "out.txt").exists()
        client.do("answer", chat=now["Asks"]["task_chat"], permission=asking["permission_id"], decision="allow")
        until(client, chat, "task", lambda _: cards()["Asks"]["state"] == "done")
        assert cards()["Asks"]["summary"] == "Wrote it." and not cards()["Asks"].get("asking")
        assert (work / "out.txt").read_text() == "written"
        assert len({c["task_chat"] for c in cards().values()}) == 2
        client.do("settle")
        client.do("send", chat=chat, text="how do they stand?")
        client.do("settle")
        told = json.loads(events(client, chat, "tool.finished")[-1]["output"])
        assert told["capacity"]["working"] == 0 and {t["status"] for t in told["tasks"]} == {"done"}


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
