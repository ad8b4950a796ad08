"""Days that a question names ("yesterday", "last week", "in May"), as ISO dates; generous, since memory is; pure."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

_MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
]  # fmt: skip
_MONTH = re.compile(rf"\b(?:in|during|from|since|last|of)\s+({'|'.join(_MONTHS)})\b(?:\s+(\d{{4}})\b)?", re.IGNORECASE)
_ISO = re.compile(r"\b(?:on|since|after|from)\s+(\d{4}-\d{2}-\d{2})\b", re.IGNORECASE)
_NEAR = re.compile(
    r"\b(today|this morning|yesterday|last night|(?:this|last|the past|past) (?:week|month|year)"
    r"|(?:last|this) weekend)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Days:
    """The words that named the days, and the range as ISO dates; `before` isn't included.

    `relative`: seen from today ("last week"), which the search itself can't know; it does know "in May 2023".
    """

    words: str
    after: str
    before: str = ""
    relative: bool = True


def days_of(text: str, today: dt.date) -> Days | None:
    """The days that `text` names, seen from `today`; None when it names none."""
    if match := _ISO.search(text):
        try:
            day = dt.date.fromisoformat(match.group(1))
        except ValueError:
            return None
        since = match.group().lower().startswith(("since", "after", "from"))
        return Days(match.group(), day.isoformat(), "" if since else _next(day), relative=False)
    if (match := _NEAR.search(text)) and not re.search(r"\b\d{4}\b", text):  # "the weekend before April 10, 2023"
        return _near(match.group(), today)
    if match := _MONTH.search(text):
        return _month(match, today)
    return None


def _near(words: str, today: dt.date) -> Days:
    low = words.lower()
    if low in ("today", "this morning"):
        return Days(words, today.isoformat())
    if low in ("yesterday", "last night"):
        return Days(words, (today - dt.timedelta(days=1)).isoformat(), today.isoformat())
    if low.endswith("year"):
        if low.startswith("last"):
            return Days(words, f"{today.year - 1}-01-01", f"{today.year}-01-01")
        return Days(words, f"{today.year}-01-01")
    back = 62 if low.endswith("month") else 14
    return Days(words, (today - dt.timedelta(days=back)).isoformat())


def _month(match: re.Match[str], today: dt.date) -> Days:
    number = _MONTHS.index(match.group(1).lower()) + 1
    year = int(match.group(2) or (today.year if number <= today.month else today.year - 1))
    year = min(max(year, 1), 9998)
    first = dt.date(year, number, 1)
    if match.group().lower().startswith("since"):
        return Days(match.group(), first.isoformat(), relative=False)
    return Days(
        match.group(), first.isoformat(), dt.date(year + number // 12, number % 12 + 1, 1).isoformat(), relative=False
    )


def _next(day: dt.date) -> str:
    return (day + dt.timedelta(days=1)).isoformat() if day < dt.date.max else ""
