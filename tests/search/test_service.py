"""Grouping, filters, private chats, slices, previews, lanes, and what stays current."""

from __future__ import annotations

import asyncio
import random

import pytest

from store import events as ev
from store.models import SearchQuery
from tests.search.conftest import Home


async def test_three_lines_a_chat_and_fifty_where_one_is_asked(home: Home) -> None:
    home.chat("c1", *[f"the heron came again, time {n}" for n in range(60)])
    home.chat("c2", "a heron")
    service = home.service()
    answer = await service.search(SearchQuery("heron"))
    assert {g.chat.id: (g.matches, len(g.hits)) for g in answer.groups} == {"c1": (60, 3), "c2": (1, 1)}
    assert answer.total == 61
    (group,) = (await service.search(SearchQuery("heron", chat="c1"))).groups
    assert len(group.hits) == 50


async def test_hidden_counts_what_is_not_shown_but_no_private_chat(home: Home) -> None:
    for n in range(6):
        home.chat(f"c{n}", "the heron")
    home.chat("secret", "the heron", private=True)
    service = home.service()
    mine = await service.search(SearchQuery("heron", limit=2))
    assert (len(mine.groups), mine.hidden) == (2, 5)
    tools = await service.search(SearchQuery("heron", limit=2, private=False, without=frozenset({"c5"})), "tools")
    assert (len(tools.groups), tools.hidden) == (2, 3)
    every = await service.search(SearchQuery("heron", limit=20, private=False), "tools")
    assert "secret" not in {g.chat.id for g in every.groups}
    person = await service.search(SearchQuery("heron", limit=20))
    assert "secret" in {g.chat.id for g in person.groups}


async def test_filters_by_time_who_project_and_chat(home: Home) -> None:
    home.chat("c1", "the heron", folder="/a")
    middle = home.clock.now_ms() + 1
    home.chat("c2", folder="/b")
    home.answer("c2", "the heron stands")
    home.say("c2", "Ben saw the heron", author="Ben", them=True)
    service = home.service()

    async def chats(**more: object) -> set[str]:
        return {g.chat.id for g in (await service.search(SearchQuery("heron", **more), "tools")).groups}

    assert await chats(before=middle) == {"c1"}
    assert await chats(after=middle) == {"c2"}
    assert await chats(who="you") == {"c1"}
    assert await chats(who="assistant") == {"c2"}
    assert await chats(who="them") == {"c2"}
    assert await chats(who="step") == set()
    assert await chats(project="/a") == {"c1"}
    assert await chats(chat="c2") == {"c2"}
    assert await chats(chat="nowhere") == set()
    assert await chats(among=frozenset({"c2", "nowhere"})) == {"c2"}
    assert await chats(among=frozenset({"c1", "c2"})) == {"c1", "c2"}
    assert await chats(among=frozenset({"nowhere"})) == await chats(among=frozenset({"c1"}), project="/b") == set()
    listed = await service.search(SearchQuery("", after=middle), "tools")
    assert [g.chat.id for g in listed.groups] == ["c2"]


async def test_a_deleted_chat_is_gone_at_once_and_its_words_too(home: Home) -> None:
    home.chat("c1", "the heron")
    home.chat("c2", "the xylophonist")
    service = home.service()
    home.store.delete_sync("c2")
    assert (await service.search(SearchQuery("xylophonist"))).groups == ()
    assert await service.caught_up(10)
    assert b"xylophonist" not in service._indexer.path.read_bytes()


async def test_what_is_said_is_found_once_caught_up(home: Home) -> None:
    home.chat("c1", "first")
    service = home.service()
    for n in range(5):
        home.say("c1", f"number{n} said")
        assert await service.caught_up(10)
        assert (await service.search(SearchQuery(f"number{n}"), "tools")).match == "exact"


async def test_tool_calls_are_steps_and_results_and_host_tools_are_not_indexed(home: Home) -> None:
    home.chat("c1")
    call = ev.ToolStarted(call_id="t1", name="run_command", input={"command": "pytest -k heron", "description": "x"})
    home.commit("c1", call, ev.ToolFinished(call_id="t1", status="success", output="a pelican"))
    home.commit("c1", ev.ToolStarted(call_id="t2", name="search_chats", input={"query": "flamingo"}))
    home.commit("c1", ev.AssistantDone(message_id="a1", text="**bold** `code`", thinking="an ostrich"))
    service = home.service()
    (hit,) = (await service.search(SearchQuery("heron"))).groups[0].hits
    assert (hit.anchor, hit.who) == ("t1", "step")
    for word in ("pelican", "flamingo", "ostrich"):
        assert (await service.search(SearchQuery(word), "tools")).match != "exact"
    assert (await service.search(SearchQuery("bold code"))).groups[0].hits[0].snippet == "bold code"


async def test_photos_and_forwarded_words_are_found(home: Home) -> None:
    home.chat("c1")
    photo = ev.Attachment(kind="photo", caption="a red canoe")
    home.say("c1", "look", author="Ben", them=True, attachments=(photo,))
    home.commit("c1", ev.ForwardedMessage(message_id="f1", name="Ana", text="bring the oars"))
    service = home.service()
    (hit,) = (await service.search(SearchQuery("canoe"))).groups[0].hits
    assert (hit.snippet, hit.who, hit.name) == ("Ben: look [photo: a red canoe]", "them", "Ben")
    (hit,) = (await service.search(SearchQuery("oars"))).groups[0].hits
    assert (hit.who, hit.name) == ("them", "Ana")


@pytest.mark.parametrize("total", [0, 1, 5, 12, 13, 30])
async def test_slices(home: Home, total: int) -> None:
    home.chat("c1", *[f"line {n}" for n in range(total)])
    service = home.service()
    ids = [f"m{n + 1}" for n in range(total)]
    end = await service.slice("c1")
    assert [line.anchor for line in end.lines] == ids[-12:]
    assert (end.earlier, end.later, end.found) == (total > 12, False, True)
    start = await service.slice("c1", direction="after")
    assert [line.anchor for line in start.lines] == ids[:12]
    assert (start.earlier, start.later) == (False, total > 12)
    for place in range(total):
        around = await service.slice("c1", ids[place])
        got = [line.anchor for line in around.lines]
        assert ids[place] in got and len(got) == min(12, total)
        low = max(0, min(place - 5, total - 12))
        assert got == ids[low : low + 12]
        assert (around.earlier, around.later) == (low > 0, low + 12 < total)
        before = await service.slice("c1", ids[place], "before")
        assert [line.anchor for line in before.lines] == ids[max(0, place - 12) : place]
        assert (before.earlier, before.later) == (place > 12, True)
        after = await service.slice("c1", ids[place], "after")
        assert [line.anchor for line in after.lines] == ids[place + 1 : place + 13]
        assert (after.earlier, after.later) == (True, place + 13 < total)


async def test_a_missing_line_gives_the_end_and_a_missing_chat_none(home: Home) -> None:
    home.chat("c1", *[f"line {n}" for n in range(20)])
    service = home.service()
    for direction in ("around", "before", "after"):
        lost = await service.slice("c1", "nope", direction)
        assert not lost.found
        assert lost.lines[-1].anchor == "m20"
    assert (await service.slice("nowhere")).chat is None


async def test_preview_has_two_lines_before_and_after(home: Home) -> None:
    home.chat("c1", *[f"heron number {n} " + "x " * 600 for n in range(9)])
    service = home.service()
    preview = await service.preview("c1", "m5", "heron")
    assert [line.anchor for line in preview.lines] == ["m3", "m4", "m5", "m6", "m7"]
    assert preview.focus == 2 and preview.messages == 9
    assert len(preview.lines[2].text) <= 900 and all(len(preview.lines[i].text) <= 280 for i in (0, 1, 3, 4))
    assert [preview.lines[2].text[s:e] for s, e in preview.ranges] == ["heron"]
    assert [line.anchor for line in (await service.preview("c1")).lines] == ["m6", "m7", "m8", "m9"]


async def test_a_newer_key_makes_an_older_query_give_up(home: Home) -> None:
    home.chat("c1", *[f"the heron and the mill {n}" for n in range(300)])
    service = home.service()
    queries = ["h", "he", "her", "hero", "heron", "heron m", "heron mill"]
    answers = await asyncio.gather(*(service.search(SearchQuery(q, typing=True)) for q in queries))
    assert answers[-1].groups and not answers[-1].superseded
    for answer in answers[:-1]:
        assert answer.superseded or answer.groups or answer.match == "too-short"


async def test_a_cancelled_query_leaves_the_lane_usable(home: Home) -> None:
    home.chat("c1", "the heron")
    service = home.service()
    for _ in range(20):
        task = asyncio.ensure_future(service.search(SearchQuery("heron", typing=True)))
        await asyncio.sleep(0)
        task.cancel()
    assert (await service.search(SearchQuery("heron", typing=True))).groups


async def test_a_query_that_takes_too_long_is_capped(home: Home) -> None:
    home.chat("c1", "the heron", "the mill")
    service = home.service()
    service._tools._seconds = -1.0
    answer = await service.search(SearchQuery("heron mill"), "tools")
    assert answer.broken is None
    service._tools._seconds = 3.0
    assert (await service.search(SearchQuery("heron mill"), "tools")).groups


async def test_palette_after_a_pause_and_tool_give_the_same_chats_in_the_same_order(home: Home) -> None:
    rng = random.Random(4)
    words = ["heron", "mill", "river", "venue", "lisbon", "plan", "ticket", "kiln", "pottery", "canoe", "meadow"]
    for n in range(40):
        lines = [" ".join(rng.choices(words, k=rng.randint(2, 9))) for _ in range(rng.randint(1, 14))]
        home.chat(f"c{n}", *lines, private=n % 10 == 0)
    service = home.service()
    for n in range(200):
        text = " ".join(rng.sample(words, rng.randint(1, 5)))
        if n % 7 == 0:
            text = text[:-1]
        if n % 11 == 0:
            text = text[:2] + text[3:]
        asking = f"c{rng.randrange(40)}"
        typed = await service.search(SearchQuery(text, limit=100, typing=True))
        paused = await service.search(SearchQuery(text, limit=100))
        tool = await service.search(SearchQuery(text, limit=100, private=False, without=frozenset({asking})), "tools")
        seen = [g.chat.id for g in paused.groups]
        assert {g.chat.id for g in typed.groups} <= set(seen)
        left = [c for c in seen if c != asking and int(c[1:]) % 10 != 0]
        assert [g.chat.id for g in tool.groups] == left, text
