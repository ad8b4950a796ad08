"""Scored lines become chats: a chat is worth its best lines, and what its lines say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from store import ranking
from store.index import Sizes


@dataclass(slots=True)
class Found:
    """A line that matched: where it is, its finds per word of the query, its score."""

    docid: int
    chat: int
    pos: int
    who: int
    length: int
    finds: list[float]
    score: float = 0.0


@dataclass(slots=True)
class FoundChat:
    """A chat with its lines, best first."""

    no: int
    lines: list[Found] = field(default_factory=list)
    score: float = 0.0


def group(
    found: Sequence[Found],
    idfs: Sequence[float],
    sizes: Sizes,
    *,
    neighbour: float = ranking.NEIGHBOUR,
    chat_weight: float = ranking.CHAT_WEIGHT,
) -> list[FoundChat]:
    """Chats best first, newest first where equal."""
    near = {(f.chat << 32) + f.pos: f.score for f in found}
    chats: dict[int, FoundChat] = {}
    get = near.get
    average = sizes.average()
    for f in found:
        key = (f.chat << 32) + f.pos
        better = max(get(key - 1, 0.0), get(key + 1, 0.0))
        if better:
            f.score += neighbour * better
        chat = chats.get(f.chat)
        if chat is None:
            chat = chats[f.chat] = FoundChat(f.chat)
        chat.lines.append(f)
    for chat in chats.values():
        chat.lines.sort(key=lambda f: (-f.score, -f.docid))
        chat.score = sum(d * f.score for d, f in zip(ranking.DECAY, chat.lines, strict=False))
        lines, words = sizes.of(chat.no)
        if chat_weight and lines >= ranking.CHAT_LINES_FROM:
            together = [sum(column) for column in zip(*(f.finds for f in chat.lines), strict=True)]
            chat.score += chat_weight * ranking.bm25(words, average, together, idfs)
    return sorted(chats.values(), key=lambda c: (-c.score, -c.lines[0].docid))
