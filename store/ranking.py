"""BM25 on `matchinfo(f,'pcnaly')`, a `struct` at a time; sqlite-fts4's rank_bm25 is its judge (a test compares the order)."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from store.models import Who

K1: Final = 1.2
B: Final = 0.75
MATCHINFO: Final = "pcnaly"
COLUMNS: Final = 2
_HEAD: Final = 3 + 2 * COLUMNS  # phrases, columns, rows, average lengths, this row's lengths

DECAY: Final = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)  # a chat's best lines, best first
CHAT_WEIGHT: Final = 1.0
CHAT_LINES_FROM: Final = 8  # below this many lines a chat has no score of its own
NEIGHBOUR: Final = 0.2
# what people wrote weighs more than what an assistant wrote; people among themselves weigh the same
WHO_WEIGHT: Final[dict[Who, float]] = {"you": 1.3, "them": 1.3, "assistant": 1.0, "step": 0.8}


def idf(lines: int, df: float, *, clipped: bool = False) -> float:
    """How much a word tells: always above 0, or as rank_bm25 has it (0 from half of the lines on)."""
    ratio = (lines - df + 0.5) / (df + 0.5)
    if clipped:
        return max(math.log(ratio), 0.0) if ratio > 0 else 0.0
    return math.log(1.0 + max(ratio, 0.0))


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a group's finds are in a row, and what each weighs."""

    group: int
    places: tuple[tuple[int, float], ...]


class Scorer:
    """Scores rows of one MATCH expression. `phrases[i]` says which group phrase i belongs to (None: leave it out)."""

    def __init__(self, phrases: Sequence[tuple[int, float] | None], groups: int) -> None:
        self.unpack = struct.Struct(f"={_HEAD + COLUMNS * len(phrases)}I").unpack
        by_group: dict[int, list[tuple[int, float]]] = {}
        for i, phrase in enumerate(phrases):
            if phrase is not None:
                by_group.setdefault(phrase[0], []).append((_HEAD + COLUMNS * i, phrase[1]))
        self.slots = [Slot(g, tuple(by_group[g])) for g in sorted(by_group)]
        self.groups = groups
        self.single = all(len(s.places) == 1 and s.places[0][1] == 1.0 for s in self.slots)

    def rows(self, blobs: Sequence[bytes]) -> tuple[int, float, list[tuple[int, list[float]]]]:
        """(lines in the index, average length, and for every row its length and its finds per slot)."""
        unpack = self.unpack
        out: list[tuple[int, list[float]]] = []
        if not blobs:
            return 0, 1.0, out
        head = unpack(blobs[0])
        places = [s.places for s in self.slots]
        if self.single:
            firsts = [p[0][0] for p in places]
            for blob in blobs:
                row = unpack(blob)
                out.append((row[5] + row[6], [row[i] + row[i + 1] for i in firsts]))
        else:
            for blob in blobs:
                row = unpack(blob)
                finds = [sum([w * (row[i] + row[i + 1]) for i, w in p if row[i] or row[i + 1]]) for p in places]
                out.append((row[5] + row[6], finds))
        return head[2], float(max(head[3] + head[4], 1)), out


def bm25(length: int, average: float, finds: Sequence[float], idfs: Sequence[float]) -> float:
    """One row's score, higher is better."""
    norm = K1 * (1.0 - B + B * length / average)
    score = 0.0
    for tf, weight in zip(finds, idfs, strict=True):
        if tf:
            score += weight * tf * (K1 + 1.0) / (tf + norm)
    return score


def register(conn: object) -> None:
    """sqlite-fts4's functions on a search connection."""
    from sqlite_fts4 import register_functions

    register_functions(conn)
