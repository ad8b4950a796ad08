"""Days and months that a query names ("3 June 2023", "in August", "2023-06-03"): lines said then count as finds."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Final

_TOLD_LATER: Final = 14  # days
_MONTHS: Final = "january february march april may june july august september october november december".split()  # noqa: SIM905
_NUMBER: Final = {name[:n]: i + 1 for i, name in enumerate(_MONTHS) for n in (3, len(name))} | {"sept": 9}
_MONTH = "(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"  # noqa: E501
_DAY = r"(?P<{0}>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<{0}>(?:19|20)\d\d)"
_NAMED = re.compile(
    r"\b(?:"
    rf"{_YEAR.format('y1')}-(?P<m1>[01]\d)(?:-(?P<d1>[0-3]\d))?"
    rf"|{_DAY.format('d2')}\s+(?:of\s+)?{_MONTH.format('m2')}\b\.?(?:,?\s+{_YEAR.format('y2')})?"
    rf"|{_MONTH.format('m3')}\.?\s+{_DAY.format('d3')}(?:,?\s+{_YEAR.format('y3')})?(?!\d)"
    rf"|{_MONTH.format('m4')}\.?,?\s+(?:of\s+)?{_YEAR.format('y4')}"
    rf"|(?:in|during|of|since|until|early|late|mid|last)[\s-]+{_MONTH.format('m5')}(?:,?\s+{_YEAR.format('y5')})?"
    r")\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Named:
    """A month or a day of it, of one year or of any; in the computer's time zone. `typed` are its words, folded."""

    month: int
    day: int | None = None
    year: int | None = None
    typed: frozenset[str] = frozenset()

    def nearness(self, at_ms: int) -> float:
        """1 in it; less, down to 0, in the fortnight after a day (things are told of later)."""
        then = dt.datetime.fromtimestamp(at_ms / 1000)
        for days in range(_TOLD_LATER if self.day is not None else 1):
            if self._has(then - dt.timedelta(days=days)):
                return 1.0 - days / _TOLD_LATER
        return 0.0

    def _has(self, then: dt.datetime) -> bool:
        return then.month == self.month and self.day in (None, then.day) and self.year in (None, then.year)


def named(text: str) -> list[Named]:
    """The days and months a text names, in order."""
    out: list[Named] = []
    for m in _NAMED.finditer(text):
        got = {k[0]: v for k, v in m.groupdict().items() if v}
        month = int(got["m"]) if got["m"].isdigit() else _NUMBER[got["m"].lower()]
        day = int(got["d"]) if "d" in got else None
        if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
            continue
        words = frozenset(w.lower() for w in re.findall(r"[^\W_]+", m[0]))
        out.append(Named(month, day, int(got["y"]) if "y" in got else None, words))
    return out
