"""Scored lines become chats: a chat is worth its best lines, and what its lines say together."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from store import ranking
from store.index import Sizes
from store.ranking import Finds, Weights

_score = attrgetter("score")
_FAR: Final = 2  # places between lines that are near each other


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines that matched, newest first, as columns: id, chat, place in the chat, words, score."""

    docids: Sequence[int]
    chats: Sequence[int]
    places: Sequence[int]
    scores: list[float]
    finds: Finds


class FoundChat:
    """A chat with the rows of its lines, best first."""

    __slots__ = ("no", "rows", "score")

    def __init__(self, no: int, score: float, rows: list[int]) -> None:
        self.no = no
        self.score = score
        self.rows = rows


def group(lines: Lines, idfs: Sequence[float], sizes: Sizes, weights: Weights = ranking.PRODUCT) -> list[FoundChat]:
    """Chats best first, newest first where equal; the lines' scores have grown by their neighbours'."""
    chats = lines.chats
    counted = Counter(chats)
    several = [row for row, no in enumerate(chats) if counted[no] > 1]
    if weights.neighbour and several:
        _add_neighbours(lines, several, weights)
    scores = lines.scores
    # rows are newest first and the sort is stable, so the newest of equal ones comes first
    best_first = sorted(range(len(chats)), key=scores.__getitem__, reverse=True)
    of_several = set(several)
    found: dict[int, FoundChat] = {}
    ordered: list[FoundChat] = []
    for row in best_first:
        no = chats[row]
        chat = found.get(no) if row in of_several else None  # most chats have one line: nothing to look up
        if chat is None:
            ordered.append(chat := FoundChat(no, scores[row], [row]))
            if row in of_several:
                found[no] = chat
            continue
        if len(chat.rows) < len(ranking.DECAY):
            chat.score += ranking.DECAY[len(chat.rows)] * scores[row]
        chat.rows.append(row)
    ordered.sort(key=_score, reverse=True)
    if not weights.chat:
        return ordered
    # what is added is never below 0: the best stay above the rest, and only they are put in order again
    best = ordered[: ranking.CHATS_WEIGHED]
    _add_chats(best, lines.finds.columns, idfs, sizes, weights)
    best.sort(key=_score, reverse=True)
    ordered[: len(best)] = best
    return ordered


def _add_chats(
    chats: Sequence[FoundChat],
    columns: Sequence[Sequence[float]],
    idfs: Sequence[float],
    sizes: Sizes,
    weights: Weights,
) -> None:
    """A chat of some length gains what its found lines say together, as BM25 of a text as long as the chat."""
    k1, average = weights.chat_k1, sizes.average()
    fixed, by_length = k1 * (1.0 - weights.chat_b), k1 * weights.chat_b / average
    weighed = [(column, weights.chat * idf * (k1 + 1.0)) for column, idf in zip(columns, idfs, strict=True)]
    for chat in chats:
        count, words = sizes.of(chat.no)
        if count < ranking.CHAT_LINES_FROM:
            continue
        norm = fixed + by_length * words
        rows = chat.rows
        for column, weight in weighed:
            tf = column[rows[0]] if len(rows) == 1 else sum([column[r] for r in rows])
            if tf:
                chat.score += weight * tf / (tf + norm)


def _add_neighbours(lines: Lines, rows: Sequence[int], weights: Weights) -> None:
    """A line gains from the better of the lines next to it, and of those next but one. `rows`: where that may be."""
    chats, places, scores = lines.chats, lines.places, lines.scores
    keys = {(chats[row] << 32) + places[row]: row for row in rows}
    near_to = sorted(keys)
    gaining: set[int] = set()
    # few lines have a neighbour that was found too; side by side in this order they are seen at once
    for a, b in itertools.pairwise(near_to):
        if b - a <= _FAR:
            gaining.add(a)
            gaining.add(b)
    get = {k: scores[keys[k]] for k in gaining}.get
    near, far = weights.neighbour, weights.further
    for k in gaining:
        close, wide = max(get(k - 1, 0.0), get(k + 1, 0.0)), max(get(k - 2, 0.0), get(k + 2, 0.0))
        scores[keys[k]] += near * close + far * wide


def pick(
    chat: FoundChat, lines: Lines, idfs: Sequence[float], most: int, weights: Weights = ranking.PRODUCT
) -> list[int]:
    """The rows to show: the best line, then those that also bring words not shown yet."""
    if most > 10 or len(chat.rows) <= 1 or not weights.novelty or not idfs:
        return chat.rows[:most]
    left = chat.rows[:20]
    out = [left.pop(0)]
    seen = {i for i, tf in enumerate(lines.finds.of(out[0])) if tf}
    while left and len(out) < most:

        def worth(row: int) -> float:
            news = sum(idfs[i] for i, tf in enumerate(lines.finds.of(row)) if tf and i not in seen)
            return lines.scores[row] + weights.novelty * news

        best = max(left, key=worth)
        left.remove(best)
        out.append(best)
        seen.update(i for i, tf in enumerate(lines.finds.of(best)) if tf)
    return out
