"""Frames around words that aren't the person's, and Shoal's own lines (security.md §2.2)."""

from __future__ import annotations

import re
import unicodedata

from store.text import safe_name, visible

HOST = "Shoal"
TAGS = (
    "chat-message",
    "chat-reply",
    "web-page",
    "web-results",
    "process-output",
    "forwarded",
    "someone-else",
    "summary",
    "note",
    "evidence",
    "memories",
)
_SHOWS_NOTHING = frozenset(("Mn", "Me", "Cf", "Cc", "Cs", "Co", "Cn"))
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_OURS = re.compile(rf"\[{HOST.casefold()}|</?(?:{'|'.join(TAGS)})")
_REWRITTEN = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "[": "(", "]": ")"}
_PLAIN = frozenset(map(chr, range(0x20, 0x7F))) - _REWRITTEN.keys()


def neutral(text: str) -> str:
    """The text with nothing invisible and nothing that opens or closes a frame or a line of Shoal's, however spelt."""
    return "".join(c if c in _PLAIN or c == "\n" else _rewrite(c) for c in visible(text))


def _rewrite(char: str) -> str:
    for part in (char, *unicodedata.normalize("NFKD", char)):
        if part in _REWRITTEN:
            return _REWRITTEN[part]
    return char


def defused(text: str) -> str:
    """The text, as long as it was, in which nothing reads as a frame's tag or as a line of Shoal's own.

    For words inside JSON (search and read results), where code has to stay code: only what would pass for ours is
    rewritten, however it is spelt (full width, accents, spaces, invisible characters).
    """
    if "[" not in text and "<" not in text and text.isascii():
        return text
    flat, places = _flat(text)
    out = list(text)
    for match in _OURS.finditer(flat):
        place = places[match.start()]
        out[place] = "(" if flat[match.start()] == "[" else "‹"
    return "".join(out)


def _flat(text: str) -> tuple[str, list[int]]:
    """As a reader that normalises everything sees it, and where each character came from."""
    flat: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        for part in char if char in _PLAIN else unicodedata.normalize("NFKD", char):
            folded = part.casefold()
            if unicodedata.category(part) not in _SHOWS_NOTHING and not part.isspace() and folded not in _BLANK:
                flat += folded
                places += [place] * len(folded)
    return "".join(flat), places


def fence(tag: str, text: str, **attributes: str) -> str:
    """`text` inside `<tag …>`; nothing is cut after this (decisions.md 6)."""
    named = "".join(f' {name}="{safe_name(value)}"' for name, value in attributes.items())
    return f"<{tag}{named}>\n{neutral(text)}\n</{tag}>"


def host_line(words: str) -> str:
    """One bracketed line of Shoal's own; names in `words` have gone through `safe_name`."""
    return f"[{HOST}: {' '.join(words.split())}]"
