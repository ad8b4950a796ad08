"""Which of the person's chats a sentence names; pure.

Chats are often titled by their first words, so a title in a sentence may be the topic and nothing else. It counts as
named only when "chat" or quotes stand beside it, or a word that takes a chat before it ("in Lisbon trip", "open …").
After a command also "one" stands for a chat ("the kitchen one"), and a part of a title where the command ends ("is the
deploy done?"): those count only when one title fits and no other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from app.providers.offline.words import straight
from store.text import fold

Titles = Sequence[tuple[str, str]]  # (chat id, title), newest first

_LOOKED_AT = 2_000  # characters of a sentence in which a title is looked for
_WORD = re.compile(r"[^\W_]+(?:['&+#._-][^\W_]+)*", re.UNICODE)
_CHAT_WORD = r"(?:chat|conversation|thread|column)s?\b"
_ONE = r"one\b(?!\s+(?:more|of|thing|day|time)\b)"
_TYPO_CHARS, _TYPO_SHARE = 6, 0.85  # a shorter word a letter off is another word ("Paris", "parts")
_TAKES_A_CHAT = re.compile(
    r"(?:\b(?:in|inside|within|from|open|read|reopen|see)|\b(?:end|start|beginning|rest) of"
    r"|\b(?:what|how)(?:'s| is| are| did))\s+(?:the\s+|my\s+|our\s+)?$",
    re.IGNORECASE,
)
_SMALL = frozenset(("a", "an", "the", "of", "for", "in", "on", "and", "to", "my", "our", "with", "at", "chat", "new"))


@dataclass(frozen=True, slots=True)
class Named:
    """A chat that a sentence names, and where (`start`, `end`, with "the" and "chat" around it)."""

    chat: str
    title: str
    start: int
    end: int
    whole: bool  # the whole title stands there


def _words(text: str) -> list[tuple[str, int, int]]:
    return [
        (m.group().removesuffix("'s"), m.start(), m.end()) for m in _WORD.finditer(fold(straight(text[:_LOOKED_AT])))
    ]


@lru_cache(maxsize=8_192)
def _title_words(title: str) -> tuple[str, ...]:
    words = tuple(word for word, _, _ in _words(title))
    return () if words == ("untitled",) else words


def at_start(text: str, titles: Titles, until: re.Pattern[str] | None = None) -> Named | None:
    """The chat that `text` begins with ("the Lisbon chat that …", "Fix the login that …", "the kitchen one").

    `until`: what may follow a bare part of a title ("the deploy" before " is done"); None: a bare part names nothing.
    """
    lead = re.match(r"(?:(?:the|my|our|to|chat|other)\s+)*[\"“'«]?", straight(text), re.IGNORECASE)
    begin = lead.end() if lead else 0
    pointed = bool(re.match(r"(?:the|my|our)\s", text, re.IGNORECASE))
    words = [word for word, _, _ in _words(text[begin:])]
    best: Named | None = None
    for chat, title in titles:
        wanted = _title_words(title)
        if wanted and tuple(words[: len(wanted)]) == wanted:
            last = _words(text[begin:])[len(wanted) - 1][2]
            found = _closed(text, chat, title, 0, begin + last, whole=True, one=pointed)
            best = found if best is None or found.end > best.end else best
    return best or _part_at_start(text[begin:], begin, titles, until if pointed else None)


def _part_at_start(rest: str, begin: int, titles: Titles, until: re.Pattern[str] | None) -> Named | None:
    """The chat of which `rest` begins with a part of the title, with "chat", "one" or `until` right after it."""
    kinds = [(rf"[\"”'»]?\s+{_CHAT_WORD}", True), (rf"[\"”'»]?\s+{_ONE}", False)]
    if until is not None:
        kinds.append((rf"(?={until.pattern})", False))
    for after, said_chat in kinds:
        ahead = re.match(rf"(.{{1,60}}?){after}", rest, re.IGNORECASE | re.DOTALL)
        part = _telling(ahead.group(1)) if ahead else frozenset()
        if not ahead or not part:
            continue
        fitting = [(chat, title) for chat, title in titles if part <= set(_title_words(title))]
        if said_chat and not fitting:
            alike = [(chat, title) for chat, title in titles if _alike(part, _title_words(title))]
            fitting = alike if len(alike) == 1 else []
        if fitting and (said_chat or len(fitting) == 1):
            return Named(*fitting[0], 0, begin + ahead.end(), whole=False)
    return None


def _alike(part: frozenset[str], title: tuple[str, ...]) -> bool:
    """Whether the words of a part are the title's, longer ones perhaps a letter off ("loggin")."""
    return bool(title) and all(word in title or any(_letter_off(word, other) for other in title) for word in part)


def _letter_off(word: str, other: str) -> bool:
    if len(word) < _TYPO_CHARS or abs(len(word) - len(other)) > 1 or word[:1] != other[:1]:
        return False
    return SequenceMatcher(None, word, other).ratio() >= _TYPO_SHARE


def _closed(text: str, chat: str, title: str, start: int, end: int, *, whole: bool, one: bool = False) -> Named:
    noun = rf"{_CHAT_WORD}|{_ONE}" if one else _CHAT_WORD
    after = re.match(rf"[\"”'»]?(?:\s+(?:{noun}))?", text[end:], re.IGNORECASE)
    return Named(chat, title, start, end + (after.end() if after else 0), whole)


def _telling(part: str) -> frozenset[str]:
    """The words of a piece that could be a title's."""
    return frozenset(word for word, _, _ in _words(part) if word not in _SMALL)


def anywhere(text: str, titles: Titles) -> Named | None:
    """The chat that `text` names somewhere, the longest title first."""
    text = text[:_LOOKED_AT]
    words = _words(text)
    places: dict[str, list[int]] = {}
    for at, (word, _, _) in enumerate(words):
        places.setdefault(word, []).append(at)
    parts = [(_telling(part), start, end) for part, start, end in _before_chat(text)]
    best: Named | None = None
    for chat, title in titles:
        wanted = _title_words(title)
        if not wanted:
            continue
        found = None
        for at in places.get(wanted[0], ()):
            if tuple(word for word, _, _ in words[at : at + len(wanted)]) == wanted:
                start, end = words[at][1], words[at + len(wanted) - 1][2]
                if _marked(text, start, end, several=len(wanted) > 1):
                    found = _closed(text, chat, title, _lead(text, start), end, whole=True)
                    break
        if found is None:
            start, end = next(((s, e) for telling, s, e in parts if telling and telling <= set(wanted)), (-1, -1))
            if start < 0:
                continue
            found = Named(chat, title, _lead(text, start), end, whole=False)
        if best is None or (found.whole, found.end - found.start) > (best.whole, best.end - best.start):
            best = found
    return best


def _before_chat(text: str) -> list[tuple[str, int, int]]:
    """The pieces that stand before "chat" after "the", "in" and such, with where each begins and the chat word ends."""
    out = []
    for match in re.finditer(rf"\b(?:the|my|our|in|from)\s+(\S.{{0,60}}?)\s+{_CHAT_WORD}", text, re.IGNORECASE):
        part = match.group(1)
        cut = re.split(r"\b(?:the|my|our)\s+", part, flags=re.IGNORECASE)[-1]
        out.append((cut, match.start(1) + len(part) - len(cut), match.end()))
    return out


def _marked(text: str, start: int, end: int, *, several: bool) -> bool:
    """Whether a whole title is meant as a chat: quoted, with "chat" beside it, or after a word that takes a chat."""
    quoted = text[start - 1 : start] in tuple("\"“'«") and text[end : end + 1] in tuple("\"”'»")
    beside = re.match(rf"\s+{_CHAT_WORD}", text[end:], re.IGNORECASE)
    before = text[:start]
    after_chat = re.search(r"\bchat\s+$", before, re.IGNORECASE)
    return bool((start and quoted) or beside or after_chat or (several and _TAKES_A_CHAT.search(before)))


def _lead(text: str, start: int) -> int:
    lead = re.search(
        r"(?:\b(?:as|like|the|my|our|in|from|of|chat|conversation)\s+)*[\"“'«]?$", text[:start], re.IGNORECASE
    )
    return lead.start() if lead else start
