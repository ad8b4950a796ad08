"""The one secret filter: shapes of keys, and values after a label (ADR 0059 §4). Pure, idempotent, linear in time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from app.guard import carriers, labels, shapes
from store.models import Span

SHAPES_VERSION: Final = 2  # another version makes the index take its spans anew
MASK: Final = "‹hidden›"

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\u180e\ufe00-\ufe0f\u202a-\u202e\u2066-\u2069]")
_HALF = re.compile("[\ud800-\udfff]")  # half a pair is no character
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_VALUE = re.compile(r"[^\s\"'`,;<>|]{1,96}")
_QUOTED = {'"': re.compile(r'[^"\n]{1,96}'), "'": re.compile(r"[^'\n]{1,96}"), "`": re.compile(r"[^`\n]{1,96}")}
_ESCAPED = re.compile(r"[^\"'\\\n]{1,96}")
_OPENING = re.compile(r"(?:[\[(*_]{1,4}[ \t]{0,4}){0,3}(?:[bruf]{1,2}(?=[\"']))?")  # what a value may be wrapped in
_TELLS = re.compile(r"\b(?:with|using|mit|con|avec)\b[^\n]{0,6}\Z", re.I)  # "… with password …"
_GROUPS_OF_FOUR = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}(?![ \t]*\w)")
_LONG = re.compile(r"[A-Za-z0-9._~+/=-]{96,}")  # a value is judged by its first 96 characters and hidden whole
_WRAPPED = re.compile(r"\r?\n[ \t>]{0,8}([A-Za-z0-9_+/=-]{16,200})")


@cache
def _compiled() -> tuple[Any, Any, Any, Any]:
    import re2  # not at module level: 10 ms that `shoal --help` needn't pay

    union = re2.compile(r"\b(?:" + "|".join(p for _, p in shapes.SHAPES) + ")")
    pem = re2.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
    cookies = re2.compile(r"(?i:\b(?:set-)?cookie2?[ \t]{0,4}[:=])([^\n\r]+)")
    return union, re2.compile(labels.LABELLED), pem, cookies


@cache
def _kinds() -> list[tuple[str, re.Pattern[str]]]:
    return [(kind, re.compile(pattern)) for kind, pattern in shapes.SHAPES]


def found(text: str) -> list[tuple[int, int, str]]:
    """Every secret as (start, end, kind), in order, not overlapping."""
    squeezed, places = _squeeze(text)
    hits = sorted(_hits(squeezed), key=lambda h: (h[0], -h[1]))
    merged: list[tuple[int, int, str]] = []
    for start, end, kind in hits:
        if merged and start < merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end, merged[-1][2])
        elif end > start:
            merged.append((start, end, kind))
    if places is None:
        return merged
    return [(places[s], places[e - 1] + 1, kind) for s, e, kind in merged]


def spans(text: str) -> list[Span]:
    """Where secrets are in `text`, in order, not overlapping."""
    return [(start, end) for start, end, _ in found(text)]


def clean(text: str) -> str:
    """The text with every secret replaced by `MASK`; call it before any cut."""
    return masked(text, spans(text))


def masked(text: str, hidden: list[Span]) -> str:
    """The text with the given spans replaced by `MASK`."""
    if not hidden:
        return text
    parts, at = [], 0
    for start, end in hidden:
        parts += [text[at:start], MASK]
        at = end
    return "".join([*parts, text[at:]])


def _squeeze(text: str) -> tuple[str, list[int] | None]:
    """The text without characters that show nothing, and where each character left was (None: unchanged)."""
    if text.isascii():
        return text, None
    text = _HALF.sub("?", text)
    if not _UNSEEN.search(text):
        return text, None
    places = [i for i, c in enumerate(text) if not _UNSEEN.match(c)]
    return "".join(text[i] for i in places), places


def _hits(text: str) -> Iterator[tuple[int, int, str]]:
    union, labelled, pem, cookies = _compiled()
    yield from _pem_blocks(text, pem)
    for match in union.finditer(text):
        value = match.group()
        body = value[4:]
        if MASK in value or labels._FILLER.match(body.split("-", 1)[-1]) or len(set(body)) < 5:
            continue
        if not any(c.isdigit() for c in body) and not any(c.isupper() for c in body):
            continue  # words joined by dashes: keys have a digit or a capital
        end = match.end()
        if len(value) >= 40 and (more := _WRAPPED.match(text, end)) and labels._mixed(more[1]):
            end = more.end()  # wrapped by a terminal
        yield match.start(), end, _kind_of(value)
    yield from ((s, e, k) for s, e, k in carriers.found(text) if MASK not in text[s:e])
    for match in cookies.finditer(text):
        base = match.start(1)
        for pair in re.finditer(r"([^\s;,=]{1,80})=([^\s;,]{8,4000})", match.group(1)):
            if labels.looks_like_key(pair[2], strong=True):
                yield base + pair.start(2), base + pair.end(2), "cookie"
    yield from _labelled(text, labelled)
    yield from _kubernetes(text)


def _kind_of(value: str) -> str:
    return next((kind for kind, pattern in _kinds() if pattern.match(value)), "key")


def _pem_blocks(text: str, pem: Any) -> Iterator[tuple[int, int, str]]:
    at = 0
    for match in pem.finditer(text):
        if match.start() < at:
            continue
        end = _PEM_END.search(text, match.end())
        at = end.end() if end else len(text)  # one cut off is hidden to the end of the text
        yield match.start(), at, "private-key"
    if at == 0 and (end := _PEM_END.search(text)):
        start = end.start()
        lines = text[:start].splitlines(keepends=True)
        while lines and re.fullmatch(r"[ \t>|]*[A-Za-z0-9+/=]{16,}\s*", lines[-1]):
            start -= len(lines.pop())
        yield start, end.end(), "private-key"


def _labelled(text: str, labelled: Any) -> Iterator[tuple[int, int, str]]:
    for match in labelled.finditer(text):
        at = match.end()
        password, key, code, strong, weak, _bare = match.groups()
        password = password or (key and strong and labels.is_password(match.group()))
        before = text[match.start() - 1 : match.start()]
        if (password and len(password) <= 4 and before.isalpha()) or (code and before.isalnum()):
            continue  # "bypass: …", "spin is …"
        bare_is_enough = (key and key.lower() == "token") or (code and code.lower().endswith("with"))
        at = _OPENING.match(text, at).end()  # type: ignore[union-attr]
        escaped = text[at : at + 1] == "\\" and text[at + 1 : at + 2] in _QUOTED
        at += escaped
        quote = text[at : at + 1] if text[at : at + 1] in _QUOTED else ""
        told = False
        if not (strong or weak or bare_is_enough):
            told = bool(quote) or bool(_TELLS.search(text, max(0, match.start() - 12), match.start()))
            if not (told and password and len(password) > 4):
                continue
        at += len(quote)
        if text.startswith("base64:", at):
            at += 7
        value = (_ESCAPED if escaped else _QUOTED[quote] if quote else _VALUE).match(text, at)
        if value is None or MASK in value[0]:
            continue
        if told and " " in value[0]:
            continue  # 'the password "must be long"'
        if password and strong and (groups := _GROUPS_OF_FOUR.match(text, at)) and labels.random_groups(groups[0]):
            yield at, groups.end(), "password"
            continue
        if code:
            yield from _codes(text, at, plural=code.lower().endswith("s"))
            continue
        word = value[0] if quote else value[0].rstrip(".,;:!?)*_]}") or value[0]
        if password:
            rest = text[at + len(word) : at + len(word) + 3]
            alone = bool(quote) or not re.match(r"[ \t]+[A-Za-z]", rest)
            # symbols at the end of an unquoted password belong to it
            whole = value[0].rstrip(".,;:)]}") if not quote else value[0]
            if labels.looks_like_password(word, strong=bool(strong), alone=alone):
                yield at, at + max(len(word), len(whole)), "password"
        elif labels.looks_like_key(word, strong=bool(strong)):
            long = _LONG.match(text, at) if len(value[0]) == 96 else None
            yield at, long.end() if long else at + len(word), "labelled"


def _codes(text: str, at: int, *, plural: bool) -> Iterator[tuple[int, int, str]]:
    while length := labels.code_length(text[at : at + 40]):
        yield at, at + length, "code"
        at += length
        gap = re.compile(r"[ ,;]{1,3}").match(text, at)
        if not plural or gap is None:
            return
        at = gap.end()


def _kubernetes(text: str) -> Iterator[tuple[int, int, str]]:
    if not re.search(r"kind:\s*Secret\b", text):
        return
    for match in re.finditer(r"^[ \t]+[\w.-]{1,100}:[ \t]*([A-Za-z0-9+/]{8,4000}={0,2})[ \t]*$", text, re.M):
        if match[1].lower() not in ("opaque", "kubernetes"):
            yield match.start(1), match.end(1), "kubernetes"
