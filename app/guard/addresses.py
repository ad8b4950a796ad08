"""Whether a web address could carry the chat's words out (security.md §2.3). Pure; nothing is looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

QUERY_MOST: Final = 80
SEGMENT_MOST: Final = 60
VALUE_MOST: Final = 24
LABEL_MOST: Final = 40
LABELS_MOST: Final = 4  # below the registered domain
_TELLING = re.compile(
    r"data|text|msg|message|body|content|payload|token|key|secret|pass|auth|session|cookie|env|note|q|query|search|"
    r"d|c|x|p|v|value|info|log|dump|user|email|name|id|title|comment|callback|url|redirect|ref|state|code|file",
    re.I,
)
_TWO_PART = re.compile(r"(?:co|com|net|org|gov|edu|ac|or|ne|go)\.[a-z]{2}\Z")
_FILE_ENDS: Final = frozenset(  # endings of files that are also top-level domains: "see readme.md" names no host
    ["md", "py", "sh", "rs", "pl", "ps", "so", "cc", "zip", "mov", "bin", "java", "ml", "mk"]
)
_HOST = re.compile(
    r"(?:https?://)?(?:(?:[\w-]+\.)+[\w-]+(?::\d{1,5})?|localhost(?::\d{1,5})?|\[[0-9a-f:.]+\](?::\d{1,5})?)", re.I
)


def carries(url: str) -> str | None:
    """Why an address could carry words out, in words; None when it hardly can."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "its address can't be read"
    if parts.username is not None or parts.password is not None or "@" in parts.netloc or "\\" in url:
        return "its address has a name or a password in it"
    if len(parts.query) > QUERY_MOST or len(parts.fragment) > QUERY_MOST:
        return "its address is long enough to carry words out"
    if any(len(segment) > SEGMENT_MOST for segment in parts.path.split("/")):
        return "its address is long enough to carry words out"
    for name, value in parse_qsl(parts.query + "&" + parts.fragment, keep_blank_values=True):
        if len(value) >= VALUE_MOST and _TELLING.fullmatch(re.sub(r"[\W_\d]", "", name) or "x"):
            return "its address carries a value"
    labels = host.rstrip(".").split(".")
    below = len(labels) - (3 if _TWO_PART.search(host) else 2)
    if any(len(label) > LABEL_MOST for label in labels) or below > LABELS_MOST:
        return "its host's name is long enough to carry words out"
    if port not in (None, 80, 443):  # the last: a port that the person named is passed over, nothing else is
        return "its address names a port"
    return None


def host_of(url: str) -> str:
    """The host, in small letters, with its port where one is named; "" when there is none."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower().rstrip(".")
        port = parts.port
    except ValueError:
        return ""
    return f"{host}:{port}" if port not in (None, 80, 443) else host


def named(url: str, said: Iterable[str]) -> bool:
    """Whether the person named this very host (and port) in their own words; `www.` makes no difference."""
    host = host_of(url).removeprefix("www.")
    return bool(host) and any(
        unquote(found.lower()).removeprefix("www.").rstrip(".") == host for text in said for found in _hosts(text)
    )


def _hosts(text: str) -> Iterable[str]:
    for whole in _HOST.findall(text):
        found = re.sub(r"(?i)\Ahttps?://", "", whole)
        if found == whole and found.rpartition(".")[2].lower() in _FILE_ENDS and not found.lower().startswith("www."):
            continue
        yield found
        yield re.sub(r":(?:80|443)\Z", "", found)
