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


def table_lines(table: Table, width: int) -> list[Line]:
    """The table at `width` cells."""
    columns = max((len(row) for row in table.rows), default=0)
    if not columns:
        return []
    if columns > COLUMNS_MOST or columns * len(table.rows) > CELLS_MOST or columns * 4 > width:
        return _cut_block(table, columns, width)
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


def _cut_block(table: Table, columns: int, width: int) -> list[Line]:
    shown = table.rows[: CUT_ROWS + table.head]
    out = []
    for row in shown:
        text: list[Piece] = []
        for cell in row[: max(4, width // 3)]:
            if text:
                text.append((" │ ", "rule"))
            text.extend(cell)
        out.append(Line(fit_pieces(text, width)))
    out.append(Line(fit_pieces([(_words(table, columns, len(shown)), "muted")], width)))
    return out


def _words(table: Table, columns: int, shown: int) -> str:
    more = len(table.rows) - shown
    rows = f"{more} more rows" if more > 0 else "long rows cut"
    return f"… table of {columns} columns × {len(table.rows) - table.head} rows, {rows}; copy the message for all of it"
