"""Titles found by letters, as fzf does: every word of the query in order of its letters, word starts first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from store.models import ChatSummary, Span
from store.text import fold

_START, _RUN, _GAP = 8, 5, -1
TITLES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class TitleHit:
    """A chat whose title matches, with the matched letters."""

    chat: ChatSummary
    ranges: tuple[Span, ...]
    score: float


def match(query: str, title: str) -> tuple[float, tuple[Span, ...]] | None:
    """How well `title` fits, and which letters; None when a word of the query isn't in it."""
    folded = fold(title)
    total, marks = 0.0, set[int]()
    words = fold(query).split()
    for word in words:
        found = _word(word, folded)
        if found is None:
            return None
        score, places = found
        total += score
        marks.update(places)
    if not marks:
        return None
    return total - len(title) / 100, _spans(marks)


def _word(word: str, title: str) -> tuple[float, list[int]] | None:
    best: tuple[float, list[int]] | None = None
    at = title.find(word)
    while at >= 0:
        score = len(word) * _RUN + (_START * 2 if _starts(title, at) else 0) - at / 50
        if best is None or score > best[0]:
            best = (score, list(range(at, at + len(word))))
        at = title.find(word, at + 1)
    if best is not None or len(word) < 2:
        return best
    return _letters(word, title)


def _letters(word: str, title: str) -> tuple[float, list[int]] | None:
    """The letters of `word` in order, not next to each other: they may span a few words at most."""
    best: tuple[float, list[int]] | None = None
    for first in (i for i, c in enumerate(title) if c == word[0]):
        places, score, at = [first], float(_START if _starts(title, first) else 0), first
        for letter in word[1:]:
            to = _next(title, letter, at + 1)
            if to < 0:
                places = []
                break
            score += _START if _starts(title, to) else _RUN if to == at + 1 else _GAP * min(to - at, 10)
            places.append(to)
            at = to
        if places and at - first <= len(word) * 4 and score > 0 and (best is None or score > best[0]):
            best = (score, places)
    return best


def _next(title: str, letter: str, at: int) -> int:
    """The next place of a letter: right here, else at a word's start, else anywhere."""
    if at < len(title) and title[at] == letter:
        return at
    to = title.find(letter, at)
    start = to
    while start >= 0 and not _starts(title, start):
        start = title.find(letter, start + 1)
    return start if start >= 0 else to


def _starts(title: str, at: int) -> bool:
    return at == 0 or not title[at - 1].isalnum()


def _spans(marks: Iterable[int]) -> tuple[Span, ...]:
    out: list[Span] = []
    for at in sorted(marks):
        if out and out[-1][1] == at:
            out[-1] = (out[-1][0], at + 1)
        else:
            out.append((at, at + 1))
    return tuple(out)


def find(query: str, chats: Iterable[ChatSummary], limit: int = TITLES_SHOWN) -> list[TitleHit]:
    """The chats whose titles fit best; of equal ones the newer first."""
    hits: list[TitleHit] = []
    for chat in chats:
        found = match(query, chat.title) if chat.title else None
        if found is not None:
            hits.append(TitleHit(chat, found[1], found[0]))
    hits.sort(key=lambda h: (-round(h.score), h.chat.archived_at is not None, -h.chat.last_active, h.chat.id))
    return hits[:limit]
