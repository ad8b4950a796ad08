"""Which of the person's chats a sentence names; pure.

Chats are often titled by their first words, so a title in a sentence may be the topic and nothing else. It counts as
named only when "chat" or quotes stand beside it, or a word that takes a chat before it ("in Lisbon trip", "open …").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.providers.offline.words import straight
from store.text import fold

Titles = Sequence[tuple[str, str]]  # (chat id, title), newest first

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
    return [(m.group(), m.start(), m.end()) for m in _WORD.finditer(fold(straight(text)))]


def _title_words(title: str) -> list[str]:
    return [word.removesuffix("'s") for word, _, _ in _words(title)]


def at_start(text: str, titles: Titles) -> Named | None:
    """The chat that `text` begins with ("the Lisbon chat that …", "Fix the login that …")."""
    lead = re.match(r"(?:(?:the|my|our|to|chat|other)\s+)*[\"“'«]?", straight(text), re.IGNORECASE)
    begin = lead.end() if lead else 0
    best: Named | None = None
    for chat, title in titles:
        found = _prefix(text, begin, chat, title)
        if found and (best is None or (found.whole, found.end) > (best.whole, best.end)):
            best = found
    return best


def _prefix(text: str, begin: int, chat: str, title: str) -> Named | None:
    wanted = _title_words(title)
    if not wanted or fold(title) == "untitled":
        return None
    words = _words(text[begin:])
    matched = 0
    while matched < min(len(wanted), len(words)) and words[matched][0].removesuffix("'s") == wanted[matched]:
        matched += 1
    if matched == len(wanted):
        return _closed(text, chat, title, 0, begin + words[matched - 1][2], whole=True)
    # A part of the title counts only with "chat" right after it: "the login chat" is “Fix the login”.
    ahead = re.match(rf"(.{{1,60}}?)[\"”'»]?\s+{_CHAT_WORD}", text[begin:], re.IGNORECASE | re.DOTALL)
    if ahead and _part_of(ahead.group(1), wanted):
        return Named(chat, title, 0, begin + ahead.end(), whole=False)
    return None


def _closed(text: str, chat: str, title: str, start: int, end: int, *, whole: bool) -> Named:
    after = re.match(rf"[\"”'»]?(?:\s+{_CHAT_WORD})?", text[end:], re.IGNORECASE)
    return Named(chat, title, start, end + (after.end() if after else 0), whole)


def _part_of(part: str, wanted: list[str]) -> bool:
    words = [word.removesuffix("'s") for word, _, _ in _words(part)]
    named = [word for word in words if word not in _SMALL]
    return bool(named) and all(word in wanted for word in words if word not in _SMALL)


def anywhere(text: str, titles: Titles) -> Named | None:
    """The chat that `text` names somewhere, the longest title first."""
    best: Named | None = None
    for chat, title in titles:
        found = _inside(text, chat, title)
        if found and (best is None or (found.whole, found.end - found.start) > (best.whole, best.end - best.start)):
            best = found
    return best


def _inside(text: str, chat: str, title: str) -> Named | None:
    wanted = _title_words(title)
    if not wanted or fold(title) == "untitled":
        return None
    words = _words(text)
    flat = [word.removesuffix("'s") for word, _, _ in words]
    for at in range(len(flat) - len(wanted) + 1):
        if flat[at : at + len(wanted)] != wanted:
            continue
        start, end = words[at][1], words[at + len(wanted) - 1][2]
        if _marked(text, start, end, several=len(wanted) > 1):
            return _closed(text, chat, title, _lead(text, start), end, whole=True)
    for match in re.finditer(rf"\b(?:the|my|our|in|from)\s+(\S.{{0,60}}?)\s+{_CHAT_WORD}", text, re.IGNORECASE):
        part = match.group(1)
        cut = re.split(r"\b(?:the|my|our)\s+", part, flags=re.IGNORECASE)[-1]
        if _part_of(cut, wanted):
            start = match.start(1) + len(part) - len(cut)
            return Named(chat, title, _lead(text, start), match.end(), whole=False)
    return None


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
