"""Secrets that a cut would tear: what is shown of a long line or of the middle of a file, hidden before it is cut."""

from __future__ import annotations

import re
from typing import Final

from app.guard import secrets
from store.limits import HIDDEN_MARGIN_CHARS

_BEGINS: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY")
_ENDS: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")


def cut(line: str, start: int, end: int) -> str:
    """`line[start:end]`, in which no part of a secret is left that reaches over the cut."""
    from_, to = max(0, start - HIDDEN_MARGIN_CHARS), end + HIDDEN_MARGIN_CHARS
    if from_ == start and to - HIDDEN_MARGIN_CHARS >= len(line):
        return line[start:end]  # nothing is cut: the filter sees all of it later
    around = line[from_:to]
    inside = [(max(a, start - from_), min(b, end - from_)) for a, b in secrets.spans(around)]
    return secrets.masked(around[start - from_ : end - from_], [(a - start + from_, b - start + from_)
                                                                  for a, b in inside if a < b])  # fmt: skip


class KeyBlock:
    """Tells, line after line, whether one stands in a private key that began before it."""

    def __init__(self) -> None:
        self._open = False

    def holds(self, line: str) -> bool:
        """Whether this line belongs to a key whose beginning came earlier; its last line does too."""
        was = self._open
        begins, ends = _BEGINS.search(line), _ENDS.search(line)
        if begins is not None or ends is not None:
            self._open = begins is not None and (ends is None or ends.start() < begins.start())
        return was


def without_keys(text: str) -> str:
    """The text, line for line, with the inner lines of private keys hidden."""
    if _BEGINS.search(text) is None:
        return text
    block = KeyBlock()
    return "\n".join(
        secrets.MASK if block.holds(line) and not _ENDS.search(line) else line for line in text.split("\n")
    )
