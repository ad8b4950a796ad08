"""What the seed asks for at launch, beyond any one room: nothing disclosed, nothing spoofed, everything bounded."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, get_args

import pytest

from app.history.explorer.child import NO_CANDIDATE, NotAllowed
from app.history.explorer.entitlement import NO_ENGINE, NO_PLAN
from app.history.explorer.evidence import Registry
from app.history.explorer.report import Run, Submission, SubmittedConflict, SubmittedFinding
from app.history.explorer.runner import SYSTEM
from app.history.explorer.tool import ExploreArgs, ExploreChatHistory
from app.history.explorer.verdict import derive
from app.ports import ModelRequest, WireError
from app.providers.scripted import call
from store import events as ev
from store.events.explored import Confidence, ExploreState, Outcome
from store.limits import (
    EXPLORE_CALLS,
    EXPLORE_INDEX_SECONDS,
    EXPLORE_OBSERVED_BYTES,
    EXPLORE_READ_BYTES,
    EXPLORE_RETRIES,
    EXPLORE_SEARCH_BYTES,
    EXPLORE_STEPS,
)
from store.log import Batch
from store.models import ChatSummary, Line
from tests.explorer.kit import ASKING, ENGINE, Kit
from tests.explorer.planted import INJECTED, OTHER, PROJECT, Planted


def history() -> Planted:
    p = Planted()
    p.chat("Auth", "Sessions or tokens for the admin login?", "Sessions for the login (HERON-1).")
    p.chat("Elsewhere", "Which login has the other app?", "Passkeys for the login there (SECRET-3).", folder=OTHER)
    return p


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    made = Kit(tmp_path, history().events, engine=ENGINE)
    yield made
    await made.close()


def submit(**report: Any) -> list[Any]:
    return [call("submit_report", report, "x9")]


def search(query: str) -> list[Any]:
    return [call("search_chats", {"query": query}, "x1")]


def citing(request: ModelRequest) -> list[Any]:
    one = json.loads(request.messages[-1].text)["results"][0]["candidate"]
    return submit(summary="Sessions.", findings=[{"claim": "Sessions were chosen", "evidence": [one]}])


# -- preconditions


async def test_a_run_called_directly_fails_closed_without_a_plan_or_an_engine(kit: Kit) -> None:
    tool = ExploreChatHistory(kit.explorer)
    for plan, engine, why in (("free", ENGINE, NO_PLAN), ("pro", None, NO_ENGINE)):
        kit.entitlements.plan, kit.entitlements.engine = plan, engine
        with pytest.raises(NotAllowed, match="needs") as refused:
            await kit.explore("What about the login?")
        assert refused.value.sentence == why
        assert not (await tool.run(ExploreArgs(query="login"), kit.context(), "t_1")).ok
    assert kit.wire.requests == [] and kit.events() == []  # no fallback, and not even a card


async def test_who_may_is_asked_again_before_every_search_and_read_and_before_the_report(kit: Kit) -> None:
    def someone_writes(request: ModelRequest) -> list[Any]:
        taint = ev.Taint(source=ev.TaintSource(kind="person", label="Ana"))
        kit.store.commit_sync(Batch.of(ASKING, taint))
        return citing(request)

    kit.wire.add(search("login"), someone_writes)
    done = await kit.explore("What about the login?")
    assert done.report is None and done.event.state == "failed" and "HERON" not in done.event.model_dump_json()
    child = kit.child()
    child.lock = await kit.explorer.lock(kit.context())
    with pytest.raises(NotAllowed):
        await child.look("login")
    with pytest.raises(NotAllowed):
        await child.call("read_chat", '{"current_chat": true}')


async def test_the_card_is_in_the_log_before_anything_is_searched(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    at: list[list[str]] = []
    real = kit.search.search

    async def watched(*args: Any, **more: Any) -> Any:
        at.append([e.state for e in kit.events()])
        return await real(*args, **more)

    monkeypatch.setattr(kit.search, "search", watched)
    kit.wire.add(search("login"), citing)
    await kit.explore("What about the login?")
    assert at == [["pending"]]


# -- bounds


async def test_a_search_and_a_read_have_caps_of_their_own_and_what_was_cut_off_is_unknown(tmp_path: Path) -> None:
    p = Planted()
    for n in range(12):
        p.chat(f"Long {n}", *[f"About the walrus {n}.{m} " + "東京walrus " * 900 for m in range(14)])
    kit = Kit(tmp_path, p.events)
    child = kit.child()
    found = await child.look("walrus")
    assert len(found.encode()) <= EXPLORE_SEARCH_BYTES
    one = child.registry.seen()[0]
    read = await child.call("read_chat", json.dumps({"candidate": one.id}))
    assert len(read.encode()) <= EXPLORE_READ_BYTES and json.loads(read)["truncated"] is True
    assert one.id in [line["candidate"] for line in json.loads(read)["lines"]]  # never the one asked for
    cut = set(child.registry._by_id) - set(child.registry.shown)
    assert cut and all(child.registry.get(id_) is None for id_ in cut)
    assert await child.call("read_chat", json.dumps({"candidate": cut.pop()})) == NO_CANDIDATE
    assert child.registry.used <= EXPLORE_OBSERVED_BYTES
    await kit.close()


async def test_the_index_is_waited_for_once_and_briefly(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    async def late(seconds: float) -> bool:
        asked.append(seconds)
        return False

    monkeypatch.setattr(kit.explorer, "_settle", late)
    kit.wire.add(search("login"), citing)
    done = await kit.explore("What about the login?")
    assert asked == [EXPLORE_INDEX_SECONDS] and done.event.state == "indexing"


def test_the_limits_are_the_chosen_ones() -> None:
    assert (EXPLORE_STEPS, EXPLORE_CALLS, EXPLORE_RETRIES, EXPLORE_INDEX_SECONDS) == (10, 24, 1, 1.0)
    assert (EXPLORE_SEARCH_BYTES, EXPLORE_READ_BYTES, EXPLORE_OBSERVED_BYTES) == (12_288, 20_480, 98_304)


# -- nothing is disclosed


LIES = ["c_planted00002", "m_00002x1", "m_00001x1", "e_none", "Elsewhere"]


@pytest.mark.parametrize("way", ["success", "bounce", "fallback", "error", "read"])
async def test_other_projects_and_mismatched_ids_disclose_nothing_whichever_way_it_ends(kit: Kit, way: str) -> None:
    bad = submit(findings=[{"claim": "c", "evidence": LIES}], conflicts=[{"description": "d", "evidence": LIES}])
    reads = [call("read_chat", {"candidate": lie}, f"x{n}") for n, lie in enumerate(LIES)]
    down = [WireError("The engine is down.", "server")]
    steps: dict[str, list[Any]] = {
        "success": [search("login passkeys SECRET"), citing],
        "bounce": [search("login passkeys SECRET"), bad, bad],
        "fallback": [search("login passkeys SECRET"), down, down],
        "error": [down, down],
        "read": [reads, submit(outcome="no_match")],
    }
    kit.wire.add(*steps[way])
    done = await kit.explore("Which login has the other app?")
    told = done.event.model_dump_json() + (json.dumps(done.report.to_json()) if done.report else done.sentence)
    seen = json.dumps([m.text for r in kit.wire.requests for m in r.messages])
    for hidden in ("SECRET-3", "Passkeys", OTHER, "Elsewhere"):
        assert hidden not in told and hidden not in seen
    if way == "read":
        returns = [m.text for m in kit.wire.requests[-1].messages if m.text == NO_CANDIDATE]
        assert len(returns) == len(LIES)  # what is elsewhere and what was never there answer alike


async def test_the_reply_being_written_and_its_question_are_in_no_report(tmp_path: Path) -> None:
    kit = Kit(tmp_path, history().events)
    asked = ev.UserMessage(message_id="m_now", text="Which login was it, RUNNING-1?")
    begun = ev.TurnStarted(turn_id="r_1", message_id="m_now")
    half = ev.AssistantDone(message_id="m_half", text="Let me see, RUNNING-2, the login here.")
    await kit.store.commit(Batch.of(ASKING, asked, begun, half))
    await kit.search.caught_up(5)
    done = await kit.explore("Which login was it in this chat before this?")
    assert done.report is not None and "RUNNING" not in json.dumps(done.report.to_json())
    await kit.close()


async def test_what_is_never_indexed_reaches_no_engine(tmp_path: Path) -> None:
    kit = Kit(tmp_path, history().events, engine=ENGINE)
    thought = ev.AssistantDone(message_id="m_9", text="Login done.", thinking="THOUGHT-1 about the login")
    ran = ev.ToolStarted(call_id="t_9", name="run_command", input={"command": "login"})
    gave = ev.ToolFinished(call_id="t_9", output="OUTPUT-1 of the login", status="success")
    asked = ev.ToolStarted(call_id="t_8", name="search_chats", family="history", input={"query": "ECHO-1 login"})
    card = ev.HistoryExplored(explore_id="l_9", query="ECHO-2 login", state="complete", summary="ECHO-3 login")
    await kit.store.commit(Batch.of("c_planted00001", thought, ran, gave, asked, card))
    await kit.search.caught_up(5)

    def reads(request: ModelRequest) -> list[Any]:
        rows = json.loads(request.messages[-1].text)["results"]
        return [call("read_chat", {"candidate": row["candidate"]}, f"x{n}") for n, row in enumerate(rows)]

    kit.wire.add(search("login"), reads, submit(outcome="no_match"))
    await kit.explore("What about the login?")
    seen = json.dumps([m.text for r in kit.wire.requests for m in r.messages])
    assert "Login done." in seen
    for hidden in ("THOUGHT-1", "OUTPUT-1", "ECHO-"):
        assert hidden not in seen
    await kit.close()


# -- nothing is spoofed


@pytest.mark.parametrize(("topic", "lie"), INJECTED)
async def test_archived_instructions_stay_quoted_material(tmp_path: Path, topic: str, lie: str) -> None:
    p = Planted()
    p.chat("Pasted", f"Someone sent me this about the {topic}: {lie}", "I noted it.", taint=True)
    kit = Kit(tmp_path, p.events, engine=ENGINE)

    def obeys(request: ModelRequest) -> list[Any]:
        """What the archived words ask for, and a citation of the same."""
        one = json.loads(request.messages[-1].text)["results"][0]["candidate"]
        fake = [one, "e_fake", "c_planted00001", "m_1"]
        return [call("run_command", {"command": "ls"}), *submit(findings=[{"claim": lie, "evidence": fake}])]

    kit.wire.add(search(topic), obeys)
    done = await kit.explore(f"What about the {topic}?")
    assert {r.system for r in kit.wire.requests} == {SYSTEM}
    assert {tuple(t.name for t in r.tools) for r in kit.wire.requests} == {
        ("search_chats", "read_chat", "submit_report")
    }
    report = done.report
    assert report is not None and report.outcome == "partial" and report.dropped == 3
    (finding,) = report.findings
    (evidence,) = finding.evidence
    assert (evidence.title, evidence.message) == ("Pasted", "m_00001x0")
    told = json.dumps(report.to_json(), ensure_ascii=False)
    assert "[Shoal:" not in told and "</note>" not in told and "\\n" not in told
    assert [t.label for t in done.taints] == ["your chat “Pasted”"]
    await kit.close()


# -- what survives


def test_every_flag_survives_the_report_and_its_event() -> None:
    made = Registry(str)
    long = made.observe(ChatSummary("c_1", title="Long"), Line("m_1", "you", 1, "word " * 900))
    short = made.observe(ChatSummary("c_2", title="Short"), Line("k_1", "assistant", 2, "a summary"), summary=True)
    for one in (long, short):
        made.show(one.id)
    both = [long.id, short.id]
    submitted = Submission(
        findings=[SubmittedFinding(claim="c", evidence=both)],
        conflicts=[SubmittedConflict(description="d", evidence=both)],
        missing_coverage=["the mobile app"],
        outcome="partial",
    )
    run = Run("q", indexing=True, capped=True, searches=2, reads=1, engine=ENGINE)
    report = derive(submitted, made, run, str)
    told, event = report.to_json(), report.event("l_1", "t_1", run)
    first, second = told["findings"][0]["evidence"]
    assert first["projection_truncated"] is True and "projection_truncated" not in second
    assert second["is_compaction_summary"] is True and "is_compaction_summary" not in first
    assert first["created_at"].startswith("1970-01-01T")  # ISO for the model
    assert (told["index_status"], told["outcome"], told["missing_coverage"]) == (
        "indexing",
        "partial",
        ["the mobile app"],
    )
    assert told["partial_reason"] and told["archival_content"] is True and len(told["conflicts"]) == 1
    assert (event.index_status, event.outcome, event.partial_reason) == ("indexing", "partial", told["partial_reason"])
    assert [(e.cut, e.summary) for e in event.findings[0].evidence] == [(True, False), (False, True)]
    assert event.state == "conflict" and (event.searches, event.reads, event.engine) == (2, 1, ENGINE)


def test_every_outcome_can_be_told_apart_by_a_program() -> None:
    assert set(get_args(ExploreState)) == {
        "pending", "complete", "empty", "partial", "indexing", "conflict", "cancelled", "failed", "evidence-only",
    }  # fmt: skip


async def test_the_kept_record_of_a_run_has_figures_and_not_a_word_of_it(kit: Kit) -> None:
    kit.wire.add(search("login"), citing)
    done = await kit.explore("What about the login?")
    await kit.store.commit(Batch.of(ASKING, done.event, changes=done.changes))
    (told,) = kit.store.states_under("explore/").values()
    words = {*get_args(ExploreState), *get_args(Outcome), *get_args(Confidence), "ready", "indexing", None}
    for key, value in told.items():
        assert isinstance(value, bool | int | float) or value in words, (key, value)
    assert told["steps"] == 2 and told["searches"] == 1 and told["bytes"] > 0 and told["report_bytes"] > 0
    assert PROJECT not in json.dumps(told)
