"""Words typed together: a chat that has them so stands before one that has them apart, and nothing else moves."""

from __future__ import annotations

import pytest

from store import nearness, query
from store.models import SearchQuery
from tests.search.conftest import Home

APART = "the group of us met, and it gave support"
FILLER = [f"line {n} about the weather and the boats" for n in range(9)]


@pytest.mark.parametrize("typing", [True, False])
@pytest.mark.parametrize("typed", ["support group", "support groups", "the support group"])
async def test_a_chat_with_the_words_together_stands_first_with_that_line(home: Home, typed: str, typing: bool) -> None:
    home.chat("together", *FILLER, "the support group begins at nine", "rain")
    home.chat("apart", APART, *FILLER[:5], "you support every one of the group", *FILLER[5:])
    service = home.service()
    answer = await service.search(SearchQuery(typed, typing=typing))
    assert [g.chat.id for g in answer.groups][:2] == ["together", "apart"]
    assert "support group begins" in answer.groups[0].hits[0].snippet
    assert (await service.search(SearchQuery("group support", typing=typing))).groups[0].chat.id == "apart"


async def test_a_beginning_of_the_last_word_counts_while_it_is_typed(home: Home) -> None:
    home.chat("together", *FILLER, "the support group begins at nine", "rain")
    home.chat("apart", APART, *FILLER[:5], "you support every one of the group", *FILLER[5:])
    answer = await home.service().search(SearchQuery("support gro", typing=True))
    assert answer.groups[0].chat.id == "together"


async def test_the_total_the_chats_and_their_counts_stay(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(30):
        home.chat(f"c{n}", APART if n % 3 else "the support group begins", "support", *FILLER[:n])
    service = home.service()
    after = await service.search(SearchQuery("support group", limit=40))
    monkeypatch.setattr(nearness, "WORDS_MOST", 0)
    before = await service.search(SearchQuery("support group", limit=40))
    assert (after.total, after.hidden, len(after.groups)) == (before.total, before.hidden, len(before.groups))
    assert {(g.chat.id, g.matches) for g in after.groups} == {(g.chat.id, g.matches) for g in before.groups}
    is_near = [int(g.chat.id[1:]) % 3 == 0 for g in after.groups]
    assert is_near[:3] == [True] * 3 and [g.chat.id for g in after.groups] != [g.chat.id for g in before.groups]


@pytest.mark.parametrize(
    "typed", ["support", '"support group"', "who has a support group", "a b c d e support group", "犬猫"]
)
async def test_other_queries_are_left_as_they_are(home: Home, typed: str) -> None:
    assert nearness._in_order([], query.parse(typed)) == []


def test_a_word_that_isnt_looked_for_may_be_any_word() -> None:
    word = [query.Group(w, (query.Form((w,)), query.Form((w[:3],), prefix=True)), 1) for w in ("cost", "boat")]
    between = [word[0], None, None, word[1]]
    look = nearness.pattern(between).search
    assert look("the costs of the boat, all in all") and look("cost_a_b-boa")
    for text in ("the cost of boats", "cost", "", "thecost of the boat", "cost of the dboat", "boat of the cost"):
        assert not look(text), text
