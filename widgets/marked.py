"""Foreign text with matched ranges, made harmless without losing where they are."""

from __future__ import annotations

from collections.abc import Iterable

from store.text import fold, safe_text

from .line import Piece, mark_ranges


def marked(text: str, ranges: Iterable[tuple[int, int]], style: str = "", limit: int = 4_000) -> list[Piece]:
    """One line of `text` as pieces with `ranges` of it marked; where cleaning moved them, the words are looked up."""
    spans = list(ranges)
    clean = safe_text(text, one_line=True, limit=limit)
    if clean == text[: len(clean)] or not spans:
        return mark_ranges(clean, spans, style)
    folded, at, found = fold(clean), 0, []
    for start, end in sorted(spans):
        word = fold(safe_text(text[start:end], one_line=True))
        place = folded.find(word, at) if word else -1
        if place >= 0:
            found.append((place, place + len(word)))
            at = place + len(word)
    return mark_ranges(clean, found, style)
