"""Which of the person's chats a sentence names; pure.

Chats are often titled by their first words, so a title in a sentence may be the topic and nothing else. It counts as
named only when "chat" or quotes stand beside it, or a word that takes a chat before it ("in Lisbon trip", "open …").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.providers.offline.words import straight
from store.text import fold

Titles = Sequence[tuple[str, str]]  # (chat id, title), newest first

_LOOKED_AT = 2_000  # characters of a sentence in which a title is looked for
_WORD = re.compile(r"[^\W_]+(?:['&+#._-][^\W_]+)*", re.UNICODE)
_CHAT_WORD = r"(?:chat|conversation|thread|column)s?\b"
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


def at_start(text: str, titles: Titles) -> Named | None:
    """The chat that `text` begins with ("the Lisbon chat that …", "Fix the login that …")."""
    lead = re.match(r"(?:(?:the|my|our|to|chat|other)\s+)*[\"“'«]?", straight(text), re.IGNORECASE)
    begin = lead.end() if lead else 0
    words = _words(text[begin:])
    # A part of the title counts only with "chat" right after it: "the login chat" is “Fix the login”.
    ahead = re.match(rf"(.{{1,60}}?)[\"”'»]?\s+{_CHAT_WORD}", text[begin:], re.IGNORECASE | re.DOTALL)
    part = _telling(ahead.group(1)) if ahead else frozenset()
    best: Named | None = None
    for chat, title in titles:
        wanted = _title_words(title)
        if not wanted:
            continue
        if tuple(word for word, _, _ in words[: len(wanted)]) == wanted:
            found = _closed(text, chat, title, 0, begin + words[len(wanted) - 1][2], whole=True)
        elif ahead and part and part <= set(wanted):
            found = Named(chat, title, 0, begin + ahead.end(), whole=False)
        else:
            continue
        if best is None or (found.whole, found.end) > (best.whole, best.end):
            best = found
    return best


def _closed(text: str, chat: str, title: str, start: int, end: int, *, whole: bool) -> Named:
    after = re.match(rf"[\"”'»]?(?:\s+{_CHAT_WORD})?", text[end:], re.IGNORECASE)
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
