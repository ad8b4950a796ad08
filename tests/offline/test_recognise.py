"""What the offline assistant reads in a sentence, where it is easy to read too much."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.offline.recognise import DECIDED, recognise
from app.providers.offline.words import query_of

TODAY = dt.date(2026, 11, 30)
TITLES = [
    ("c_q", "What did we decide about the venue?"),
    ("c_b", "Boiler warranty"),
    ("c_n", "Trip to Naples"),
    ("c_p", "Refactor the parser"),
    ("c_u", "Untitled"),
    ("c_d", "Dinner"),
]


def test_a_chat_titled_by_the_same_question_isnt_the_chat_meant() -> None:
    for text, query in (
        ("what did we decide about the venue?", "venue"),
        ("what did we say about the boiler warranty", "boiler warranty"),
        ("boiler warranty", "boiler warranty"),
    ):
        intent = recognise(text, TITLES, TODAY)
        assert (intent.tool, intent.args["query"]) == ("search_chats", query) and "chat" not in intent.args


@pytest.mark.parametrize(
    ("text", "chat", "query"),
    [
        ("use the same plan as in the Naples chat", "c_n", "plan"),
        ("what was the budget in trip to naples?", "c_n", "budget"),
        ("in “Boiler warranty”, when does it end?", "c_b", "when does it end"),
        ("what did we decide in the Naples chat", "c_n", DECIDED),
    ],
)
def test_a_chat_named_as_one_is_searched(text: str, chat: str, query: str) -> None:
    intent = recognise(text, TITLES, TODAY)
    if query == "when does it end":
        assert (intent.tool, intent.args) == ("read_chat", {"chat": chat})
    else:
        assert (intent.tool, intent.args["chat"], intent.args["query"]) == ("search_chats", chat, query)


@pytest.mark.parametrize(
    "text",
    [
        "stop using emojis please", "stop", "wait a minute", "wait", "don't be so formal", "never mind", "forget it",
        "keep it short", "ok", "…", "👍", "thanks!", "tell me a joke", "write me a haiku", "how are you?",
        "tell the Paris chat that we're late", "stop the Paris chat", "wait for the Paris chat", "",
        "translate this: the venue is booked", "Lorem ipsum dolor sit amet. " * 40,
    ],
)  # fmt: skip
def test_manners_free_writing_and_chats_that_arent_there_call_nothing(text: str) -> None:
    assert recognise(text, TITLES, TODAY).tool is None


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Remember when we compared mattresses?", "search_chats"),
        ("do you remember my birthday", "search_chats"),
        ("remember my birthday is 3 May", "remember"),
        ("wait a second, didn't we say June?", "search_chats"),
        ("hold on, what did we say about June?", "search_chats"),
        ("tell me about the stop sign", "search_chats"),
        ("Refactor the parser: please add tests", "message_chat"),
        ("has refactor the parser finished?", "list_chats"),
        ("background noise while recording", "search_chats"),
        ("cancel dinner", "stop_chat"),
        ("cancel the dinner reservation", "search_chats"),
        ("tell dinner that we're four", "message_chat"),
        ("tell dinner guests that we're four", "search_chats"),
        ("what model are you", None),
        ("rename this chat to Foo", None),
        ("set a timer for 10 minutes", "wait_for"),
    ],
)
def test_the_same_words_mean_different_things(text: str, tool: str | None) -> None:
    assert recognise(text, TITLES, TODAY).tool == tool


def test_days_become_dates_and_leave_the_query() -> None:
    yesterday = recognise("what did I say about the dentist yesterday?", TITLES, TODAY).args
    assert (yesterday["query"], yesterday["after"], yesterday["before"]) == ("dentist", "2026-11-29", "2026-11-30")
    may = recognise("what did we talk about in May?", TITLES, TODAY).args
    assert (may["query"], may["after"], may["before"]) == ("", "2026-05-01", "2026-06-01")
    december = recognise("what did we talk about last december", TITLES, TODAY).args
    assert (december["after"], december["before"]) == ("2025-12-01", "2026-01-01")
    roof = recognise("what did we decide on the roof in May 2026", TITLES, TODAY).args
    assert roof["query"] == "roof in May 2026" and "after" not in roof  # the search knows months by name
    left_off = recognise("continue where we left off", TITLES, TODAY).args
    assert left_off["query"] == "" and left_off["after"] < "2026-11-30"
    assert "after" not in recognise("the weather today in Lisbon", TITLES, TODAY).args


def test_quotes_keep_a_phrase_and_odd_words_stay_whole() -> None:
    assert query_of('find where I said "never on a friday"') == '"never on a friday"'
    assert query_of("what was #4711 in C:\\logs\\app.log about a_b.c?") == "#4711 C:\\logs\\app.log a_b.c"
    assert query_of("東京の話") == "東京の話"
    assert len(query_of("word " * 10 + " ".join(f"term{n}" for n in range(60)))) <= 200


@given(st.text(max_size=300), st.lists(st.tuples(st.just("c_1"), st.text(max_size=60)), max_size=4))
def test_any_words_are_read_the_same_way_twice_and_never_fail(text: str, titles: list[tuple[str, str]]) -> None:
    first = recognise(text, titles, TODAY)
    assert first == recognise(text, titles, TODAY)
    if first.tool == "search_chats":
        assert len(first.args["query"]) <= 200 and (first.args["query"] or "after" in first.args)
    assert (first.tool is None) == (first.args == {})


@pytest.mark.parametrize(
    "words",
    [
        "what do you remember about me?",
        "What do you know about me so far?",
        "list my memories",
        "what's in your memory?",
        "what have you remembered",
        "please show me my memories.",
        "what did I ask you to remember?",
    ],
)
def test_a_question_for_the_memories_asks_those(words):
    assert (recognise(words).tool, recognise(words).args) == ("recall", {})


@pytest.mark.parametrize(
    "words",
    ["what do you remember about the support group?", "do you remember my birthday", "what do you know about Lisbon"],
)
def test_a_question_about_something_said_still_searches_the_chats(words):
    assert recognise(words).tool == "search_chats"
