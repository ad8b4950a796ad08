"""The chat that asks: never searched, read on purpose, beginning with what its own model no longer sees."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.history.explorer.child import Child
from app.ports import ModelRequest
from app.providers.scripted import call
from store import events as ev
from store.log import Batch
from tests.explorer.kit import ASKING, ENGINE, Kit
from tests.explorer.planted import Planted

FACT = "The ferry crossing is settled: the 06:20 boat (OSPREY-4)."


def others() -> Planted:
    p = Planted()
    p.chat("Auth", "Sessions or tokens for the admin login?", "Sessions: tokens were tried and dropped (HERON-1).")
    return p


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    made = Kit(tmp_path, others().events)
    yield made
    await made.close()


def say(id_: str, text: str, reply: bool = False) -> ev.Event:
    return ev.AssistantDone(message_id=id_, text=text) if reply else ev.UserMessage(message_id=id_, text=text)


async def talked(kit: Kit, *, early: int = 40, fact_at: int = 30, late: int = 5, cut: str = "compacted") -> None:
    """A long chat whose beginning was cut off, and a reply that is being written."""
    for n in range(early):
        text = FACT if n == fact_at else f"Early matter number {n}."
        await kit.store.commit(Batch.of(ASKING, say(f"m_early{n}", text, n % 2 == 1)))
    through = kit.store.summary(ASKING).last_seq  # type: ignore[union-attr]
    if cut == "compacted":
        kept = ev.ContextCompacted(compact_id="k_1", summary="They spoke of many things.", through_seq=through)
        await kit.store.commit(Batch.of(ASKING, kept))
    elif cut == "cleared":
        await kit.store.commit(Batch.of(ASKING, ev.ContextCleared(compact_id="k_1")))
    for n in range(late):
        await kit.store.commit(Batch.of(ASKING, say(f"m_late{n}", f"Late matter number {n}.", n % 2 == 1)))
    asked = say("m_now", "Which ferry crossing was it? OSPREY-now")
    begun = ev.TurnStarted(turn_id="r_1", message_id="m_now")
    await kit.store.commit(Batch.of(ASKING, asked, begun, say("m_reply", "Let me look, OSPREY-reply.", True)))
    await kit.search.caught_up(5)


async def child_of(kit: Kit) -> Child:
    child = kit.child()
    child.lock = await kit.explorer.lock(kit.context())
    return child


async def read(child: Child, **args: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(await child.call("read_chat", json.dumps(args)))
    return answer


def texts(answer: dict[str, Any]) -> list[str]:
    return [line["text"] for line in answer["lines"]]


@pytest.mark.parametrize("cut", ["compacted", "cleared"])
async def test_a_read_of_the_current_chat_begins_with_what_its_model_no_longer_sees(kit: Kit, cut: str) -> None:
    await talked(kit, cut=cut)
    child = await child_of(kit)
    end = await read(child, current_chat=True)
    assert texts(end)[-1] == "Early matter number 39." and FACT in texts(end) and end["current_chat"] is True
    assert not any("Late" in t or "OSPREY-now" in t or "OSPREY-reply" in t for t in texts(end))
    assert end["earlier"] is True and end["later"] is False
    before = await read(child, candidate=end["lines"][0]["candidate"], direction="before")
    assert texts(before)[-1] == "Early matter number 27."
    start = await read(child, current_chat=True, direction="after")
    assert texts(start)[0] == "Early matter number 0." and start["later"] is True


async def test_where_nothing_was_cut_it_reads_up_to_the_reply_being_written(kit: Kit) -> None:
    await talked(kit, cut="")
    end = await read(await child_of(kit), current_chat=True)
    assert texts(end)[-1] == "Late matter number 4." and "OSPREY" not in str(end).replace("OSPREY-4", "")


async def test_a_long_reply_being_written_never_crowds_out_what_was_said_before_it(kit: Kit) -> None:
    await talked(kit, early=4, fact_at=1, cut="")
    steps = [ev.ToolStarted(call_id=f"t_{n}", name="run_command", input={"command": f"step {n}"}) for n in range(30)]
    await kit.store.commit(Batch.of(ASKING, *steps))
    await kit.search.caught_up(5)
    end = await read(await child_of(kit), current_chat=True)
    assert texts(end)[-1] == "Late matter number 4." and FACT in texts(end) and "step" not in str(texts(end))


async def test_a_reply_cut_off_in_its_own_middle_reads_only_what_was_before_it(kit: Kit) -> None:
    await talked(kit, early=4, fact_at=1, cut="")
    through = kit.store.summary(ASKING).last_seq  # type: ignore[union-attr]
    await kit.store.commit(Batch.of(ASKING, ev.ContextCompacted(compact_id="k", summary="s", through_seq=through)))
    await kit.search.caught_up(5)
    end = await read(await child_of(kit), current_chat=True)
    assert texts(end)[-1] == "Late matter number 4." and "OSPREY-reply" not in str(end)


async def test_with_no_reply_being_written_all_of_it_can_be_read(kit: Kit) -> None:
    await talked(kit, cut="")
    await kit.store.commit(Batch.of(ASKING, ev.TurnCompleted(turn_id="r_1", outcome="success")))
    await kit.search.caught_up(5)
    assert "OSPREY-reply" in texts(await read(await child_of(kit), current_chat=True))[-1]


async def test_no_search_finds_the_current_chat_and_no_run_reads_it_by_itself(kit: Kit) -> None:
    await talked(kit)
    child = await child_of(kit)
    await child.look("ferry crossing OSPREY")
    assert all(c.chat != ASKING for c in child.registry.seen())
    done = await kit.explore("Sessions or tokens for the admin login?")  # which another chat answers
    assert done.report is not None and done.report.findings
    assert all(c.chat != ASKING for c in done.report.cited)


async def test_the_offline_engine_finds_what_was_compacted_away_where_no_other_chat_has_it(kit: Kit) -> None:
    await talked(kit, early=60, fact_at=12)
    done = await kit.explore("Which ferry crossing was settled?")
    assert done.report is not None and done.report.state == "complete"
    evidence = done.report.findings[0].evidence[0]
    assert (evidence.chat, evidence.message) == (ASKING, "m_early12") and "OSPREY-4" in evidence.excerpt
    assert done.taints == ()  # its own words bring no mark along


async def test_the_offline_engine_still_abstains_where_neither_has_it(kit: Kit) -> None:
    await talked(kit)
    done = await kit.explore("Which glacier survey did we commission?")
    assert done.report is not None and done.report.state == "empty"
    done = await kit.explore("Which ferry crossing was it? OSPREY-now")  # never its own question
    assert "OSPREY-now" not in str([f.evidence for f in done.report.findings])  # type: ignore[union-attr]


async def test_a_model_engine_is_told_how_and_cites_the_compacted_line(tmp_path: Path) -> None:
    kit = Kit(tmp_path, others().events, engine=ENGINE)
    await talked(kit)

    def cites(request: ModelRequest) -> list[Any]:
        line = next(x for x in json.loads(request.messages[-1].text)["lines"] if "OSPREY-4" in x["text"])
        finding = {"claim": "The 06:20 boat.", "evidence": [line["candidate"]]}
        return [call("submit_report", {"summary": "The 06:20 boat.", "findings": [finding]}, "x2")]

    kit.wire.add([call("read_chat", {"current_chat": True}, "x1")], cites)
    done = await kit.explore("Which boat did we settle on earlier in this chat?")
    assert "current_chat" in kit.wire.requests[0].messages[0].text
    assert done.report is not None and done.report.findings[0].evidence[0].message == "m_early30"
    await kit.close()


async def test_another_chats_own_summary_is_read_once_and_stays_marked_as_one(tmp_path: Path) -> None:
    p = others()
    p.chat("Boats", "Which boat?", "The 06:20 boat.")
    kit = Kit(tmp_path, p.events, engine=ENGINE)
    digest = ev.ContextCompacted(compact_id="k_7", summary="They chose the early boat.", through_seq=2, messages=2)
    await kit.store.commit(Batch.of("c_planted00002", digest))

    def reads(request: ModelRequest) -> list[Any]:
        one = json.loads(request.messages[-1].text)["results"][0]["candidate"]
        return [
            call("read_chat", {"candidate": one}, "x2"),
            call("read_chat", {"candidate": one, "direction": "after"}),
        ]

    def cites(request: ModelRequest) -> list[Any]:
        assert [m.text.count("is_summary") for m in request.messages[-2:]] == [1, 0]
        line = json.loads(request.messages[-2].text)["lines"][0]
        return [call("submit_report", {"findings": [{"claim": "c", "evidence": [line["candidate"]]}]}, "x3")]

    kit.wire.add([call("search_chats", {"query": "boat"}, "x1")], reads, cites)
    report = (await kit.explore("Which boat?")).report
    assert report is not None
    (told,) = report.to_json()["findings"][0]["evidence"]
    assert told["is_compaction_summary"] is True and told["message_id"] == "k_7"
    assert report.event("l", None, kit_run()).findings[0].evidence[0].summary is True
    await kit.close()


def kit_run() -> Any:
    from app.history.explorer.report import Run

    return Run("q")
