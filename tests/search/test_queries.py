"""Rows S01 to S11 of the faults: any string is a safe query."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store import query
from store.limits import QUERY_CHARS
from store.models import SearchQuery
from tests.search.conftest import Home, no_spans


@pytest.fixture
def service(home: Home):
    home.chat("c1", "we should meet at the old mill", "the plan is b, said Ann", title="Mill")
    home.chat("c2", "he said 'hello' AND then NEAR the river; title: x -x ^x (a+)+$ C:\\x", title="Odd")
    return home.service()


@pytest.mark.parametrize("text", ["", "   ", "\u200b\u200d", "\n\t"])
async def test_s01_nothing_asked_lists_recent_chats(service, text: str) -> None:
    answer = await service.search(SearchQuery(text))
    assert [g.chat.id for g in answer.groups] == ["c2", "c1"]
    assert answer.broken is None


MARKS = [
    *('"', "'", "*", "AND", "NEAR(a b", "title:x", "-x", "^x", "a OR", "(", "{a}", '"unclosed', "hello AND -"),
    *("NOT hello", "NEAR/0 x", "docid:1", "h*llo", '""', '"-"', "%", "_", "\\", "C++", "a:", 'a:"hello world"'),
    *("#123", "C:\\x"),
]


@pytest.mark.parametrize("text", MARKS)
async def test_s02_marks_are_searched_as_words(service, text: str) -> None:
    answer = await service.search(SearchQuery(text), "tools")
    assert answer.broken is None


async def test_s02_words_between_marks_are_found(service) -> None:
    for text in ("-hello", "(hello", "hello*", '"hello"', "hello AND", "NEAR hello", "title hello"):
        answer = await service.search(SearchQuery(text), "tools")
        assert answer.groups[0].chat.id == "c2", text


async def test_s03_a_long_query_is_cut_and_said(service) -> None:
    for text in ("mill " * 2000, " ".join(f"word{i}" for i in range(500)), "a" * 10_000):
        started = time.thread_time()
        answer = await service.search(SearchQuery(text), "tools")
        assert answer.cut
        assert len(answer.query) <= QUERY_CHARS
        assert answer.took_ms < 300 or time.thread_time() - started < 0.3


async def test_s04_common_words_single_letters_and_signs_are_answered(service) -> None:
    assert (await service.search(SearchQuery("the of and"), "tools")).broken is None
    assert (await service.search(SearchQuery("a"), "tools")).match == "too-short"
    assert (await service.search(SearchQuery("a b"), "tools")).match == "too-short"
    assert (await service.search(SearchQuery("plan b"), "tools")).groups[0].chat.id == "c1"
    assert (await service.search(SearchQuery("語"), "tools")).match == "none"
    assert (await service.search(SearchQuery("🎉"), "tools")).match == "none"
    assert (await service.search(SearchQuery("7"), "tools")).match == "none"


async def test_s05_hidden_characters_are_dropped(service) -> None:
    answer = await service.search(SearchQuery("old\0 \x1b[31m\ud800mi\u202ell\n"), "tools")
    assert not set(answer.query) & set("\0\x1b\ud800\u202e\n")
    answer = await service.search(SearchQuery("old\nmill\0"), "tools")
    assert answer.query == "old mill"
    assert answer.match == "exact"


async def test_s06_sql_is_text(home: Home) -> None:
    text = "'; DROP TABLE event; --"
    home.chat("c1", f"he typed {text} and 100% of my_file \\ here")
    before = home.store.last_id()
    service = home.service()
    assert (await service.search(SearchQuery(text), "tools")).match == "exact"
    for mark in ("%", "_", "\\"):
        assert (await service.search(SearchQuery(mark), "tools")).broken is None
    assert home.store.last_id() == before


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("café au lait", "cafe\u0301"),
        ("cafe\u0301 au lait", "café"),
        ("ＴＯＫＹＯ tower", "tokyo"),
        ("tokyo tower", "ＴＯＫＹＯ"),
        ("die Straße ist lang", "STRASSE"),
        ("die Strasse ist lang", "straße"),
        ("ılık su", "ILIK"),
        ("ILIK SU", "ılık"),
        ("İstanbul is big", "istanbul"),
        ("naïve Việt", "viet"),
        ("ﬁne print", "fine"),
    ],
)
async def test_s07_spellings_of_a_word_find_each_other(home: Home, said: str, asked: str) -> None:
    home.chat("c1", said)
    home.chat("c2", "something else")
    answer = await home.service().search(SearchQuery(asked), "tools")
    assert [g.chat.id for g in answer.groups] == ["c1"]
    (hit,) = answer.groups[0].hits
    assert hit.snippet == said
    assert hit.ranges


def hides_sk(text: str) -> list[tuple[int, int]]:
    at = text.find("sk-secret")
    return [(at, at + len("sk-secretsecret"))] if at >= 0 else []


async def test_s08_a_secret_is_found_but_never_shown(home: Home) -> None:
    home.chat("c1", "my key is sk-secretsecret ok", "and the vault word is hunter2 ok", title="about sk-secretsecret")
    service = home.service(spans=hides_sk, redact=lambda t: t.replace("hunter2", "‹hidden›"))
    for text in ("sk-secretsecret", "hunter2", "key secretsecret sk-secretsecret nowhere"):
        answer = await service.search(SearchQuery(text), "tools")
        assert answer.groups, text
        assert "secretsecret" not in repr(answer).replace("nowhere", "") or text.startswith("key")
        assert "hunter2" not in repr(answer)
        for group in answer.groups:
            assert "sk-secretsecret" not in group.chat.title
            for hit in group.hits:
                assert "sk-secretsecret" not in hit.snippet and "hunter2" not in hit.snippet
                for s, e in hit.ranges:
                    assert 0 <= s < e <= len(hit.snippet)
    part = await service.slice("c1")
    assert [line.text for line in part.lines] == ["my key is ‹hidden› ok", "and the vault word is ‹hidden› ok"]
    preview = await service.preview("c1", "m1", "key")
    assert "secret" not in repr(preview)


async def test_s09_patterns_are_plain_words(service) -> None:
    for text in ("(a+)+$", "[[[[", "\\" * 1000, "(" * 400, '"' * 399):
        started = time.thread_time()
        answer = await service.search(SearchQuery(text), "tools")
        assert answer.broken is None
        assert time.thread_time() - started < 0.3


async def test_s10_limits_are_clamped(service) -> None:
    for limit in (0, -1, 10**12):
        assert len((await service.search(SearchQuery("said", limit=limit), "tools")).groups) >= 1


async def test_s11_dates_the_wrong_way_round_find_nothing_quietly(service) -> None:
    answer = await service.search(SearchQuery("mill", after=10**15, before=0), "tools")
    assert answer.match == "none" and answer.broken is None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_any_string_is_a_query_and_ranges_lie_inside(service, text: str) -> None:
    for typing in (True, False):
        answer = service.search_sync(SearchQuery(text, typing=typing))
        assert answer.broken is None
        for group in answer.groups:
            for hit in group.hits:
                assert len(hit.snippet) <= 150
                ends = [0]
                for s, e in hit.ranges:
                    assert ends[-1] <= s < e <= len(hit.snippet)
                    ends.append(e)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_terms_hold_only_letters_and_digits(text: str) -> None:
    for piece in query.parse(text).pieces:
        assert piece.terms
        for term in piece.terms:
            assert term and '"' not in term and not any(c.isspace() for c in term)


def test_a_quoted_phrase_keeps_its_stop_words_and_order(home: Home) -> None:
    home.chat("c1", "to be or not to be")
    home.chat("c2", "be not or to")
    home.service()
    answer = home.services[-1].search_sync(SearchQuery('"to be or not"'))
    assert [g.chat.id for g in answer.groups] == ["c1"]
    assert answer.match == "exact"


def test_no_spans_is_a_function_of_text() -> None:
    assert no_spans("x") == []
