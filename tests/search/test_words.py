"""What counts as the same word: forms, parts, scripts without spaces, typos, beginnings."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store import fuzzy, words
from store.models import SearchQuery
from tests.search.conftest import Home


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("we went running by the sea", "run"),
        ("the children went home", "child go"),
        ("a decision was made", "decide"),
        ("call getUserName now", "user name"),
        ("call getUserName now", "getUserName"),
        ("call getUserName now", "getusername"),
        ("use HTTPServer here", "http server"),
        ("set max_retry_count to 3", "max_retry_count"),
        ("set max_retry_count to 3", "retry"),
        ("look at src/store/log.py please", "src/store/log.py"),
        ("error E1234-ABC came", "E1234-ABC"),
        ("upgrade to v1.2.3 today", "v1.2.3"),
        ("I don't know", "don't know"),
        ("see #123 for it", "#123"),
        ("今日は東京で会議があります", "東京"),
        ("今日は東京で会議があります", "京"),
        ("今日は東京で会議があります", "会議"),
        ("我们决定在里斯本开会", "里斯本"),
        ("我们决定在里斯本开会", "会"),
        ("오늘 서울에서 만나요", "서울"),
        ("ฉันรักภาษาไทยมาก", "ภาษา"),
        ("Привет из Москвы", "привет"),
    ],
)
def test_a_word_is_found_in_its_other_shapes(home: Home, said: str, asked: str) -> None:
    home.chat("c1", said)
    home.chat("c2", "nothing of that kind at all")
    answer = home.service().search_sync(SearchQuery(asked))
    assert [g.chat.id for g in answer.groups] == ["c1"]
    assert answer.match == "exact"
    hit = answer.groups[0].hits[0]
    assert hit.ranges, hit
    assert hit.snippet == said


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("kuberntes", "kubernetes"), ("marmelade", "marmalade"), ("Regaleiraa", "Regaleira"), ("lisbno", "Lisbon")],
)
def test_a_typo_is_close_and_says_what_it_was_read_as(home: Home, asked: str, meant: str) -> None:
    home.chat("c1", f"all about {meant} and more")
    home.chat("c2", "nothing of that kind")
    answer = home.service().search_sync(SearchQuery(asked))
    assert answer.match == "close"
    assert [g.chat.id for g in answer.groups] == ["c1"]
    assert (asked, meant.lower()) in answer.read_as
    hit = answer.groups[0].hits[0]
    assert [hit.snippet[s:e] for s, e in hit.ranges] == [meant]


@pytest.mark.parametrize("asked", ["qxzwv", "E123X", "NASB", "xy"])
def test_nonsense_codes_and_capitals_are_not_repaired(home: Home, asked: str) -> None:
    home.chat("c1", "the code E1234 of NASA and so on")
    answer = home.service().search_sync(SearchQuery(asked + " "))
    assert answer.match == "none", answer


def test_exact_hits_are_above_repaired_ones(home: Home) -> None:
    home.chat("c1", "lisbon", "lisbon lisbon", "lisbon again")
    home.chat("c2", "lisben is a name here")
    answer = home.service().search_sync(SearchQuery("lisben "))
    assert [g.chat.id for g in answer.groups] == ["c2", "c1"]
    assert answer.match == "exact"
    assert ("lisben", "lisbon") in answer.read_as


def test_a_part_inside_a_word_is_found_when_nothing_else_is(home: Home) -> None:
    home.chat("c1", "the keyboardist played")
    answer = home.service().search_sync(SearchQuery("boardis "))
    assert answer.match == "close"
    assert answer.groups[0].chat.id == "c1"


def test_beginnings_are_found_while_typing_and_after(home: Home) -> None:
    home.chat("c1", "the venue in Lisbon")
    service = home.service()
    for typing in (True, False):
        for text in ("ve", "ven", "venue lis", "lisbo"):
            answer = service.search_sync(SearchQuery(text, typing=typing))
            assert answer.match == "exact", text
            assert [g.chat.id for g in answer.groups] == ["c1"]
    assert service.search_sync(SearchQuery("vemu", typing=True)).match in ("close", "none")
    answer = service.search_sync(SearchQuery("vneu", typing=True))
    assert answer.groups[0].chat.id == "c1" and answer.match == "close"


def test_new_words_are_repaired_too(home: Home) -> None:
    home.chat("c1", "first words")
    service = home.service()
    home.chat("c2", "the zeppelin landed")
    assert service._indexer.wait(10)
    assert service.search_sync(SearchQuery("zepelin")).groups[0].chat.id == "c2"


def test_of_200_typos_188_are_in_the_first_five() -> None:
    from tests.benchmarks.typos import run

    (figures,) = run(20_000)
    assert figures["first_five"] >= 188


WORD = st.text(alphabet="abcdefgh", min_size=0, max_size=9)


@given(WORD, WORD)
def test_distance_is_symmetric_and_capped(a: str, b: str) -> None:
    assert fuzzy.distance(a, b, 2) == fuzzy.distance(b, a, 2)
    assert (fuzzy.distance(a, b, 2) == 0) == (a == b)
    assert fuzzy.distance(a, b, 2) <= 3


@given(st.text(alphabet="abcdefgh", min_size=4, max_size=9), st.integers(0, 3), st.randoms(use_true_random=False))
def test_every_single_edit_is_found(word: str, kind: int, rng: random.Random) -> None:
    from tests.benchmarks.typos import typo

    typed = typo(word, kind, rng)
    index = fuzzy.build([(word, 1)])
    assert index is not None
    if typed != word and fuzzy.edits_allowed(typed):
        assert (word, fuzzy.distance(typed, word, 2)) in index.find(typed)


@given(st.text(max_size=100))
def test_folding_twice_changes_nothing_and_tokens_are_short(text: str) -> None:
    once = words.fold(text)
    assert words.fold(once) == once
    assert all(0 < len(t) <= 64 for t in words.tokens(text))


def test_an_endless_token_is_cut_and_what_is_after_it_found(home: Home) -> None:
    home.chat("c1", "x" * 500_000 + " then the heron")
    answer = home.service().search_sync(SearchQuery("heron"))
    assert answer.match == "exact"
    assert len(answer.groups[0].hits[0].snippet) <= 150
