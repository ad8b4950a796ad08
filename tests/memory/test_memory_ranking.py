"""Which memories a question is about, and what fits in front of a message; pure."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from store.limits import MEMORY_CHARS
from store.memory import Memory, MemoryFiles, as_file, chosen, content_of, ranked

DAY = 86_400_000


def of(*texts: str, at: int = 0) -> list[Memory]:
    return [Memory(f"y_{n}", "fact", text, at + n) for n, text in enumerate(texts)]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    memories = of("likes the sea", "likes the cello", "likes the rain", "plays cello on Fridays")
    assert ranked("likes cello", memories, DAY)[0].content == "likes the cello"
    assert ranked("glacier", memories, DAY) == [] == ranked("", memories, DAY) == ranked("cello", [], DAY)


def test_of_two_alike_the_newer_comes_first_but_freshness_never_beats_words() -> None:
    old, new = Memory("y_1", "fact", "owns a red boat", 0), Memory("y_2", "fact", "owns a blue boat", 400 * DAY)
    assert ranked("boat", [old, new], 400 * DAY) == [new, old]
    assert ranked("red boat", [old, new], 400 * DAY) == [old, new]


def test_one_letter_off_is_found_and_the_nearer_word_wins() -> None:
    memories = of("allergic to peanuts", "a pianist")
    assert [m.content for m in ranked("peanutts", memories, DAY)] == ["allergic to peanuts"]
    assert [m.content for m in ranked("東京", of("東京に住む", "likes tea"), DAY)] == ["東京に住む"]


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


@settings(deadline=None)
@given(texts, st.lists(texts, max_size=8))
def test_ranking_takes_any_text_and_invents_nothing(query: str, contents: list[str]) -> None:
    memories = of(*contents)
    found = ranked(query, memories, DAY)
    assert len({m.id for m in found}) == len(found) and set(found) <= set(memories)


@given(texts, st.lists(st.integers(0, 400), max_size=12), st.sets(st.integers(0, 11)), st.integers(0, 900))
def test_what_is_chosen_fits_and_is_never_told_twice(query: str, sizes: list[int], had: set[int], most: int) -> None:
    memories = of(*("a" * size for size in sizes))
    told = frozenset(f"y_{n}" for n in had)
    found, more = chosen(query, memories, DAY, most, told)
    assert sum(len(m.content) for m in found) <= most and not {m.id for m in found} & told
    if sum(sizes) <= most:
        assert {m.id for m in found} == {m.id for m in memories} - told and not more


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=200).map(str.strip).filter(bool))
def test_a_file_gives_its_words_back(content: str) -> None:
    assert content_of(as_file(Memory("y_1", "fact", content, 1, "kept", ("c_1",)))) == content


def test_what_is_no_memorys_file_is_left_alone(tmp_path: Path) -> None:
    files = MemoryFiles(tmp_path)
    (tmp_path / "y_1.md").write_text("no head")
    assert files.read("y_1") is None and files.read("y_2") is None
    assert content_of("---\nkind: fact\n---\n \n") is None and content_of("---\nno end") is None
    long = Memory("y_3", "fact", "x" * (MEMORY_CHARS + 9), 1)
    files.write(long)
    assert files.edited([long]) == {}
