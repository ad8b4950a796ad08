"""Memories: what each is, its Markdown file, and which of them a question is about. Pure but for the files.

The truth is one value in the store (`state`, key `memory/ID`), written in the batch of the event that shows it in the
chat. The files in the home are copies a person can read: they are written right after the commit and put right at the
start; a change made to a file by hand is taken in then. Pending and forgotten memories have no file. A memory doesn't
go when its chat is deleted; a forgotten one leaves its value as a tombstone, without the words.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from store import fuzzy, words
from store.clock import iso
from store.limits import MEMORY_CHARS
from store.ranking import idf
from store.state import KeepState
from store.tables import sync

MemoryKind = Literal["preference", "person", "project", "fact"]
MemoryState = Literal["kept", "pending", "forgotten"]
KINDS: Final[tuple[str, ...]] = get_args(MemoryKind)
PREFIX: Final = "memory/"
K1: Final = 1.2
B: Final = 0.5
FRESH: Final = 0.1  # of the best score, for the newest memory
FRESH_DAYS: Final = 30.0
CLOSE: Final = (1.0, fuzzy.ONE_EDIT_WEIGHT, fuzzy.TWO_EDITS_WEIGHT)  # by edits


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory. `chats`: those that have a row of it; `was`: its state before it was forgotten."""

    id: str
    kind: str = "fact"
    content: str = ""  # filtered; "" once forgotten
    at: int = 0
    state: MemoryState = "kept"
    chats: tuple[str, ...] = ()  # the one it was learned in first
    was: MemoryState = "kept"

    @classmethod
    def of(cls, id_: str, value: Any) -> Memory:
        """From the store's value; anything odd in it is left at its default."""
        v: Mapping[str, Any] = value if isinstance(value, dict) else {}
        state, was = v.get("state"), v.get("was")
        return cls(
            id_,
            v["kind"] if v.get("kind") in KINDS else "fact",
            str(v.get("content") or ""),
            int(v.get("at") or 0),
            state if state in ("kept", "pending", "forgotten") else "forgotten",
            tuple(str(chat) for chat in v.get("chats") or ()),
            "pending" if was == "pending" else "kept",
        )

    def keep(self) -> KeepState:
        """The change that writes it."""
        value = {"kind": self.kind, "content": self.content, "at": self.at, "state": self.state}
        return KeepState("", PREFIX + self.id, value | {"chats": list(self.chats), "was": self.was})

    def forgotten(self, *chats: str) -> Memory:
        """What is left of it: a tombstone without the words. `chats` show it from now on."""
        was: MemoryState = "pending" if self.state == "pending" else "kept"
        shown = tuple(dict.fromkeys((*self.chats, *chats)))
        return replace(self, content="", state="forgotten", was=was, chats=shown)


# -- files


def as_file(memory: Memory) -> str:
    """The memory as Markdown with a head."""
    chat = memory.chats[0] if memory.chats else ""
    return f"---\nkind: {memory.kind}\ncreated: {iso(memory.at)}\nchat: {chat}\n---\n{memory.content}\n"


def content_of(text: str) -> str | None:
    """The words of a memory's file; None when it has no head, or nothing after it."""
    if not text.startswith("---\n"):
        return None
    _, mark, rest = text[4:].partition("\n---\n")
    return rest.strip() or None if mark else None


class MemoryFiles:
    """The folder of Markdown files (0700, files 0600)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, memory: Memory) -> None:
        """Write a kept memory's file, beside and renamed; take away any other's. Raises OSError."""
        path = self._path(memory.id)
        if memory.state != "kept":
            path.unlink(missing_ok=True)
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = path.with_name(path.name + ".new")
        descriptor = os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(as_file(memory))
        os.replace(beside, path)

    def read(self, id_: str) -> str | None:
        """The words in the memory's file; None where there is none, or it isn't one."""
        try:
            return content_of(self._path(id_).read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n"))
        except OSError:
            return None

    def edited(self, memories: Iterable[Memory]) -> dict[str, str]:
        """The words of kept memories' files that aren't the store's: changed by hand while Shoal wasn't running."""
        found = {m.id: self.read(m.id) for m in memories if m.state == "kept"}
        had = {m.id: m.content for m in memories}
        return {i: text[:MEMORY_CHARS] for i, text in found.items() if text and text != had[i].strip()}

    def put_right(self, memories: Iterable[Memory]) -> None:
        """Make the folder say what the store says. Raises OSError."""
        kept = {m.id: m for m in memories if m.state == "kept"}
        if self.folder.is_dir():
            for path in self.folder.glob("y_*.md*"):
                if path.name != f"{path.name.split('.')[0]}.md" or path.stem not in kept:
                    path.unlink(missing_ok=True)
        for memory in kept.values():
            if self.read(memory.id) != memory.content.strip():
                self.write(memory)
        if kept:
            with contextlib.suppress(OSError):
                sync(self.folder)

    def _path(self, id_: str) -> Path:
        return self.folder / f"{id_}.md"


# -- ranking


def ranked(query: str, memories: Sequence[Memory], now_ms: int) -> list[Memory]:
    """Those that have something of the query, best first: BM25 over stems with typo repair, and a little freshness."""
    asked = [w for w in dict.fromkeys(words.tokens(query)) if w not in words.STOP_WORDS] or words.tokens(query)
    bags = [_bag(m) for m in memories]
    if not asked or not bags:
        return []
    average = sum(b.total() for b in bags) / len(bags) or 1.0
    vocabulary = Counter(term for bag in bags for term in bag)
    plain = {token for m in memories for token in words.tokens(m.content)}
    scores = [0.0] * len(bags)
    for word in asked:
        forms = _forms(word, vocabulary, plain)
        df = sum(any(form in bag for form in forms) for bag in bags)
        weight = idf(len(bags), df) if df else 0.0
        for i, bag in enumerate(bags):
            tf = sum(bag[form] * by for form, by in forms.items())
            scores[i] += weight * (K1 + 1) * tf / (tf + K1 * (1 - B + B * bag.total() / average)) if tf else 0.0
    best = max(scores)
    if best <= 0:
        return []
    fresh = [math.exp(-max(0, now_ms - m.at) / 86_400_000 / FRESH_DAYS) * FRESH * best for m in memories]
    found = [(s + f, m.at, i) for i, (s, f, m) in enumerate(zip(scores, fresh, memories, strict=True)) if s > 0]
    return [memories[i] for _, _, i in sorted(found, reverse=True)]


def _bag(memory: Memory) -> Counter[str]:
    """The stems of a memory's words and kind, with identifier parts and pairs of unspaced scripts."""
    text = f"{memory.content} {memory.kind}"
    return Counter([*map(words.stem, words.tokens(text)), *map(words.stem, words.extra(text).split())])


def _forms(word: str, vocabulary: Mapping[str, int], plain: Iterable[str]) -> dict[str, float]:
    """The terms a word of the query stands for, each with its weight: itself, else what it may have meant."""
    stem = words.stem(word)
    if stem in vocabulary:
        return {stem: 1.0}
    unspaced = [p for run in words.UNSPACED.findall(word) for p in words.pairs(run)]
    if unspaced:
        return {p: 1.0 for p in unspaced if p in vocabulary}
    allowed = fuzzy.edits_allowed(word)
    near = ((fuzzy.distance(word, token, allowed), token) for token in plain) if allowed else ()
    return {words.stem(token): CLOSE[edits] for edits, token in sorted(near, reverse=True) if edits <= allowed}


def chosen(
    query: str, memories: Sequence[Memory], now_ms: int, most: int, told: frozenset[str] = frozenset()
) -> tuple[list[Memory], bool]:
    """What goes with a message, and whether there are more for `recall`.

    All that weren't told while all of them fit `most` characters; else those the query is about, then (where none was
    told yet) the newest, as many as fit.
    """
    new = [m for m in memories if m.id not in told]
    if sum(len(m.content) for m in memories) <= most:
        return sorted(new, key=lambda m: m.at), False
    about = [m for m in ranked(query, memories, now_ms) if m.id not in told]
    newest = [] if told else sorted(new, key=lambda m: -m.at)
    out: list[Memory] = []
    room = most
    for memory in dict.fromkeys([*about, *newest]):
        if len(memory.content) <= room:
            out.append(memory)
            room -= len(memory.content)
    return out, not told
