"""What is asked of the full-text table: a MATCH expression, and what each phrase of it counts for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from store.beginnings import Beginnings
from store.query import Form, Group
from store.ranking import Phrase

WORTH_IT: Final = 16  # a line looked up costs as much as so many walked over


@dataclass(frozen=True, slots=True)
class Ask:
    """`beginning`, when set, is looked up in memory for what the expression finds: its group and weight in `also`."""

    match: str
    phrases: Sequence[Phrase | None]
    every: bool = False  # of the groups, once each
    beginning: str = ""
    also: tuple[int, float] | None = None


def phrases_of(groups: Iterable[Group]) -> list[Phrase | None]:
    """What the phrases of these groups count for, in their order."""
    return [_phrase(i, form) for i, group in enumerate(groups) for form in group.forms]


def looked_up(
    groups: Sequence[Group], known: Beginnings, most: int, all_of: Callable[[Iterable[Group]], str]
) -> Ask | None:
    """Every group, of which one is a common beginning beside rarer words; None for any other query."""
    for at, group in enumerate(groups):
        *own, starts = group.forms
        others = [(i, g) for i, g in enumerate(groups) if i != at]
        if not (starts.prefix and others and len(starts.terms) == 1 and known.have(starts.terms[0])):
            continue
        least = min(g.df for _, g in others)
        if any(f.terms != starts.terms for f in own) or least > most or least * WORTH_IT > group.df:
            return None
        if not own:
            return _ask(all_of(g for _, g in others), others, at, starts)
        # the word itself is there only to be counted: (first) AND (first OR itself) AND …
        (i, first), *rest = others
        counted = replace(first, forms=(*first.forms, *own))
        match = all_of([first, counted, *(g for _, g in rest)])
        phrases = [*(_phrase(i, f) for f in first.forms), *[None] * len(first.forms), *(_phrase(at, f) for f in own)]
        more = [_phrase(j, f) for j, g in rest for f in g.forms]
        return Ask(match, [*phrases, *more], True, starts.terms[0], (at, starts.weight))
    return None


def _ask(match: str, others: Sequence[tuple[int, Group]], at: int, starts: Form) -> Ask:
    phrases = [_phrase(i, form) for i, group in others for form in group.forms]
    return Ask(match, phrases, True, starts.terms[0], (at, starts.weight))


def _phrase(group: int, form: Form) -> Phrase:
    return group, form.weight, form.prefix
