"""Looking back as a stranger tests it: a real process, a model by HTTP, and what each of them was told."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.blackbox import ANTHROPIC, OPENAI, Box, box, imported, results_of, system_of, tools_of, words_of
from tests.e2e.headless_client import shoal

PAST = ["search_chats", "read_chat"]
LABEL_MOST = 120


@pytest.fixture(scope="module", params=[OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def here(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    base = tmp_path_factory.mktemp("look")
    home = base / "home"
    assert shoal(home, "import", str(imported(base / "in.jsonl", chats=12, long=900))).returncode == 0
    with box(home, request.param) as made:
        yield made


def zoned(text: str) -> bool:
    return dt.datetime.fromisoformat(text).tzinfo is not None


def test_what_search_chats_answers(here: Box) -> None:
    kept = here.new("the walrus likes the pier", title="Walrus")
    asking = here.new(title="Asking")
    found, events = here.search(asking, query="walrus")
    assert set(found) <= {"query", "match", "chats", "total", "hidden", "note"} and found["match"] == "exact"
    assert found["query"] == "walrus" and found["hidden"] == 0 and found["total"] >= 1
    (hit,) = found["chats"]
    assert set(hit) == {"chat", "title", "last_active", "matches", "lines"}
    assert (hit["chat"], hit["title"], hit["matches"]) == (kept, "Walrus", 1) and zoned(hit["last_active"])
    (line,) = hit["lines"]
    assert set(line) == {"message", "who", "when", "text"} and line["who"] == "you" and zoned(line["when"])
    assert line["text"] == "the walrus likes the pier"
    kinds = [e["type"] for e in events]
    assert "taint" not in kinds and kinds.count("chats.looked") == 1
    (look,) = [e for e in events if e["type"] == "chats.looked"]
    assert look["action"] == "search" and look["query"] == "walrus" and "close" not in look
    assert look["look_id"] and look["call_id"]
    (seen,) = look["chats"]
    assert seen["id"] == kept and "from" not in seen and "archived" not in seen
    assert seen["lines"][0]["message"] == line["message"] and seen["lines"][0]["who"] == "you"
    assert isinstance(seen["lines"][0]["at"], int) and seen["lines"][0]["text"] == line["text"]


def test_imported_chats_are_marked_and_their_marks_come_along_before_the_words(here: Box) -> None:
    asking = here.new()
    at = len(here.server.requests)
    found, events = here.search(asking, query="ferry", limit=8)
    assert len(found["chats"]) <= 8 and found["hidden"] == 12 - len(found["chats"]) and "information" in found["note"]
    for hit in found["chats"]:
        assert hit["untrusted"] is True and hit["from"] == "LoCoMo" and hit["others"] == "Ben"
        assert 1 <= len(hit["lines"]) <= 3
        for line in hit["lines"]:
            assert len(line["text"]) <= 150 and line["who"] == ("them" if line["name"] == "Ben" else "you")
    marks = [e["source"] for e in events if e["type"] == "taint"]
    assert {m["label"] for m in marks} == {f"your chat “{h['title']}”" for h in found["chats"]}
    assert {m["kind"] for m in marks} == {"app"} and all(len(m["label"]) <= LABEL_MOST for m in marks)
    kinds = [e["type"] for e in events]
    second = [i for i, e in enumerate(events) if e["type"] == "step.started"][1]
    assert max(i for i, k in enumerate(kinds) if k == "taint") < second and kinds.index("chats.looked") < second
    (look,) = [e for e in events if e["type"] == "chats.looked"]
    assert [c["id"] for c in look["chats"]] == [h["chat"] for h in found["chats"]]
    for chat in look["chats"]:
        assert chat["from"] == "LoCoMo" and len(chat["lines"]) <= 3
        assert all(len(x["text"]) <= 240 for x in chat["lines"])
    assert tools_of(here.server.requests[at])[:2] == PAST
    assert tools_of(here.server.requests[-1]) == [] or tools_of(here.server.requests[at + 1])[:2] == PAST
    # once more, nothing is marked twice; and the tools stay
    _, again = here.search(asking, query="ferry", limit=8)
    assert [e for e in again if e["type"] == "taint"] == []
    assert {t["kind"] for t in summary(here, asking)["taints"]} == {"app"}


def summary(here: Box, chat: str) -> dict[str, Any]:
    found: dict[str, Any] = next(c for c in here.client.do("chats")["chats"] if c["id"] == chat)
    return found


def test_reads_around_before_after_start_and_end(here: Box) -> None:
    asking = here.new()
    long = here.new(*(f"crocus line {n}" for n in range(8)), title="Long")
    found, _ = here.search(asking, query="crocus", limit=1)
    middle, _ = here.read(asking, chat=long)
    assert set(middle) == {"chat", "title", "last_active", "lines", "earlier", "later"} and len(middle["lines"]) == 12
    assert middle["earlier"] is True and middle["later"] is False and middle["lines"][-1]["text"] == "ok."
    start, _ = here.read(asking, chat=long, direction="after")
    assert start["earlier"] is False and start["later"] is True and start["lines"][0]["text"] == "crocus line 0"
    anchor = start["lines"][8]["message"]
    around, events = here.read(asking, chat=long, message=anchor)
    assert anchor in [x["message"] for x in around["lines"]] and len(around["lines"]) == 12
    (look,) = [e for e in events if e["type"] == "chats.looked"]
    assert (
        look["action"] == "read"
        and "query" not in look
        and [x["message"] for x in look["chats"][0]["lines"]] == [anchor]
    )
    before, _ = here.read(asking, chat=long, message=anchor, direction="before")
    ids = [x["message"] for x in before["lines"]]
    assert anchor not in ids and ids == [x["message"] for x in start["lines"][:8]] and before["later"] is True
    after, _ = here.read(asking, chat=long, message=anchor, direction="after")
    assert after["lines"][0]["message"] == start["lines"][9]["message"] and after["later"] is False
    missing, _ = here.read(asking, chat=long, message="m_none")
    assert missing["lines"] == middle["lines"] and missing["note"]
    assert found["chats"][0]["chat"] == long


def test_words_for_what_is_not_there(here: Box) -> None:
    asking = here.new()
    none, _ = here.search(asking, query="xylophonist")
    assert none["match"] == "none" and none["chats"] == [] and none["note"]
    short, _ = here.search(asking, query="a")
    assert short["match"] == "too-short" and short["chats"] == [] and short["note"]
    here.new("the marmalade is gone", title="Breakfast")
    close, events = here.search(asking, query="marmelade")
    assert close["match"] == "close" and close["chats"][0]["title"] == "Breakfast" and close["note"]
    assert [e["close"] for e in events if e["type"] == "chats.looked"] == [True]
    own, events, _ = here.call(asking, "read_chat", {"chat": asking})
    assert "already" in own and not [e for e in events if e["type"] in ("chats.looked", "taint")]
    gone = here.new("something about tapirs")
    here.client.do("delete", chat=gone)
    secret = here.new("something about okapis", private=True)
    answers = set()
    for chat in (gone, secret, "c_none", "../../x", "c_1\n", "🦀", "ilbas/none"):
        text, events, _ = here.call(asking, "read_chat", {"chat": chat})
        answers.add(text)
        assert not [e for e in events if e["type"] in ("chats.looked", "taint")]
    assert len(answers) == 1 and not answers.pop().startswith("{")


BAD: list[tuple[str, Any]] = [
    ("search_chats", {}),
    ("search_chats", {"query": ""}),
    ("search_chats", {"query": "   "}),
    ("search_chats", {"query": 5}),
    ("search_chats", {"query": None}),
    *(("search_chats", {"query": "ferry", "limit": n}) for n in (0, -1, 9, 10**12, "five", 2.5, True)),
    ("search_chats", {"query": "ferry", "who": "nobody"}),
    *(("search_chats", {"query": "ferry", "after": d}) for d in ("2026-02-30", "0000-01-01", "10000-01-01", "x", 5)),
    ("search_chats", {"query": "ferry", "after": "2026-03-02", "before": "2026-03-01"}),
    ("search_chats", "[1,2]"),
    ("search_chats", '"text"'),
    ("search_chats", "null"),
    ("search_chats", '{"query": "cut'),
    ("read_chat", {}),
    ("read_chat", {"chat": 5}),
    ("read_chat", {"chat": "c_x", "direction": "sideways"}),
]


def test_bad_arguments_are_refused_in_words_and_log_no_look(here: Box) -> None:
    asking = here.new()
    for name, args in BAD:
        text, events, _ = here.call(asking, name, args)
        note = f"{name} {args}: {text[:200]}"
        assert "\n" not in text.strip() and "Traceback" not in text and "pydantic" not in text, note
        assert not text.startswith("{"), note
        assert [e["status"] for e in events if e["type"] == "tool.finished"] == ["error"], note
        assert not [e for e in events if e["type"] in ("chats.looked", "taint")], note
        assert [e["outcome"] for e in events if e["type"] == "turn.completed"] == ["success"], note


def test_long_queries_are_cut_and_any_words_are_a_query(here: Box) -> None:
    asking = here.new("hello")
    cut, _ = here.search(asking, query="ferry " * 60)
    assert len(cut["query"]) <= 200 and "200" in cut["note"]
    odd = [
        '"',
        "'",
        "*",
        "AND",
        "NEAR(a b",
        "title:x",
        "-x",
        "^x",
        "a OR",
        "(",
        "{a}",
        "#123",
        "C:\\x",
        "🦀",
        "中",
        "\\" * 90,
    ]
    for query in (*odd, "%", "_", "(a+)+$", "'; DROP TABLE event; --"):
        found, _ = here.search(asking, query=query)
        assert found["match"] in ("exact", "close", "none", "too-short"), query
    dirty, events = here.search(asking, query="fer\x00ry \x1b[2J\u202e\nx")
    (look,) = [e for e in events if e["type"] == "chats.looked"]
    for text in (dirty["query"], look["query"]):
        assert not any(c in text for c in "\x00\x1b\u202e\n")
    dated, _ = here.search(asking, query="", after="2023-05-08", before="2023-05-09")
    assert dated["chats"] and all(h["from"] == "LoCoMo" for h in dated["chats"])


def test_unknown_fields_and_tools_that_are_not_there(here: Box) -> None:
    asking = here.new()
    for name in ("searchchats", "bash_tool", "explore_chat_history", "mcp__conch__search_chats"):
        text, events, _ = here.call(asking, name, {"query": "ferry"})
        assert not text.startswith("{") and "\n" not in text.strip(), text
        assert not [e for e in events if e["type"] in ("tool.started", "chats.looked")], name


def test_private_chats_are_found_by_the_person_only(here: Box) -> None:
    hidden = here.new("the vicuna sleeps", private=True)
    asking = here.new()
    found, _ = here.search(asking, query="vicuna")
    assert found["match"] == "none" and found["hidden"] == 0 and hidden not in json.dumps(found)
    hit = next(h for h in here.client.do("search", query="vicuna")["chats"] if h["chat"] == hidden)
    assert hit["private"] is True
    assert summary(here, hidden)["private"] is True and "private" not in summary(here, asking)


def test_archived_chats_are_found_and_marked(here: Box) -> None:
    away = here.new("the numbat digs", title="Numbat")
    here.client.do("archive", chat=away)
    asking = here.new()
    found, events = here.search(asking, query="numbat")
    assert [h["archived"] for h in found["chats"]] == [True]
    assert [e["chats"][0]["archived"] for e in events if e["type"] == "chats.looked"] == [True]
    read, _ = here.read(asking, chat=away)
    assert read["archived"] is True
    assert here.client.do("search", query="numbat")["chats"][0]["archived"] is True


def test_someone_elses_words_take_the_tools_away(here: Box) -> None:
    asking = here.new("hello")
    assert set(PAST) <= set(tools_of(next(r for r in reversed(here.server.requests) if tools_of(r))))
    here.client.do("forward", chat=asking, name="Eve", text="look up the ferry for me")
    here.client.until(lambda x: x.get("type") == "forwarded.message")
    forwarded = [e for e in here.client.events() if e["chat"] == asking][-2:]
    assert [e["type"] for e in forwarded] == ["taint", "forwarded.message"]
    at = len(here.server.requests)
    text, events, _ = here.call(asking, "search_chats", {"query": "ferry"})
    mine = [r for r in here.server.requests[at:] if "ferry" in json.dumps(r.body)]
    for request in mine:
        assert not set(PAST) & set(tools_of(request))
        assert "search_chats" not in system_of(request) and "read_chat" not in system_of(request)
    assert not text.startswith("{") and "ferry number" not in text
    assert not [e for e in events if e["type"] in ("chats.looked", "tool.started")]
    # what is in it is read by others with the mark
    other = here.new()
    found, events = here.search(other, query="forwarded hello look up", chat=asking)
    if found["chats"]:
        assert found["chats"][0]["untrusted"] is True and found["chats"][0]["others"] == "Eve"
        assert [e["source"]["kind"] for e in events if e["type"] == "taint"] == ["app"]
    fork = here.client.do("fork", chat=asking)["chat"]
    assert {"kind": "person", "label": "Eve"} in summary(here, fork)["taints"]


def test_reads_stay_within_their_budget_and_keep_the_line_asked_for(here: Box) -> None:
    big = here.new(*(f"quokka {n} " + "very long words here " * 300 for n in range(7)), title="Big")
    asking = here.new()
    found, _ = here.search(asking, query="quokka")
    anchor = found["chats"][0]["lines"][0]["message"]
    text, _, _ = here.call(asking, "read_chat", {"chat": big, "message": anchor})
    assert len(text) <= 12_000
    read = json.loads(text)
    focus = next(x for x in read["lines"] if x["message"] == anchor)
    assert 3_000 < len(focus["text"]) <= 4_000
    assert all(len(x["text"]) <= 1_200 for x in read["lines"] if x["message"] != anchor)
    assert read["earlier"] or read["later"]


def test_several_calls_in_one_step_each_get_their_own_result(here: Box) -> None:
    asking = here.new()
    at = len(here.server.requests)
    events = here.say(asking, 'CALL search_chats {"query": "ferry"}\nCALL read_chat {"chat": "c_none"}\nCALL nope {}')
    request = next(r for r in here.server.requests[at:] if results_of(r))
    first, second, third = map(words_of, results_of(request))
    assert first.startswith("{") and not second.startswith("{") and not third.startswith("{")
    assert len([e for e in events if e["type"] == "tool.finished"]) == 3
    assert len({e["call_id"] for e in events if e["type"] == "tool.finished"}) == 3


def test_the_system_text_is_the_same_in_every_request_of_a_chat(here: Box) -> None:
    asking = here.new("one", "two")
    here.search(asking, query="ferry")
    texts = [system_of(r) for r in here.server.requests if "search_chats" in tools_of(r)]
    assert len(set(texts)) == 1


def test_a_read_that_is_by_the_clock_and_the_order_of_what_is_found(here: Box) -> None:
    asking = here.new()
    person = [h["chat"] for h in here.client.do("search", query="ferry number", limit=8)["chats"]]
    model, _ = here.search(asking, query="ferry number", limit=8)
    found = [h["chat"] for h in model["chats"]]
    assert [c for c in person if c in found] == found[: len(person)]


def test_imported_chats_cannot_be_written_to_and_a_fork_carries_their_marks(here: Box) -> None:
    found = next(h["chat"] for h in here.client.do("search", query="lorem")["chats"] if h.get("from"))
    assert here.client.refused("send", chat=found, text="hello") == "not-allowed"
    fork = here.client.do("fork", chat=found)["chat"]
    made = summary(here, fork)
    assert "origin" not in made and made["forked_from"] == found
    assert {t["kind"] for t in made["taints"]} == {"app", "person"}
    assert here.client.do("send", chat=fork, text="hello")["queued"] is False
    here.client.do("settle")
    here.client.do("delete", chat=fork)


def test_paths_hold_no_more_than_they_should(here: Box) -> None:
    for path in here.home.rglob("*"):
        assert path.is_dir() or path.stat().st_mode & 0o077 == 0, path
    assert Path(here.home / "store.db").exists()
