"""How text becomes words, on both sides of a search: fold, tokenise, parts of identifiers, CJK bigrams, stems."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from store.irregular import STEM_OF
from store.limits import TOKEN_CHARS

WORD: Final = re.compile(r"[^\W_]+")
_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_PLAIN = re.compile("[^\u0000-\u024f\u2000-\u206f]")  # beyond these, SQLite's older tables may split elsewhere
_LONG = re.compile(rf"[^\W_]{{{TOKEN_CHARS + 1},}}")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
CAMEL_CUT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# scripts written without spaces, whose words are found by pairs of characters
_UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
)
UNSPACED: Final = re.compile(f"[{_UNSPACED}]+")
_NO_SUFFIX: Final = frozenset("abfhjkopquvwxz")  # no ending the stemmer knows ends so; it is the slow part of a build
_STRIPPED = str.maketrans(
    "", "", "\u0e31\u0e34\u0e35\u0e36\u0e37\u0e38\u0e39\u0e3a\u0e47\u0e48\u0e49\u0e4a\u0e4b\u0e4c\u0e4d\u0e4e"
)


def fold(text: str) -> str:
    """Case, accents and width removed (ß as ss, dotless i as i); the length may change."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u0131", "i")
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", folded)))


def tokens(text: str) -> list[str]:
    """The folded words of a text, in order, each at most 64 characters."""
    found = WORD.findall(fold(text))
    return [t[:TOKEN_CHARS] for t in found] if len(text) > TOKEN_CHARS else found


def indexable(text: str) -> str:
    """What goes to the full-text table: the text itself where SQLite folds it as `fold` does, else its tokens."""
    long = max(map(len, text.split()), default=0) > TOKEN_CHARS  # far quicker than to look for a long token
    if text.isascii():
        return _LONG.sub(lambda m: m[0][:TOKEN_CHARS], text) if long else text
    if not long and not _PLAIN.search(text) and fold(text) == text.lower():
        return text
    return " ".join(tokens(text))


def parts(word: str) -> list[str]:
    """The parts of a camelCase word, folded; [] for any other."""
    if not _CAMEL.search(word):
        return []
    found = [fold(p) for p in CAMEL_CUT.split(word) if p]
    return found if len(found) > 1 else []


def pairs(run: str) -> list[str]:
    """The bigrams of a run of unspaced script, and its last character (so that one character can be a prefix)."""
    run = run.translate(_STRIPPED)
    return [run[i : i + 2] for i in range(len(run) - 1)] + [run[-1]] if run else []


def extra(text: str) -> str:
    """What the second column holds: parts of identifiers, bigrams of unspaced scripts."""
    out: list[str] = []
    # most words are all small, or all but the first letter: what is neither may be an identifier
    for odd in [w for w in text.split() if not w.islower()]:
        if not odd.istitle() and _CAMEL.search(odd):
            for word in WORD.findall(odd):
                out += parts(word)
    if not text.isascii() and UNSPACED.search(text):
        for run in UNSPACED.findall(fold(text)):
            out += pairs(run)
    return " ".join(out)


@functools.cache
def _stemmer():  # type: ignore[no-untyped-def]
    import snowballstemmer

    return snowballstemmer.stemmer("porter")


@functools.lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The Porter stem of a folded word; words with digits or beyond ASCII are their own."""
    if not (word.isascii() and word.isalpha() and len(word) > 2):
        return word
    if word[-1] in _NO_SUFFIX and word not in STEM_OF:
        return word
    word = STEM_OF.get(word, word)
    return str(_stemmer().stemWord(word))


def terms(text: str, more: str) -> set[str]:
    """The distinct terms the index will hold for a text and its extra."""
    return {*tokens(text), *more.split()}


def word_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Each word of a text as shown: start, end, folded form. A folded form may hold several words (½)."""
    for m in WORD.finditer(text):
        yield m.start(), m.end(), fold(m[0])


STOP_WORDS: Final = frozenset(
    (  # noqa: SIM905 - words read best as words
        "a about after all also am an and any are as at be because been before being both but by can could d did do "
        "does doing don down during each few for from further had has have having he her here hers herself him "
        "himself his how i if in into is it its itself just ll m me might more most must my myself no nor not now of "
        "off on once only or other our ours ourselves out over own re s same shall she should so some such t than "
        "that the their theirs them themselves then there these they this those through to too under until up us ve "
        "very was we were what when where which while who whom why will with would you your yours yourself "
        "yourselves "
    ).split()
)
