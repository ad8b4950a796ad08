"""Wrapping, cutting and marking of lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets.line import find_spans, fit, mark_ranges, spread, wrap

WORDS = st.text(alphabet=st.sampled_from("ab cd—é日本語 字ﬁ👍\n-_"), max_size=120)


@given(WORDS, st.integers(2, 40))
def test_a_wrapped_text_loses_no_letter_and_fits(text: str, width: int) -> None:
    lines = wrap([(text, "")], width)
    assert all(line.cells <= width for line in lines)
    assert "".join("".join(line.plain for line in lines).split()) == "".join(text.split())


@given(WORDS, WORDS, st.integers(4, 40))
def test_pieces_wrap_as_their_text_does(first: str, second: str, width: int) -> None:
    parted = wrap([(first, "strong"), (second, "")], width)
    assert [line.plain for line in parted] == [line.plain for line in wrap([(first + second, "")], width)]


@given(WORDS, st.integers(0, 30))
def test_a_cut_text_fits_and_says_that_it_was_cut(text: str, width: int) -> None:
    text = text.replace("\n", " ")
    cut = fit(text, width)
    assert cell_len(cut) <= width
    assert cut == text or not width or cut.endswith("…")


def test_prefixes_stand_before_the_first_and_the_other_lines() -> None:
    lines = wrap([("one two three", "")], 8, first=("• ", "accent"))
    assert [line.plain for line in lines] == ["• one", "  two", "  three"]


def test_words_at_two_ends_fill_the_width_and_the_left_gives_way() -> None:
    assert spread([("title", "")], [("2h", "")], 12).plain == "title     2h"
    assert spread([("a very long title", "")], [("2h", "")], 12).plain == "a very l… 2h"
    assert spread([("日本語日本語", "")], [("2h", "")], 12).cells == 12


def test_ranges_may_overlap_or_lie_outside() -> None:
    pieces = mark_ranges("abcdef", [(3, 99), (1, 4), (-2, 1), (8, 9)], "")
    assert "".join(text for text, _ in pieces) == "abcdef"
    assert [text for text, style in pieces if style == "mark"] == ["a", "bcd", "ef"]


def test_words_are_found_across_the_end_of_a_line_and_without_accents() -> None:
    spans = find_spans(["the old", "mill is Café"], "OLD mill")
    assert spans == [[(4, 7, 0, True)], [(0, 4, 0, False)]]
    assert find_spans(["the Café"], "cafe") == [[(4, 8, 0, True)]]
    assert find_spans([], "x") == []
