"""The one secret filter: shapes of keys, and values after a label (ADR 0059 §4). Pure, idempotent, linear in time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from app.guard import labels, shapes
from store.models import Span

SHAPES_VERSION: Final = 1  # another version makes the index take its spans anew
MASK: Final = "‹hidden›"

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\u180e\ufe00-\ufe0f\u202a-\u202e\u2066-\u2069]")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_VALUE = re.compile(r"[^\s\"'`,;<>|]{1,96}")
_QUOTED = {'"': re.compile(r'[^"\n]{1,96}'), "'": re.compile(r"[^'\n]{1,96}"), "`": re.compile(r"[^`\n]{1,96}")}
_LONG = re.compile(r"[A-Za-z0-9._~+/=-]{96,}")  # a value is judged by its first 96 characters and hidden whole
_WRAPPED = re.compile(r"\r?\n[ \t>]{0,8}([A-Za-z0-9_+/=-]{16,200})")
_ID_PREFIXES = (
    "cus_",
    "pi_",
    "evt_",
    "msg_",
    "req_",
    "sub_",
    "price_",
    "prod_",
    "acct_",
    "txn_",
    "pm_",
    "call_",
    "file-",
)

_PLACES: Final[tuple[tuple[str, str], ...]] = (
    ("url-password", r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/@:\"'<>]{0,}:([^\s/\"'<>]{1,})@"),
    ("bearer", r"(?i:\bbearer[ \t]{1,4})([A-Za-z0-9._~+/=-]{12,})"),
    ("basic", r"(?i:\bbasic[ \t]{1,4})([A-Za-z0-9+/]{8,}={0,2})"),
    ("webhook", shapes.SLACK_WEBHOOK),
    ("webhook", shapes.DISCORD_WEBHOOK),
    ("curl-user", r"(?:\s-u|--user|--proxy-user)[ =]{1,3}[\"']?[^\s:\"']{1,}:([^\s\"']{3,})"),
    ("sshpass", r"\bsshpass\s{1,4}-p\s{0,4}[\"']?([^\s\"']{3,})"),
    ("mysql", r"\bmysql(?:dump|admin)?\b[^\n]{0,}?\s-p([^\s\"']{4,})"),
    ("netrc", r"(?i:\blogin\s{1,4}\S{1,}\s{1,4}password\s{1,4})(\S{3,})"),
    ("option", r"(?i:--?(?:password|passwd|pass|token|api-?key|secret|access-?key)[ =]{1,2})[\"']?([^\s\"'-][^\s\"']{3,})"),
    ("query", r"(?i:[?&;](?:key|token|sig|signature|api_?key|access_token|refresh_token|id_token|auth|secret|code|password|pwd|x-amz-signature|x-amz-security-token)=)([^&\s\"'<>;#]{6,})"),
    ("as-password", r"([^\s\"'`]{5,})[\"'`]?(?i:[ \t]{1,4}as[ \t]{1,4}(?:my|the|a|our|your)[ \t]{1,4}(?:new[ \t]{1,4})?(?:password|passphrase|passwort|pin))"),
    ("card", r"(?i:\bcard(?:[ \t]{1,4}(?:number|no\.?|nr\.?|is))?[ \t]{0,4}[:=#]?[ \t]{0,4})((?:\d[ -]?){12,18}\d)"),
    ("iban", r"\b([A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?)\b"),
    ("seed", r"(?i:\b(?:seed|recovery|mnemonic|backup|wallet)(?:[ \t](?:phrase|words|seed|key))?[ \t]{0,4}(?:is|:|=)?[ \t]{0,4})((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"),
    ("long-token", r"\b([A-Za-z]{2,10}[_-][A-Za-z0-9]{32,})"),
)  # fmt: skip


@cache
def _compiled() -> tuple[Any, Any, Any, Any, Any]:
    import re2  # not at module level: 10 ms that `shoal --help` needn't pay

    union = re2.compile(r"\b(?:" + "|".join(p for _, p in shapes.SHAPES) + ")")
    places = [(kind, re2.compile(p)) for kind, p in _PLACES]
    pem = re2.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
    cookies = re2.compile(r"(?i:\b(?:set-)?cookie2?[ \t]{0,4}[:=])([^\n\r]+)")
    return union, places, re2.compile(labels.LABELLED), pem, cookies


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
    text = text.encode("utf-8", "replace").decode() if any("\ud800" <= c <= "\udfff" for c in text) else text
    if text.isascii() or not _UNSEEN.search(text):
        return text, None
    places = [i for i, c in enumerate(text) if not _UNSEEN.match(c)]
    return "".join(text[i] for i in places), places


def _hits(text: str) -> Iterator[tuple[int, int, str]]:
    union, places, labelled, pem, cookies = _compiled()
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
    for kind, pattern in places:
        for match in pattern.finditer(text):
            if _value_fits(kind, match.group(1)):
                yield match.start(1), match.end(1), kind
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


def _value_fits(kind: str, value: str) -> bool:  # noqa: PLR0911 - a case a place
    if MASK in value:
        return False
    match kind:
        case "url-password":
            return not labels.is_placeholder(value)
        case "bearer":
            return labels.looks_like_key(value, strong=True) and (labels._mixed(value) or len(value) >= 24)
        case "basic":
            return labels._mixed(value) or (value.endswith("=") and len(value) >= 12)
        case "curl-user" | "sshpass" | "mysql" | "netrc" | "option" | "as-password":
            return labels.looks_like_password(value, strong=False, alone=True)
        case "query":
            return labels.looks_like_key(value, strong=True) or (
                len(value) >= 24 and labels._mixed(value) and not labels.is_placeholder(value)
            )
        case "card" | "webhook" | "seed":
            return True
        case "iban":
            return sum(c.isdigit() for c in value) >= 10
        case "long-token":
            body = value[value.find("_") + 1 if "_" in value else value.find("-") + 1 :]
            classes = [any(map(f, body)) for f in (str.isupper, str.islower, str.isdigit)]
            return all(classes) and sum(map(str.isdigit, body)) >= 3 and not value.startswith(_ID_PREFIXES)
    return False


def _labelled(text: str, labelled: Any) -> Iterator[tuple[int, int, str]]:
    for match in labelled.finditer(text):
        at = match.end()
        password, key, code, strong, weak, _bare = match.groups()
        before = text[match.start() - 1 : match.start()]
        if (password and len(password) <= 4 and before.isalpha()) or (code and before.isalnum()):
            continue  # "bypass: …", "spin is …"
        bare_is_enough = (key and key.lower() == "token") or (code and code.lower().endswith("with"))
        if not (strong or weak or bare_is_enough):
            continue
        while text[at : at + 1] in ("[", "(", "*", "_"):
            at += 1
        quote = text[at : at + 1] if text[at : at + 1] in _QUOTED else ""
        at += len(quote)
        value = (_QUOTED[quote] if quote else _VALUE).match(text, at)
        if value is None or MASK in value[0]:
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
