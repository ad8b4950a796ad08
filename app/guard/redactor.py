"""Hides values that are known to be secret, such as provider keys, in every form they may come back in."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "•••"  # shorter than any value, so it can never be one
SHORTEST_VALUE = 6  # characters; hiding shorter ones would eat ordinary words


class Redactor:
    """Known values, masked. Values may be added at any time; safe to use from several threads."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._forms: tuple[str, ...] = ()
        for value in values:
            self.add(value)

    def add(self, value: str) -> None:
        """Know one more; values under `SHORTEST_VALUE` characters are left alone."""
        value = value.strip()
        if len(value) >= SHORTEST_VALUE:
            # replaced as a whole, never changed in place; longest first, so that no form is cut by a part of it
            self._forms = tuple(sorted({*self._forms, *forms(value)}, key=lambda form: (-len(form), form)))

    def clean(self, text: str) -> str:
        """The text with every known value masked; linear in its length, and cleaning twice changes nothing."""
        known = self._forms
        while True:
            before = text
            for form in known:
                if form in text:
                    text = text.replace(form, MASK)
            if text == before:  # a mask and what stands beside it may spell a value that has a mask in it
                return text


def forms(value: str) -> set[str]:
    """How a value is written raw, backwards, in JSON (also twice), in URLs, in HTML, in hex and in base64."""
    raw = value.encode("utf-8", "surrogatepass")
    inside = json.dumps(value)[1:-1]
    out = {
        value,
        inside,
        json.dumps(value, ensure_ascii=False)[1:-1],
        inside.replace("/", "\\/"),
        json.dumps(inside)[1:-1],
        html.escape(value),
        html.escape(value, quote=False),
        value[::-1],
        "".join(f"\\u{ord(char):04x}" for char in value),
        "".join(f"%{byte:02x}" for byte in raw),
        "".join(f"%{byte:02X}" for byte in raw),
        raw.hex(),
        raw.hex(" "),
        raw.hex().upper(),
        *base64_forms(raw),
    }
    for spelt in (quote(raw), quote(raw, safe=""), quote_plus(raw)):
        out |= {spelt, re.sub("%[0-9A-F]{2}", lambda found: found.group().lower(), spelt)}
    return {form for form in out if len(form) >= SHORTEST_VALUE}


def base64_forms(raw: bytes) -> set[str]:
    """The characters a value surely has inside any base64 text, at each of the three places it may begin."""
    out: set[str] = set()
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + raw).decode()
        core = coded[(before * 8 + 5) // 6 : (before + len(raw)) * 8 // 6]
        out |= {core, core.replace("+", "-").replace("/", "_")}
    return out
