"""A few words that were typed together and said together: chats that have them so stand before those that don't."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, overload

from store import grouping, query, words
from store.query import Group
from store.ranking import CHATS_WEIGHED
from store.retrieved import Retrieved

WORDS_MOST: Final = 4  # longer queries are sentences, of which nobody says just these words again
CHATS_LOOKED_AT: Final = CHATS_WEIGHED  # many, so that leaving some out doesn't change the others' order
LINES_LOOKED_AT: Final = 2  # of each, its best
MORE: Final = 0.5  # of its score a line and its chat gain

_LETTER: Final = r"[^\W_]"  # as in words.WORD; terms hold nothing else
_START, _BETWEEN, _END = rf"(?<!{_LETTER})", r"[\W_]+", rf"(?!{_LETTER})"

Texts = Callable[[Sequence[int]], Mapping[int, str]]


class _Again(Sequence[grouping.FoundChat]):
    """The first chats in another order, the others as they were: those are made when they are looked at."""

    def __init__(self, first: list[grouping.FoundChat], chats: Sequence[grouping.FoundChat]) -> None:
        self._first, self._chats = first, chats

    def __len__(self) -> int:
        return len(self._chats)

    @overload
    def __getitem__(self, at: int) -> grouping.FoundChat: ...
    @overload
    def __getitem__(self, at: slice) -> list[grouping.FoundChat]: ...
    def __getitem__(self, at: int | slice) -> grouping.FoundChat | list[grouping.FoundChat]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        at = at + len(self) if at < 0 else at
        return self._first[at] if at < len(self._first) else self._chats[at]


def together(found: Retrieved, parsed: query.Parsed, texts: Texts) -> Retrieved:
    """The best chats in their order, those higher that have the words next to each other as they were typed.

    Only a few words to look for, not a question, and only lines that have them all; `texts` reads lines by id.
    """
    wanted = _in_order(found.groups, parsed)
    if not wanted or found.lines is None or not found.chats:
        return found
    columns = found.lines.finds.columns[: len(found.groups)]
    first = list(found.chats[:CHATS_LOOKED_AT])
    rows = [r for chat in first for r in chat.rows[:LINES_LOOKED_AT] if all(column[r] for column in columns)]
    held = texts([found.lines.docids[r] for r in rows])
    together_in = pattern(wanted).search
    near = {r for r in rows if together_in(words.fold(held.get(found.lines.docids[r], "")))}
    if not near:
        return found
    for row in near:
        found.lines.scores[row] *= 1.0 + MORE
    out: list[grouping.FoundChat] = []
    for chat in first:
        place = len(out)
        if any(r in near for r in chat.rows[:LINES_LOOKED_AT]):
            chat = chat._replace(score=chat.score * (1.0 + MORE), rows=sorted(chat.rows, key=lambda r: r not in near))
            while place and out[place - 1].score < chat.score:  # up only, past those that weigh less
                place -= 1
        out.insert(place, chat)
    return replace(found, chats=_Again(out, found.chats))


def pattern(wanted: Sequence[Group | None]) -> re.Pattern[str]:
    """What finds these words one after another in a folded text; None stands for any word."""
    return re.compile(_START + _BETWEEN.join(_one_of(group) for group in wanted) + _END)


def _in_order(groups: Sequence[Group], parsed: query.Parsed) -> list[Group | None]:
    """What was typed, in its order, where it is a few plain words; else []. A word that isn't looked for is None."""
    pieces = parsed.pieces
    if not 2 <= len(pieces) <= WORDS_MOST or query.is_question(parsed):
        return []
    if any(len(p.terms) != 1 or p.quoted or p.unspaced for p in pieces):
        return []
    by_typed = {g.typed: g for g in groups}
    out = [by_typed.get(p.typed) for p in pieces]
    while out and out[0] is None:
        out.pop(0)
    while out and out[-1] is None:
        out.pop()
    return out if sum(group is not None for group in out) > 1 else []


def _one_of(group: Group | None) -> str:
    if group is None:
        return _LETTER + "+"
    forms = [form for form in group.forms if len(form.terms) == 1] or [query.Form((group.typed,))]
    return f"(?:{'|'.join(re.escape(form.terms[0]) + _LETTER * form.prefix + '*' * form.prefix for form in forms)})"
