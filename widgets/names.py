"""Titles and people's names as they are shown."""

from __future__ import annotations

from collections.abc import Iterable

from store.limits import TITLE_CHARS
from store.text import safe_name, safe_text


def title_of(title: str, else_words: str = "New chat") -> str:
    """A chat's title on one line, letter for letter but for what can't be seen."""
    return safe_text(title, one_line=True, limit=TITLE_CHARS) or else_words


def person(name: str | None, limit: int = 60) -> str:
    """Someone's name in a line of Shoal's own (no brackets or quotes); "" when there is none."""
    return safe_name(name, limit) if name and name.strip() else ""


def without_name(
    text: str, ranges: Iterable[tuple[int, int]], name: str | None
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A line and its ranges without the `name: ` it begins with: for where the name stands before it already."""
    head = f"{name}: "
    if not name or not text.startswith(head):
        return text, tuple(ranges)
    cut = len(head)
    return text[cut:], tuple((max(0, start - cut), end - cut) for start, end in ranges if end > cut)
