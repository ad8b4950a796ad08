"""conch-behaviour §3.7 for `search_chats`, on the real store and the real search."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from app.guard.may import NO_SUCH_CHAT, NOT_HERE, SOMEONE_ELSE
from app.history.answers import CAUTION, NONE
from app.history.dates import SWAPPED
from app.history.search_chats import BAD_LIMIT, BAD_WHO, NO_QUERY, SearchArgs
from app.history.surface import PAST_CHATS_PROMPT
from app.history.tool import BAD_TEXT, THIS_CHAT
from app.tools.base import spec_of
from store import events as ev
from store.clock import iso
from store.models import SearchAnswer, SearchQuery
from tests.history.past import PERSON, WEB, Past


def chats(answer: dict[str, Any]) -> list[str]:
    return [chat["chat"] for chat in answer["chats"]]


async def test_it_finds_what_the_search_box_finds_in_the_same_order_without_this_chat(past: Past) -> None:
    for n in range(12):
        chat = past.chat(f"Chat {n}", f"about the venue, take {n}", *["venue venue"] * (n % 3))
        past.answer(chat, "the venue is booked" if n % 2 else "nothing")
    past.say(past.ask, "the venue again, which this chat has already")
    answer = await past.find("venue", limit=8)
    box = await past.search.search(SearchQuery("venue", limit=20))
    assert chats(answer) == [g.chat.id for g in box.groups if g.chat.id != past.ask][:8]
    assert answer["match"] == "exact" and past.ask not in json.dumps(answer)
    assert answer["hidden"] == 4 and "4 more chats matched" in answer["note"]
    shown = {g.chat.id: g for g in box.groups}
    for chat in answer["chats"]:
        assert chat["matches"] == shown[chat["chat"]].matches
        assert [line["text"] for line in chat["lines"]] == [h.snippet for h in shown[chat["chat"]].hits]
        assert "untrusted" not in chat and "archived" not in chat


async def test_lines_say_who_spoke_and_when_with_a_zone(past: Past) -> None:
    chat = past.chat("Plans", "marzipan for the cake")
    past.answer(chat, "Marzipan it is")
    past.ran(chat, "grep marzipan recipes.txt")
    answer = await past.find("marzipan")
    [found] = answer["chats"]
    assert {line["who"] for line in found["lines"]} == {"you", "assistant", "step"}
    for when in (found["last_active"], *(line["when"] for line in found["lines"])):
        assert dt.datetime.fromisoformat(when).tzinfo is not None


async def test_a_look_is_an_event_with_what_was_returned(past: Past) -> None:
    one = past.chat("Boats", "the ferry leaves at nine")
    outcome = await past.call("search_chats", query="ferry")
    [event] = outcome.events
    assert isinstance(event, ev.ChatsLooked)
    assert (event.action, event.query, event.close, event.call_id) == ("search", "ferry", None, "t_call")
    [chat] = event.chats
    assert (chat.id, chat.title) == (one, "Boats")
    [line] = chat.lines
    assert line.text == "the ferry leaves at nine" and line.who == "you" and isinstance(line.at, int)
    assert [line.text[a:b] for a, b in line.marks] == ["ferry"]


async def test_archived_chats_and_where_a_chat_was_are_said(past: Past) -> None:
    chat = past.chat("From afar", "the pergola needs paint", origin=ev.Origin(kind="channel", name="Telegram"))
    past.commit(chat, ev.ChatArchived())
    routine = past.chat("Morning run", "pergola weather", origin=ev.Origin(kind="routine", name="x"))
    found = {c["chat"]: c for c in (await past.find("pergola"))["chats"]}
    assert found[chat]["archived"] is True and found[chat]["from"] == "Telegram"
    assert found[routine]["from"] == "a routine" and "archived" not in found[routine]


async def test_nothing_too_short_and_close_are_three_answers(past: Past) -> None:
    past.chat("Trip", "the Regaleira garden in Sintra")
    none = await past.find("xylophone")
    assert none["match"] == "none" and none["chats"] == [] and NONE in none["note"]
    assert (await past.find("a"))["match"] == "too-short"
    close = await past.call("search_chats", query="Regaleiraa")
    answer = json.loads(close.text)
    assert answer["match"] == "close" and answer["chats"][0]["title"] == "Trip"
    assert close.events[0].close is True  # type: ignore[attr-defined]


async def test_a_broken_index_answers_in_words_that_name_the_repair(past: Past) -> None:
    class Broken:
        async def search(self, query: SearchQuery, lane: str = "typing") -> SearchAnswer:
            return SearchAnswer(query.text, "none", broken="It can't be read. Press Repair search.")

    tool = past.tool("search_chats")
    tool._search = Broken()  # type: ignore[assignment]
    outcome = await tool.run(SearchArgs(query="venue"), past.context(), "t")
    assert "Repair search" in outcome.text and outcome.ok and not outcome.events and not outcome.taints


async def test_a_chat_that_was_deleted_since_is_left_out_silently(past: Past) -> None:
    keep, gone = past.chat("Kept", "asparagus soup"), past.chat("Gone", "asparagus salad")
    assert await past.search.caught_up(10)
    real = past.search.search

    async def found_before(query: SearchQuery, lane: str = "typing") -> SearchAnswer:
        answer = await real(query, lane)  # type: ignore[arg-type]
        await past.store.delete(gone)
        return answer

    past.search.search = found_before  # type: ignore[method-assign,assignment]
    outcome = await past.call("search_chats", query="asparagus")
    answer = json.loads(outcome.text)
    assert chats(answer) == [keep] and gone not in outcome.text and "salad" not in outcome.text


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"taints": (PERSON,)}, SOMEONE_ELSE),
        ({"taints": (WEB, PERSON)}, SOMEONE_ELSE),
        ({"taints": None}, NOT_HERE),
        ({"tool_scope": ("read_file",)}, NOT_HERE),
        *(
            ({"origin": ev.Origin(kind=k)}, NOT_HERE)
            for k in ("routine", "task", "client", "peer", "artifact", "import")
        ),
    ],
)
async def test_it_isnt_there_and_refuses_where_a_chat_may_not_look(past: Past, more: Any, sentence: str) -> None:
    past.chat("Private things", "the safe is behind the picture")
    for name, args in (("search_chats", {"query": "safe"}), ("read_chat", {"chat": "c_x"})):
        assert past.tool(name).refusal(past.context(**more)) == sentence
        outcome = await past.call(name, past.context(**more), **args)
        assert outcome.text == sentence and not outcome.ok and not outcome.events and not outcome.taints


async def test_a_page_that_was_read_takes_nothing_away(past: Past) -> None:
    for more in ({"taints": (WEB,)}, {"origin": ev.Origin(kind="channel", name="Telegram")}):
        assert past.tool("search_chats").refusal(past.context(**more)) is None


async def test_each_untrusted_chat_that_is_returned_marks_this_one_once_by_name(past: Past) -> None:
    read = past.chat("Venue research", "the barn costs 2,400")
    past.taint(read)
    past.taint(read, ev.TaintSource(kind="download", label="barn.pdf"))
    other = past.chat("With Ana", "the barn is far", origin=ev.Origin(kind="channel", name="Telegram"))
    past.say(other, "the barn is lovely", author="Ana", them=True)
    past.taint(other, PERSON)
    clean = past.chat("My own", "the barn it is")
    outcome = await past.call("search_chats", query="barn")
    answer = json.loads(outcome.text)
    assert sorted(t.label for t in outcome.taints) == ["your chat “Venue research”", "your chat “With Ana”"]
    assert {t.kind for t in outcome.taints} == {"app"}
    found = {c["chat"]: c for c in answer["chats"]}
    assert found[read]["untrusted"] is True and "untrusted" not in found[clean]
    assert found[other]["others"] == "Ana"
    assert {(line["who"], line.get("name")) for line in found[other]["lines"]} == {("you", None), ("them", "Ana")}
    assert CAUTION in answer["note"]
    assert past.tool("search_chats").refusal(past.context(taints=outcome.taints)) is None


async def test_your_own_chats_mark_nothing(past: Past) -> None:
    past.chat("Mine", "the barn it is")
    outcome = await past.call("search_chats", query="barn")
    assert outcome.taints == () and "note" not in json.loads(outcome.text)


async def test_a_chat_that_the_cut_dropped_marks_nothing(past: Past) -> None:
    for n in range(8):
        chat = past.chat(f"{n} {'long title ' * 18}", *['quokka \\" ' + "\n" * 60 + str(i) for i in range(4)])
        past.taint(chat)
    outcome = await past.call("search_chats", query="quokka", limit=8)
    answer = json.loads(outcome.text)
    assert len(outcome.text) <= 8_000
    assert len(outcome.taints) == len(answer["chats"])


async def test_private_chats_are_never_found_nor_counted(past: Past) -> None:
    for n in range(3):
        past.chat(f"Secret {n}", "the ocelot sleeps", private=True)
    open_one = past.chat("Zoo", "an ocelot was there")
    answer = await past.find("ocelot", limit=1)
    assert chats(answer) == [open_one] and answer["hidden"] == 0


@pytest.mark.parametrize("limit", [0, -1, 9, 50, 10**12, "five", 2.5, True, [], "²"])
async def test_a_limit_that_cant_be_is_refused_in_one_sentence(past: Past, limit: Any) -> None:
    outcome = await past.call("search_chats", query="venue", limit=limit)
    assert not outcome.ok and BAD_LIMIT in outcome.text and not outcome.events and "\n" not in outcome.text


async def test_limits_that_can_be_understood_are_taken(past: Past) -> None:
    for n in range(9):
        past.chat(f"Chat {n}", "the azalea")
    assert [len((await past.find("azalea", limit=n))["chats"]) for n in (1, 8, "3", None)] == [1, 8, 3, 5]
    assert len((await past.find("azalea"))["chats"]) == 5


@pytest.mark.parametrize(
    "args", [{"query": 7}, {"query": ["venue"]}, {"query": "x", "after": 1790000000000}, {"query": "x", "chat": 5}]
)
async def test_arguments_of_another_kind_are_refused_in_words(past: Past, args: Any) -> None:
    outcome = await past.call("search_chats", **args)
    assert not outcome.ok and BAD_TEXT in outcome.text


async def test_who_must_be_one_of_the_four(past: Past) -> None:
    assert BAD_WHO in (await past.call("search_chats", query="x", who="me")).text


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
async def test_an_empty_query_without_a_date_is_refused(past: Past, query: str) -> None:
    outcome = await past.call("search_chats", query=query)
    assert outcome.text == NO_QUERY and not outcome.ok and not outcome.events
    assert (await past.call("search_chats")).text == NO_QUERY


async def test_an_empty_query_with_a_date_lists_the_chats_of_that_time(past: Past) -> None:
    past.chat("Before", "long ago")
    past.clock.tick(10 * 86_400)
    day = iso(past.clock.now_ms())[:10]
    later = past.chat("That day", "first words", "last words")
    past.chat("Hidden", "not this", private=True)
    past.clock.tick(10 * 86_400)
    past.chat("After", "not yet")
    next_day = (dt.date.fromisoformat(day) + dt.timedelta(days=2)).isoformat()
    answer = await past.find("", after=day, before=next_day)
    assert chats(answer) == [later] and answer["match"] == "exact"
    assert [line["text"] for line in answer["chats"][0]["lines"]] == ["first words", "last words"]


async def test_dates_bound_what_is_found_and_before_isnt_included(past: Past) -> None:
    chat = past.chat("Diary")
    days = []
    for n in range(4):
        past.say(chat, f"porridge number {n}")
        days.append(iso(past.clock.now_ms())[:10])
        past.clock.tick(86_400)
    answer = await past.find("porridge", after=days[1], before=days[3], chat=chat)
    got = sorted(line["text"] for line in answer["chats"][0]["lines"])
    assert got == ["porridge number 1", "porridge number 2"]


@pytest.mark.parametrize(
    "when",
    ["2026-02-30", "0000-01-01", "10000-01-01", "yesterday", "1790000000000", "2026-13-01", "2026-1-1", "20260305"],
)
async def test_a_date_that_cant_be_is_refused_never_an_empty_answer(past: Past, when: str) -> None:
    for name in ("after", "before"):
        outcome = await past.call("search_chats", query="venue", **{name: when})
        assert not outcome.ok and f"`{name}` isn't a date" in outcome.text and not outcome.events


async def test_after_that_isnt_earlier_than_before_is_refused(past: Past) -> None:
    for after, before in (("2026-03-06", "2026-03-05"), ("2026-03-05", "2026-03-05")):
        outcome = await past.call("search_chats", query="venue", after=after, before=before)
        assert outcome.text == SWAPPED and not outcome.ok


async def test_who_and_chat_narrow_the_search(past: Past) -> None:
    one = past.chat("One", "the kestrel")
    past.answer(one, "a kestrel indeed")
    past.chat("Two", "another kestrel")
    answer = await past.find("kestrel", who="assistant")
    assert [line["who"] for c in answer["chats"] for line in c["lines"]] == ["assistant"]
    assert chats(await past.find("kestrel", chat=one)) == [one]


async def test_missing_deleted_private_and_odd_ids_answer_with_the_same_words(past: Past) -> None:
    private = past.chat("Private", "the kestrel", private=True)
    gone = past.chat("Gone", "the kestrel")
    await past.store.delete(gone)
    ids = [private, gone, "c_nothere", "../../x", "c_1\n", f"{past.ask} ", "x" * 5_000, "🦆", ""]
    for name in ("search_chats", "read_chat"):
        for chat in ids:
            more = {"query": "kestrel"} if name == "search_chats" else {}
            outcome = await past.call(name, chat=chat, **more)
            assert (outcome.text, outcome.events, outcome.taints) == (NO_SUCH_CHAT, (), ()), (name, chat)


async def test_asking_for_this_chat_says_that_it_is_here_already(past: Past) -> None:
    outcome = await past.call("search_chats", query="x", chat=past.ask)
    assert outcome.text == THIS_CHAT and not outcome.events


async def test_a_long_query_is_cut_and_the_note_says_so(past: Past) -> None:
    chat = past.chat("Long", "wisteria over the door")
    answer = await past.find("wisteria " + "door " * 80)
    assert chats(answer) == [chat] and 190 < len(answer["query"]) <= 200
    assert "longer than 200 characters" in answer["note"]


async def test_any_string_is_a_safe_query(past: Past) -> None:
    past.chat("Odd", 'C:\\x and #123 and 東京 🦆 "quoted" NEAR(a b)')
    for query in [
        '"',
        "-",
        "*",
        "NEAR",
        "#123",
        "C:\\x",
        "🦆",
        "京",
        "a\x00b",
        "x" * 10_000,
        "'; DROP TABLE",
        "\ud7ff",
    ]:
        outcome = await past.call("search_chats", query=query)
        assert json.loads(outcome.text)["match"] in ("exact", "close", "none", "too-short")


async def test_the_answer_stays_under_its_budget_with_thirty_long_chats(past: Past) -> None:
    for n in range(30):
        past.chat(f"Long chat {n}", *['"hollyhock" ' + "é\\" * 400 + str(i) for i in range(5)])
    outcome = await past.call("search_chats", query="hollyhock", limit=8)
    answer = json.loads(outcome.text)
    assert len(outcome.text) <= 8_000 and 1 <= len(answer["chats"]) <= 8
    assert all(1 <= len(c["lines"]) <= 3 for c in answer["chats"])
    assert answer["hidden"] == 30 - len(answer["chats"])
    assert [c.id for c in outcome.events[0].chats] == chats(answer)  # type: ignore[attr-defined]


async def test_titles_are_one_line_and_never_empty(past: Past) -> None:
    past.chat("", "the gooseberry")
    past.chat("Two\nlines ]<b> “q”", "the gooseberry")
    titles = {c["title"] for c in (await past.find("gooseberry"))["chats"]}
    assert titles == {"Untitled", "Two lines ]<b> “q”"}


async def test_the_tool_says_what_it_is_and_has_its_section(past: Past) -> None:
    tool = past.tool("search_chats")
    spec = spec_of(tool)
    limit = spec.schema["properties"]["limit"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 8, 5)
    assert spec.schema["properties"]["query"]["maxLength"] == 200
    assert tool.effect == "read" and tool.prompt == PAST_CHATS_PROMPT
    assert "never pass on" in PAST_CHATS_PROMPT.lower() and "recall" in PAST_CHATS_PROMPT
