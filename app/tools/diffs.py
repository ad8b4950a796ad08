"""What a change set did to a file, as a person reads it: lines, or a sentence where there are none to show. Pure."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator
from typing import Final

from app.tools.files.editing import MOST_DIFFED, edges, lines
from app.tools.files.kinds import kind_of_all, shown
from store.events import FileChange
from store.limits import DIFF_FILE_BYTES, DIFF_PAIRS
from store.models import FileDiff

NOT_TEXT: Final = "It is {what}, not text, so there are no lines to show"
TOO_LARGE: Final = f"It is larger than {DIFF_FILE_BYTES // 1024**2} MB: too large to show line by line"
TOO_MANY: Final = "Too much of it changed to be compared line by line here"
AROUND: Final = 3  # lines around a change
BEFORE_GONE: Final = "What was there before isn't kept, so what changed can't be shown"
AFTER_GONE: Final = "The file is another by now, and what was written then isn't kept"
NO_ROOM: Final = "This change has more lines than are shown here"
CUT: Final = "… {n:,} more lines of this file aren't shown"
SAME: Final = "Its lines are the same; only their ends or its permissions changed"
EMPTY: Final = "It is empty"


def diff_of(file: FileChange, before: bytes | None, after: bytes | None, room: int) -> FileDiff:
    """At most `room` lines of a file's diff. A side is None where it isn't kept, and where there was no file."""
    made, gone = file.change == "created", file.change == "deleted"
    if before is None and not made:
        return FileDiff(file.path, note=BEFORE_GONE)
    if after is None and not gone:
        return FileDiff(file.path, note=AFTER_GONE)
    sides = before or b"", after or b""
    if max(map(len, sides)) > DIFF_FILE_BYTES:
        return FileDiff(file.path, note=TOO_LARGE)
    kinds = [kind_of_all(side) for side in sides]
    for kind, side in zip(kinds, sides, strict=True):
        if side and kind.encoding is None:
            return FileDiff(file.path, note=NOT_TEXT.format(what=kind.words))
    texts = [kind.decode(side) if side else "" for kind, side in zip(kinds, sides, strict=True)]
    found = _lines(*texts)
    if found is None:
        return FileDiff(file.path, note=TOO_MANY)
    if not found:
        return FileDiff(file.path, note=EMPTY if made or gone else SAME)
    if room <= 0:
        return FileDiff(file.path, note=NO_ROOM)
    note = CUT.format(n=len(found) - room) if len(found) > room else ""
    return FileDiff(file.path, tuple(map(shown, found[:room])), note)


def _lines(before: str, after: str) -> list[str] | None:
    """The lines of a unified diff without its head; None where too much would have to be compared."""
    a, b = ([line.rstrip("\r\n") for line in lines(text)] for text in (before, after))
    if not a or not b:
        return [f"-{line}" for line in a] + [f"+{line}" for line in b]
    start, end = edges(a, b)
    first = max(0, start - AROUND)  # only what differs is compared, with the lines around it
    a, b = (side[first : len(side) - max(0, end - AROUND)] for side in (a, b))
    if max(len(a), len(b)) > MOST_DIFFED and _pairs(a, b) > DIFF_PAIRS:
        return None
    return list(_unified(a, b, first))


def _pairs(a: list[str], b: list[str]) -> int:
    """How many pairs of like lines a comparison meets; lines that are everywhere aren't compared (as difflib does)."""
    had, has = Counter(a), Counter(b)
    common = len(b) // 100 + 1
    return sum(n * has[line] for line, n in had.items() if has[line] <= common)


def _unified(a: list[str], b: list[str], first: int) -> Iterator[str]:
    for group in difflib.SequenceMatcher(None, a, b).get_grouped_opcodes(AROUND):
        yield f"@@ -{_span(group[0][1], group[-1][2], first)} +{_span(group[0][3], group[-1][4], first)} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in a[i1:i2])
            else:
                yield from (f"-{line}" for line in a[i1:i2])
                yield from (f"+{line}" for line in b[j1:j2])


def _span(start: int, end: int, first: int) -> str:
    """Lines as a diff's head counts them, from 1; an empty span names the line before it."""
    at = first + start + (1 if end > start else 0)
    return f"{at}" if end - start == 1 else f"{at},{end - start}"
