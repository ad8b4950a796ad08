"""Scored lines become chats: a chat is worth its best lines, and what its lines say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from store import ranking
from store.index import Sizes
from store.ranking import Weights


@dataclass(slots=True)
class Found:
    """A line that matched: where it is, its finds per word of the query, its score."""

    docid: int
    chat: int
    pos: int
    finds: list[float]
    score: float = 0.0


@dataclass(slots=True)
class FoundChat:
    """A chat with its lines, best first."""

    no: int
    lines: list[Found] = field(default_factory=list)
    score: float = 0.0
    whole: bool = False  # a line of it has every word


def group(
    found: Sequence[Found], idfs: Sequence[float], sizes: Sizes, weights: Weights = ranking.PRODUCT
) -> list[FoundChat]:
    """Chats best first, newest first where equal; the lines' scores grow by their neighbours'."""
    near = {(f.chat << 32) + f.pos: f.score for f in found}
    get = near.get
    chats: dict[int, FoundChat] = {}
    neighbour, further = weights.neighbour, weights.further
    for f in found:
        if neighbour:
            key = (f.chat << 32) + f.pos
            f.score += neighbour * max(get(key - 1, 0.0), get(key + 1, 0.0))
            f.score += further * max(get(key - 2, 0.0), get(key + 2, 0.0))
        chat = chats.get(f.chat)
        if chat is None:
            chat = chats[f.chat] = FoundChat(f.chat)
        chat.lines.append(f)
    average = sizes.average()
    for chat in chats.values():
        if len(chat.lines) > 1:
            chat.lines.sort(key=_best_first)
        chat.whole = any(all(f.finds) for f in chat.lines)
        chat.score = sum(d * f.score for d, f in zip(ranking.DECAY, chat.lines, strict=False))
        lines, words = sizes.of(chat.no)
        if weights.chat and lines >= ranking.CHAT_LINES_FROM:
            together = [sum(column) for column in zip(*(f.finds for f in chat.lines), strict=True)]
            chat.score += weights.chat * ranking.chat_score(words, average, together, idfs, weights)
    return sorted(chats.values(), key=lambda c: (-c.score, -c.lines[0].docid))


def _best_first(f: Found) -> tuple[float, int]:
    return (-f.score, -f.docid)


def pick(chat: FoundChat, idfs: Sequence[float], most: int, weights: Weights = ranking.PRODUCT) -> list[Found]:
    """The lines to show: the best one, then those that also bring words not shown yet."""
    if most > 10 or len(chat.lines) <= 1 or not weights.novelty:
        return chat.lines[:most]
    left = chat.lines[:20]
    out = [left.pop(0)]
    seen = {i for i, tf in enumerate(out[0].finds) if tf}
    while left and len(out) < most:
        news = [weights.novelty * sum(idfs[i] for i, tf in enumerate(f.finds) if tf and i not in seen) for f in left]
        best = max(range(len(left)), key=lambda i: left[i].score + news[i])
        out.append(left.pop(best))
        seen.update(i for i, tf in enumerate(out[-1].finds) if tf)
    return out
