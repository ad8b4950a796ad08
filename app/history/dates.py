"""The dates of `after` and `before`, read strictly: a date that can't be is said, never guessed."""

from __future__ import annotations

import datetime as dt
import re

BAD_DATE = "`{name}` isn't a date: write it as 2026-03-05, or with a time as 2026-03-05T14:30+02:00."
SWAPPED = "`after` must be earlier than `before`; between these two nothing can lie."
_FORM = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})?)?\Z", re.ASCII)


def parse_date(text: str | None, name: str) -> int | None:
    """Epoch ms of an ISO date (its first moment) or time, in the local zone where none is given; None for none.

    `after` counts from that moment on, `before` up to it. Raises ValueError with one sentence naming the argument.
    """
    if text is None or not (text := text.strip()):
        return None
    try:
        if not _FORM.match(text):
            raise ValueError(text)
        when = dt.datetime.fromisoformat(text)
        if when.tzinfo is None:
            when = _local(when)
        return int((when - _EPOCH) / dt.timedelta(milliseconds=1))
    except (ValueError, OverflowError, OSError):
        raise ValueError(BAD_DATE.format(name=name)) from None


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _local(when: dt.datetime) -> dt.datetime:
    try:
        return when.astimezone()
    except (ValueError, OverflowError, OSError):  # years the system's zone rules don't reach
        return when.replace(tzinfo=dt.UTC)


def parse_range(after: str | None, before: str | None) -> tuple[int | None, int | None]:
    """Both ends as epoch ms. Raises ValueError with one sentence for a bad date or an empty range."""
    start, end = parse_date(after, "after"), parse_date(before, "before")
    if start is not None and end is not None and start >= end:
        raise ValueError(SWAPPED)
    return start, end
