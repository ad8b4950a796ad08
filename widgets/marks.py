"""The few marks that tell a state without colour, and short words for times and sizes."""

from __future__ import annotations

import datetime as dt
from typing import Final

WORKING: Final = "●"
NEEDS_YOU: Final = "◆"
IDLE: Final = "○"
STOPPED: Final = "◌"
FOLDED: Final = "▸"
OPEN: Final = "▾"
BAR: Final = "┃"
CURSOR: Final = "▌"
MORE: Final = "…"

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def local(at_ms: int) -> dt.datetime:
    """`at` in the person's own zone."""
    return dt.datetime.fromtimestamp(at_ms / 1000).astimezone()


def clock_time(at_ms: int) -> str:
    """Hours and minutes, such as 14:02."""
    return f"{local(at_ms):%H:%M}"


def day(at_ms: int, now_ms: int) -> str:
    """A day in a few letters: "12 Sep", with the year when it isn't this one."""
    then, now = local(at_ms), local(now_ms)
    year = "" if then.year == now.year else f" {then.year}"
    return f"{then.day} {then:%b}{year}"


def ago(at_ms: int | None, now_ms: int) -> str:
    """How long ago in words: "just now", "5 minutes ago", "6 days ago", then a date; "" when unknown."""
    if at_ms is None:
        return ""
    past = now_ms - at_ms
    if past < MINUTE:
        return "just now"
    for unit, word, most in ((MINUTE, "minute", 60), (HOUR, "hour", 24), (DAY, "day", 14)):
        count = past // unit
        if count < most:
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return day(at_ms, now_ms)


def age(at_ms: int | None, now_ms: int) -> str:
    """The same for a narrow place: "", "3m", "2h", "6d", then a date."""
    if at_ms is None or now_ms - at_ms < MINUTE:
        return ""
    past = now_ms - at_ms
    if past < HOUR:
        return f"{past // MINUTE}m"
    if past < DAY:
        return f"{past // HOUR}h"
    return f"{past // DAY}d" if past < 7 * DAY else day(at_ms, now_ms)


def lasted(ms: int) -> str:
    """How long something took: "0.4 s", "12 s", "3 min", "2 h 5 min"."""
    if ms < 1000:
        return f"{ms / 1000:.1f} s"
    if ms < MINUTE:
        return f"{ms // 1000} s"
    if ms < HOUR:
        return f"{ms // MINUTE} min"
    hours, rest = divmod(ms, HOUR)
    return f"{hours} h {rest // MINUTE} min" if rest >= MINUTE else f"{hours} h"


def count(number: int, word: str, many: str = "") -> str:
    """A count with its word: "1 chat", "2 chats"."""
    return f"{number:,} {word if number == 1 else many or word + 's'}"


def tokens(number: int) -> str:
    """A count of tokens for a narrow place: "940 tokens", "18k tokens", "1.2M tokens"."""
    if number < 1000:
        return f"{number} tokens"
    return f"{number // 1000}k tokens" if number < 1_000_000 else f"{number / 1_000_000:.1f}M tokens"
