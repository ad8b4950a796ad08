"""Several typos at once: what one word may have meant shows beside what the next one meant."""

from __future__ import annotations

import random

import pytest

from store.models import SearchQuery
from store.search import SearchService
from tests.search.conftest import Home

LINES = {
    "sporty": ["sport sport sport", "a sport for every group", "the group likes sport"],
    "meeting": ["the support group meets on Monday", "my support group is kind", "supporting one another"],
    "other": ["a group of rivers", "we ate groups of figs", "the report is late", "her portrait"],
}


def order(service: SearchService, typed: str) -> list[str]:
    return [g.chat.id for g in service.search_sync(SearchQuery(typed)).groups]


@pytest.fixture
def service(home: Home) -> SearchService:
    for chat, lines in LINES.items():
        home.chat(chat, *lines)
    return home.service()


@pytest.mark.parametrize("typed", ["suport gruop ", "suport group ", "support gruop ", "suport gruop", "Suport Gruop?"])
def test_words_said_side_by_side_are_what_typos_meant(service: SearchService, typed: str) -> None:
    assert order(service, typed)[0] == "meeting"
    answer = service.search_sync(SearchQuery(typed))
    assert answer.match == "close"
    assert ("suport", "sport") not in [(a.lower(), b) for a, b in answer.read_as]


def test_typos_give_the_order_that_the_right_words_give(service: SearchService) -> None:
    assert order(service, "suport gruop ") == order(service, "support group ")


def test_readings_that_were_never_said_side_by_side_are_all_kept(service: SearchService) -> None:
    answer = service.search_sync(SearchQuery("rivres suport "))
    assert {b for a, b in answer.read_as if a == "suport"} >= {"support", "sport"}


def test_a_typo_also_finds_the_other_forms_of_what_it_meant(home: Home) -> None:
    home.chat("c1", "we decided it")
    home.chat("c2", "she decides tomorrow")
    assert set(order(home.service(), "deciedd ")) == {"c1", "c2"}


def test_two_words_with_a_typo_each_find_the_chat_of_the_two_words(home: Home) -> None:
    rng = random.Random(8)
    firsts = ["harbour", "printer", "lantern", "journey", "whistle", "orchard"]
    seconds = ["meeting", "problem", "festival", "insurance", "calendar", "chemistry"]
    pairs = [(a, b) for a in firsts for b in seconds]
    rng.shuffle(pairs)
    for n, (a, b) in enumerate(pairs[:18]):
        home.chat(f"c{n}", f"we spoke of the {a} {b} at length", f"{a} and so on", f"{b} as before")
    service = home.service()
    right = 0
    for n, (a, b) in enumerate(pairs[:18]):
        i, j = rng.randrange(1, len(a) - 1), rng.randrange(1, len(b) - 1)
        typed = f"{a[:i]}{a[i + 1 :]} {b[: j - 1]}{b[j]}{b[j - 1]}{b[j + 1 :]} "
        right += order(service, typed)[:1] == [f"c{n}"]
    assert right >= 17
