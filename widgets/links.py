"""Addresses in a text, and how one is shown before it is opened: whole, with its real host."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from store.text import safe_text

LINKS_MOST: Final = 9  # addresses of one message that are offered
ADDRESS_CHARS: Final = 2_000  # a longer one isn't offered: it couldn't be shown whole
_ADDRESS: Final = re.compile(r"(?i)\bhttps?://[^\s<>\"'`|\\^{}]{1,2001}")


def links_in(text: str) -> tuple[str, ...]:
    """The distinct http(s) addresses of a text as they may be opened (ASCII, real host), at most `LINKS_MOST`."""
    out: dict[str, None] = {}
    for found in _ADDRESS.finditer(safe_text(text)):
        address = real_address(_trimmed(found[0]))
        if address is not None:
            out.setdefault(address)
        if len(out) == LINKS_MOST:
            break
    return tuple(out)


def _trimmed(address: str) -> str:
    """Without the full stop or bracket that belongs to the sentence around it."""
    while address and address[-1] in ".,;:!?)]*_":
        if address[-1] == ")" and address.count("(") >= address.count(")"):
            break
        address = address[:-1]
    return address


def real_address(address: str) -> str | None:
    """The address with its host in punycode where it isn't ASCII; None for anything that isn't plain http or https."""
    if len(address) > ADDRESS_CHARS:
        return None
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
        if parts.scheme not in ("http", "https") or not host or parts.username is not None:
            return None
        plain = host if host.isascii() else host.encode("idna").decode("ascii")
    except ValueError:  # UnicodeError is one too: no such host can be
        return None
    if not re.fullmatch(r"[0-9a-z.\-:]+", plain):
        return None
    where = f"[{plain}]" if ":" in plain else plain
    rest = address[address.index("//") + 2 + len(parts.netloc) :]
    quoted = "".join(c if "!" <= c <= "~" else "".join(f"%{b:02X}" for b in c.encode()) for c in rest)
    return f"{parts.scheme}://{where}{f':{port}' if port is not None else ''}{quoted}"
