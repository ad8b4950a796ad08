from __future__ import annotations

from store.models import SearchQuery
from tests.search.conftest import Home


async def test_a_word_finds_its_line_with_the_word_marked(home: Home) -> None:
    home.chat("c1", "we should meet at the old mill", "nothing here")
    home.chat("c2", "the mill is closed")
    service = home.service()
    answer = await service.search(SearchQuery("mill"))
    assert answer.match == "exact"
    assert {g.chat.id for g in answer.groups} == {"c1", "c2"}
    for group in answer.groups:
        (hit,) = group.hits
        assert [hit.snippet[s:e] for s, e in hit.ranges] == ["mill"]
    assert answer.total == 2
