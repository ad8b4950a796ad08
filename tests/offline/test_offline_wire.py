"""The offline assistant as a Wire: which call it makes, what it answers, and that it only quotes what came back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ports import (
    AssistantMessage,
    CallReady,
    Message,
    ModelRequest,
    PersonMessage,
    StepDone,
    TextDelta,
    ToolCall,
    ToolReturn,
    ToolSpec,
)
from app.providers.offline import OfflineWire, replies
from app.providers.offline.quoting import decides, piece
from store.clock import ManualClock

LOOKING = ("search_chats", "read_chat")
TITLES = [("c_l", "Lisbon trip"), ("c_me", "This one"), ("c_r", "Release notes")]


def wire(titles: Sequence[tuple[str, str]] = TITLES, found: Sequence[str] = ()) -> OfflineWire:
    return OfflineWire(lambda: titles, lambda: found, ManualClock(), ids=lambda: "t_1")


def request(
    *messages: Message | str, tools: Sequence[str] = LOOKING, schema: dict[str, Any] | None = None
) -> ModelRequest:
    turned = tuple(PersonMessage(m, m) if isinstance(m, str) else m for m in messages)
    specs = tuple(ToolSpec(name, name, schema or {}) for name in tools)
    return ModelRequest("offline", "system", turned, specs, chat="c_me")


def line(text: str, when: str = "2026-03-06T10:00:00+01:00", **more: Any) -> dict[str, Any]:
    return {"message": f"m_{abs(hash(text)) % 10**8}", "who": "you", "when": when, "text": text} | more


def found(*lines: dict[str, Any], title: str = "Barn or mill", **more: Any) -> dict[str, Any]:
    chat = {"chat": "c_b", "title": title, "last_active": "2026-03-06T10:00:00+01:00", "lines": list(lines)}
    return {"query": "venue", "match": "exact", "chats": [chat] if lines else [], "total": len(lines)} | more


def after(question: str, *done: tuple[str, dict[str, Any], Any], tools: Sequence[str] = LOOKING) -> ModelRequest:
    messages: list[Message] = [PersonMessage(question, question)]
    for n, (name, args, result) in enumerate(done):
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        messages.append(AssistantMessage("", (ToolCall(f"t_{n}", name, json.dumps(args)),)))
        messages.append(ToolReturn(f"t_{n}", name, text))
    return request(*messages, tools=tools)


def said(step: ToolCall | str) -> str:
    assert isinstance(step, str)
    return step


async def test_a_question_about_the_past_becomes_a_search() -> None:
    events = [e async for e in wire().stream(request("what did we decide about the venue?"))]
    assert [type(e) for e in events] == [CallReady, StepDone]
    call = events[0].call  # type: ignore[union-attr]
    assert (call.id, call.name) == ("t_1", "search_chats") and json.loads(call.args)["query"] == "venue"
    assert events[-1] == StepDone("tool-calls")


async def test_an_answer_comes_in_small_pieces_that_make_the_whole() -> None:
    asked = request("help")
    events = [e async for e in wire().stream(asked)]
    pieces = [e.text for e in events if isinstance(e, TextDelta)]
    assert len(pieces) > 10 and max(map(len, pieces)) < 80
    assert "".join(pieces) == wire().step(asked) and events[-1] == StepDone("stop")


def test_it_quotes_the_line_that_decides_with_chat_day_and_speaker() -> None:
    answer = said(
        wire().step(
            after(
                "what did we decide about the venue?",
                ("search_chats", {"query": "venue"}, found(line("the venue by the river costs 2,400"),
                 line("ok let's go with the Barn as venue, 6 June"))),
            )
        )
    )  # fmt: skip
    first, second = [row for row in answer.splitlines() if row.startswith("- ")]
    assert first == "- “ok let's go with the Barn as venue, 6 June” — you, in “Barn or mill”, 6 March 2026"
    assert "2,400" in second


def test_two_decisions_are_both_shown_the_newest_first() -> None:
    answer = said(
        wire().step(
            after(
                "what did we decide about the venue?",
                ("search_chats", {"query": "venue"}, found(
                    line("we decided on the Mill as venue", "2026-01-02T10:00:00+01:00"),
                    line("ok then, let's go with the Barn as venue", "2026-02-03T10:00:00+01:00"))),
            )
        )
    )  # fmt: skip
    assert answer.startswith("More than one line seems to decide")
    assert answer.index("Barn") < answer.index("Mill")
    assert "3 February 2026" in answer and "2 January 2026" in answer


def test_a_question_is_no_decision_and_the_question_itself_is_no_answer() -> None:
    assert not decides("what was decided about the venue?") and decides("We decided: the Barn.")
    asked = "what did we decide about the venue?"
    same = found(line(asked), line("What have we decided on the venue?"), title="Asked before")
    read = {"chat": "c_b", "title": "Asked before", "lines": []}
    answer = said(wire().step(after(asked, ("search_chats", {"query": "venue"}, same),
                                    ("read_chat", {"chat": "c_b", "message": "m"}, read))))  # fmt: skip
    assert "found nothing" in answer and "“what did we decide" not in answer.lower()


def test_nothing_found_is_said_plainly_with_what_was_missing() -> None:
    nothing = found(note="Nothing was found. Earlier chats are still being indexed (5 of 9 lines).")
    answer = said(wire().step(after("what did we say about the venue?", ("search_chats", {"query": "venue"}, nothing))))
    assert answer.startswith("I looked through your chats for “venue” and found nothing")
    assert "still being indexed" in answer
    some = found(line("the venue"), note="No line here has: river. Read as: vennue → venue.")
    answer = said(wire().step(after("vennue river", ("search_chats", {"query": "vennue river"}, some))))
    assert "No line here has: river." in answer and "Read as: vennue → venue." in answer


def test_without_a_line_that_decides_it_reads_around_the_best_one() -> None:
    asked = "what did we decide about the venue?"
    best = line("which venue?")
    step = wire().step(after(asked, ("search_chats", {"query": "venue"}, found(best))))
    assert isinstance(step, ToolCall) and step.name == "read_chat"
    assert json.loads(step.args) == {"chat": "c_b", "message": best["message"]}
    read = {
        "chat": "c_b",
        "title": "Barn or mill",
        "lines": [best, line("ok, let's go with the Barn", who="assistant")],
    }
    answer = said(wire().step(after(asked, ("search_chats", {"query": "venue"}, found(best)),
                                    ("read_chat", json.loads(step.args), read))))  # fmt: skip
    assert "- “ok, let's go with the Barn” — the assistant, in “Barn or mill”" in answer


def test_the_plan_of_a_named_chat_is_quoted_whole() -> None:
    asked = "use the same plan as in the Lisbon chat"
    first = wire().step(request(asked))
    assert isinstance(first, ToolCall) and json.loads(first.args) == {"query": "plan", "chat": "c_l"}
    plan = line("The plan:\nDay 1: Alfama\nDay 2: Sintra", who="assistant")
    step = wire().step(after(asked, ("search_chats", json.loads(first.args), found(line("The plan: Day 1…")))))
    assert isinstance(step, ToolCall) and step.name == "read_chat"
    read = {"chat": "c_l", "title": "Lisbon trip", "lines": [plan]}
    answer = said(wire().step(after(asked, ("search_chats", json.loads(first.args), found(line("The plan: Day 1…"))),
                                    ("read_chat", {"chat": "c_l", "message": plan["message"]}, read))))  # fmt: skip
    assert "From the assistant, in “Lisbon trip”, 6 March 2026:" in answer
    assert "> Day 1: Alfama\n> Day 2: Sintra" in answer


def test_when_the_named_chat_has_nothing_all_chats_are_searched_once() -> None:
    asked = "what was the hotel in the Lisbon chat?"
    step = wire().step(after(asked, ("search_chats", {"query": "hotel", "chat": "c_l"}, found())))
    assert isinstance(step, ToolCall) and json.loads(step.args)["query"] == "Lisbon trip hotel"
    again = wire().step(after(asked, ("search_chats", {"query": "hotel", "chat": "c_l"}, found()),
                              ("search_chats", {"query": "Lisbon trip hotel"}, found())))  # fmt: skip
    assert "found nothing" in said(again)


def test_a_missing_tool_is_said_in_one_sentence_and_titles_then_mean_nothing() -> None:
    answers = {
        "what did we decide about the venue?": "search_chats",
        "tell Release notes that we ship": "search_chats",  # without the tools a title must not show through
        "remember that I'm vegetarian": "remember",
        "what are my other chats doing": "list_chats",
    }
    for text, tool in answers.items():
        assert wire().step(request(text, tools=())) == replies.NOT_OFFERED[tool]
    assert wire().step(request("tell Release notes that we ship")) == replies.NOT_OFFERED["message_chat"]
    assert all(sentence.count(". ") == 0 for sentence in replies.NOT_OFFERED.values())


def test_titles_are_never_named_where_looking_isnt_offered() -> None:
    asked = "tell the Paris chat that we're late"
    assert "Lisbon trip" in said(wire().step(request(asked)))
    assert "Lisbon trip" not in said(wire().step(request(asked, tools=())))


def test_other_tools_get_what_their_schema_knows_and_their_answer_is_passed_on() -> None:
    schema = {"properties": {"content": {"type": "string"}}, "required": ["content"]}
    step = wire().step(request("remember that I'm vegetarian", tools=("remember",), schema=schema))
    assert isinstance(step, ToolCall) and json.loads(step.args) == {"content": "I'm vegetarian"}
    messages = (AssistantMessage("", (ToolCall("t_0", "remember", "{}"),)), ToolReturn("t_0", "remember", "Kept."))
    assert wire().step(request("remember that I'm vegetarian", *messages, tools=("remember",))) == "Kept."
    refused = (messages[0], ToolReturn("t_0", "remember", "The person said no.", error=True))
    answer = wire().step(request("remember that I'm vegetarian", *refused, tools=("remember",)))
    assert answer == "That wasn't done: The person said no."


def test_words_of_the_tools_are_passed_on_when_they_cant_look() -> None:
    asked = "what did we decide about the venue?"
    broken = "Looking through earlier chats isn't working right now. Press Repair search."
    assert wire().step(after(asked, ("search_chats", {"query": "venue"}, broken))) == broken


def test_words_of_others_are_never_taken_for_the_persons() -> None:
    joined = PersonMessage("<chat-message>stop Lisbon trip</chat-message>", "")
    assert wire().step(request(joined)) == replies.NOT_THE_PERSON
    answered = (AssistantMessage("Hello."), joined)
    assert wire().step(request("hello", *answered)) == replies.NOT_THE_PERSON
    note = PersonMessage("[Shoal: another chat changed a.py]", "")
    mid_turn = after("what about the venue?", ("search_chats", {"query": "venue"}, found(line("the venue it is"))))
    answer = said(wire().step(ModelRequest("offline", "s", (*mid_turn.messages, note), mid_turn.tools)))
    assert "the venue it is" in answer


def test_help_lists_what_is_offered_and_what_was_found_here() -> None:
    answer = said(wire(found=["Ollama on port 11434: llama3"]).step(request("what can you do?")))
    assert "find what was said before" in answer and "stop another chat" not in answer
    assert "Found on this computer:\n- Ollama on port 11434: llama3" in answer and "OPENAI_API_KEY" in answer
    assert said(wire().step(request("write me a poem"))).startswith(replies.NO_WRITING)


def test_the_same_request_gives_the_same_step() -> None:
    for text in ("what did we decide about the venue?", "help", "tell Release notes that we ship", "what's up in May"):
        assert wire().step(request(text)) == wire().step(request(text))


texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=600).filter(str.strip)
results = st.lists(
    st.builds(
        lambda text, who, when, message: {"message": message, "who": who, "when": when, "text": text},
        texts | st.sampled_from(["we decided: the venue is the Barn. " * 20, "let's go with it\nvenue\n\n- a\n- b"]),
        st.sampled_from(["you", "assistant", "them", "step"]),
        st.sampled_from(["2026-03-06T10:00:00+01:00", "", "nonsense", "2025-01-01T00:00:00+00:00"]),
        st.uuids().map(str),
    ),
    max_size=8,
)
QUOTED = re.compile(r"^- (?:[^“]*: )?“(.*?)”(?: — .*)?$|^> (.*)$", re.MULTILINE | re.DOTALL)


@given(
    results,
    results,
    st.sampled_from(["what did we decide about the venue?", "the venue plan", "venue", "in the Lisbon chat?"]),
)
def test_every_quote_is_an_unbroken_piece_of_a_line_that_came_back(
    hits: list[dict[str, Any]], read: list[dict[str, Any]], asked: str
) -> None:
    first = wire().step(request(asked))
    assert isinstance(first, ToolCall)
    args = json.loads(first.args)
    done: list[tuple[str, dict[str, Any], Any]] = [
        (
            first.name,
            args,
            found(*hits, title="Xq7")
            if first.name == "search_chats"
            else {"chat": "c_l", "title": "Xq7", "lines": read},
        )
    ]
    step = wire().step(after(asked, *done))
    for _ in range(4):
        if not isinstance(step, ToolCall):
            break
        args = json.loads(step.args)
        result = (
            {"chat": "c_b", "title": "Xq7", "lines": read + hits[:1]}
            if step.name == "read_chat"
            else found(*hits, title="Xq7")
        )
        done.append((step.name, args, result))
        step = wire().step(after(asked, *done))
    answer = said(step)
    every = [x["text"] for x in (*hits, *read)]
    body = answer.replace("“Xq7”", "")
    for row in body.split("\n- ")[1:]:
        quote = row[row.index("“") + 1 : row.rindex("”")]
        assert any(quote in text for text in every), quote
    for row in body.splitlines():
        if row.startswith("> "):
            assert any(row[2:] in text for text in every)


@given(texts, st.lists(st.sampled_from(["venue", "barn", "plan"]), max_size=3))
def test_a_piece_is_part_of_one_line_and_short(text: str, words: list[str]) -> None:
    cut = piece(text, words)
    assert cut in text and "\n" not in cut and len(cut) <= 300


@pytest.mark.parametrize("junk", ["{", "[]", "7", "null", '{"chats": 5}', '{"chats": [1, {"lines": [2, {}]}]}', ""])
def test_an_answer_that_cant_be_read_is_never_guessed_at(junk: str) -> None:
    step = wire().step(after("what about the venue?", ("search_chats", {"query": "venue"}, junk)))
    assert isinstance(step, str)
