"""Exact replacing in a text, and how many lines a change has: pure."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass

MOST_DIFFED = 1_000  # lines on either side that are compared one with another; past it they are only counted
SHOWN_AROUND = 3
SHOWN_LINES = 40

NOT_FOUND = "The old text isn't in “{path}” exactly so{hint}. Nothing was changed; read the file again and copy it."
NOT_ONCE = (
    "The old text is {n} times in “{path}” (lines {lines}). Nothing was changed; give more lines around it, or "
    "set replace_all."
)
SAME = "The old and the new text are the same, so there is nothing to change."
EMPTY = "The old text is empty; use write_file to make a file."


@dataclass(frozen=True, slots=True)
class Edit:
    """The text after, how often it was replaced, and where first."""

    text: str
    times: int
    at: int


def replaced(text: str, old: str, new: str, *, every: bool, path: str) -> Edit | str:
    """The edit, or a sentence why there is none. Line ends of `old` and `new` follow the file's."""
    if not old:
        return EMPTY
    if old == new:
        return SAME
    for a, b in _line_ends(text, old, new):
        times = text.count(a)
        if times > 1 and not every:
            return NOT_ONCE.format(n=times, path=path, lines=_lines_of(text, a))
        if times:
            return Edit(text.replace(a, b), times, text.index(a))
    return NOT_FOUND.format(path=path, hint=_hint(text, old))


def _line_ends(text: str, old: str, new: str) -> list[tuple[str, str]]:
    """The texts to try, in order: in a file of CRLF lines, newlines mean those."""
    crlf = text.count("\r\n")
    if not crlf or "\n" not in old + new:
        return [(old, new)]
    wide = (_crlf(old), _crlf(new))
    return [wide, (old, new)] if crlf == text.count("\n") else [(old, new), wide]


def _crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _lines_of(text: str, what: str) -> str:
    found: list[str] = []
    at = text.find(what)
    while at >= 0 and len(found) < 6:
        found.append(str(lines_before(text, at) + 1))
        at = text.find(what, at + len(what))
    return ", ".join(found[:5]) + (" …" if len(found) > 5 else "")


def lines_before(text: str, at: int) -> int:
    """How many line ends lie before a place; CRLF is one."""
    part = text[:at]
    return part.count("\n") + part.count("\r") - part.count("\r\n")


def _hint(text: str, old: str) -> str:
    if len(text) < 2_000_000 and "".join(old.split()) in "".join(text.split()):
        return "; it is there with other spaces or line ends"
    return ""


def lines(text: str) -> list[str]:
    """The lines of a text, with their ends."""
    out: list[str] = []
    for part in text.split("\n"):
        pieces = part.split("\r")
        out += [p + "\r" for p in pieces[:-1]] + [pieces[-1] + "\n"]
    out[-1] = out[-1][:-1]
    joined: list[str] = []
    for line in out:
        if line == "\n" and joined and joined[-1].endswith("\r"):
            joined[-1] += line
        elif line:
            joined.append(line)
    return joined


def counted(before: str, after: str, *, most: int = MOST_DIFFED) -> tuple[int, int]:
    """How many lines were added and removed; sides of more than `most` lines are only counted."""
    a, b = apart(lines(before), lines(after))
    if len(a) > most or len(b) > most:
        had, has = Counter(a), Counter(b)
        return (has - had).total(), (had - has).total()
    added = removed = 0
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            added, removed = added + j2 - j1, removed + i2 - i1
    return added, removed


def edges(a: list[str], b: list[str]) -> tuple[int, int]:
    """How many lines both begin with, and how many of the rest both end with."""
    start, most = 0, min(len(a), len(b))
    while start < most and a[start] == b[start]:
        start += 1
    end = 0
    while end < most - start and a[len(a) - 1 - end] == b[len(b) - 1 - end]:
        end += 1
    return start, end


def apart(a: list[str], b: list[str]) -> tuple[list[str], list[str]]:
    """Both without what they begin and end with alike."""
    start, end = edges(a, b)
    return a[start : len(a) - end], b[start : len(b) - end]


def diff(before: str, after: str, name: str) -> str:
    """A unified diff; of texts too long for one, the whole new text."""
    a, b = lines(before), lines(after)
    if max(map(len, apart(a, b))) > MOST_DIFFED:
        return after
    bare = ([line.rstrip("\r\n") for line in a], [line.rstrip("\r\n") for line in b])
    return "\n".join(difflib.unified_diff(*bare, name, name, lineterm=""))


def around(text: str, at: int, size: int) -> list[tuple[int, str]]:
    """The lines about a place with their numbers, at most `SHOWN_LINES`."""
    start = at
    for _ in range(SHOWN_AROUND + 1):
        before = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start))
        if before < 0:
            start = 0
            break
        start = before
    start = start + 1 if start else 0
    part = lines(text[start : at + size + 2_000])[:SHOWN_LINES]
    first = lines_before(text, start) + 1
    upto = lines_before(text, at + size) + 1 + SHOWN_AROUND
    return [(first + i, line.rstrip("\r\n")) for i, line in enumerate(part) if first + i <= upto]
