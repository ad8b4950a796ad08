"""Made-up typos: how many meant words are the first, and among the first five."""

from __future__ import annotations

import random
import time
from typing import Any

from store import fuzzy
from tests.benchmarks.corpus import made_up_words

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def typo(word: str, kind: int, rng: random.Random) -> str:
    """One edit: delete, insert, replace, swap, or another first letter."""
    i = rng.randrange(1, len(word) - 1)
    letter = rng.choice(LETTERS)
    return (
        word[:i] + word[i + 1 :],
        word[:i] + letter + word[i:],
        word[:i] + letter + word[i + 1 :],
        word[:i] + word[i + 1] + word[i] + word[i + 2 :],
        letter + word[1:],
    )[kind % 5]


def typos(words: list[str], count: int = 200, seed: int = 1) -> list[tuple[str, str]]:
    """(as typed, as meant); one edit, two for words of 8 letters or more."""
    rng = random.Random(seed)
    out: list[tuple[str, str]] = []
    long = [w for w in words if len(w) >= 4]
    while len(out) < count:
        meant = rng.choice(long)
        typed = typo(meant, len(out), rng)
        if len(meant) >= 8 and len(out) % 2:
            typed = typo(typed, rng.randrange(5), rng)
        if typed != meant and fuzzy.distance(typed, meant, 2) <= (fuzzy.edits_allowed(typed) or 9):
            out.append((typed, meant))
    return out


def run(count: int = 100_000) -> list[dict[str, Any]]:
    """At 100,000 words."""
    words = sorted(made_up_words(count))
    start = time.thread_time()
    index = fuzzy.build((w, 1 + (hash_of(w) % 1000)) for w in words)
    built = time.thread_time() - start
    assert index is not None
    first = five = 0
    times: list[float] = []
    for typed, meant in typos(words):
        start = time.thread_time()
        found = [t for t, _ in index.find(typed, 5)]
        times.append((time.thread_time() - start) * 1000)
        first += found[:1] == [meant]
        five += meant in found
    times.sort()
    return [
        {
            "bench": "typos",
            "words": count,
            "first": first,
            "first_five": five,
            "of": 200,
            "bar": 188,
            "build_s": round(built, 1),
            "ms_p50": round(times[100], 3),
            "ms_p95": round(times[190], 3),
            "entries": len(index._entries),
        }
    ]


def hash_of(word: str) -> int:
    """A number that is the same at every run."""
    total = 0
    for c in word:
        total = (total * 31 + ord(c)) % 1_000_003
    return total
