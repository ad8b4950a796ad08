"""The tool finds what the search box finds, in the same order (decisions.md 11)."""

from __future__ import annotations

import json
import random

from store.models import SearchQuery
from tests.history.past import Past

SYLLABLES = "ka lo mi tu re san vel dor pin qua zet fu gra ne bel os ti ram cho li".split()  # noqa: SIM905


async def test_200_queries_find_the_same_chats_in_the_same_order(past: Past) -> None:
    rng = random.Random(59)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))) for _ in range(150)]
    weights = [1 / (n + 1) for n in range(len(words))]
    private = set()
    for n in range(40):
        said = [" ".join(rng.choices(words, weights, k=rng.randint(3, 14))) for _ in range(rng.randint(1, 8))]
        chat = past.chat(f"Chat {n}", *said, private=n % 9 == 0)
        if n % 9 == 0:
            private.add(chat)
    past.say(past.ask, " ".join(words[:60]))
    assert await past.search.caught_up(20)
    queries = []
    for n in range(200):
        query = rng.choices(words, k=rng.randint(1, 4))
        if n % 5 == 0:  # a typo
            query[0] = query[0][:2] + query[0][3:]
        if n % 7 == 0:
            query[-1] = query[-1][:4]
        queries.append(" ".join(query))
    found = 0
    for query in queries:
        box = await past.search.search(SearchQuery(query, limit=100))
        expected = [g.chat.id for g in box.groups if g.chat.id != past.ask and g.chat.id not in private]
        outcome = await past.call("search_chats", query=query, limit=8)
        got = [chat["chat"] for chat in json.loads(outcome.text)["chats"]]
        assert got == expected[: len(got)] and len(got) == min(8, len(expected)), query
        found += bool(got)
    assert found > 150
