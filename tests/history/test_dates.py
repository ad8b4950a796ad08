"""`after` and `before` are read strictly (faults S11)."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.history.dates import BAD_DATE, SWAPPED, parse_date, parse_range


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-03-05T14:30+02:00", "2026-03-05T12:30:00"),
        ("2026-03-05T14:30:15.250Z", "2026-03-05T14:30:15.250"),
        (" 2026-03-05 14:30+0000 ", "2026-03-05T14:30:00"),
        ("0001-01-01T00:00Z", "0001-01-01T00:00:00"),
        ("9999-12-31T23:59Z", "9999-12-31T23:59:00"),
    ],
)
def test_a_time_with_a_zone_is_that_moment(text: str, utc: str) -> None:
    moment = dt.datetime.fromisoformat(utc).replace(tzinfo=dt.UTC)
    assert parse_date(text, "after") == (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(
        milliseconds=1
    )


def test_a_date_without_a_zone_begins_at_the_persons_midnight() -> None:
    local = dt.datetime(2026, 3, 5).astimezone()
    assert parse_date("2026-03-05", "after") == int(local.timestamp() * 1000)


def test_none_and_nothing_are_no_date() -> None:
    assert parse_date(None, "after") is None and parse_date("  ", "before") is None
    assert parse_range(None, None) == (None, None)


def test_an_empty_range_is_said() -> None:
    for after, before in (
        ("2026-03-05", "2026-03-05"),
        ("2026-03-06", "2026-03-05"),
        ("2026-03-05T10:00Z", "2026-03-05T09:00Z"),
    ):
        with pytest.raises(ValueError) as error:
            parse_range(after, before)
        assert str(error.value) == SWAPPED


@given(st.text(max_size=30) | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2})?", fullmatch=True))
def test_anything_else_is_one_sentence_that_names_the_argument(text: str) -> None:
    try:
        parse_date(text, "before")
    except ValueError as error:
        assert str(error) == BAD_DATE.format(name="before")
