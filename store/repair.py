"""Words that nobody said, or hardly anybody: what they may have meant (search.md §6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from store import db, fuzzy, vocab
from store.limits import TYPO_VARIANTS
from store.query import Form, Group

ReadAs = list[tuple[str, str]]
Typos = Callable[[], fuzzy.Typos | None]


def unknown(groups: Sequence[Group], conn: db.Connection, typos: Typos) -> tuple[list[Group], ReadAs]:
    """Each word that is nowhere gets what it may mean: a near word, else words that have it inside."""
    out: list[Group] = []
    read_as: ReadAs = []
    for g in groups:
        if g.df == 0 and (term := _repairable(g)):
            meant = _meant(term, typos) or _started(term, g, typos) or _inside(term, typos)
            if meant:
                out.append(_with(g, meant, conn, keep=False))
                read_as += [(g.typed, form.terms[0]) for form in meant]
                continue
        out.append(g)
    return out, read_as


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


def _with(group: Group, meant: list[Form], conn: db.Connection, *, keep: bool) -> Group:
    count = sum(vocab.prefix_df(conn, f.terms[0]) if f.prefix else vocab.df(conn, f.terms[0]) for f in meant)
    forms = (*group.forms, *meant) if keep else tuple(meant)
    return replace(group, forms=forms, df=group.df + count)
