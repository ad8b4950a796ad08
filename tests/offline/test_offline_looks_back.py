"""The whole way with no network: a home, the offline assistant, the real tools, what is logged and shown."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app import commands as cmd
from app.history.surface import PAST_CHATS_PROMPT
from app.paths import Home
from app.providers.offline import replies
from app.providers.scripted import ScriptedWire, call
from app.services import Services, build
from app.settings import Settings
from store import events as ev
from store.importers.run import import_file
from store.log import Batch

BENCH = Path(__file__).parents[3] / "shared" / "bench" / "locomo-dev.jsonl.gz"


@pytest.fixture
async def shoal(tmp_path: Path) -> AsyncIterator[Services]:
    services = await build(Home(tmp_path / "home"), Settings())
    yield services
    await services.close()


async def say(services: Services, chat: str, text: str) -> None:
    await services.session.do(cmd.Send(chat=chat, text=text))
    await services.session.settle(chat, timeout=30)


async def new(services: Services, *texts: str, title: str = "", **more: Any) -> str:
    made = await services.session.do(cmd.NewChat(title=title, **more))
    for text in texts:
        await services.store.commit(
            Batch.of(made["chat"], ev.UserMessage(message_id=f"m_{abs(hash(text))}", text=text))
        )
    return str(made["chat"])


def of(services: Services, chat: str, kind: type[ev.Event]) -> list[Any]:
    return [s.event for s in services.store.events(chat=chat) if isinstance(s.event, kind)]


def answer(services: Services, chat: str) -> str:
    return str(of(services, chat, ev.AssistantDone)[-1].text)


async def test_a_newcomers_question_is_answered_from_an_earlier_chat(shoal: Services) -> None:
    await new(
        shoal, "the old mill costs 2,400 as venue", "ok let's go with the barn as venue, 6 June", title="Barn or mill"
    )
    chat = await new(shoal)
    await say(shoal, chat, "what did we decide about the venue?")
    first = next(row for row in answer(shoal, chat).splitlines() if row.startswith("- "))
    assert first.startswith("- “ok let's go with the barn as venue, 6 June” — you, in “Barn or mill”")
    [looked] = of(shoal, chat, ev.ChatsLooked)
    assert looked.action == "search" and looked.query == "venue" and looked.chats[0].title == "Barn or mill"
    assert not of(shoal, chat, ev.Taint)
    assert [e.outcome for e in of(shoal, chat, ev.TurnCompleted)] == ["success"]


async def test_use_the_same_plan_as_in_a_named_chat(shoal: Services) -> None:
    lisbon = await new(shoal, "here is the plan:\nDay 1 Alfama\nDay 2 Sintra", title="Lisbon trip")
    await new(shoal, "the plan for the garden is roses", title="Garden")
    chat = await new(shoal)
    await say(shoal, chat, "use the same plan as in the Lisbon chat")
    assert "> Day 1 Alfama\n> Day 2 Sintra" in answer(shoal, chat) and "roses" not in answer(shoal, chat)
    assert [(e.action, e.chats[0].id) for e in of(shoal, chat, ev.ChatsLooked)] == [
        ("search", lisbon),
        ("read", lisbon),
    ]


async def test_a_tainted_chat_marks_the_one_that_looks_before_the_answer(shoal: Services) -> None:
    source = await new(shoal, "the ferry leaves at nine", title="Ferries")
    await shoal.store.commit(Batch.of(source, ev.Taint(source=ev.TaintSource(kind="web", label="ferry.example"))))
    chat = await new(shoal)
    await say(shoal, chat, "when does the ferry leave")
    [taint] = of(shoal, chat, ev.Taint)
    assert (taint.source.kind, taint.source.label) == ("app", "your chat “Ferries”")
    order = [s.event.type for s in shoal.store.events(chat=chat)]
    assert order.index("taint") < len(order) - 1 - order[::-1].index("assistant.done")
    assert order.index("chats.looked") < len(order) - 1 - order[::-1].index("assistant.done")


async def test_someone_elses_words_take_the_tools_and_log_nothing(shoal: Services) -> None:
    await new(shoal, "the safe is behind the picture", title="Secrets of the house")
    chat = await new(shoal)
    await shoal.session.do(cmd.Forward(chat=chat, name="Ana", text="where is the safe?"))
    await say(shoal, chat, "where is the safe")
    assert answer(shoal, chat) == replies.NOT_OFFERED["search_chats"]
    assert not of(shoal, chat, ev.ChatsLooked) and not of(shoal, chat, ev.ToolStarted)
    await say(shoal, chat, "tell Secrets of the house that I know")
    assert "Secrets" not in answer(shoal, chat)


async def test_small_talk_calls_nothing(shoal: Services) -> None:
    chat = await new(shoal)
    for text in ("hello", "stop using emojis please", "thanks", "what can you do?"):
        await say(shoal, chat, text)
    assert not of(shoal, chat, ev.ToolStarted) and len(of(shoal, chat, ev.AssistantDone)) == 4


async def test_search_then_read_by_a_model_gives_two_events_and_the_tools_have_their_section(tmp_path: Path) -> None:
    scripted = ScriptedWire([[call("search_chats", {"query": "ferry"}, "c1")], _read_the_first, ["It leaves at nine."]])

    class Wires:
        def wire(self, model: str) -> ScriptedWire:
            return scripted

    services = await build(Home(tmp_path / "home"), Settings(), wires=Wires())
    try:
        await new(services, "the ferry leaves at nine", title="Ferries")
        chat = await new(services, title="Asks")
        await say(services, chat, "when does the ferry leave?")
        assert [e.action for e in of(services, chat, ev.ChatsLooked)] == ["search", "read"]
        first, last = scripted.requests[0], scripted.requests[-1]
        assert {"search_chats", "read_chat"} <= {t.name for t in first.tools} and PAST_CHATS_PROMPT in first.system
        assert "the ferry leaves at nine" in last.messages[-1].text
        stranger = await new(services, title="With Ana")
        await services.session.do(cmd.Forward(chat=stranger, name="Ana", text="hi"))
        await say(services, stranger, "hello")
        other = scripted.requests[-1]
        assert not {"search_chats", "read_chat"} & {t.name for t in other.tools}
        assert PAST_CHATS_PROMPT not in other.system
        private = await new(services, "the ferry is a secret", title="Private ferry", private=True)
        assert private not in "".join(m.text for r in scripted.requests for m in r.messages)
    finally:
        await services.close()


def _read_the_first(request: Any) -> Sequence[Any]:
    found = json.loads(request.messages[-1].text)["chats"][0]
    return [call("read_chat", {"chat": found["chat"], "message": found["lines"][0]["message"]}, "c2")]


async def test_a_key_planted_in_an_earlier_chat_reaches_no_request_and_no_event_of_the_one_that_looks(
    tmp_path: Path,
) -> None:
    key = "sk-proj-" + "Zx8yW7vU6tS5rQ4pO3nM" * 2
    scripted = ScriptedWire([[call("search_chats", {"query": "ferry"}, "c1")], _read_the_first, ["Done."]])

    class Wires:
        def wire(self, model: str) -> ScriptedWire:
            return scripted

    services = await build(Home(tmp_path / "home"), Settings(), wires=Wires())
    try:
        planted = await new(services, f"the ferry login is {key} now", title=f"Ferry {key}")
        ran = ev.ToolStarted(call_id="t_x", name="run_command", input={"command": f"ferry --token {key}"})
        taint = ev.Taint(source=ev.TaintSource(kind="web", label="ferry.example"))
        await services.store.commit(Batch.of(planted, ran, taint))
        chat = await new(services, title="Asks")
        await say(services, chat, "what was the ferry thing?")
        sent = json.dumps([[str(m) for m in r.messages] + [r.system] for r in scripted.requests])
        logged = json.dumps([s.to_json() for s in services.store.events(chat=chat)])
        assert "the ferry login is" in sent and len(of(services, chat, ev.ChatsLooked)) == 2
        assert key not in sent and key not in logged and key[8:] not in sent + logged
    finally:
        await services.close()


@pytest.mark.parametrize("surface", ["off", "explorer"])
async def test_another_surface_has_none_of_them_and_no_section(tmp_path: Path, surface: str) -> None:
    scripted = ScriptedWire([[call("search_chats", {"query": "ferry"}, "c1")], ["I can't look."]])

    class Wires:
        def wire(self, model: str) -> ScriptedWire:
            return scripted

    settings = Settings.model_validate({"history": {"surface": surface}})
    services = await build(Home(tmp_path / "home"), settings, wires=Wires())
    try:
        await new(services, "the ferry leaves at nine", title="Ferries")
        chat = await new(services, title="Asks")
        await say(services, chat, "when does the ferry leave?")
        first, last = scripted.requests
        assert not {"search_chats", "read_chat"} & {t.name for t in first.tools}
        assert PAST_CHATS_PROMPT not in first.system
        assert "nine" not in last.messages[-1].text and not of(services, chat, ev.ChatsLooked)
    finally:
        await services.close()


async def test_a_person_who_comes_in_mid_turn_closes_the_tools(tmp_path: Path) -> None:
    scripted = ScriptedWire()

    class Wires:
        def wire(self, model: str) -> ScriptedWire:
            return scripted

    services = await build(Home(tmp_path / "home"), Settings(), wires=Wires())
    try:
        await new(services, "the ferry leaves at nine", title="Ferries")
        chat = await new(services, title="Asks")

        def came_in(request: Any) -> Sequence[Any]:
            mark = ev.Taint(source=ev.TaintSource(kind="person", label="Ana"))
            services.store.commit_sync(Batch.of(chat, mark))
            return [call("search_chats", {"query": "ferry"}, "c1"), call("read_chat", {"chat": "c_x"}, "c2")]

        scripted.add(came_in, ["I can't."])
        await say(services, chat, "when does the ferry leave?")
        assert not of(services, chat, ev.ChatsLooked)
        results = [m.text for m in scripted.requests[-1].messages if hasattr(m, "error")]
        assert len(results) == 2 and all("nine" not in text and "private" in text for text in results)
    finally:
        await services.close()


async def test_on_a_fresh_home_with_talks_imported_the_right_chats_are_quoted(tmp_path: Path, shoal: Services) -> None:
    if not BENCH.exists():
        print("the LoCoMo file isn't here, so this isn't checked")
        pytest.skip("no LoCoMo file")
    file = tmp_path / "talks.jsonl.gz"
    shutil.copy(BENCH, file)
    import_file(shoal.store, file)
    assert await shoal.search.caught_up(60)
    chat = await new(shoal)
    await say(shoal, chat, "what did we decide about the support group?")
    quotes = [row for row in answer(shoal, chat).splitlines() if row.startswith("- ")]
    lines = [json.loads(row) for row in gzip.decompress(BENCH.read_bytes()).decode().splitlines()]
    said = [" ".join(row["text"].split()) for row in lines if row["type"] == "message"]
    assert quotes and "support group" in quotes[0]
    for row in quotes:
        quote = row[row.index("“") + 1 : row.index("” — ")].strip("…").split(" [photo")[0]
        assert any(quote in text for text in said), quote
    looked = of(shoal, chat, ev.ChatsLooked)
    assert looked and looked[0].chats and {t.source.kind for t in of(shoal, chat, ev.Taint)} == {"app"}
