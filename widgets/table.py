"""A Markdown table as lines: aligned columns while it is small, a cut monospaced block when it is large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len

from .line import Line, Piece, fit_pieces, wrap

CELLS_MOST: Final = 200
COLUMNS_MOST: Final = 20
CUT_ROWS: Final = 12


@dataclass(slots=True)
class Table:
    """Cells as pieces; `head` rows at the top are the header."""

    rows: list[list[list[Piece]]]
    aligns: list[str]
    head: int = 1


def plain_table(text: str) -> Table:
    """A table too large for the parser, its cells as they are written."""
    rows = [line.strip().removeprefix("|").removesuffix("|").split("|") for line in text.splitlines()]
    del rows[1:2]
    return Table([[[(cell.strip(), "")] for cell in row] for row in rows], [])


def table_lines(table: Table, width: int, whole: bool = False) -> list[Line]:
    """The table at `width` cells; the last line of a cut one has the target "more"."""
    columns = max((len(row) for row in table.rows), default=0)
    if not columns:
        return []
    if columns > COLUMNS_MOST or columns * len(table.rows) > CELLS_MOST or columns * 4 > width:
        return _cut_block(table, columns, width, len(table.rows) if whole else CUT_ROWS + table.head)
    widths = _widths(table, columns, width)
    out: list[Line] = []
    for number, row in enumerate(table.rows):
        cells = [wrap(row[i] if i < len(row) else [], widths[i]) for i in range(columns)]
        for depth in range(max(len(cell) for cell in cells)):
            pieces: list[Piece] = []
            for index, cell in enumerate(cells):
                item = cell[depth].pieces if depth < len(cell) else ()
                pieces.extend(_padded(item, widths[index], table.aligns[index] if index < len(table.aligns) else ""))
                if index < columns - 1:
                    pieces.append((" │ ", "rule"))
            out.append(Line(tuple(pieces)))
        if number == table.head - 1:
            out.append(Line((("─┼─".join("─" * size for size in widths), "rule"),)))
    return out


def _padded(pieces: tuple[Piece, ...], width: int, align: str) -> list[Piece]:
    space = max(0, width - sum(cell_len(text) for text, _ in pieces))
    before = {"right": space, "center": space // 2}.get(align, 0)
    return [piece for piece in ((" " * before, ""), *pieces, (" " * (space - before), "")) if piece[0]]


def _widths(table: Table, columns: int, width: int) -> list[int]:
    """The widest cell of each column, the widest columns giving way until it fits."""
    widths = [1] * columns
    for row in table.rows:
        for index, cell in enumerate(row):
            widths[index] = max(widths[index], cell_len("".join(text for text, _ in cell)))
    room = max(columns, width - 3 * (columns - 1))
    while sum(widths) > room:
        widest = max(range(columns), key=widths.__getitem__)
        second = max((size for i, size in enumerate(widths) if i != widest), default=1)
        over = sum(widths) - room
        widths[widest] = max(1, widths[widest] - max(1, min(over, widths[widest] - second)))
    return widths


def _cut_block(table: Table, columns: int, width: int, most: int) -> list[Line]:
    shown = table.rows[:most]
    out = []
    for row in shown:
        text: list[Piece] = []
        for cell in row[: max(4, width // 3)]:
            if text:
                text.append((" │ ", "rule"))
            text.extend(cell)
        out.append(Line(fit_pieces(text, width)))
    size = f"… {columns} columns × {len(table.rows) - table.head} rows"
    more = len(table.rows) - len(shown)
    if more > 0:
        out.extend(wrap([(f"{size} · Enter shows {more:,} more rows", "accent")], width, target="more"))
    else:
        out.extend(wrap([(f"{size}, cut at the edge · c copies the message", "muted")], width))
    return out
