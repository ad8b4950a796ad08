"""What every importer hands over, and how ids, times and texts of somebody's file become ours."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from store.clock import Clock, SystemClock
from store.events import ChatCreated, Event
from store.importers.lines import CUT_MARK
from store.limits import IMPORT_MESSAGE_CHARS

DAY_MS = 86_400_000
EARLIEST_MS = 631_152_000_000  # 1990: what claims to be older isn't a chat's time
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class ImportFailed(Exception):
    """The file can't be imported: one sentence."""


@dataclass(frozen=True, slots=True)
class Head:
    """The facts about a chat; `created` carries title, folder, origin and the like."""

    chat: str  # the file's own id
    created: ChatCreated
    at: int = 0  # 0: unknown
    persons_title: bool = False  # the title was the person's own, so a later one of a model doesn't replace it


@dataclass(frozen=True, slots=True)
class Said:
    """One event of a chat. `order` sorts within the chat and names it there: the same order twice is the same line."""

    chat: str
    order: int
    event: Event
    at: int = 0
    chars: int = 0


class Format(Protocol):
    """A kind of file, read object by object."""

    program: str  # in words
    source: str  # what the ids' prefix is made of
    taint: str  # the label of the `app` mark every chat gets
    by_order: bool  # whether `order` (else the row's id) tells an old line from a new one

    def knows(self, line: Mapping[str, Any]) -> bool:
        """Whether this object is of the format."""

    def take(self, line: Mapping[str, Any]) -> Head | Said | None:
        """What it says; None for what isn't imported. Raises Unreadable."""


class Times:
    """Reads times of any form; what can't be true is 0, unknown."""

    def __init__(self, clock: Clock) -> None:
        self._latest = max(clock.now_ms(), SystemClock().now_ms()) + DAY_MS

    def ms(self, value: object) -> int:
        """Epoch ms of an ISO text (local where no zone is given), or of seconds, ms or µs by their size."""
        if isinstance(value, bool):
            return 0
        if isinstance(value, str):
            value = value.strip()
            if re.fullmatch(r"\d{1,17}(\.\d+)?", value, re.ASCII):
                value = float(value)
            else:
                return self._true(_iso_ms(value))
        if not isinstance(value, int | float) or not 0 < value < 1e17:
            return 0
        return self._true(int(value * 1000 if value < 1e11 else value if value < 1e14 else value / 1000))

    def _true(self, at: int) -> int:
        return at if EARLIEST_MS <= at <= self._latest else 0


def _iso_ms(text: str) -> int:
    try:
        when = dt.datetime.fromisoformat(text)
        when = when.astimezone() if when.tzinfo is None else when
        return int((when - _EPOCH) / dt.timedelta(milliseconds=1))
    except (ValueError, OverflowError, OSError):
        return 0


def own_id(value: object, most: int) -> str:
    """The file's id as it can be used: printable, at most `most` characters; "" when there is none."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    good = "".join(c if (c.isprintable() and c not in " /\\") or c == "/" else "_" for c in text)
    if good == text and len(text) <= most:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{good[: most - 13]}~{digest}"


def cut_text(text: str, most: int = IMPORT_MESSAGE_CHARS) -> str:
    """A message's text, cut with a mark when it is too long."""
    return text if len(text) <= most else text[:most] + CUT_MARK


def text_of(line: Mapping[str, Any], name: str, *, default: str = "") -> str:
    """A text field; another type is as if it were missing."""
    value = line.get(name)
    return value if isinstance(value, str) else default
