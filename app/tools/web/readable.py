"""A body as readable text: charset, kind, and a page's words without what runs; linear in its size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import Final

from store.limits import FETCH_MARKUP_CHARS, FETCH_NESTING, URL_CHARS
from store.text import safe_text

PDF: Final = "It is a PDF, which Shoal can't read yet. Ask the person to put its words into the chat."
NOT_TEXT: Final = "It isn't text ({kind}), so there is nothing to read."

_TEXT_KINDS: Final = frozenset(
    [
        "application/json",
        "application/xml",
        "application/xhtml+xml",
        "application/javascript",
        "application/rss+xml",
        "application/atom+xml",
        "application/ld+json",
        "application/x-ndjson",
        "application/yaml",
        "application/toml",
    ]
)
_CHARSETS = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|us-?ascii|(?:iso-?8859|latin)-?\d{1,2}|(?:windows|cp)-?\d{3,4}|koi8-?[ru]|"
    r"shift[_-]?jis|euc-?(?:jp|kr)|gb(?:2312|k|18030)|big5(?:-?hkscs)?|iso-?2022-?jp|mac-?roman|tis-?620",
    re.IGNORECASE,
)
_NAMED = re.compile(r"charset\s*=\s*[\"']?\s*([\w-]{1,30})", re.IGNORECASE)

_TOKEN = re.compile(r"<(?:(!--)|([!?])|(/?)([a-zA-Z][a-zA-Z0-9-]{0,20}))")
_HREF = re.compile(r"\bhref\s{0,9}=\s{0,9}", re.IGNORECASE)
_VALUE = re.compile(r"\"([^\"<>]{0,2000})\"|'([^'<>]{0,2000})'|([^\s\"'<>]{1,2000})")
_LONG_NUMBER = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{8,});?")
_SPACE = re.compile(r"\s+")
_ASIDE: Final = {0xE000: None, 0xE001: None, 0xE002: None, ord("<"): 0xE000, ord("&"): 0xE001, ord('"'): 0xE002}
_BACK: Final = {0xE000: "<", 0xE001: "&", 0xE002: '"'}
_TAGS: Final = 30_000  # of a page; beyond that its words come without form
_TAG_CHARS: Final = 20_000
_DROPPED: Final = frozenset(
    ["script", "style", "noscript", "template", "svg", "math", "iframe", "object", "embed", "canvas", "audio", "video"]
)
_KEPT: Final = frozenset(
    [
        "p",
        "br",
        "hr",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "a",
        "pre",
        "code",
        "blockquote",
        "table",
        "tr",
        "td",
        "th",
        "thead",
        "tbody",
        "b",
        "strong",
        "i",
        "em",
        "dl",
        "dt",
        "dd",
    ]
)
_ENDINGS: Final = {name: re.compile(rf"</{name}", re.IGNORECASE) for name in _DROPPED}
_NESTED: Final = frozenset(["ul", "ol", "blockquote", "table"])
_BLOCKS: Final = frozenset(
    [
        "div",
        "section",
        "article",
        "main",
        "header",
        "footer",
        "nav",
        "aside",
        "figure",
        "form",
        "fieldset",
        "address",
        "body",
    ]
)
_TITLE = re.compile(r"<title\b[^>]{0,500}>([^<]{0,1000})", re.IGNORECASE)


def kind_of(content_type: str, body: bytes) -> str:
    """The media type; guessed where none was said."""
    said = content_type.split(";", 1)[0].strip().lower()
    if said and "/" in said:
        return said
    start = body[:1024].lstrip().lower()
    if start.startswith(b"%pdf-"):
        return "application/pdf"
    if b"\0" in body[:4096] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "application/octet-stream"
    return "text/html" if start.startswith((b"<!doctype html", b"<html")) or b"<body" in start else "text/plain"


def refusal(kind: str) -> str | None:
    """Why a body of this kind isn't read; None: it is."""
    if kind == "application/pdf":
        return PDF
    if kind.startswith("text/") or kind in _TEXT_KINDS or kind.endswith(("+json", "+xml")):
        return None
    return NOT_TEXT.format(kind=safe_text(kind, one_line=True, limit=60))


def decode(body: bytes, content_type: str) -> str:
    """The text; a charset that is wrong or unknown never fails."""
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if body.startswith(mark):
            return body.decode(name, "replace")
    said = _NAMED.search(content_type) or _NAMED.search(body[:2048].decode("latin-1"))
    if said and _CHARSETS.fullmatch(said[1]):
        name = said[1].lower()
        name = "cp1252" if name.replace("-", "") in ("latin1", "iso88591", "usascii") else name
        try:
            return body.decode(name, "replace")
        except LookupError:
            pass
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        cut = error.reason == "unexpected end of data"  # a body cut inside its last character is still UTF-8
        return body.decode("utf-8" if cut else "cp1252", "replace")


def readable(kind: str, text: str) -> tuple[str, str]:
    """The title and the readable words."""
    text = text[:FETCH_MARKUP_CHARS]
    if kind not in ("text/html", "application/xhtml+xml"):
        return "", safe_text(text, limit=len(text) + 1)
    import html2text

    title = _TITLE.search(text)
    writer = html2text.HTML2Text(bodywidth=0)
    writer.ignore_images = True
    writer.unicode_snob = True
    writer.single_line_break = False
    writer.ignore_emphasis = True
    words = writer.handle("".join(_simple(text))).translate(_BACK)
    words = re.sub(r"\n[ \t]*(?:\n[ \t]*)+\n", "\n\n", safe_text(words, limit=len(words) + 1))
    return safe_text(unescape(_LONG_NUMBER.sub("", title[1])), one_line=True, limit=200) if title else "", words.strip()


def _simple(text: str) -> Iterator[str]:
    """The page as markup of a few plain tags, each whole: what a parser could choke on is gone or is text."""
    at = depth = tags = 0
    pre = False
    end = len(text)
    budget = 3 * end  # so that quotes that never close cost no more than this
    last_close = text.rfind(">")
    while at < end:
        token = _TOKEN.search(text, at)
        if token is None:
            yield _plain(text[at:], pre)
            return
        yield _plain(text[at : token.start()], pre)
        if token[1] or token[2]:  # a comment, a declaration
            close = text.find("-->" if token[1] else ">", token.end())
            if close < 0:
                return
            at = close + (3 if token[1] else 1)
            continue
        if token.end() > last_close:
            return
        name = token[4].lower()
        close, cost = _end_of_tag(text, token.end(), budget)
        budget = max(0, budget - cost)
        if name in _DROPPED and not token[3]:
            if (ending := _ENDINGS[name].search(text, close)) is None:
                return
            at = max(ending.end(), text.find(">", ending.end()) + 1)
            continue
        if name in ("title", "textarea", "option"):
            found = text.find("<", close) if not token[3] else close
            at = close if found < 0 or name != "title" else found
            continue
        at = close
        if name in _NESTED:
            depth += -1 if token[3] else 1
            if depth < 0 or depth > FETCH_NESTING or (token[3] and depth >= FETCH_NESTING):
                depth = max(depth, 0)
                continue
        tags += 1
        if tags > _TAGS:
            yield " "
        elif name in _KEPT:
            pre = (pre and not token[3]) if name != "pre" else not token[3]
            yield _tag(name, bool(token[3]), text[token.end() : close])
        elif name in _BLOCKS:
            yield "<br>" if token[3] else "<p>"


def _end_of_tag(text: str, at: int, most: int) -> tuple[int, int]:
    """The place after a tag's `>`, quotes minded, and what finding it cost; at most `most` characters are minded."""
    first = text.find(">", at)
    if first < 0:
        return len(text), 0
    if '"' not in text[at:first] and "'" not in text[at:first]:
        return first + 1, 0
    quote = ""
    stop = min(len(text), at + min(most, _TAG_CHARS))
    for place in range(at, stop):
        char = text[place]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and text[place - 1] in "= \n\t":
            quote = char
        elif char == ">":
            return place + 1, place - at
    return first + 1, max(stop - at, 0)


def _tag(name: str, closing: bool, attributes: str) -> str:
    if closing:
        return f"</{name}>"
    if name != "a":
        return f"<{name}>"
    for found in islice(_HREF.finditer(attributes[:_TAG_CHARS]), 3):
        if value := _VALUE.match(attributes, found.end()):
            link = _masked(value[1] or value[2] or value[3] or "").strip()
            return f'<a href="{link}">' if link and link[0] != "#" and len(link) <= URL_CHARS else "<a>"
    return "<a>"


def _plain(text: str, pre: bool = False) -> str:
    """Words that a parser takes for nothing else, white space as a page shows it."""
    text = _masked(text)
    return text if pre else _SPACE.sub(" ", text)


def _masked(text: str) -> str:
    """Entities resolved (numbers no character has are gone), and what means something in markup put aside."""
    return unescape(_LONG_NUMBER.sub("\ufffd", text)).translate(_ASIDE)
