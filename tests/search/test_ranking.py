"""The fast scorer beside its judge, and the order of what is found."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import db, index, query, ranking
from store.models import SearchQuery
from store.projection import SaidLine
from store.retrieve import Core, Filters
from tests.search.conftest import Home, no_spans

WORDS = [f"{a}{b}" for a in ("ba", "ko", "lu", "mi", "ta", "ze") for b in ("lk", "mb", "nt", "rg", "zo")]


def filled(path: Path, texts: list[str]) -> Core:
    """A core on an index file with each text in a chat of its own, with the settings that rank_bm25 has."""
    conn = index.create(path)
    known = [index.ChatEntry(i + 1, f"c{i}") for i in range(len(texts))]
    ready = [index.prepare(SaidLine(f"m{i}", "you", None, 0, i, t), no_spans) for i, t in enumerate(texts)]
    conn.execute("BEGIN")
    index.write(conn, zip(known, ready, strict=True), 1)
    index.count_terms(conn, ready)
    for entry in known:
        index.save_entry(conn, entry)
    conn.execute("COMMIT")
    ranking.register(conn)
    by_no = {e.no: e for e in known}
    return Core(conn, index.has_enhanced_syntax(), index.Sizes(by_no), by_no, weights=ranking.REFERENCE)


def plain(words: list[str]) -> list[query.Group]:
    return [query.Group(w, (query.Form((w,)),), 0) for w in words]


def with_counts(core: Core, groups: list[query.Group]) -> list[query.Group]:
    from dataclasses import replace

    from store import vocab

    return [replace(g, df=vocab.df(core.conn, g.typed)) for g in groups]


def judged(core: Core, match: str) -> list[tuple[int, float]]:
    rows = core.conn.execute(
        "SELECT docid, rank_bm25(matchinfo(f, 'pcnalx')) FROM f WHERE f MATCH ? ORDER BY 2, docid DESC", (match,)
    )
    return [(d, -s) for d, s in rows]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), how=st.sampled_from(["all", "any"]))
def test_with_plain_settings_the_order_is_that_of_rank_bm25(
    tmp_path_factory: pytest.TempPathFactory, seed: int, how: str
) -> None:
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(WORDS, weights=range(1, len(WORDS) + 1), k=rng.randint(3, 40))) for _ in range(60)]
    core = filled(tmp_path_factory.mktemp("judge") / "index.db", texts)
    groups = with_counts(core, plain(rng.sample(WORDS, rng.randint(1, 4))))
    found = core.exact(groups, Filters()) if how == "all" else core.relaxed(groups, Filters())
    ours = {found.lines.docids[c.rows[0]]: c.score for c in found.chats} if found.lines else {}
    both = " AND " if core.enhanced else " "  # without parentheses AND is a word like others
    joined = both.join(g.forms[0].match() for g in groups) if how == "all" else core.any_of([], groups)[7:]
    joined = " OR ".join(g.forms[0].match() for g in groups if g.df) if how == "any" else joined
    theirs = dict(judged(core, joined)) if joined else {}
    assert set(ours) == set(theirs)
    for docid, score in ours.items():
        assert score == pytest.approx(theirs[docid], abs=1e-9)
    order = list(ours.values())
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(order))
    core.conn.close()


def test_idf_is_never_below_zero_and_falls_with_the_count() -> None:
    values = [ranking.idf(1000, df) for df in (1, 10, 100, 500, 900, 1000)]
    assert values == sorted(values, reverse=True)
    assert min(values) > 0
    assert ranking.idf(3, 2, clipped=True) == 0.0


def test_a_word_in_most_lines_still_ranks_in_a_small_index(home: Home) -> None:
    home.chat("c1", "mill mill mill")
    home.chat("c2", "the mill stands far away from the river and the town and everything else we know")
    home.chat("c3", "nothing")
    answer = home.service().search_sync(SearchQuery("mill"))
    assert [g.chat.id for g in answer.groups] == ["c1", "c2"]


def test_equal_lines_come_newest_first(home: Home) -> None:
    for n in range(4):
        home.chat(f"c{n}", "the same words")
    answer = home.service().search_sync(SearchQuery("same words"))
    assert [g.chat.id for g in answer.groups] == ["c3", "c2", "c1", "c0"]


def test_a_line_with_every_word_is_above_lines_with_some(home: Home) -> None:
    home.chat("c1", "the venue in Lisbon fell through")
    home.chat("c2", "Lisbon Lisbon Lisbon", "Lisbon", "Lisbon again", "Lisbon")
    home.chat("c3", "a venue", "the venue", "another venue")
    answer = home.service().search_sync(SearchQuery("venue lisbon"))
    assert answer.match == "exact"
    assert answer.groups[0].chat.id == "c1"
    assert {g.chat.id for g in answer.groups} == {"c1", "c2", "c3"}


def test_some_of_the_words_is_close_and_says_which_are_missing(home: Home) -> None:
    home.chat("c1", "the venue is booked")
    home.chat("c2", "we like rivers")
    answer = home.service().search_sync(SearchQuery("venue zeppelinhangar"))
    assert answer.match == "close"
    assert answer.missing == ("zeppelinhangar",)
    assert [g.chat.id for g in answer.groups] == ["c1"]


def test_someone_a_query_names_is_heard_first(home: Home) -> None:
    home.chat("c1", title="a")
    home.say("c1", "Ana told us about the pottery class and the kiln", author="Ben", them=True)
    home.say("c1", "I love the pottery class and the kiln", author="Ana", them=True)
    answer = home.service().search_sync(SearchQuery("Ana pottery kiln"))
    assert answer.groups[0].hits[0].name == "Ana"


def test_a_day_in_the_query_finds_what_was_said_then(home: Home) -> None:
    import datetime as dt

    from store import events as ev
    from store.log import Batch, NewEvent

    for month in range(1, 7):
        at = int(dt.datetime(2023, month, 3, 12).timestamp() * 1000)
        said = ev.UserMessage(message_id=f"d{month}", text="we met at the mill")
        home.store.commit_sync(Batch([NewEvent(f"c{month}", ev.ChatCreated(), at), NewEvent(f"c{month}", said, at)]))
    service = home.service()
    assert service.search_sync(SearchQuery("who met at the mill on 3 March, 2023?")).groups[0].chat.id == "c3"
    assert service.search_sync(SearchQuery("the mill in May 2023")).groups[0].chat.id == "c5"


def test_without_the_vocabulary_rank_bm25_ranks(home: Home) -> None:
    home.chat("c1", "heron mill", "heron")
    home.chat("c2", "the heron stood by the mill for a long time and then it flew away over the wide river")
    home.chat("c3", "heron")
    for n in range(9):
        home.chat(f"x{n}", "other words")
    service = home.service()
    with_counts_order = [g.chat.id for g in service.search_sync(SearchQuery("heron mill ")).groups]
    conn = db.connect(service._indexer.path)
    conn.execute("DROP TABLE vocab")
    conn.close()
    answer = service.search_sync(SearchQuery("heron mill "))
    assert answer.match == "exact"
    assert [g.chat.id for g in answer.groups] == [c for c in with_counts_order if c != "c3"]
    close = service.search_sync(SearchQuery("heron zeppelin "))
    assert close.match == "close" and {g.chat.id for g in close.groups} == {"c1", "c2", "c3"}


def test_a_question_about_someone_that_only_others_answer_is_close(home: Home) -> None:
    home.chat("c1", title="a")
    home.say("c1", "Ana: I went to the seaside on Sunday", author="Ana", them=True)
    home.say("c1", "Ben: Ana, I took the ferry to the lighthouse", author="Ben", them=True)
    service = home.service()
    assert service.search_sync(SearchQuery("How did Ana take the ferry to the lighthouse?")).match == "close"
    assert service.search_sync(SearchQuery("How did Ben take the ferry to the lighthouse?")).match == "exact"
    assert service.search_sync(SearchQuery("Ana ferry lighthouse ")).match == "exact"  # words, not a question
    home.say("c1", "Ana: the ferry to the lighthouse was late when I took it", author="Ana", them=True)
    assert service._indexer.wait(20)
    assert service.search_sync(SearchQuery("How did Ana take the ferry to the lighthouse?")).match == "exact"
