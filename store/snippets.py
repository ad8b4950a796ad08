"""What is shown of a line: secrets masked first, then the words found are marked, then it is cut."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from store import words
from store.limits import SNIPPET_CHARS, SNIPPET_RANGES
from store.models import Span

MASK: Final = "‹hidden›"  # the same as the secret filter's, so that filtering twice changes nothing
_SPACE = re.compile(r"\s+")
_MASK_MOST = 40
_MASK = re.compile(r"‹[^‹›\n]{1,38}›")
_LEAD = 48  # characters shown before the first find, at most a third of the width
_NUDGE = 16  # a cut moves this far to fall between words


@dataclass(frozen=True, slots=True)
class Marks:
    """What to mark: whole words, beginnings of words, and runs inside unspaced script (all folded)."""

    whole: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()


def masked(text: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    """The text with its secrets replaced, and where the masks now are."""
    if not spans:
        return text, []
    out: list[str] = []
    masks: list[Span] = []
    end = length = 0
    for start, stop in spans:
        out += [text[end:start], MASK]
        length += start - end
        masks.append((length, length + len(MASK)))
        length += len(MASK)
        end = stop
    return "".join([*out, text[end:]]), masks


def filtered(text: str, spans: Sequence[Span], redact: Callable[[str], str]) -> str:
    """A stored text as any view may have it."""
    return redact(masked(text, spans)[0])


def ranges(text: str, marks: Marks) -> list[Span]:
    """Where the marked words are, in order, touching ones joined; at most 200."""
    found: list[Span] = []
    for start, end, word in words.word_spans(text):
        if marks.inside and words.UNSPACED.search(word):
            found += _inside(text[start:end], start, marks.inside)
        if word in marks.whole or (marks.starts and word.startswith(marks.starts)):
            found.append((start, end))
        elif words.parts(text[start:end]):
            found += _camel(text, start, end, marks)
        elif " " in word and any(w in marks.whole for w in words.tokens(word)):
            found.append((start, end))
        if len(found) >= SNIPPET_RANGES * 2:
            break
    return joined(found)[:SNIPPET_RANGES]


def _camel(text: str, start: int, end: int, marks: Marks) -> Iterable[Span]:
    at = start
    for part in words.CAMEL_CUT.split(text[start:end]):
        if words.fold(part) in marks.whole:
            yield at, at + len(part)
        at += len(part)


def _inside(word: str, start: int, inside: Iterable[str]) -> Iterable[Span]:
    folded = words.fold(word)
    if len(folded) != len(word):
        return
    for run in inside:
        at = folded.find(run)
        while at >= 0:
            yield start + at, start + at + len(run)
            at = folded.find(run, at + len(run))


def joined(found: Iterable[Span]) -> list[Span]:
    """Ranges in order, overlapping and touching ones as one."""
    out: list[Span] = []
    for start, end in sorted(found):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def one_line(text: str, found: Sequence[Span]) -> tuple[str, list[Span]]:
    """White space collapsed, ranges moved along."""
    if not _SPACE.search(text):
        return text, list(found)
    starts: list[int] = []  # for every removed stretch: where it is and how much is gone by then
    gone: list[int] = []
    total = 0
    for m in _SPACE.finditer(text):
        extra = m.end() - m.start() - 1
        if extra:
            total += extra
            starts.append(m.end())
            gone.append(total)

    def moved(at: int) -> int:
        i = bisect_left(starts, at + 1)
        return at - (gone[i - 1] if i else 0)

    flat = _SPACE.sub(" ", text)
    lead = len(flat) - len(flat.lstrip())
    flat = flat.strip()
    out = [(max(moved(s) - lead, 0), min(moved(e) - lead, len(flat))) for s, e in found]
    return flat, [(s, e) for s, e in out if s < e]


def snippet(text: str, found: Sequence[Span], width: int = SNIPPET_CHARS) -> tuple[str, tuple[Span, ...]]:
    """At most `width` characters of a filtered text around the most finds, with their ranges in it."""
    text, found = one_line(text, found)
    if len(text) <= width:
        return text, tuple(found)
    start = _window(found, width)
    start = min(start, len(text) - width + 1)
    if start > 0:
        start = _nudged(text, start + 1, found)
    stop = min(len(text), start + width - (1 if start > 0 else 0))
    if stop < len(text):
        stop = _nudged_end(text, stop - 1, found)
    start, stop = _whole_masks(text, start, stop)
    before, after = "…" if start > 0 else "", "…" if stop < len(text) else ""
    shift = len(before) - start
    kept = [(max(s, start) + shift, min(e, stop) + shift) for s, e in found if s < stop and e > start]
    return f"{before}{text[start:stop]}{after}", tuple(kept)


def cut(text: str, limit: int) -> str:
    """The beginning of a filtered text, at most `limit` characters; a mask is kept whole or left out."""
    if len(text) <= limit:
        return text
    return text[: _whole_masks(text, 0, limit - 1)[1]] + "…"


def _window(found: Sequence[Span], width: int) -> int:
    """Where the window starts that holds the most finds (different starts tried: each find's)."""
    if not found:
        return 0
    lead = min(_LEAD, width // 3)
    best, most = 0, -1
    ends = [e for _, e in found]
    for i, (s, _) in enumerate(found):
        start = max(0, s - lead)
        inside = sum(1 for e in ends[i : i + width] if e <= start + width - 2)
        if inside > most:
            best, most = start, inside
    return best


def _nudged(text: str, start: int, found: Sequence[Span]) -> int:
    space = text.find(" ", start, start + _NUDGE)
    moved = space + 1 if space >= 0 else start
    return start if any(start <= s < moved for s, _ in found) else moved


def _nudged_end(text: str, stop: int, found: Sequence[Span]) -> int:
    space = text.rfind(" ", max(0, stop - _NUDGE), stop + 1)
    moved = space if space > 0 else stop
    return stop if any(moved < e <= stop for _, e in found) else moved


def _whole_masks(text: str, start: int, stop: int) -> tuple[int, int]:
    """A mask is shown whole or not at all."""
    for m in _MASK.finditer(text, max(0, start - _MASK_MOST), min(len(text), stop + _MASK_MOST)):
        if m.start() < start < m.end():
            start = m.end()
        elif m.start() < stop < m.end():
            stop = m.start()
    return start, stop
