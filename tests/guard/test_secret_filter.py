"""The secret filter against the corpus's bars; failures print ids only."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.guard import secrets
from tests.corpus import SecretLine, secret_lines

SHARES = [("core", 1.0), ("wide", 0.97), ("stretch", 0.5001)]
HOSTILE = {
    "one letter": "a" * 100_000,
    "labels": "password" * 12_500,
    "labels with signs": "password:" * 11_000,
    "dots": "a." * 50_000,
    "dashes": "sk-" + "a-" * 50_000,
    "keys": "sk-a1B" * 16_000,
    "begins": "-----BEGIN PRIVATE KEY-----" * 3_700,
    "cookies": "cookie: a=b; " * 7_700,
    "spaces": "token " + " " * 100_000,
    "urls": "http://a:" * 11_000,
    "digits": "1" * 100_000,
    "jwt": "eyJ" * 33_000,
    "kubernetes": "kind: Secret\n" + "  a: b\n" * 14_000,
    "quotes": "'" * 100_000,
}


def lines(label: str, tier: str | None = None) -> list[SecretLine]:
    return [r for r in secret_lines() if r.label == label and tier in (None, r.tier)]


@pytest.mark.parametrize(("tier", "share"), SHARES)
def test_the_share_of_secrets_hidden_reaches_the_bar(tier: str, share: float) -> None:
    rows = lines("secret", tier)
    missed = [r.id for r in rows if not r.hidden_in(secrets.clean(r.text))]
    assert len(rows) - len(missed) >= share * len(rows), missed


def test_clean_lines_come_through_unchanged() -> None:
    rows = lines("clean")
    spoilt = [r.id for r in rows if secrets.clean(r.text) != r.text]
    assert len(spoilt) <= 0.01 * len(rows), spoilt


@pytest.mark.parametrize("row", secret_lines(), ids=lambda r: r.id)
def test_filtering_twice_changes_nothing_more(row: SecretLine) -> None:
    once = secrets.clean(row.text)
    assert secrets.clean(once) == once, row.id


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_linear_time(name: str) -> None:
    text = HOSTILE[name]
    secrets.clean("warm up")
    shorter = min(_cpu(text[: len(text) // 8]) for _ in range(3))
    whole = min(_cpu(text) for _ in range(2))
    assert whole <= 8 * 3 * max(shorter, 0.004), (shorter, whole)


def _cpu(text: str) -> float:
    began = time.process_time()
    secrets.clean(text)
    return time.process_time() - began


@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_any_text_is_filtered_once_and_for_all(text: str) -> None:
    once = secrets.clean(text)
    assert secrets.clean(once) == once
    spans = secrets.spans(text)
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))


@given(st.sampled_from([r.id for r in lines("secret", "core")]), st.text(max_size=40), st.text(max_size=40))
def test_a_key_is_hidden_whatever_stands_around_it(row_id: str, before: str, after: str) -> None:
    row = next(r for r in secret_lines() if r.id == row_id)
    assert row.hidden_in(secrets.clean(f"{before}\n{row.text}\n{after}")), row_id


def test_an_invisible_character_does_not_save_a_key() -> None:
    key = "ghp_" + "aB3dE5fG7h" * 4
    assert "aB3dE5" not in secrets.clean(f"look: {key[:10]}\u200b{key[10:]}")


def test_the_label_stays_and_the_value_goes() -> None:
    assert secrets.clean("password: hunter2x!") == f"password: {secrets.MASK}"
    assert secrets.clean("my PIN is 4821") == f"my PIN is {secrets.MASK}"
    assert secrets.clean("postgres://app:s3cretpw@db/x") == f"postgres://app:{secrets.MASK}@db/x"
