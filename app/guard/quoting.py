"""Frames around words that aren't the person's, and Shoal's own lines (security.md §2.2)."""

from __future__ import annotations

import unicodedata

from store.text import safe_name, visible

HOST = "Shoal"
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


def fence(tag: str, text: str, **attributes: str) -> str:
    """`text` inside `<tag …>`; nothing is cut after this (decisions.md 6)."""
    named = "".join(f' {name}="{safe_name(value)}"' for name, value in attributes.items())
    return f"<{tag}{named}>\n{neutral(text)}\n</{tag}>"


def host_line(words: str) -> str:
    """One bracketed line of Shoal's own; names in `words` have gone through `safe_name`."""
    return f"[{HOST}: {' '.join(words.split())}]"
