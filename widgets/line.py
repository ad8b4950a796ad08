"""A line of a view: pieces of harmless text with style names, wrapped by cells; never markup."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len, split_graphemes

from store.text import fold

Piece = tuple[str, str]  # text, style names of `widgets.palette` with spaces between


@dataclass(frozen=True, slots=True)
class Line:
    """One line on screen. `target` names what Enter or a click on it means to its row; "" means nothing."""

    pieces: tuple[Piece, ...] = ()
    target: str = ""
    quiet: bool = False  # left out when the row is copied as a whole (rules, hints)

    @property
    def plain(self) -> str:
        """The text alone."""
        return "".join(text for text, _ in self.pieces)

    @property
    def cells(self) -> int:
        """Its width on screen."""
        return cell_len(self.plain)


BLANK = Line()


def line(text: str = "", style: str = "", target: str = "") -> Line:
    """A line of one piece."""
    return Line(((text, style),) if text else (), target)


def fit(text: str, width: int) -> str:
    """The text cut to `width` cells, with … where something is missing."""
    if width <= 0:
        return ""
    if text.isascii():
        return text if len(text) <= width else text[: width - 1] + "…"
    if cell_len(text) <= width:
        return text
    kept, used = [], 0
    for start, end, cells in split_graphemes(text)[0]:
        if used + cells > width - 1:
            break
        kept.append(text[start:end])
        used += cells
    return "".join(kept) + "…"


def fit_pieces(pieces: Iterable[Piece], width: int) -> tuple[Piece, ...]:
    """Pieces cut to `width` cells in all, with … where something is missing."""
    out: list[Piece] = []
    left = width
    held = list(pieces)
    if sum(cell_len(text) for text, _ in held) <= width:
        return tuple(held)
    for text, style in held:
        cells = cell_len(text)
        if cells < left:
            out.append((text, style))
            left -= cells
            continue
        cut = fit(text + " ", left) if cells == left else fit(text, left)
        out.append((cut, style))
        break
    return tuple(out)


def spread(left: Iterable[Piece], right: Iterable[Piece], width: int, fill: str = " ", style: str = "") -> Line:
    """`left` and `right` at the two ends of a line; the left is cut first."""
    right = tuple(right)
    room = width - sum(cell_len(text) for text, _ in right)
    if room < 6 and right:
        right, room = (), width
    kept = fit_pieces(left, max(0, room - (1 if right else 0)))
    gap = room - sum(cell_len(text) for text, _ in kept)
    return Line((*kept, (fill * max(0, gap), style), *right)) if right else Line(kept)


def wrap(
    pieces: Iterable[Piece], width: int, *, first: Piece = ("", ""), rest: Piece | None = None, target: str = ""
) -> list[Line]:
    """The pieces as lines of at most `width` cells, broken at spaces, else inside a word; newlines are kept."""
    rest = rest if rest is not None else (" " * cell_len(first[0]), first[1])
    room = max(1, width - max(cell_len(first[0]), cell_len(rest[0])))
    out: list[Line] = []
    for paragraph in _paragraphs(pieces):
        text = "".join(part for part, _ in paragraph)
        for start, end in _breaks(text, room):
            head = first if not out else rest
            body = _slice(paragraph, start, end)
            out.append(Line(((head, *body) if head[0] else body), target))
    return out


def _paragraphs(pieces: Iterable[Piece]) -> list[list[Piece]]:
    out: list[list[Piece]] = [[]]
    for text, style in pieces:
        if "\n" not in text:
            if text:
                out[-1].append((text, style))
            continue
        for index, part in enumerate(text.split("\n")):
            if index:
                out.append([])
            if part:
                out[-1].append((part, style))
    return out


def _breaks(text: str, width: int) -> list[tuple[int, int]]:
    if len(text) <= width and (text.isascii() or cell_len(text) <= width):
        return [(0, len(text))]
    return _ascii_breaks(text, width) if text.isascii() else _wide_breaks(text, width)


def _ascii_breaks(text: str, width: int) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    start, size = 0, len(text)
    while size - start > width:
        cut = text.rfind(" ", start, start + width + 1)
        if cut <= start or not text[start:cut].strip():
            out.append((start, start + width))
            start += width
        else:
            out.append((start, cut))
            start = cut + 1
    out.append((start, size))
    return out


def _wide_breaks(text: str, width: int) -> list[tuple[int, int]]:
    """As for ASCII, by cells; wide characters (Chinese, Japanese, Korean) may be parted anywhere."""
    out: list[tuple[int, int]] = []
    start, used, space = 0, 0, -1  # space: where the text could be parted, as the start of the next line
    for begin, end, cells in split_graphemes(text)[0]:
        if used + cells > width and begin > start:
            if text[begin] == " ":
                out.append((start, begin))
                start, used, space = end, 0, -1
                continue
            fits = space > start and text[start:space].strip() and cell_len(text[space:begin]) + cells <= width
            cut = space if fits else begin
            out.append((start, cut - 1 if cut > start + 1 and text[cut - 1] == " " else cut))
            start, space = cut, -1
            used = cell_len(text[cut:begin])
        used += cells
        if text[begin] == " " or cells == 2:
            space = end
    out.append((start, len(text)))
    return out


def _slice(pieces: list[Piece], start: int, end: int) -> tuple[Piece, ...]:
    if len(pieces) == 1:
        text, style = pieces[0]
        return ((text[start:end], style),) if end > start else ()
    out: list[Piece] = []
    at = 0
    for text, style in pieces:
        low, high = max(start - at, 0), min(end - at, len(text))
        if low < high:
            out.append((text[low:high], style))
        at += len(text)
        if at >= end:
            break
    return tuple(out)


def mark_ranges(text: str, ranges: Iterable[tuple[int, int]], style: str, mark: str = "mark") -> list[Piece]:
    """The text as pieces with `ranges` (of its characters) marked; ranges may overlap or lie outside.

    What a terminal joins (a letter and its accent, an emoji family) is never parted.
    """
    out: list[Piece] = []
    at = 0
    for begin, finish in sorted(ranges if text.isascii() else _whole(text, ranges)):
        start, end = max(at, begin), min(finish, len(text))
        if start >= end:
            continue
        if start > at:
            out.append((text[at:start], style))
        out.append((text[start:end], f"{style} {mark}".strip()))
        at = end
    if at < len(text):
        out.append((text[at:], style))
    return out


def _whole(text: str, ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges widened to whole graphemes."""
    held = [(begin, end) for begin, end in ranges if begin < len(text) and end > 0]
    if not held:
        return []
    starts = [start for start, _, _ in split_graphemes(text)[0]] or [0]
    ends = [*starts[1:], len(text)]
    return [
        (starts[max(0, bisect_right(starts, max(0, begin)) - 1)], ends[min(bisect_left(ends, end), len(ends) - 1)])
        for begin, end in held
    ]


def mark_words(pieces: Iterable[Piece], starts: Iterable[tuple[int, int]], mark: str) -> tuple[Piece, ...]:
    """Pieces of one line with ranges of the whole line's characters marked."""
    out: list[Piece] = []
    at = 0
    ranges = list(starts)
    for text, style in pieces:
        local = [(begin - at, end - at) for begin, end in ranges if end > at and begin < at + len(text)]
        out.extend(mark_ranges(text, local, style, mark) if local else [(text, style)])
        at += len(text)
    return tuple(out)


def find_spans(lines: list[str], words: str) -> list[list[tuple[int, int, int, bool]]]:
    """Where `words` are in wrapped lines, case and accents aside, also across the end of a line.

    Per line: start, end, number of the find, and whether it begins there.
    """
    out: list[list[tuple[int, int, int, bool]]] = [[] for _ in lines]
    wanted = fold(words)
    if not wanted:
        return out
    text = fold(" ".join(lines))
    starts = [0]
    for item in lines:
        starts.append(starts[-1] + len(item) + 1)
    at, number, y = text.find(wanted), 0, 0
    while at >= 0:
        end = at + len(wanted)
        while starts[y + 1] <= at:
            y += 1
        row = y
        while row < len(lines) and starts[row] < end:
            begin, finish = max(0, at - starts[row]), min(len(lines[row]), end - starts[row])
            if begin < finish:
                out[row].append((begin, finish, number, row == y))
            row += 1
        number += 1
        at = text.find(wanted, end)
    return out
