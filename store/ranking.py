"""BM25 on `matchinfo(f,'pcnay')`, a column at a time; sqlite-fts4's rank_bm25 is its judge (a test compares)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from store import db
from store.limits import SEARCH_CACHE_KIB
from store.models import Who

MATCHINFO: Final = "pcnay"  # no l: reading lengths is as dear as the rest; ours are in msg
COLUMNS: Final = 2
_HEAD: Final = 3 + COLUMNS  # phrases, columns, rows, average lengths

DECAY: Final = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)  # a chat's best lines, best first
CHAT_LINES_FROM: Final = 8  # below this many lines a chat has no score of its own
CHATS_WEIGHED: Final = 100  # so many chats, by their best lines, get one
WHO: Final[tuple[Who, ...]] = ("you", "assistant", "them", "step")


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much. Chosen on the development half of the recall bench and kept where a plateau is wide."""

    k1: float = 1.2
    b: float = 0.5
    clipped: bool = False  # idf as rank_bm25 has it: 0 for a word in half of the lines
    coverage: float = 0.6  # of a score depends on how much of the query the line has
    neighbour: float = 0.3  # of the better neighbour's score is added
    further: float = 0.35  # of the better one of the two next to those
    chat: float = 1.0  # what all found lines of a chat say together
    chat_k1: float = 3.0
    chat_b: float = 0.75
    speaker: float = 0.8  # more for a line by someone the query names
    novelty: float = 0.3  # for a word that the chat's lines shown so far don't have
    # what people wrote weighs more than what an assistant wrote; people among themselves weigh the same
    who: tuple[float, float, float, float] = (1.3, 1.0, 1.3, 0.8)


PRODUCT: Final = Weights()
REFERENCE: Final = Weights(
    b=0.75, clipped=True, coverage=0, neighbour=0, further=0, chat=0, speaker=0, novelty=0, who=(1, 1, 1, 1)
)


def idf(lines: int, df: float, *, clipped: bool = False) -> float:
    """How much a word tells: always above 0, or as rank_bm25 has it (0 from half of the lines on)."""
    df = min(df, lines)  # forms and beginnings are counted one by one, so a line may count twice
    ratio = (lines - df + 0.5) / (df + 0.5)
    if clipped:
        return max(math.log(ratio), 0.0) if ratio > 0 else 0.0
    return math.log(1.0 + ratio)


Phrase = tuple[int, float, bool]  # group, weight, whether it counts once a line however often it is there


class Finds:
    """What matchinfo said of the rows of one MATCH expression, a column a word of the query.

    `phrases[i]` says what phrase i counts for, None to leave it out. Columns and not rows: C does the walking.
    """

    def __init__(
        self,
        blobs: Sequence[bytes],
        phrases: Sequence[Phrase | None],
        also: tuple[int, float] | None = None,  # a group that every row has once more, and what that weighs
    ) -> None:
        stride = _HEAD + COLUMNS * len(phrases)
        flat = memoryview(b"".join(blobs)).cast("I") if blobs else memoryview(bytes(4 * stride)).cast("I")
        self.lines: int = flat[2]
        self.average = float(max(flat[3] + flat[4], 1))
        columns: dict[int, list[float]] = {}
        for i, phrase in enumerate(phrases):
            if phrase is None:
                continue
            group, weight, once = phrase
            columns.setdefault(group, [])
            found: list[float] = []
            for column in range(COLUMNS):
                one = flat[_HEAD + COLUMNS * i + column :: stride].tolist()
                if any(one):
                    found = _added(found, one, 1.0)
            if once and found:
                found = list(map(float, map(bool, found)))
            if found:
                columns[group] = _added(columns[group], found, weight)
        if also is not None:
            columns[also[0]] = _added(columns.get(also[0], []), [1] * len(blobs), also[1])
        nothing = [0.0] * len(blobs)
        self.columns: list[list[float]] = [columns[g] or nothing for g in sorted(columns)]

    def of(self, row: int) -> list[float]:
        """One row's finds per group."""
        return [column[row] for column in self.columns]


def _added(have: list[float], more: Sequence[float], weight: float) -> list[float]:
    if weight != 1.0:
        return [h + weight * m for h, m in zip(have, more, strict=True)] if have else [weight * m for m in more]
    return [h + m for h, m in zip(have, more, strict=True)] if have else list(more)


def line_scores(finds: Finds, lengths: Sequence[int], idfs: Sequence[float], weights: Weights = PRODUCT) -> list[float]:
    """Each row's score, higher is better. `lengths` are in words, as is the average of `finds`."""
    k1 = weights.k1
    fixed, by_length = k1 * (1.0 - weights.b), k1 * weights.b / finds.average
    norms = [fixed + by_length * length for length in lengths]
    scores = [0.0] * len(norms)
    weighed = [(column, idf_ * (k1 + 1.0)) for column, idf_ in zip(finds.columns, idfs, strict=True)]
    # a line that has every word is covered wholly, so where all have, nothing changes
    whole = all(map(all, finds.columns))
    if whole and len(weighed) == 2:  # a word and a beginning: as the person types, so in one go
        (a, v), (b, w) = weighed
        return [v * x / (x + n) + w * y / (y + n) for x, y, n in zip(a, b, norms, strict=True)]
    for column, w in weighed:
        scores = [s + w * tf / (tf + n) if tf else s for s, tf, n in zip(scores, column, norms, strict=True)]
    if weights.coverage and len(idfs) > 1 and not whole:
        share = weights.coverage / (sum(idfs) or 1.0)
        covered = [1.0 - weights.coverage] * len(norms)
        for column, idf_ in zip(finds.columns, idfs, strict=True):
            w = share * idf_
            covered = [c + w if tf else c for c, tf in zip(covered, column, strict=True)]
        scores = [s * c for s, c in zip(scores, covered, strict=True)]
    return scores


def open_index(path: Path) -> db.Connection:
    """A connection to search with: read-only, with rank_bm25, and room for the pages that every search looks at."""
    conn = db.connect(path, readonly=True)
    conn.execute(f"PRAGMA cache_size=-{SEARCH_CACHE_KIB}")
    register(conn)
    return conn


def register(conn: db.Connection) -> None:
    """sqlite-fts4's rank_bm25 on a search connection: the judge, and what ranks where there is no vocabulary.

    Without its logging wrapper, which would print a traceback over the screen; an error fails the query either way.
    """
    from sqlite_fts4 import rank_bm25

    conn.create_function("rank_bm25", 1, getattr(rank_bm25, "__wrapped__", rank_bm25))
