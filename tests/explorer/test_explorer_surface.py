"""Which history tools a chat gets, in every cell; consent; hidden tools also refuse when they are run."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from app.guard import secrets
from app.guard.judge import Allowed, Question, Situation, judge
from app.history.explorer.entitlement import FREE_MODEL, NO_ENGINE, NO_PLAN, Entitlements
from app.history.explorer.tool import EXPLORER_PROMPT, ExploreArgs, ExploreChatHistory
from app.history.surface import PAST_CHATS_PROMPT
from app.paths import Home
from app.ports import CallFacts, TurnContext
from app.providers.scripted import ScriptedWire, ScriptedWires
from app.services import build
from app.session.activity import Activity
from app.settings import Settings
from store import events as ev
from store.clock import ManualClock
from store.log import Batch
from tests.explorer.kit import Kit

HISTORY = {"search_chats", "read_chat", "explore_chat_history"}
ORIGINS: tuple[Any, ...] = (None, "channel", "routine", "task", "client", "peer", "artifact", "import")


def settings(surface: str = "explorer", plan: str = "pro", engine: str | None = "offline", **explorer: Any) -> Settings:
    told = {
        "history": {"surface": surface},
        "plan": plan,
        "explorer": {"engine": engine, **explorer},
        "model": "scripted:x",
    }
    return Settings.model_validate(told)


async def offered(tmp_path: Path, made: Settings, *, origin: Any = None, person: bool = False, **ctx: Any) -> set[str]:
    wires = ScriptedWires({"scripted:x": ScriptedWire(), "scripted:free": ScriptedWire(), "offline": ScriptedWire()})
    services = await build(Home(tmp_path), made, ManualClock(), wires=wires)
    try:
        kind = ev.Origin(kind=origin) if origin else None
        model = ctx.pop("model", "scripted:x")
        await services.store.commit(Batch.of("c_1", ev.ChatCreated(title="T", model=model, folder="/w", origin=kind)))
        taints = (ev.TaintSource(kind="person", label="Ana"),) if person else ()
        turn = TurnContext("c_1", "r", ctx.pop("mode", "auto"), kind, taints, folder="/w", **ctx)
        names = {t.name for t in services.registry.offered(turn)} & HISTORY
        prompts = {t.prompt for t in services.registry.tools(turn)}
        assert (EXPLORER_PROMPT in prompts) == ("explore_chat_history" in names)
        assert (PAST_CHATS_PROMPT in prompts) == ("search_chats" in names)
        for name in HISTORY - names:  # hidden tools refuse when they are run
            assert services.registry.refusal(name, turn) is not None
        return names
    finally:
        await services.close()


@pytest.mark.parametrize("mode", ["plan", "ask", "auto", "full"])
async def test_the_three_surfaces_in_every_mode(tmp_path: Path, mode: str) -> None:
    assert await offered(tmp_path / "d", settings("direct"), mode=mode) == {"search_chats", "read_chat"}
    assert await offered(tmp_path / "e", settings("explorer"), mode=mode) == {"explore_chat_history", "read_chat"}
    assert await offered(tmp_path / "o", settings("off"), mode=mode) == set()


@pytest.mark.parametrize("mode", ["plan", "ask", "auto", "full"])
async def test_what_is_not_pro_gets_none_of_the_three_and_no_fallback(tmp_path: Path, mode: str) -> None:
    assert await offered(tmp_path / "1", settings(plan="free"), mode=mode) == set()
    assert await offered(tmp_path / "2", settings(engine=None), mode=mode) == set()
    assert await offered(tmp_path / "3", settings(engine="scripted:"), mode=mode) == set()
    free = settings(free_models=["scripted:free"])
    assert await offered(tmp_path / "4", free, model="scripted:free", mode=mode) == set()
    assert await offered(tmp_path / "5", settings(), model="offline", mode=mode) == set()


async def test_every_origin_and_persons_words_on_both_surfaces(tmp_path: Path) -> None:
    for n, (origin, person) in enumerate(itertools.product(ORIGINS, (False, True))):
        may = origin in (None, "channel") and not person
        for surface, names in (
            ("direct", {"search_chats", "read_chat"}),
            ("explorer", {"explore_chat_history", "read_chat"}),
        ):
            got = await offered(tmp_path / f"{n}{surface}", settings(surface), origin=origin, person=person)
            assert got == (names if may else set()), (origin, person, surface)


async def test_never_takes_one_away_and_leaves_the_other(tmp_path: Path) -> None:
    consent = {"consent": {"explore_chat_history": "never", "read_chat": "always"}}
    assert await offered(tmp_path / "1", settings(**consent)) == {"read_chat"}
    consent = {"consent": {"explore_chat_history": "always", "read_chat": "never"}}
    assert await offered(tmp_path / "2", settings(**consent)) == {"explore_chat_history"}
    assert await offered(tmp_path / "3", settings("direct", **consent)) == {"search_chats", "read_chat"}


def test_the_defaults_are_always_for_the_explorer_and_ask_for_reading() -> None:
    made = Settings()
    assert (made.explorer.consent.explore_chat_history, made.explorer.consent.read_chat) == ("always", "ask")


@pytest.mark.parametrize("mode", ["ask", "auto", "full"])
def test_asking_asks_in_every_mode_and_always_never(mode: Any) -> None:
    for consent, kind in ((True, Question), (False, Allowed)):
        facts = CallFacts("explore_chat_history", "history", "read", consent=consent)
        assert isinstance(judge(facts, Situation(mode, (), None, True)), kind)


async def test_the_tool_tells_the_guard_and_refuses_by_itself(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    tool = ExploreChatHistory(kit.explorer)
    args = ExploreArgs(query=" what\n about  it ")
    assert args.query == "what about it" and (await tool.facts(args, kit.context())).consent is False
    kit.consents.values["explore_chat_history"] = "ask"
    facts = await tool.facts(args, kit.context())
    assert facts.consent and "offline" in facts.summary
    kit.consents.values["explore_chat_history"] = "never"
    done = await tool.run(args, kit.context(), "t_1")
    assert not done.ok and kit.events() == []
    with pytest.raises(ValueError, match="must ask something"):
        ExploreArgs(query="  ")
    assert len(ExploreArgs(query="x" * 900).query) == 500
    await kit.close()


def test_one_value_says_who_is_pro() -> None:
    wires = ScriptedWires({"scripted:e": ScriptedWire()})

    def of(plan: str, engine: str | None, model: str = "m") -> Any:
        return Entitlements(plan, engine, frozenset({"free"}), wires).of(model)

    assert of("pro", "scripted:e").pro and of("pro", "offline").pro
    assert of("free", "offline").why == NO_PLAN and of("pro", None).why == NO_ENGINE
    assert of("pro", "scripted:").why.startswith(NO_ENGINE) and of("pro", "offline", "free").why == FREE_MODEL
    assert of("pro", "offline", "offline").why == FREE_MODEL


async def test_a_chat_explores_reads_on_and_is_marked(tmp_path: Path) -> None:
    from app import commands as cmd
    from app.providers.scripted import call

    steps = [
        [call("explore_chat_history", {"query": "What did we decide about the login?"}, "t_a")],
        ["Sessions, it seems."],
    ]
    wires = ScriptedWires({"scripted:x": ScriptedWire(steps)})
    services = await build(Home(tmp_path), settings(), ManualClock(), wires=wires)
    try:
        past = await services.session.do(cmd.NewChat(title="Auth", folder="/w"))
        said = ev.UserMessage(message_id="m_1", text="For the login we decided on server sessions (HERON-9).")
        mark = ev.Taint(source=ev.TaintSource(kind="web", label="a.example"))
        await services.store.commit(Batch.of(past["chat"], said, mark))
        chat = (await services.session.do(cmd.NewChat(title="Now", folder="/w")))["chat"]
        await services.search.caught_up(10)
        await services.session.do(cmd.Send(chat=chat, text="what was it?"))
        await services.session.settle()
        events = [s.event for s in services.store.events(chat=chat)]
        states = [e.state for e in events if isinstance(e, ev.HistoryExplored)]
        assert states[0] == "pending" and states[-1] in ("complete", "partial")
        (result,) = [e for e in events if isinstance(e, ev.ToolFinished)]
        assert "HERON-9" in result.output and result.status == "success"
        kinds = [e.type for e in events]
        assert kinds.index("history.explored") < kinds.index("taint") < kinds.index("tool.finished")
        report = await services.session.do(cmd.Explore(chat=chat, query="login sessions"))
        assert report["findings"] and report["archival_content"] is True
        await services.session.do(cmd.SetConsent(tool="explore_chat_history", value="never"))
        with pytest.raises(cmd.CommandError) as refused:
            await services.session.do(cmd.Explore(chat=chat, query="login sessions"))
        assert (
            refused.value.code == "not-allowed"
            and 'explore_chat_history = "never"' in (tmp_path / "settings.toml").read_text()
        )
        page = await Activity(services.store, secrets.clean).page(None, "looks")
        assert [(e.words, e.note) for e in page.entries if e.chat == chat] == [
            ("Explored your history for “login sessions”", "complete"),
            ("Explored your history for “What did we decide about the login?”", states[-1]),
        ]
        runs = services.store.states_under("explore/")
        assert len(runs) == 2 and "login" not in str(runs) and "HERON" not in str(runs)
    finally:
        await services.close()


async def test_old_looks_still_draw_after_the_surface_has_changed(tmp_path: Path) -> None:
    from app import commands as cmd
    from app.providers.scripted import call
    from store.rows import LookRow, fold

    def reads(request: Any) -> Any:
        chat = json.loads(request.messages[-1].text)["chats"][0]
        return [call("read_chat", {"chat": chat["chat"], "message": chat["lines"][0]["message"]}, "t_b")]

    steps = [[call("search_chats", {"query": "login sessions"}, "t_a")], reads, ["Sessions."]]
    wires = ScriptedWires({"scripted:x": ScriptedWire(steps)})
    services = await build(Home(tmp_path), settings("direct"), ManualClock(), wires=wires)
    past = (await services.session.do(cmd.NewChat(title="Auth", folder="/w")))["chat"]
    await services.store.commit(Batch.of(past, ev.UserMessage(message_id="m_1", text="Login: server sessions.")))
    chat = (await services.session.do(cmd.NewChat(title="Now", folder="/w")))["chat"]
    await services.search.caught_up(10)
    await services.session.do(cmd.Send(chat=chat, text="what was it?"))
    await services.session.settle()
    await services.close()
    services = await build(Home(tmp_path), settings("explorer"), ManualClock(), wires=wires)
    try:
        rows: dict[str, Any] = {}
        for stored in services.store.events(chat=chat):
            fold(rows, stored)
        looks = [row for row in rows.values() if isinstance(row, LookRow)]
        assert [(row.action, row.chats[0].title) for row in looks] == [("search", "Auth"), ("read", "Auth")]
    finally:
        await services.close()


async def test_stopping_the_reply_stops_its_exploration_and_no_late_card_comes(tmp_path: Path) -> None:
    from app import commands as cmd
    from app.providers.scripted import call

    engine = ScriptedWire([[60.0, "never"]])
    main = ScriptedWire([[call("explore_chat_history", {"query": "login?"}, "t_a")], ["Too late."]])
    wires = ScriptedWires({"scripted:x": main, "scripted:e": engine})
    services = await build(Home(tmp_path), settings(engine="scripted:e"), ManualClock(), wires=wires)
    try:
        chat = (await services.session.do(cmd.NewChat(title="Now", folder="/w")))["chat"]
        await services.session.do(cmd.Send(chat=chat, text="what was it?"))
        async with asyncio.timeout(10):
            while not engine.requests:
                await asyncio.sleep(0.01)
        await services.session.do(cmd.Stop(chat=chat))
        await services.session.settle()

        def states() -> list[str]:
            events = [s.event for s in services.store.events(chat=chat)]
            return [e.state for e in events if isinstance(e, ev.HistoryExplored)]

        async with asyncio.timeout(10):
            while states() != ["pending", "cancelled"]:
                await asyncio.sleep(0.01)
        assert engine.closed == 1 and len(main.requests) == 1
        await asyncio.sleep(0.1)
        assert states() == ["pending", "cancelled"] and services.store.states("exploring") == {}
        (told,) = services.store.states_under("explore/").values()
        assert told["state"] == "cancelled"
    finally:
        await services.close()
