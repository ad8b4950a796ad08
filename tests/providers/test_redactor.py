"""Known values are hidden in every form; nothing else is."""

from __future__ import annotations

import base64
import json
import re
import time
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from app.guard.redactor import MASK, SHORTEST_VALUE, Redactor

KEY = 'ab+/9"ü key-Zz83_kd/Q=='
values = st.text(st.characters(exclude_categories=("Cs",)), min_size=SHORTEST_VALUE, max_size=40).filter(
    lambda v: len(v.strip()) >= SHORTEST_VALUE
)
words = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


def test_a_value_is_hidden_raw_escaped_quoted_and_encoded() -> None:
    redactor = Redactor([KEY])
    for form in (
        KEY,
        json.dumps(KEY),
        json.dumps(KEY, ensure_ascii=False),
        json.dumps(json.dumps({"k": KEY})),
        quote(KEY),
        quote(KEY, safe=""),
        quote_plus(KEY),
        re.sub("%..", lambda m: m.group().lower(), quote(KEY, safe="")),
        KEY.encode().hex(),
    ):
        assert MASK in redactor.clean(f"before {form} after")
        assert "Zz83" not in redactor.clean(f"before {form} after")


def test_a_value_inside_a_longer_base64_text_is_hidden_at_every_place() -> None:
    redactor = Redactor(["sk-abc123def456ghi"])
    for before in ("", "u", "us", "user:"):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            coded = encode(f"{before}sk-abc123def456ghi:more".encode()).decode()
            cleaned = redactor.clean(coded)
            assert MASK in cleaned
            assert len(coded) - len(cleaned) > 15


@given(values, words, words)
def test_no_value_survives_and_cleaning_twice_changes_nothing(value: str, before: str, after: str) -> None:
    redactor = Redactor([value])
    once = redactor.clean(before + value + after)
    assert value.strip() not in once
    assert redactor.clean(once) == once


def test_short_values_and_other_words_are_left_alone() -> None:
    redactor = Redactor(["", "none", "x"])
    assert redactor.clean("none of this is a secret, x") == "none of this is a secret, x"


def test_a_value_that_contains_another_is_hidden_whole() -> None:
    assert Redactor(["secret-1", "secret-1-long"]).clean("a secret-1-long b secret-1") == f"a {MASK} b {MASK}"


def test_a_million_characters_take_well_under_a_second() -> None:
    redactor = Redactor(f"sk-{i:032d}" for i in range(20))
    start = time.process_time()
    redactor.clean("sk-0000" * 150_000)
    assert time.process_time() - start < 1.5
