"""The secret filter with strangers: lines written by someone who had not seen the filter; failures print ids only.

The first round was written blind (112 of 150 hidden right then) and the filter was mended by kinds with it in view. The
second was measured once after that (27 of 40, with 20 before the mending) and never tuned to: it is the honest figure.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.guard import carriers, secrets
from tests.corpus import SecretLine
from tests.guard.strangers import strangers
from tests.guard.strangers2 import strangers_again

ALL = [*strangers(), *strangers_again()]


def missed(lines: Sequence[SecretLine]) -> list[str]:
    return [row.id for row in lines if row.label == "secret" and not row.hidden_in(secrets.clean(row.text))]


def test_nearly_all_secrets_of_the_first_strangers_are_hidden() -> None:
    assert sum(row.label == "secret" for row in strangers()) == 150
    assert len(missed(strangers())) <= 4, missed(strangers())


def test_two_of_three_secrets_in_places_nobody_thought_of_are_hidden() -> None:
    assert sum(row.label == "secret" for row in strangers_again()) == 40
    assert len(missed(strangers_again())) <= 13, missed(strangers_again())


@pytest.mark.parametrize("rows", [strangers(), strangers_again()], ids=["first", "second"])
def test_what_only_looks_like_a_secret_comes_through_unchanged(rows: Sequence[SecretLine]) -> None:
    clean = [row for row in rows if row.label == "clean"]
    spoilt = [row.id for row in clean if secrets.clean(row.text) != row.text]
    assert len(clean) >= 40 and len(spoilt) <= 0.01 * len(clean), spoilt


def test_filtering_twice_changes_nothing_more() -> None:
    once = {row.id: secrets.clean(row.text) for row in ALL}
    assert [name for name, text in once.items() if secrets.clean(text) != text] == []


NAMES = ["password", "user", "api_key", "note", "Wi-Fi password", "secret", ""]
WORDS = ["Tr0ub4dor&3x", "anna", "k3J9x0QmZ7LpW2vB", "(unset)", "1", "‹hidden›", "a b", "naïve", ""]


@given(
    st.sampled_from("|,;\t│"),
    st.lists(st.lists(st.sampled_from([*NAMES, *WORDS]), min_size=1, max_size=5), max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_a_cell_that_is_taken_for_a_secret_is_one_whole_word_of_the_table(
    sign: str, rows: list[list[str]], end: str
) -> None:
    text = end.join(f"{sign} {f' {sign} '.join(row)} {sign}" for row in rows)
    words = {word for cell in (*NAMES, *WORDS) for word in cell.split()}
    for start, stop, _kind in carriers.cells(text):
        assert text[start:stop] in words and text[start:stop] not in ("anna", "1", "(unset)")


@pytest.mark.parametrize("sign", ["|", "│", ",", ";", "\t"])
def test_the_cell_under_a_telling_name_is_found_whatever_parts_the_columns(sign: str) -> None:
    row = (lambda *cells: f"{sign} {f' {sign} '.join(cells)} {sign}") if sign in "|│" else (lambda *c: sign.join(c))
    text = f"{row('user', 'password')}\n{row('anna', 'Tr0ub4dor&3x')}\n{row('ben', 'q9!Lantern-77')}\n"
    assert [text[a:b] for a, b, _ in carriers.cells(text)] == ["Tr0ub4dor&3x", "q9!Lantern-77"]
