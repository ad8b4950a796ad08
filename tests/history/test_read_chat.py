"""conch-behaviour §3.7 for `read_chat`, on the real store and the real search."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.guard.may import NO_SUCH_CHAT
from app.history.answers import CAUTION
from app.history.read_chat import BAD_DIRECTION, NOT_THERE, SHORTENED, ReadArgs
from app.history.surface import SurfaceGate
from app.history.tool import BAD_TEXT, THIS_CHAT
from store import events as ev
from store.models import Slice
from tests.history.past import Past


def texts(answer: dict[str, Any]) -> list[str]:
    return [line["text"] for line in answer["lines"]]


@pytest.fixture
def long_chat(past: Past) -> tuple[str, list[str]]:
    chat = past.chat("A long one")
    return chat, [past.say(chat, f"line {n}") for n in range(40)]


async def test_it_reads_twelve_messages_around_a_line(past: Past, long_chat: tuple[str, list[str]]) -> None:
    chat, ids = long_chat
    answer = await past.read(chat, message=ids[20])
    assert texts(answer) == [f"line {n}" for n in range(15, 27)]
    assert answer["earlier"] is True and answer["later"] is True
    assert answer["chat"] == chat and answer["title"] == "A long one" and "note" not in answer
    assert {line["who"] for line in answer["lines"]} == {"you"}


async def test_near_the_end_more_comes_from_before(past: Past, long_chat: tuple[str, list[str]]) -> None:
    chat, ids = long_chat
    answer = await past.read(chat, message=ids[38])
    assert texts(answer) == [f"line {n}" for n in range(28, 40)]
    assert answer["earlier"] is True and answer["later"] is False


async def test_before_and_after_leave_the_line_out(past: Past, long_chat: tuple[str, list[str]]) -> None:
    chat, ids = long_chat
    before = await past.read(chat, message=ids[20], direction="before")
    assert texts(before) == [f"line {n}" for n in range(8, 20)]
    after = await past.read(chat, message=ids[20], direction="after")
    assert texts(after) == [f"line {n}" for n in range(21, 33)]


async def test_without_a_line_it_reads_the_end_or_with_after_the_start(
    past: Past, long_chat: tuple[str, list[str]]
) -> None:
    chat, _ = long_chat
    assert texts(await past.read(chat))[-1] == "line 39"
    start = await past.read(chat, direction="after")
    assert texts(start)[0] == "line 0" and start["earlier"] is False and start["later"] is True


async def test_a_line_that_isnt_there_gives_the_end_and_says_so(past: Past, long_chat: tuple[str, list[str]]) -> None:
    chat, _ = long_chat
    for message in ("m_nothere", "x" * 300, "m_1\n"):
        answer = await past.read(chat, message=message)
        assert texts(answer)[-1] == "line 39" and NOT_THERE in answer["note"]


async def test_this_chat_is_here_already(past: Past) -> None:
    past.say(past.ask, "something")
    outcome = await past.call("read_chat", chat=past.ask)
    assert outcome.text == THIS_CHAT and not outcome.events and not outcome.taints


async def test_of_this_chat_only_what_was_summarised_away_can_be_read(past: Past) -> None:
    ids = [past.say(past.ask, f"early {n}") for n in range(20)]
    through = past.store.summary(past.ask).last_seq  # type: ignore[union-attr]
    past.commit(past.ask, ev.ContextCompacted(compact_id="k_1", summary="s", through_seq=through, messages=20))
    for n in range(5):
        past.say(past.ask, f"late {n}")
    end = await past.read(past.ask)
    assert texts(end) == [f"early {n}" for n in range(8, 20)] and SHORTENED in end["note"]
    assert end["earlier"] is True and end["later"] is False
    around = await past.read(past.ask, message=ids[18])
    assert "early 18" in texts(around) and not any("late" in text for text in texts(around))
    start = await past.read(past.ask, direction="after")
    assert texts(start) == [f"early {n}" for n in range(12)] and start["later"] is True
    outcome = await past.call("read_chat", chat=past.ask)
    assert not outcome.taints


async def test_a_read_is_an_event_with_the_line_asked_for(past: Past, long_chat: tuple[str, list[str]]) -> None:
    chat, ids = long_chat
    outcome = await past.call("read_chat", chat=chat, message=ids[20])
    [event] = outcome.events
    assert isinstance(event, ev.ChatsLooked) and event.action == "read" and event.query is None
    [looked] = event.chats
    assert looked.id == chat and [(line.message, line.text) for line in looked.lines] == [(ids[20], "line 20")]
    first = await past.call("read_chat", chat=chat)
    assert [line.text for line in first.events[0].chats[0].lines] == ["line 28"]  # type: ignore[attr-defined]


async def test_reading_an_untrusted_chat_marks_this_one(past: Past) -> None:
    chat = past.chat("Venue research", "the barn")
    past.taint(chat)
    outcome = await past.call("read_chat", chat=chat)
    assert [(t.kind, t.label) for t in outcome.taints] == [("app", "your chat “Venue research”")]
    answer = json.loads(outcome.text)
    assert answer["untrusted"] is True and CAUTION in answer["note"]


async def test_other_people_are_them_with_their_names(past: Past) -> None:
    chat = past.chat("Family")
    past.say(chat, "I said this")
    past.say(chat, "and I this", author="Ana", them=True)
    answer = await past.read(chat)
    assert [(line["who"], line.get("name")) for line in answer["lines"]] == [("you", None), ("them", "Ana")]
    assert answer["others"] == "Ana"


async def test_a_read_stays_under_its_budget_and_the_line_asked_for_stays_long(past: Past) -> None:
    chat = past.chat("Very long")
    ids = [past.say(chat, f"{n} " + "words " * 2_000) for n in range(30)]
    outcome = await past.call("read_chat", chat=chat, message=ids[15])
    answer = json.loads(outcome.text)
    assert len(outcome.text) <= 12_000
    focus = next(line for line in answer["lines"] if line["message"] == ids[15])
    assert 3_000 < len(focus["text"]) <= 4_000 and focus["text"].endswith("…")
    assert all(len(line["text"]) <= 1_200 for line in answer["lines"] if line is not focus)
    assert answer["earlier"] is True and answer["later"] is True
    kept = [ids.index(line["message"]) for line in answer["lines"]]
    assert kept == list(range(kept[0], kept[-1] + 1)) and abs((15 - kept[0]) - (kept[-1] - 15)) <= 1


async def test_escapes_never_break_the_budget(past: Past) -> None:
    chat = past.chat("Escapes")
    ids = [past.say(chat, '"\\\n\x01' * 2_000) for _ in range(3)]
    outcome = await past.call("read_chat", chat=chat, message=ids[1])
    assert len(outcome.text) <= 12_000 and json.loads(outcome.text)["lines"]


async def test_reading_on_keeps_what_is_nearest(past: Past) -> None:
    chat = past.chat("Very long")
    ids = [past.say(chat, f"{n} " + "words " * 2_000) for n in range(30)]
    before = await past.read(chat, message=ids[15], direction="before")
    assert before["lines"][-1]["message"] == ids[14] and before["earlier"] is True and before["later"] is True
    after = await past.read(chat, message=ids[15], direction="after")
    assert after["lines"][0]["message"] == ids[16] and after["later"] is True


async def test_arguments_that_cant_be_are_refused_in_words(past: Past, long_chat: tuple[str, list[str]]) -> None:
    chat, _ = long_chat
    assert BAD_DIRECTION in (await past.call("read_chat", chat=chat, direction="up")).text
    assert BAD_TEXT in (await past.call("read_chat", chat=7)).text
    assert not (await past.call("read_chat")).ok
    assert (await past.call("read_chat", chat=chat, direction=None, message=None)).ok


async def test_a_broken_index_answers_in_words(past: Past) -> None:
    chat = past.chat("Any", "words")

    class Broken:
        async def slice(self, *args: Any, **more: Any) -> Slice:
            return Slice(None, broken="It can't be read. Press Repair search.")

    tool = past.tool("read_chat")
    tool._search = Broken()  # type: ignore[assignment]
    outcome = await tool.run(ReadArgs(chat=chat), past.context(), "t")
    assert "Repair search" in outcome.text and outcome.ok and not outcome.events


async def test_on_the_explorer_surface_other_projects_answer_like_missing_chats(past: Past) -> None:
    here = past.chat("Here", "words", folder="/work/a")
    there = past.chat("There", "words", folder="/work/b")
    gate = SurfaceGate("explorer", pro=lambda ctx: True)
    ctx = past.context(folder="/work/a")
    assert json.loads((await past.call("read_chat", ctx, gate, chat=here)).text)["chat"] == here
    assert (await past.call("read_chat", ctx, gate, chat=there)).text == NO_SUCH_CHAT
