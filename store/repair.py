"""Words that nobody said, or hardly anybody: what they may have meant (search.md §6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from store import db, fuzzy, vocab
from store.limits import TYPO_VARIANTS
from store.query import FORM_WEIGHT, Form, Group

ReadAs = list[tuple[str, str]]
Typos = Callable[[], fuzzy.Typos | None]


def unknown(groups: Sequence[Group], conn: db.Connection, typos: Typos) -> tuple[list[Group], ReadAs]:
    """Each word that is nowhere gets what it may mean: a near word, else words that have it inside."""
    found: list[list[Form]] = []
    for g in groups:
        term = _repairable(g) if g.df == 0 else None
        found.append(_meant(term, typos) or _started(term, g, typos) or _inside(term, typos) if term else [])
    if any(found):
        found = [_in_context(i, groups, found, conn) if meant else meant for i, meant in enumerate(found)]
    out = [_with(g, meant, conn, keep=False) if meant else g for g, meant in zip(groups, found, strict=True)]
    return out, [(g.typed, form.terms[0]) for g, meant in zip(groups, found, strict=True) for form in meant]


def _in_context(at: int, groups: Sequence[Group], found: Sequence[Sequence[Form]], conn: db.Connection) -> list[Form]:
    """Of the readings of a word, those that were said right beside what the next words mean; all, where none was.

    A line that has two readings of one word (sport, support) would gain twice from it.
    """
    meant = list(found[at])
    if any(f.prefix for f in meant):
        return meant
    before = _readings(groups[at - 1], found[at - 1]) if at else []
    after = _readings(groups[at + 1], found[at + 1]) if at + 1 < len(groups) else []
    said = [
        f
        for f in meant
        if any(_is_said(f"{b} {f.terms[0]}", conn) for b in before)
        or any(_is_said(f"{f.terms[0]} {a}", conn) for a in after)
    ]
    return [replace(f, weight=1.0) for f in said] or meant  # as sure as if it had been typed so


def _readings(group: Group, meant: Sequence[Form]) -> list[str]:
    return [f.terms[0] for f in meant] or ([group.term] if group.term and group.df else [])


def _is_said(phrase: str, conn: db.Connection) -> bool:
    """Whether some line has these words next to each other."""
    return conn.execute("SELECT 1 FROM f WHERE f MATCH ? LIMIT 1", (f'"{phrase}"',)).fetchone() is not None


def rare(groups: Sequence[Group], conn: db.Connection, typos: Typos) -> tuple[list[Group], ReadAs]:
    """Each word also gets its near words, below itself."""
    out: list[Group] = []
    read_as: ReadAs = []
    for g in groups:
        term = _repairable(g)
        known = {t for f in g.forms for t in f.terms}
        meant = [f for f in _meant(term, typos) or _inside(term, typos) if f.terms[0] not in known] if term else []
        out.append(_with(g, meant, conn, keep=True) if meant else g)
        read_as += [(g.typed, form.terms[0]) for form in meant]
    return out, read_as


def _repairable(group: Group) -> str | None:
    """The folded word of a group that may be a typo: one word of letters, not quoted, not all capitals."""
    if group.quoted or group.unspaced or group.stop or group.words:
        return None
    term = group.term
    return term if term.isalpha() and not (group.typed.isupper() and len(term) > 1) else None


def _meant(term: str, typos: Typos) -> list[Form]:
    index = typos() if fuzzy.edits_allowed(term) else None
    if index is None:
        return []
    return [
        Form((t,), fuzzy.ONE_EDIT_WEIGHT if edits == 1 else fuzzy.TWO_EDITS_WEIGHT)
        for t, edits in index.find(term, TYPO_VARIANTS)
    ]


def _started(term: str, group: Group, typos: Typos) -> list[Form]:
    """Beginnings that a beginning may have meant, where keys may still come."""
    index = typos() if group.open_ended else None
    if index is None:
        return []
    return [Form((start,), fuzzy.ONE_EDIT_WEIGHT, prefix=True) for start in index.starts(term, TYPO_VARIANTS)]


def _inside(term: str, typos: Typos) -> list[Form]:
    index = typos() if len(term) > 2 else None
    return [Form((t,), fuzzy.ONE_EDIT_WEIGHT) for t in index.inside(term)] if index is not None else []


def _with(group: Group, meant: Sequence[Form], conn: db.Connection, *, keep: bool) -> Group:
    """The group with what it may mean: each word as if it had been typed, so with its other forms at half weight."""
    forms = list(group.forms) if keep else []
    known = {t for f in [*forms, *meant] for t in f.terms}
    count = 0
    for form in meant:
        term = form.terms[0]
        forms.append(form)
        if form.prefix:
            count += vocab.prefix_df(conn, term)
            continue
        count += vocab.df(conn, term)
        for other, df in vocab.forms(conn, term):
            if other not in known:
                known.add(other)
                count += df
                forms.append(Form((other,), form.weight * FORM_WEIGHT, df=df))
    return replace(group, forms=tuple(forms), df=group.df + count)
