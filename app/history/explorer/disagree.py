"""Whether two passages are two sides of one matter: by their words alone, so that every engine is told the same."""

from __future__ import annotations

import re
from typing import Final

from app.history.explorer.evidence import Candidate, stems

_CHANGES: Final = re.compile(
    r"\b(instead|no longer|not any ?more|actually|rather than|replac\w*|supersed\w*|revers\w*|chang\w+ (?:our|my|the) "
    r"mind|switch\w*|moved? to|overrul\w*|correction|scrap\w*|drop(?:ped|ping)?|cancel\w*|from now on|new plan|"
    r"updated? decision)\b",
    re.IGNORECASE,
)


def sides(one: Candidate, other: Candidate, telling: set[str]) -> bool:
    """Whether the later of the two speaks of a change in what both, and the question's telling words, are about."""
    if (one.chat, one.message) == (other.chat, other.message):
        return False
    earlier, later = sorted((one, other), key=lambda c: c.at or 0)
    if not _CHANGES.search(later.text):
        return False
    before, after = stems(earlier.text), stems(later.text)
    return len(before & after & telling) >= max(1, len(telling) // 2) and bool(after - before)
