"""Lines of a tool's answer, and which of them to quote: those that decide first, newest first; pure.

Nothing is ever written that isn't in a result: a quote is one unbroken piece of a line that came back.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.providers.offline.words import query_of, tokens
from store.text import fold

QUOTE_CHARS = 300
_AFTER_HITS = 1_000  # the rank of lines that only stand near a hit
_NEAR = 4  # lines of a read this far from its line may answer what was asked

_BESIDE = 2  # … and this far it may decide without naming the topic
_ON_TOPIC = 0.5
_WORSE = 0.5

_CUE = re.compile(
    r"\b(?:decided|it's decided|decision is|let'?s go with|let us go with|let'?s (?:do|take|use|book|pick)|agreed"
    r"|ok(?:ay)?,? then|(?:we|i)'?ll (?:use|go with|take|book|pick|stick)|we will (?:use|go with|take|book)"
    r"|(?:we're|we are|i'm|i am) going with|going with|went with|settled on|final(?: decision| choice| answer)"
    r"|(?:we|i) (?:picked|chose|booked)|it's settled|deal then|plan is|beschlossen|entschieden|on prend|quedamos)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?…])[\"”’)]*\s+")
_OWN_WORDS = re.compile(  # an answer of this assistant, or a piece of one
    r"” — [^“”\n]{1,80}, in “|” ended (?:on \d|with:)|these are the lines about “|^I looked through your chats"
    r"|^(?:This is what (?:was said|I found)|More than one line)"
)


@dataclass(frozen=True, slots=True)
class Said:
    """One line that a tool's answer holds, with what is said of its chat."""

    text: str
    who: str
    when: str
    name: str
    chat: str
    title: str
    from_: str
    message: str
    rank: int  # 0 is the best line of all
    distance: int | None = None  # lines from the one that was asked for, in a read


@dataclass(frozen=True, slots=True)
class Quote:
    """A piece of a line, word for word."""

    text: str
    said: Said
    decides: bool  # some sentence of the line decides, and it speaks of what was asked
    fit: float  # how much of what was asked is in the line; above 1 where the words stand together


def data_of(text: str) -> dict[str, Any] | None:
    """The JSON object of a tool's answer; None when it's words."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def listed(value: Any) -> list[dict[str, Any]]:
    """The objects of a JSON list; [] for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _line(line: dict[str, Any], chat: dict[str, Any], rank: int, distance: int | None = None) -> Said | None:
    if not _text(line.get("text")).strip():
        return None
    return Said(
        text=line["text"],
        who=_text(line.get("who")),
        when=_text(line.get("when")),
        name=_text(line.get("name")),
        chat=_text(chat.get("chat")),
        title=_text(chat.get("title")) or "Untitled",
        from_=_text(chat.get("from")),
        message=_text(line.get("message")),
        rank=rank,
        distance=distance,
    )


def found_lines(data: dict[str, Any]) -> list[Said]:
    """The lines of a search's answer: each chat's best line first, then the second ones."""
    chats = listed(data.get("chats"))
    placed = [
        (depth, order, line, chat)
        for order, chat in enumerate(chats)
        for depth, line in enumerate(listed(chat.get("lines")))
    ]
    placed.sort(key=lambda p: (p[0], p[1]))
    lines = (_line(line, chat, rank) for rank, (_, _, line, chat) in enumerate(placed))
    return [line for line in lines if line is not None]


def read_lines(data: dict[str, Any], message: str | None) -> list[Said]:
    """The lines of a read's answer, oldest first, with how far each is from the one that was asked for."""
    raw = listed(data.get("lines"))
    centre = next((at for at, line in enumerate(raw) if line.get("message") == message), None)
    away = [None if centre is None else at - centre for at in range(len(raw))]
    lines = (
        _line(line, data, -1 if far == 0 else _AFTER_HITS + abs(far or 0), far)
        for line, far in zip(raw, away, strict=True)
    )
    return [line for line in lines if line is not None]


def topic_words(query: str) -> list[str]:
    """The words of a query, folded."""
    return [fold(word) for word in tokens(query.replace('"', " "))]


def _stem(word: str) -> str:
    """The word's beginning, which its other forms share."""
    return word if len(word) < 5 else word[: max(4, len(word) - 2)]


def decides(text: str) -> bool:
    """Whether some sentence of the text decides something; a question doesn't."""
    return any(_CUE.search(part) and not part.rstrip('"”’) ').endswith("?") for part in sentences(text))


def sentences(text: str) -> list[str]:
    """The text's sentences, as they stand; never over a line's end."""
    return [part for line in text.split("\n") for part in _SENTENCE.split(line) if part.strip()]


def piece(text: str, words: Sequence[str]) -> str:
    """At most 300 unbroken characters of one line of the text, where it decides or has the words."""
    best, score = "", -1.0
    for part in sentences(text):
        folded = fold(part)
        here = sum(_stem(word) in folded for word in words) + (2 if decides(part) else 0)
        if here > score:
            best, score = part.strip(), here
    line = next((line for line in text.split("\n") if best and best in line), best).strip()
    if len(line) <= QUOTE_CHARS:
        return line
    start = line.find(best)
    if len(best) > QUOTE_CHARS:
        at = min((p for word in words if (p := fold(best).find(_stem(word))) >= 0), default=0)
        begin = best.rfind(" ", 0, max(0, at - 60)) + 1 if at > 60 else 0
        end = begin + QUOTE_CHARS
        return best[
            begin : best.rfind(" ", begin + 1, end) if end < len(best) and " " in best[begin + 1 : end] else end
        ]
    end = start + QUOTE_CHARS
    if end < len(line):
        # Whole sentences after the best one, as many as fit.
        stop = max((m.start() for m in _SENTENCE.finditer(line, start + len(best) - 1, end)), default=start + len(best))
        return line[start : max(stop, start + len(best))].strip()
    return line[start:].strip()


def quotes(
    found: Sequence[Said], read: Sequence[Said], query: str, asked: str, *, decision: bool = True
) -> list[Quote]:
    """What may be quoted, best first: lines that decide (newest first), then those that fit best.

    `decision`: what was decided is asked for. Left out: the same words again, the question itself, answers of this
    assistant that quote such lines, and lines that fit much worse than the best one.
    """
    words = topic_words(query)
    out: list[Quote] = []
    seen: set[tuple[str, str]] = set()
    ranks = {(line.chat, line.message): line.rank for line in reversed(found)}
    near = [line for line in read if line.distance is not None and abs(line.distance) <= _NEAR]
    whole = [replace(line, rank=ranks.get((line.chat, line.message), line.rank)) for line in read_first(near)]
    for line in (*whole, *found):
        if (line.chat, line.message) in seen or _asks_the_same(line, query, asked):
            continue
        if line.who == "assistant" and _OWN_WORDS.search(line.text):
            continue
        fit, deciding = fit_of(line.text, words), decides(line.text)
        if line.distance is not None and not deciding and fit == 0:
            continue  # it only stands beside a line that was found
        seen.add((line.chat, line.message))
        about = fit >= _ON_TOPIC or (line.distance is not None and abs(line.distance) <= _BESIDE)
        out.append(Quote(piece(unnamed(line), words), line, deciding and about, fit))
    best = max((q.fit for q in out), default=0.0)
    if not decision:  # what was asked isn't what was decided: only what fits as well as anything comes first
        out = [q if q.fit >= best else replace(q, decides=False) for q in out]
    first = sorted((q for q in out if q.decides), key=lambda q: (q.fit >= _ON_TOPIC, _moment(q.said)), reverse=True)
    rest = [q for q in out if not q.decides and q.fit >= best - _WORSE]
    return _once([*first, *sorted(rest, key=lambda q: (-q.fit, q.said.rank))])


def _asks_the_same(line: Said, query: str, asked: str) -> bool:
    """Whether the line is the question itself, put in another chat."""
    text = line.text.strip()
    if fold(text) == fold(asked.strip()):
        return True
    return line.who == "you" and text.endswith("?") and bool(query) and fold(query_of(text)) == fold(query)


def fit_of(text: str, words: Sequence[str]) -> float:
    """The share of the words (their stems) that are in the text, and more where all stand one after another."""
    if not words:
        return 0.0
    folded = fold(text)
    share = sum(_stem(word) in folded for word in words) / len(words)
    if len(words) > 1 and share == 1:
        if re.search(r"\W+".join(map(re.escape, words)), folded):
            return share + 0.5
        if re.search(r"\w*\W+".join(re.escape(_stem(word)) for word in words), folded):
            return share + 0.25
    return share


def unnamed(line: Said) -> str:
    """The text without the speaker's name, which imports of talks put before it."""
    name, colon, rest = line.text.partition(": ")
    named = bool(colon and line.from_) and (name == line.name or (line.who == "you" and len(name.split()) == 1))
    return rest if named else line.text


def read_first(lines: Sequence[Said]) -> list[Said]:
    """The line that was asked for, then those around it."""
    return sorted(lines, key=lambda line: (abs(line.distance or 0), line.rank))


def _once(every: Sequence[Quote]) -> list[Quote]:
    kept: dict[str, Quote] = {}
    for quote in every:
        kept.setdefault(" ".join(fold(quote.text).split()), quote)
    return list(kept.values())


def _moment(said: Said) -> float:
    try:
        return dt.datetime.fromisoformat(said.when).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def day(when: str) -> str:
    """ "8 May 2023" of an ISO time, in the zone it is written in (the person's own); "" when it can't be read."""
    try:
        moment = dt.datetime.fromisoformat(when)
    except ValueError:
        return ""
    return f"{moment.day} {moment:%B %Y}"


def speaker(said: Said) -> str:
    """Who said it, in words."""
    if said.who == "you":
        return "you"
    if said.who == "assistant":
        return "the assistant"
    if said.who == "step":
        return "something the assistant ran"
    return said.name or "someone else"


def attribution(said: Said) -> str:
    """Who, in which chat, on which day."""
    where = f"in “{said.title}”" + (f" ({said.from_})" if said.from_ else "")
    return ", ".join(part for part in (speaker(said), where, day(said.when)) if part)
