"""BM25 on `matchinfo(f,'pcnaly')`, a `struct` at a time; sqlite-fts4's rank_bm25 is its judge (a test compares)."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from store import db
from store.models import Who

MATCHINFO: Final = "pcnaly"
COLUMNS: Final = 2
_HEAD: Final = 3 + 2 * COLUMNS  # phrases, columns, rows, average lengths, this row's lengths

DECAY: Final = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)  # a chat's best lines, best first
CHAT_LINES_FROM: Final = 8  # below this many lines a chat has no score of its own
WHO: Final[tuple[Who, ...]] = ("you", "assistant", "them", "step")


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much. Chosen on the development half of the recall bench and kept where a plateau is wide."""

    k1: float = 1.2
    b: float = 0.5
    clipped: bool = False  # idf as rank_bm25 has it: 0 for a word in half of the lines
    coverage: float = 0.6  # of a score depends on how much of the query the line has
    neighbour: float = 0.3  # of the better neighbour's score is added
    further: float = 0.25  # of the better one of the two next to those
    chat: float = 1.0  # what all found lines of a chat say together
    chat_k1: float = 3.0
    chat_b: float = 0.75
    speaker: float = 0.6  # more for a line by someone the query names
    novelty: float = 0.3  # for a word that the chat's lines shown so far don't have
    # what people wrote weighs more than what an assistant wrote; people among themselves weigh the same
    who: tuple[float, float, float, float] = (1.3, 1.0, 1.3, 0.8)


PRODUCT: Final = Weights()
REFERENCE: Final = Weights(
    b=0.75, clipped=True, coverage=0, neighbour=0, further=0, chat=0, speaker=0, novelty=0, who=(1, 1, 1, 1)
)


def idf(lines: int, df: float, *, clipped: bool = False) -> float:
    """How much a word tells: always above 0, or as rank_bm25 has it (0 from half of the lines on)."""
    ratio = (lines - df + 0.5) / (df + 0.5)
    if clipped:
        return max(math.log(ratio), 0.0) if ratio > 0 else 0.0
    return math.log(1.0 + max(ratio, 0.0))


@dataclass(frozen=True, slots=True)
class Rows:
    """What matchinfo said: lines in the index, their average length, and each row's length and finds per group."""

    lines: int
    average: float
    rows: list[tuple[int, list[float]]]


class Reader:
    """Reads the rows of one MATCH expression. `phrases[i]`: the group and weight of phrase i, None to leave it out."""

    def __init__(self, phrases: Sequence[tuple[int, float] | None]) -> None:
        self._unpack = struct.Struct(f"={_HEAD + COLUMNS * len(phrases)}I").unpack
        places: dict[int, list[tuple[int, float]]] = {}
        for i, phrase in enumerate(phrases):
            if phrase is not None:
                places.setdefault(phrase[0], []).append((_HEAD + COLUMNS * i, phrase[1]))
        self._places = [places[g] for g in sorted(places)]
        self._plain = all(len(p) == 1 and p[0][1] == 1.0 for p in self._places)

    def read(self, blobs: Sequence[bytes]) -> Rows:
        """Every row's length and finds, a group's forms added up by weight."""
        if not blobs:
            return Rows(0, 1.0, [])
        unpack = self._unpack
        head = unpack(blobs[0])
        out: list[tuple[int, list[float]]] = []
        if self._plain:
            firsts = [p[0][0] for p in self._places]
            for blob in blobs:
                row = unpack(blob)
                out.append((row[5] + row[6], [row[i] + row[i + 1] for i in firsts]))
        else:
            places = self._places
            for blob in blobs:
                row = unpack(blob)
                finds = [sum([w * (row[i] + row[i + 1]) for i, w in p if row[i] or row[i + 1]]) for p in places]
                out.append((row[5] + row[6], finds))
        return Rows(head[2], float(max(head[3] + head[4], 1)), out)


def line_scores(read: Rows, idfs: Sequence[float], weights: Weights = PRODUCT) -> list[float]:
    """Each row's score, higher is better."""
    k1 = weights.k1
    fixed, by_length = k1 * (1.0 - weights.b), k1 * weights.b / read.average
    whole = sum(idfs) or 1.0
    base, share = (k1 + 1.0) * (1.0 - weights.coverage), (k1 + 1.0) * weights.coverage / whole
    out: list[float] = []
    for length, finds in read.rows:
        norm = fixed + by_length * length
        score = covered = 0.0
        for tf, weight in zip(finds, idfs, strict=True):
            if tf:
                score += weight * tf / (tf + norm)
                covered += weight
        out.append(score * (base + share * covered))
    return out


def chat_score(words: int, average: float, finds: Sequence[float], idfs: Sequence[float], weights: Weights) -> float:
    """What a chat's found lines say together, as if they were one text as long as the chat."""
    k1 = weights.chat_k1
    norm = k1 * (1.0 - weights.chat_b + weights.chat_b * words / average)
    return sum(w * tf * (k1 + 1.0) / (tf + norm) for tf, w in zip(finds, idfs, strict=True) if tf)


def register(conn: db.Connection) -> None:
    """sqlite-fts4's functions on a search connection: the judge, and what ranks while there is no vocabulary."""
    from sqlite_fts4 import register_functions

    register_functions(conn)
