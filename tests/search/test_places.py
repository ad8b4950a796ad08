"""Where lines are and how their words begin, held in memory: the same answers as without, also after changes."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from store import asking, beginnings, db, index, query, ranking
from store.models import SearchQuery
from store.places import Places
from store.retrieve import Core, Filters
from store.search import SearchService
from tests.search.conftest import Home

WORDS = [f"{a}{b}" for a in ("ba", "ko", "lu", "mi", "ta", "ze") for b in ("lk", "mb", "nt", "rg", "zo")]


def chatter(home: Home, rng: random.Random, chats: int) -> None:
    for n in range(chats):
        home.chat(f"c{n}")
    for _ in range(chats * 6):
        text = " ".join(rng.choices(WORDS, weights=range(1, len(WORDS) + 1), k=rng.randint(2, 15)))
        (home.say if rng.random() < 0.5 else home.answer)(f"c{rng.randrange(chats)}", text)


def read_in(service: SearchService) -> Places:
    """The places the lanes use, once they are read in."""
    path = service._indexer.path
    assert path is not None
    until = time.monotonic() + 10
    while time.monotonic() < until:
        places = service._indexer.places_of(path)
        if places is not None and places.whole and places.beginnings.whole:
            return places
        time.sleep(0.005)
    raise AssertionError("the places weren't read in")


def same_by_both(service: SearchService, places: Places, rng: random.Random) -> int:
    """Compare 60 queries with places and without; answers how many lines were found."""
    path = service._indexer.path
    assert path is not None
    owner, conn, found = service._indexer, ranking.open_index(path), 0
    for _ in range(60):
        typed = " ".join(w[: rng.randint(2, 4)] for w in rng.sample(WORDS, rng.randint(1, 3)))
        groups = query.groups(conn, query.parse(typed).pieces)
        with_places, joined = (
            Core(conn, owner.enhanced, owner.sizes, owner.by_no, places=p).exact(groups, Filters())
            for p in (places, None)
        )
        assert [(c.no, c.score, c.rows) for c in with_places.chats] == [(c.no, c.score, c.rows) for c in joined.chats]
        assert with_places.total == joined.total
        found += joined.total
    conn.close()
    return found


def test_answers_are_the_same_with_places_and_without(home: Home) -> None:
    rng = random.Random(4)
    chatter(home, rng, 12)
    service = home.service()
    assert same_by_both(service, read_in(service), rng) > 200


def test_places_follow_what_is_said_and_deleted_later(home: Home) -> None:
    rng = random.Random(5)
    chatter(home, rng, 8)
    service = home.service()
    places = read_in(service)
    before = places.end
    home.chat("newest", "balk komb")
    assert service._indexer.wait(20)
    assert places.end == before + 1
    home.store.delete_sync("newest")
    assert service._indexer.wait(20)
    home.chat("after", "balk komb zezo", "lunt")
    assert service._indexer.wait(20)
    assert read_in(service) is places
    assert same_by_both(service, places, rng) > 100
    assert service.search_sync(SearchQuery("balk komb zezo ")).groups[0].chat.id == "after"


def test_the_id_of_a_deleted_line_is_not_given_again(home: Home) -> None:
    home.chat("c1", "heron")
    service = home.service()
    end = read_in(service).end
    home.store.delete_sync("c1")
    home.chat("c2", "heron")
    assert service._indexer.wait(20)
    conn = db.connect(service._indexer.path, readonly=True)
    assert [r[0] for r in conn.execute("SELECT id FROM msg")] == [end]
    conn.close()


def test_lines_that_are_not_known_yet_are_looked_up_in_the_table(home: Home) -> None:
    home.chat("c1", "heron mill", "heron again")
    service = home.service()
    conn = ranking.open_index(service._indexer.path)
    half = Places(service._indexer.path)
    half.load(conn)
    half.end -= 1  # as if the newest line had come since
    owner = service._indexer
    core = Core(conn, owner.enhanced, owner.sizes, owner.by_no, places=half)
    found = core.exact(query.groups(conn, query.parse("heron ").pieces), Filters())
    assert found.total == 2 and len(found.chats[0].rows) == 2
    conn.close()


def test_reading_in_goes_on_where_it_stopped_and_over_gaps(tmp_path: Path) -> None:
    conn = db.connect(tmp_path / "i.db")
    conn.execute("CREATE TABLE msg(id INTEGER PRIMARY KEY, chat INT, pos INT, who INT, len INT)")
    conn.execute("CREATE TABLE vocab(term TEXT, df INT)")
    ids = [n for n in range(1, 12_000) if n % 97]
    conn.executemany("INSERT INTO msg VALUES (?,?,?,?,?)", [(n, n % 50, n // 50, n % 4, n % 300) for n in ids])
    places = Places()
    rounds = 1
    while not places.load(conn):
        rounds += 1
    assert rounds == 3 and places.end == 12_000
    asked = ids[::-7]
    chats, at, who, lengths = places.of(asked)
    assert list(zip(chats, at, who, lengths, strict=True)) == [(n % 50, n // 50, n % 4, n % 300) for n in asked]
    conn.close()


COMMON = ["stone", "story", "stork", "sto", "stop", "Störung", "tree"]
RARE = ["heron", "lantern", "orchard", "ferry", "harbour", "whistle"]


def with_common_beginnings(home: Home, rng: random.Random, lines: int) -> None:
    """Many lines with words that begin alike, a few with a rare word among them."""
    for n in range(6):
        home.chat(f"c{n}")
    for n in range(lines):
        words = rng.choices(COMMON, k=rng.randint(1, 4)) + rng.choices(["pond", "lake"], k=1)
        home.say(f"c{rng.randrange(6)}", " ".join([*words, rng.choice(RARE)] if n % 12 == 0 else words))


def compared(service: SearchService, places: Places, typed: str) -> int:
    """By looking beginnings up and by walking; answers how many lines, the same by both."""
    owner = service._indexer
    conn = ranking.open_index(owner.path)
    groups = query.groups(conn, query.parse(typed).pieces)
    cores = [Core(conn, owner.enhanced, owner.sizes, owner.by_no, places=p) for p in (places, None)]
    looked_up, walked = (c.exact(groups, Filters()) for c in cores)
    assert [(c.no, c.rows) for c in looked_up.chats] == [(c.no, c.rows) for c in walked.chats], typed
    assert [c.score for c in looked_up.chats] == pytest.approx([c.score for c in walked.chats])
    assert looked_up.total == walked.total
    conn.close()
    return looked_up.total


def is_looked_up(service: SearchService, places: Places, typed: str) -> bool:
    conn = ranking.open_index(service._indexer.path)
    groups = query.lean(query.groups(conn, query.parse(typed).pieces))
    conn.close()
    return asking.looked_up(groups, places.beginnings, 4000, lambda groups: "") is not None


def test_common_beginnings_beside_a_rare_word_are_looked_up_with_the_same_answer(home: Home) -> None:
    rng = random.Random(6)
    with_common_beginnings(home, rng, 240)
    service = home.service()
    places = read_in(service)
    asked = [f"{a} {b}" for a in RARE for b in ("sto", "tre", "pon", "stor", "st")]
    assert sum(compared(service, places, typed) for typed in asked) > 40
    assert all(is_looked_up(service, places, f"{a} sto") for a in RARE)
    assert not is_looked_up(service, places, "heron stor")  # no beginning that is kept
    assert not is_looked_up(service, places, "tree sto")  # no rare word beside it
    assert not is_looked_up(service, places, "heron sto ")  # a whole word


def test_beginnings_follow_what_is_said_and_deleted_later(home: Home) -> None:
    rng = random.Random(7)
    with_common_beginnings(home, rng, 240)
    service = home.service()
    places = read_in(service)
    home.chat("new", "a stork and a heron", "heron without", "HERON_storm stOne", "heron Stömen", "heronStone")
    home.store.delete_sync("c3")
    home.chat("newer", "heron", "heron stockade")
    assert service._indexer.wait(20)
    assert is_looked_up(service, places, "heron sto")
    before = compared(service, places, "heron sto")
    assert before >= 5
    assert {g.chat.id for g in service.search_sync(SearchQuery("heron sto", typing=True)).groups} >= {"new", "newer"}


def test_an_index_of_very_many_lines_keeps_no_beginnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beginnings, "LINES_MOST", 3)
    conn = index.create(tmp_path / "i.db")
    conn.executemany("INSERT INTO vocab(term, df, stem) VALUES (?,?,?)", [("stone", 9, "stone")])
    kept = beginnings.Beginnings()
    kept.start(conn, 4)
    assert kept.whole and not kept.have("sto")
    kept.add(7, {"stone"})
    conn.close()
