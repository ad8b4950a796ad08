"""Scored lines become chats: a chat is worth its best lines, and what its lines say together."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Final, NamedTuple, overload

from store import ranking
from store.index import Sizes
from store.ranking import Finds, Weights

_FAR: Final = 2  # places between lines that are near each other


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines that matched, newest first, as columns: id, chat, place in the chat, words, score."""

    docids: Sequence[int]
    chats: Sequence[int]
    places: Sequence[int]
    scores: list[float]
    finds: Finds


class FoundChat(NamedTuple):
    """A chat with the rows of its lines, best first."""

    no: int
    score: float
    rows: list[int]


class FoundChats(Sequence[FoundChat]):
    """Chats best first, each made when it is looked at: hundreds are found and a handful shown."""

    __slots__ = ("_chats", "_heads", "_rows_of", "_worth")

    def __init__(
        self, heads: Sequence[int], chats: Sequence[int], worth: Sequence[float], rows_of: Mapping[int, list[int]]
    ) -> None:
        self._heads, self._chats, self._worth, self._rows_of = heads, chats, worth, rows_of

    def __len__(self) -> int:
        return len(self._heads)

    @overload
    def __getitem__(self, at: int) -> FoundChat: ...
    @overload
    def __getitem__(self, at: slice) -> list[FoundChat]: ...
    def __getitem__(self, at: int | slice) -> FoundChat | list[FoundChat]:
        if isinstance(at, slice):
            return [self._made(head) for head in self._heads[at]]
        return self._made(self._heads[at])

    def __iter__(self) -> Iterator[FoundChat]:
        return map(self._made, self._heads)

    def _made(self, head: int) -> FoundChat:
        return FoundChat(self._chats[head], self._worth[head], self._rows_of.get(head) or [head])


def group(lines: Lines, idfs: Sequence[float], sizes: Sizes, weights: Weights = ranking.PRODUCT) -> FoundChats:
    """Chats best first, newest first where equal; the lines' scores have grown by their neighbours'."""
    chats, scores = lines.chats, lines.scores
    repeated = {no for no, n in Counter(chats).items() if n > 1}
    several = [row for row, no in enumerate(chats) if no in repeated] if repeated else []
    if weights.neighbour and several:
        _add_neighbours(lines, several, weights)
    worth = scores.copy()  # of a chat, by the row of its best line
    rows_of = _rows_of(several, lines)
    heads = list(range(len(chats)))
    if rows_of:
        followers = {row for rows in rows_of.values() for row in rows[1:]}
        heads = [row for row in heads if row not in followers]
        for row, rows in rows_of.items():
            worth[row] = sum(map(mul, ranking.DECAY, map(scores.__getitem__, rows)))
    # rows are newest first and the sort is stable, so the newest of equal ones comes first
    heads.sort(key=worth.__getitem__, reverse=True)
    if weights.chat:
        # what is added is never below 0: the best stay above the rest, and only they are put in order again
        best = heads[: ranking.CHATS_WEIGHED]
        _add_chats(best, rows_of, lines, idfs, sizes, weights, worth)
        best.sort(key=worth.__getitem__, reverse=True)
        heads[: len(best)] = best
    return FoundChats(heads, chats, worth, rows_of)


def _rows_of(several: Sequence[int], lines: Lines) -> dict[int, list[int]]:
    """The rows of each chat that has several, best first, by the best."""
    by_chat: dict[int, list[int]] = {}
    for row in sorted(several, key=lines.scores.__getitem__, reverse=True):
        by_chat.setdefault(lines.chats[row], []).append(row)
    return {rows[0]: rows for rows in by_chat.values()}


def _add_chats(
    heads: Sequence[int],
    rows_of: Mapping[int, list[int]],
    lines: Lines,
    idfs: Sequence[float],
    sizes: Sizes,
    weights: Weights,
    worth: list[float],
) -> None:
    """A chat of some length gains what its found lines say together, as BM25 of a text as long as the chat."""
    k1, average, chats = weights.chat_k1, sizes.average(), lines.chats
    fixed, by_length = k1 * (1.0 - weights.chat_b), k1 * weights.chat_b / average
    weighed = [(column, weights.chat * idf * (k1 + 1.0)) for column, idf in zip(lines.finds.columns, idfs, strict=True)]
    for head in heads:
        count, words = sizes.of(chats[head])
        if count < ranking.CHAT_LINES_FROM:
            continue
        norm = fixed + by_length * words
        rows = rows_of.get(head)
        gain = 0.0
        for column, weight in weighed:
            tf = column[head] if rows is None else sum([column[r] for r in rows])
            gain += weight * tf / (tf + norm)
        worth[head] += gain


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
