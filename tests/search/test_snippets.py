"""Snippets: masked, then marked, then cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.guard import secrets
from store import snippets
from store.projection import flatten
from store.snippets import MASK, Marks


def test_the_mask_is_the_secret_filters_own() -> None:
    assert secrets.MASK == MASK
    assert secrets.clean(f"key {MASK} here") == f"key {MASK} here"


WORDS = st.lists(
    st.sampled_from(["heron", "mill", "a", "\n", "  ", "x" * 90, MASK, "東京都", "getUserName", "é"]), max_size=80
)


@given(WORDS, st.integers(20, 200))
def test_a_snippet_is_short_its_ranges_lie_in_it_and_masks_are_whole(words: list[str], width: int) -> None:
    text = " ".join(words)
    marks = Marks(frozenset({"heron", "user"}), ("mil",), ("京",))
    cut, ranges = snippets.snippet(text, snippets.ranges(text, marks), width)
    assert len(cut) <= width
    assert "\n" not in cut and "  " not in cut.strip("…")
    end = 0
    for s, e in ranges:
        assert end <= s < e <= len(cut)
        end = e
        piece = cut[s:e].lower()
        assert any(piece.strip("…") in word for word in ("heron", "mill", "user", "京")), piece
    assert cut.count("‹") == cut.count("›") == cut.count(MASK)


def test_the_window_holds_the_most_finds() -> None:
    text = "heron " + "x " * 200 + "the heron met a heron by the mill of herons " + "y " * 200
    cut, ranges = snippets.snippet(text, snippets.ranges(text, Marks(frozenset({"heron", "herons", "mill"}))))
    assert "the heron met a heron by the mill" in cut
    assert cut.startswith("…") and cut.endswith("…")
    assert len(ranges) == 4


def test_touching_ranges_are_one_and_there_are_at_most_200() -> None:
    assert snippets.joined([(5, 9), (0, 5), (20, 22), (21, 30)]) == [(0, 9), (20, 30)]
    assert len(snippets.ranges("heron, " * 5000, Marks(frozenset({"heron"})))) <= 200


@given(st.text(max_size=200), st.integers(5, 60))
def test_a_cut_is_no_longer_than_asked(text: str, limit: int) -> None:
    assert len(snippets.cut(text, limit)) <= limit


def test_a_cut_keeps_a_mask_whole() -> None:
    for limit in range(6, 24):
        assert snippets.cut(f"the key is {MASK} and so on and on", limit).count("‹") == snippets.cut(
            f"the key is {MASK} and so on and on", limit
        ).count("›")


def test_markdown_is_flattened_to_what_a_reader_sees() -> None:
    said = (
        "# Plan **now** #\n\n- [x] done `a_b*c*`\n1. *one* and __two__ ~~three~~\n> quoted [link](http://x.y/(a))\n"
        "![picture](z.png) <b>bold</b>\n\n```py\nx = a*b*c  # kept\n```\n| a | b |\n|---|:-:|\n| 1 | **2** |\n***\n"
        "snake_case_name 2*3*4 <https://a.b/c>"
    )
    assert [line for line in flatten(said).splitlines() if line] == [
        "Plan now",
        "done a_b*c*",
        "one and two three",
        "quoted link",
        "picture bold",
        "x = a*b*c  # kept",
        "a b",
        "1 2",
        "snake_case_name 2*3*4 https://a.b/c",
    ]


@given(st.text(alphabet="*_`~#>[]()|-+1. \nab<", max_size=300))
def test_flattening_never_raises_and_never_grows(text: str) -> None:
    assert len(flatten(text)) <= len(text) + 2


def test_flattening_hard_texts_is_quick() -> None:
    import time

    for text in (
        "**a " * 20_000,
        "|---" + "| " * 20_000 + "x",
        "| " * 20_000 + "x",
        "- " * 20_000 + "x",
        "- -\t" * 9_000 + "x",
        "[x](" * 20_000,
        "[x](a" * 20_000,
        "``a" + "`a" * 20_000,
        "__a_ " * 20_000,
        "*a" * 20_000,
        "```\n" * 20_000,
        "~~~ \n```\n" * 9_000,
        "![" * 20_000,
        " " * 20_000 + "#" * 20_000,
        "# a " + "#" * 20_000 + " x",
        "[" * 20_000,
        "`a" * 20_000,
        "> " * 20_000,
        "|" * 20_000,
        "<a " * 20_000,
        "_a " * 20_000,
    ):
        started = time.thread_time()
        flatten(text)
        assert time.thread_time() - started < 2.0, text[:4]
