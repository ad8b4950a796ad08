"""Foreign text on screens, in names and in frames."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.guard.quoting import HOST, TAGS, defused, fence, host_line
from store.text import fold, safe_name, safe_text
from tests.corpus import Injection, injections

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


def flattened(block: str) -> str:
    """As a reader that normalises everything would see it."""
    block = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", block).casefold())
    return "".join(c for c in block if c == "\n" or unicodedata.category(c) not in ("Mn", "Cf", "Cc", "Cs", "Co", "Cn"))


def assert_one_frame(text: str) -> None:
    block = flattened(host_line("another chat wrote") + "\n" + fence("chat-message", text, chat="A “title”]"))
    assert block.count("<") == 2
    assert block.count("<chat-message") == 1
    assert block.endswith("</chat-message>")
    assert block.count("[") == 1
    assert block.count("]") == 1


@pytest.mark.parametrize("row", injections(), ids=lambda r: r.id)
def test_a_hostile_line_stays_in_its_frame_and_off_the_terminal(row: Injection) -> None:
    assert_one_frame(row.text)
    assert not UNSEEN.search(safe_text(row.text))
    assert safe_text(safe_text(row.text)) == safe_text(row.text)


@pytest.mark.parametrize("row", injections(), ids=lambda r: r.id)
def test_a_hostile_title_becomes_one_plain_line(row: Injection) -> None:
    name = safe_name(row.text)
    assert 1 <= len(name) <= 120
    assert "\n" not in name
    assert not any(
        c in "<>[]\"'`" or unicodedata.category(c) in ("Ps", "Pe", "Pi", "Pf", "Cc", "Cf")
        for c in name + unicodedata.normalize("NFKC", name)
    )


@given(ANY_TEXT)
def test_no_text_gets_out_of_its_frame(text: str) -> None:
    assert_one_frame(text)


@given(ANY_TEXT)
def test_no_text_reaches_the_terminal_with_a_control_character(text: str) -> None:
    shown = safe_text(text)
    assert not UNSEEN.search(shown)
    assert safe_text(shown) == shown
    assert "\n" not in safe_text(text, one_line=True)
    assert not UNSEEN.search(safe_text(text, mark_bidi=True))


@given(ANY_TEXT)
def test_folding_keeps_every_offset(text: str) -> None:
    assert len(fold(text)) == len(text)
    assert fold(fold(text)) == fold(text)


def test_ordinary_text_is_left_alone() -> None:
    for text in ("Hello, wörld!", "日本語 かな", "a family 👨‍👩‍👧 and ❤️", "x = [1, 2] # <b>", "Việt Nam"):
        assert safe_text(text) == text


def test_marks_name_what_cannot_be_seen() -> None:
    assert safe_text("rm \u202etxt", mark_bidi=True) == "rm ⟨RLO⟩txt"
    assert "⟨ESC⟩" in safe_text("a\x1b[2Jb", mark_bidi=True)


def test_a_long_text_says_how_much_is_missing() -> None:
    assert safe_text("x" * 50, limit=40).endswith("… 10 characters more")


def test_a_sequence_never_takes_the_words_after_it() -> None:
    assert safe_text("a\x1b]0;PWNED\x07b\x1b[31mc\x1b(0d") == "abcd"
    assert HOST == "Shoal"


@pytest.mark.parametrize("row", injections(), ids=lambda r: r.id)
def test_a_hostile_line_in_a_result_never_reads_as_shoals_own(row: Injection) -> None:
    shown = defused(row.text)
    assert len(shown) == len(row.text)
    flat = re.sub(r"\s", "", flattened(shown))
    assert "[shoal" not in flat
    assert not re.search(rf"</?(?:{'|'.join(TAGS)})", flat)


def test_code_in_a_result_stays_code() -> None:
    for text in ("x = [1, 2]", "<div>[a](b)</div>", "if a < b and c[0] > d:"):
        assert defused(text) == text
