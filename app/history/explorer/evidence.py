"""What a run of the explorer observed: immutable, under opaque ids, with the passage that matched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from store import words
from store.events.explored import Evidence
from store.ids import new_id
from store.limits import EXPLORE_OBSERVED_BYTES, EXPLORE_PASSAGE_CHARS, EXPLORE_READ_CHARS
from store.models import ChatSummary, Line, Who
from store.text import safe_name, safe_text

CANDIDATE = "e"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One observed message. `text` is filtered and whole; nothing of it is the engine's."""

    id: str
    chat: str
    title: str
    message: str
    who: Who
    at: int | None
    text: str
    name: str | None
    untrusted: bool
    summary: bool = False


@dataclass(slots=True)
class Registry:
    """Fills as the run goes on. One candidate a message; `used` is the bytes the engine was shown."""

    clean: Callable[[str], str]
    question: set[str] = field(default_factory=set)  # its telling stems
    terms: set[str] = field(default_factory=set)  # stems of the question and of every query
    used: int = 0
    _by_id: dict[str, Candidate] = field(default_factory=dict)
    _by_place: dict[tuple[str, str], str] = field(default_factory=dict)
    _terms: dict[str, set[str]] = field(default_factory=dict)  # candidate → stems that led to it
    _titles: dict[str, str] = field(default_factory=dict)
    shown: dict[str, None] = field(default_factory=dict)  # what the engine was told of, in order
    found: dict[str, float] = field(default_factory=dict)  # how well the searches ranked it (reciprocal ranks, summed)

    def begin(self, question: str) -> None:
        """What the whole run is about."""
        self.question = stems(question)
        self.terms |= self.question

    def ask(self, text: str) -> None:
        """Words that are looked for."""
        self.terms |= stems(text)

    def observe(self, chat: ChatSummary, line: Line, led: Iterable[str] = (), *, summary: bool = False) -> Candidate:
        """The candidate of a line; a line that was seen before keeps its id. `summary`: a chat's own of itself."""
        place = (chat.id, line.anchor)
        known = self._by_place.get(place)
        if known is None:
            candidate = Candidate(
                new_id(CANDIDATE),
                chat.id,
                self._titled(chat),
                line.anchor,
                line.who,
                line.at,
                safe_text(self.clean(line.text)),
                safe_name(self.clean(line.name)) if line.name else None,
                bool(chat.taints),
                summary,
            )
            known = self._by_place[place] = candidate.id
            self._by_id[candidate.id] = candidate
        self._terms.setdefault(known, set()).update(led)
        return self._by_id[known]

    def _titled(self, chat: ChatSummary) -> str:
        """A chat's title as it was when the run saw it first."""
        if chat.id not in self._titles:
            self._titles[chat.id] = safe_name(self.clean(chat.title), 160)
        return self._titles[chat.id]

    def ranked(self, id_: str, place: int, *, whole: bool) -> None:
        """A search had it at this place, from 0; that of the `whole` question counts most."""
        self.found[id_] = self.found.get(id_, 0.0) + (3 if whole else 1) / (10 + place)

    def get(self, id_: str) -> Candidate | None:
        """A candidate the engine was told of in this run; any other id is unknown."""
        return self._by_id.get(id_) if id_ in self.shown else None

    def show(self, id_: str) -> None:
        """The engine is told of it."""
        self.shown.setdefault(id_)

    def seen(self) -> list[Candidate]:
        """All it was told of, in order."""
        return [self._by_id[id_] for id_ in self.shown]

    def room(self) -> int:
        """Bytes the engine may still be shown."""
        return max(0, EXPLORE_OBSERVED_BYTES - self.used)

    def evidence(self, candidate: Candidate, most: int = EXPLORE_PASSAGE_CHARS) -> Evidence:
        """The quoted passage: around the words that led to it, never merely the message's beginning."""
        start, end = passage(candidate.text, self._wanted(candidate), most)
        excerpt = " ".join(candidate.text[start:end].split())
        return Evidence(
            chat=candidate.chat,
            title=candidate.title,
            message=candidate.message,
            who=candidate.who,
            at=candidate.at,
            excerpt=excerpt,
            start=start,
            end=end,
            cut=start > 0 or end < len(candidate.text),
            summary=candidate.summary,
            name=candidate.name,
        )

    def stretch(self, candidate: Candidate, most: int = EXPLORE_READ_CHARS) -> str:
        """A line as it is read: at most `most` characters of it, where most of the words are that led here."""
        start, end = passage(candidate.text, self._wanted(candidate), most)
        return f"{'…' if start else ''}{candidate.text[start:end]}{'…' if end < len(candidate.text) else ''}"

    def _wanted(self, candidate: Candidate) -> set[str]:
        return self._terms.get(candidate.id, set()) | self.terms


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


def stems(text: str) -> set[str]:
    """The stems of a text's words, without those that say nothing."""
    return {words.stem(token) for token in words.tokens(text) if token not in STOP and len(token) > 1}


def passage(text: str, wanted: set[str], most: int = EXPLORE_PASSAGE_CHARS) -> tuple[int, int]:
    """Where the passage of at most `most` characters lies that has most of the wanted words, and ends whole."""
    if len(text) <= most:
        return 0, len(text)
    hits = [(m.start(), m.end(), s) for m in _WORD.finditer(text) if (s := words.stem(m[0].casefold())) in wanted]
    if not hits:
        return 0, _word_end(text, most)
    best, start = -1.0, 0
    for n, (begin, _, _) in enumerate(hits):
        inside = [h for h in hits[n : n + 60] if h[1] <= begin + most]
        value = len({h[2] for h in inside}) + len(inside) / 1_000
        if value > best:
            best, first, last = value, begin, inside[-1][1] if inside else begin
            spare = most - (last - first)
            start = max(0, first - spare // 3)
    start = _word_start(text, start)
    return start, _word_end(text, start + most)


def _word_start(text: str, at: int) -> int:
    if at <= 0:
        return 0
    space = text.find(" ", at, at + 24)
    return space + 1 if space >= 0 else at


def _word_end(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    space = text.rfind(" ", max(0, at - 24), at)
    return space if space > 0 else at


def chats_of(candidates: Sequence[Candidate]) -> dict[str, str]:
    """The tainted chats among these, by id: their titles."""
    return {c.chat: c.title for c in candidates if c.untrusted}


_SAYS_NOTHING = """
a about above after again all also am an and any are aren't as at be because been before being both but by can can't
could did didn't do does doesn't doing don't down during each else ever few for from further get go got had has have
having he her here hers him his how i i'd i'll i'm if in into is isn't it it's its just know let like me more most my no
nor not now of off on once only or other our out over own please previous previously earlier past chat chats
conversation conversations said say says same she should so some such tell than that the their them then there these
they thing things this those to too under until up us use very was we were what what's when where which while who whom
why will with would you your yours remember recall mention mentioned discuss discussed talk talked find found look ago
last time anything something decide decided decision decisions agree agreed end ended happened happen thing ask asked
again everything settle settled choose chose chosen pick picked conclude concluded conclusion verdict plan planned know
need want wanted tell told think thought come came give gave make made take took summary everyone right whole
"""
STOP = frozenset(_SAYS_NOTHING.split())
