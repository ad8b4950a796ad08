"""What is about to run, with every character visible: nothing is dropped, what can't be seen becomes a mark."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from .net import UNSEEN

PADDING: Final = 12  # longer runs of spaces or of empty lines are counted, so that they can't push the end away
_SPACES: Final = re.compile(rf"[ \u00a0\u2000-\u200a\u3000]{{{PADDING},}}")
_EMPTY: Final = re.compile(rf"(?:[ ]*\n){{{PADDING},}}")
_PLAIN: Final = re.compile(r"[\n -~]*")


def every_character(text: str) -> str:
    """The text with controls as ␛, other unseen characters as ⟨U+202E⟩, and padding as ⟨3,000 spaces⟩."""
    text = text.replace("\r\n", "\n")
    if not _PLAIN.fullmatch(text):
        text = "".join(_seen(char) for char in text)
    text = _SPACES.sub(lambda found: f" ⟨{len(found[0]):,} spaces⟩ ", text)
    return _EMPTY.sub(lambda found: f"\n⟨{found[0].count(chr(10)):,} empty lines⟩\n", text)


def _seen(char: str) -> str:
    code = ord(char)
    if char == "\n" or " " <= char <= "~":
        return char
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    hidden = UNSEEN.match(char) or char == "\u2800" or unicodedata.category(char) in ("Cf", "Cc", "Cs", "Co", "Cn")
    return f"⟨U+{code:04X}⟩" if hidden or 0xFE00 <= code <= 0xFE0F else char
