"""Typos: which words of the index a misspelt one may have meant. SymSpell's idea, held as one sorted array.

Every word is entered under each string that deleting one or two of its letters gives. A typo and the word it was
meant to be then meet under a common string. Entries are 64 bits: the string's CRC-32, then the word's number;
a chance meeting is found out by measuring the distance.
"""

from __future__ import annotations

import json
import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final
from zlib import crc32

from store import db
from store.limits import TYPO_ONE_FROM, TYPO_TWO_FROM, TYPO_WORD_CHARS

ONE_EDIT_WEIGHT: Final = 0.5
TWO_EDITS_WEIGHT: Final = 0.25
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
SMALL: Final = 20_000  # words; below, also those that are in one line only
_PAUSE_EVERY: Final = 2_000  # words built between two looks at whether to stop


def edits_allowed(word: str) -> int:
    """0 under 4 letters, 1 up to 7, 2 from 8; 0 for anything that isn't all letters."""
    if not word.isalpha() or not TYPO_ONE_FROM <= len(word) <= TYPO_WORD_CHARS:
        return 0
    return 2 if len(word) >= TYPO_TWO_FROM else 1


def deletes(word: str, most: int) -> set[str]:
    """The word, and what is left of it without one letter, without two …"""
    out = {word}
    size = len(word)
    if most >= 1:
        out.update(word[:i] + word[i + 1 :] for i in range(size))
    if most >= 2:
        out.update(word[:i] + word[i + 1 : j] + word[j + 1 :] for i, j in combinations(range(size), 2))
    return out


def distance(a: str, b: str, most: int) -> int:
    """Edits between two words (delete, insert, replace, swap two neighbours); `most` + 1 when there are more."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)


class Typos:
    """The words that typos may mean. `terms` are sorted; `counts` say in how many lines each is."""

    def __init__(self, terms: Sequence[str], counts: Sequence[int], entries: array[int]) -> None:
        self.terms = terms
        self.counts = counts
        self.fresh: dict[str, int] = {}  # words since; few, so they are looked through one by one
        self._entries = entries

    def find(self, word: str, most: int = 5) -> list[tuple[str, int]]:
        """(word meant, edits), nearest first, then the more frequent; never the word itself."""
        allowed = edits_allowed(word)
        if not allowed:
            return []
        numbers: set[int] = set()
        entries = self._entries
        for left in deletes(word, allowed):
            key = _key(left)
            at = bisect_left(entries, key)
            while at < len(entries) and entries[at] >> 32 == key >> 32:
                numbers.add(entries[at] & 0xFFFFFFFF)
                at += 1
        found = []
        for number in numbers:
            term = self.terms[number]
            edits = distance(word, term, allowed)
            if 0 < edits <= allowed:
                found.append((edits, -self.counts[number], term))
        for term, count in list(self.fresh.items()):
            edits = distance(word, term, allowed)
            if 0 < edits <= allowed:
                found.append((edits, -count, term))
        return [(term, edits) for edits, _, term in sorted(found)[:most]]

    def starts(self, prefix: str, most: int = 3) -> list[str]:
        """Beginnings one edit away from a typed one (from its second letter on) that some word has, best first."""
        if len(prefix) < TYPO_ONE_FROM or not prefix.isalpha():
            return []
        found: dict[str, int] = {}
        for variant in set(_variants(prefix)) - {prefix}:
            low = bisect_left(self.terms, variant)
            if low < len(self.terms) and self.terms[low].startswith(variant):
                high = bisect_left(self.terms, variant + "\U0010ffff", low)
                found[variant] = max(self.counts[low:high])
        return sorted(found, key=lambda v: (-found[v], v))[:most]

    def inside(self, part: str, most: int = 5) -> list[str]:
        """Words that have `part` in them, the most frequent first."""
        if len(part) < 3:
            return []
        found = [(-self.counts[i], t) for i, t in enumerate(self.terms) if part in t and t != part]
        found += [(-n, t) for t, n in list(self.fresh.items()) if part in t and t != part]
        return [t for _, t in sorted(found)[:most]]

    def add(self, counted: Mapping[str, int]) -> None:
        """Words of lines that came after it was built."""
        for term, count in counted.items():
            if edits_allowed(term) and not self.has(term):
                self.fresh[term] = self.fresh.get(term, 0) + count

    def has(self, term: str) -> bool:
        """Whether it was there when this was built."""
        at = bisect_left(self.terms, term)
        return at < len(self.terms) and self.terms[at] == term

    def grown(self) -> bool:
        """Whether so many words came that it should be built anew."""
        return len(self.fresh) > max(200, len(self.terms) // 50)


def _key(text: str) -> int:
    return crc32(text.encode()) << 32


def _variants(prefix: str) -> Iterable[str]:
    head, size = prefix[0], len(prefix)
    for i in range(1, size):
        yield prefix[:i] + prefix[i + 1 :]
        if i + 1 < size:
            yield prefix[:i] + prefix[i + 1] + prefix[i] + prefix[i + 2 :]
        for letter in LETTERS:
            yield prefix[:i] + letter + prefix[i + 1 :]
            yield prefix[:i] + letter + prefix[i:]
    yield head + prefix[2:] if size > 2 else prefix


def build(words: Iterable[tuple[str, int]], stopped: Callable[[], bool] = lambda: False) -> Typos | None:
    """From (word, count) in the order of the words; 4 s of CPU for 100,000 of them. None when stopped."""
    terms: list[str] = []
    counts: list[int] = []
    entries = array("Q")
    for word, count in words:
        number = len(terms)
        terms.append(word)
        counts.append(count)
        entries.extend([crc32(left.encode()) << 32 | number for left in deletes(word, edits_allowed(word))])
        if number % _PAUSE_EVERY == 0 and stopped():
            return None
    return Typos(terms, counts, array("Q", sorted(entries)))


def eligible(conn: db.Connection) -> list[tuple[str, int]]:
    """The words that a typo may mean: letters only, of 4 or more, in two lines at least where there are many words."""
    rows = conn.execute(
        "SELECT term, df FROM vocab WHERE length(term) BETWEEN ? AND ? ORDER BY term", (TYPO_ONE_FROM, TYPO_WORD_CHARS)
    ).fetchall()
    words = [(t, n) for t, n in rows if t.isalpha()]
    return words if len(words) < SMALL else [(t, n) for t, n in words if n > 1]


def save(typos: Typos, path: Path, name: str) -> None:
    """Write beside and rename; `name` says which index file it belongs to."""
    beside = path.with_name(path.name + ".new")
    head = json.dumps({"for": name, "counts": list(typos.counts), "terms": list(typos.terms)}).encode()
    with os.fdopen(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as out:
        out.write(len(head).to_bytes(8, "little"))
        out.write(head)
        out.write(typos._entries.tobytes())
    os.replace(beside, path)


def load(path: Path, name: str) -> Typos | None:
    """What was saved for the index file `name`; None when there is nothing of use."""
    try:
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + size])
        entries = array("Q")
        entries.frombytes(data[8 + size :])
        if head["for"] != name:
            return None
        return Typos(head["terms"], head["counts"], entries)
    except (OSError, ValueError, KeyError, TypeError):
        return None
