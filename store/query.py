"""A query as typed becomes groups of word forms. Any string is a safe query: nothing of it reaches MATCH unquoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from store import dates, db, vocab, words
from store.limits import QUERY_CHARS

FORM_WEIGHT: Final = 0.5
PREFIX_WEIGHT: Final = 0.5
GROUPS_MOST: Final = 64  # different words of one query; further ones are left out and said

_MUCH: Final = 20  # times as many lines
_SELDOM: Final = 0.05  # of a word's lines
_ALL: Final = 0.98  # of them
_PIECE = re.compile(r'"([^"]*)"?|([^\s"]+)')
_POSSESSIVE = re.compile(r"['’]s\b", re.I)
_JOINED = re.compile(r"[^\W_]+(?:[-_./\\@'’]+[^\W_]+)*")  # words joined without a space: searched as a phrase
_ASKING: Final = frozenset("how what when where which who whom whose why".split())  # noqa: SIM905 - as in words
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Form:
    """One thing to look for: words next to each other, the last perhaps a prefix, and how much a find weighs."""

    terms: tuple[str, ...]
    weight: float = 1.0
    prefix: bool = False
    df: int = 0  # lines that have it, where that was counted

    def match(self) -> str:
        """Quoted for MATCH; terms hold only letters and digits."""
        return f'"{" ".join(self.terms)}{"*" if self.prefix else ""}"'


@dataclass(frozen=True, slots=True)
class Group:
    """A word of the query with all its forms; any of them will do."""

    typed: str
    forms: tuple[Form, ...]
    df: int
    stop: bool = False
    words: tuple[str, ...] = ()  # the single words of a phrase, for the relaxed search
    quoted: bool = False
    unspaced: bool = False
    term: str = ""  # the folded word, where it is one
    open_ended: bool = False  # the query ends right on it, so it may be a beginning


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was typed, taken apart. `words` has no repeats."""

    text: str
    pieces: tuple[Piece, ...] = ()
    too_short: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """A word or phrase as typed, in folded terms; `last` when the query ends right on it (it may go on)."""

    typed: str
    terms: tuple[str, ...]
    quoted: bool = False
    last: bool = False
    unspaced: bool = False
    parts: tuple[str, ...] = field(default=())  # of a camelCase word


def visible(text: str) -> str:
    """The query as it may be echoed: controls, hidden marks and lone surrogates are dropped, one line."""
    return " ".join(_UNSEEN.sub(" ", text).split())


def parse(text: str, limit: int = QUERY_CHARS) -> Parsed:
    """Take a query apart; longer than `limit` characters, or more than 64 words, is cut and said."""
    shown = visible(text[: limit * 4])
    cut = len(shown) > limit or len(text) > limit * 4
    shown = shown[:limit].rstrip()
    pieces: dict[tuple[tuple[str, ...], bool], Piece] = {}
    ends_open = bool(text) and len(text) <= limit and text[-1].isalnum()
    for m in _PIECE.finditer(shown):
        last = ends_open and m.end() == len(shown) and m[1] is None
        for piece in _quoted(m[1]) if m[1] is not None else _plain(m[2], last):
            pieces.setdefault((piece.terms, piece.unspaced), piece)
    found = tuple(pieces.values())
    letters = [
        p for p in found if len(p.terms) == 1 and len(p.terms[0]) == 1 and p.terms[0].isalpha() and not p.unspaced
    ]
    too_short = bool(found) and len(letters) == len(found)
    return Parsed(shown, found[:GROUPS_MOST], too_short, cut or len(found) > GROUPS_MOST)


def _quoted(text: str) -> list[Piece]:
    terms = tuple(words.tokens(text))
    if not terms or words.UNSPACED.search(text):
        return _plain(text, False)
    return [Piece(text.strip(), terms, quoted=True)]


def _plain(text: str, last: bool) -> list[Piece]:
    out: list[Piece] = []
    text = _POSSESSIVE.sub(" ", text) if "'" in text or "’" in text else text
    for m in _JOINED.finditer(text):
        typed, ends = m[0], last and m.end() == len(text)
        if words.UNSPACED.search(words.fold(typed)):
            out += _unspaced(typed, ends)
            continue
        terms = tuple(words.tokens(typed))
        if terms:
            out.append(Piece(typed, terms, last=ends, parts=tuple(words.parts(typed))))
    return out


def _unspaced(text: str, last: bool) -> list[Piece]:
    """Runs of unspaced script and the ordinary words between them."""
    folded = words.fold(text)
    out: list[Piece] = []
    end = 0
    for m in words.UNSPACED.finditer(folded):
        out += [Piece(t, (t,)) for t in words.tokens(folded[end : m.start()])]
        pairs = words.pairs(m[0])
        if len(pairs) > 1:
            out.append(Piece(m[0], tuple(pairs[:-1]), unspaced=True))
        elif pairs:
            out.append(Piece(m[0], tuple(pairs), unspaced=True))
        end = m.end()
    return out + [Piece(t, (t,), last=last) for t in words.tokens(folded[end:])]


def is_question(parsed: Parsed) -> bool:
    """Whether it asks something, and isn't just words to look for."""
    return any(p.terms[0] in _ASKING for p in parsed.pieces[:2])


def groups(conn: db.Connection, pieces: Sequence[Piece]) -> list[Group]:
    """The word forms of every piece, with how many lines hold them."""
    return [_group(conn, p) for p in pieces]


def _group(conn: db.Connection, piece: Piece) -> Group:
    if piece.unspaced:
        if len(piece.typed) == 1:
            return Group(
                piece.typed, (Form(piece.terms, prefix=True),), vocab.prefix_df(conn, piece.terms[0]), unspaced=True
            )
        least = min(vocab.df(conn, t) for t in piece.terms)
        return Group(piece.typed, (Form(piece.terms),), least, words=piece.terms, unspaced=True)
    if len(piece.terms) > 1:
        least = min(vocab.df(conn, t) for t in piece.terms)
        stop = not piece.quoted and all(t in words.STOP_WORDS for t in piece.terms)
        return Group(piece.typed, (Form(piece.terms),), least, stop, piece.terms, piece.quoted)
    return word_group(conn, piece.typed, piece.terms[0], quoted=piece.quoted, last=piece.last, parts=piece.parts)


def word_group(
    conn: db.Connection, typed: str, term: str, *, quoted: bool = False, last: bool = False, parts: tuple[str, ...] = ()
) -> Group:
    """A word: itself, its other forms at half weight, what it starts (if it may go on), its parts as a phrase."""
    stop = not quoted and term in words.STOP_WORDS
    own = total = vocab.df(conn, term)
    forms = [Form((term,), df=own)]
    if not quoted and (last or not stop):
        others = vocab.forms(conn, term)
        total += sum(n for _, n in others)
        if len(term) > 1 and (last or total == 0):
            # what starts with the word covers the word itself and most of its forms
            beginning = vocab.prefix_df(conn, term)
            starts = Form((term,), PREFIX_WEIGHT if own else 1.0, prefix=True, df=beginning)
            forms = [Form((term,), 1.0 - PREFIX_WEIGHT, df=own), starts] if own else [starts]
            if own and beginning * _ALL <= own:  # hardly anything else starts so
                forms = [Form((term,), df=own)]
            others = [o for o in others if not o[0].startswith(term)]
            total = max(total, beginning)
        elif not own and others:
            forms = []
        forms += [Form((other,), FORM_WEIGHT, df=count) for other, count in others]
    if parts:
        forms.append(Form(parts))
    return Group(typed, tuple(forms), total, stop, quoted=quoted, term=term, open_ended=last)


def singly(conn: db.Connection, found: Sequence[Group], days: Sequence[dates.Named] = ()) -> list[Group]:
    """For the relaxed search: joined words one by one (a quoted phrase stays), no stop words, no words of dates."""
    of_dates = {w for d in days for w in d.typed}
    out: dict[str, Group] = {}
    for g in found:
        if len(g.words) > 1 and not g.quoted and not g.unspaced:
            for word in g.words:
                out.setdefault(word, word_group(conn, word, word))
        else:
            out.setdefault(g.typed.casefold(), g)
    lone = [g for g in out.values() if not g.stop and not (len(g.typed) == 1 and g.typed.isalpha() and not g.unspaced)]
    kept = lone or list(out.values())
    return [g for g in kept if words.fold(g.typed) not in of_dates] or kept


def lean(found: Sequence[Group]) -> list[Group]:
    """Beside a rare word, common ones without their seldom forms.

    SQLite looks a single common word up in the few lines that are left; of alternatives it reads everything.
    """
    least = min((g.df for g in found), default=0)
    return [replace(g, forms=_frequent(g)) if g.df > _MUCH * least and len(g.forms) > 1 else g for g in found]


def _frequent(group: Group) -> tuple[Form, ...]:
    return tuple(f for f in group.forms if f.df >= group.df * _SELDOM) or group.forms
