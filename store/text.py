"""Foreign text made harmless for a screen, and folded for matching (security.md §3.3)."""

from __future__ import annotations

import re
import unicodedata

from store.limits import COMBINING_IN_A_ROW, SCREEN_TEXT_CHARS, TAINT_LABEL_CHARS

# Strings a terminal swallows whole (OSC, DCS, SOS, PM, APC), up to their end, the next ESC, or the end of the text.
_STRINGS = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
_CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
_OTHER = r"\x1b[ -/]*[0-~]?"
_SEQUENCES = re.compile(f"{_STRINGS}|{_CSI}|{_OTHER}")
_LINE_ENDS = re.compile("\r\n?|[\x85\u2028\u2029]")
_SPACES = re.compile(r"\s+")

# What shows nothing or turns the direction: format characters, fillers, selectors, tags, noncharacters, controls.
_INVISIBLE_CLASS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(chr(plane * 0x10000 + 0xFFFE) + chr(plane * 0x10000 + 0xFFFF) for plane in range(1, 17))
)
_INVISIBLE = re.compile(f"[{_INVISIBLE_CLASS}]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_COMBINING_CLASS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302f\u3099\u309a\ufe20-\ufe2f"
)
_SMEAR = re.compile(f"([{_COMBINING_CLASS}]{{{COMBINING_IN_A_ROW}}})[{_COMBINING_CLASS}]+")
_PLAIN = re.compile(r"[\n\t -~]*\Z")

_ZWJ, _VS16 = "\u200d", "\ufe0f"
_NAMES = {
    "\u200e": "LRM", "\u200f": "RLM", "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO",
    "\u202e": "RLO", "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI", "\u061c": "ALM",
    "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\u00ad": "SHY", "\ufeff": "BOM", "\x00": "NUL",
    "\x1b": "ESC", "\x7f": "DEL", "\x07": "BEL", "\x08": "BS",
}  # fmt: skip


def _emoji(char: str) -> bool:
    code = ord(char)
    return (
        0x1F000 <= code <= 0x1FAFF
        or 0x2190 <= code <= 0x2BFF
        or code in (0xA9, 0xAE, 0x203C, 0x2049, 0x20E3, 0x2122, 0x2139, 0x3030, 0x303D, 0x3297, 0x3299)
        or char in "#*0123456789"
    )


def safe_text(text: str, *, one_line: bool = False, limit: int = SCREEN_TEXT_CHARS, mark_bidi: bool = False) -> str:
    """The text with nothing in it that a terminal obeys or that can't be seen; idempotent.

    `one_line`: every run of white space is one space. `limit`: characters kept; a cut says how much is missing.
    `mark_bidi`: invisible characters and sequences are shown as marks such as ⟨RLO⟩ (commands, cards, file names).
    """
    cut = len(text) - limit
    if cut > 0:
        text = text[:limit]
    if not _PLAIN.match(text):
        text = _LINE_ENDS.sub("\n", text)
        text = text if mark_bidi else _SEQUENCES.sub("", text)
        text = _SURROGATES.sub("\ufffd", text)
        if _INVISIBLE.search(text):
            text = _INVISIBLE.sub(lambda m: _shown(m, mark_bidi), text)
        text = _SMEAR.sub(r"\1", text.replace("\u2800", " "))
    if one_line:
        text = _SPACES.sub(" ", text).strip()
        return text if cut <= 0 else text[:-1] + "…"
    text = text.replace("\t", "    ")
    return text if cut <= 0 else f"{text}\n… {_size(cut)} more"


def _shown(match: re.Match[str], mark: bool) -> str:
    char, text, at = match[0], match.string, match.start()
    if char in (_ZWJ, _VS16) and at and (_emoji(text[at - 1]) or text[at - 1] == _VS16):
        after = text[at + 1 : at + 2]
        if char == _VS16 and text[at - 1] != _VS16:
            return char
        if char == _ZWJ and after and _emoji(after):
            return char
    return f"⟨{_NAMES.get(char) or f'U+{ord(char):04X}'}⟩" if mark else ""


def _size(chars: int) -> str:
    return f"{chars:,} characters" if chars < 100_000 else f"{chars / 1_000_000:.1f} MB"


def visible(text: str) -> str:
    """The text without any character that shows nothing or has no fixed meaning (for frames and names)."""
    return "".join(c for c in safe_text(text, limit=len(text)) if c not in (_ZWJ, _VS16) and not _unfixed(c))


def _unfixed(char: str) -> bool:
    return char > "~" and unicodedata.category(char) in ("Cf", "Cs", "Co", "Cn", "Cc")


def safe_name(text: str, limit: int = TAINT_LABEL_CHARS) -> str:
    """A title, label or file name for a line of Shoal's own.

    One line of 1 to `limit` characters without brackets, quotes or angle brackets of any script; "Untitled" if empty.
    """
    flat = visible(safe_text(text[: limit * 20], one_line=True, limit=limit * 20))
    kept = "".join(" " if _opens_or_closes(c) else "" if _quotes(c) else c for c in flat)
    kept = _SPACES.sub(" ", kept).strip()
    if len(kept) > limit:
        kept = kept[: limit - 1].rstrip() + "…"
    return kept or "Untitled"


def _opens_or_closes(char: str) -> bool:
    return any(
        c in "<>&[]" or unicodedata.category(c) in ("Ps", "Pe", "Pi", "Pf")
        for c in {char, *unicodedata.normalize("NFKD", char)}
    )


def _quotes(char: str) -> bool:
    return any(
        c in "\"'`´\u02b9\u02ba\u2032\u2033\u2034\u2035\u2036\u2037"
        for c in {char, *unicodedata.normalize("NFKD", char)}
    )


class _Fold(dict[int, int]):
    """Code point → folded code point, filled as characters are met."""

    def __missing__(self, code: int) -> int:
        char = chr(code)
        folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", char)[:1])[:1].casefold()
        self[code] = ord(folded) if len(folded) == 1 else code
        return self[code]


_FOLDS = _Fold()


def fold(text: str) -> str:
    """Case, accents and width removed, one character in, one character out, so that offsets stay valid."""
    return text.translate(_FOLDS)
