"""Markdown as lines: markdown-it tokens to blocks, blocks to wrapped lines. Never markup, nothing opened by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from store.text import safe_text

from .code import code_pieces
from .line import BLANK, Line, Piece, fit_pieces, wrap
from .table import Table, plain_table, table_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

NESTING: Final = 8  # quotes and lists deeper than this are drawn at this depth
PARSE_CHARS: Final = 8_000  # a longer text is parsed in parts, since the parser is quadratic in places
MARKS_MOST: Final = 1_000  # brackets or backticks in a part; more make the parser slow
_BIG_TABLE: Final = re.compile(r"(?m)^ {0,3}\|.*\n {0,3}\|[ :|-]+\n(?: {0,3}\|.*(?:\n|\Z))+")
_LINE_START: Final = re.compile(r"\n(?=\S)")
_DEEP: Final = re.compile(r"(?m)^[ \t]*(?:(?:>[ \t]?|[-*+][ \t]|\d{1,9}[.)][ \t]){9,})")
_INDENTED: Final = re.compile(r"(?m)^(?: {24,}|\t{6,})(?:[-*+]|\d{1,9}[.)])[ \t]")
_FENCE: Final = re.compile(r"(?m)^ {0,3}(`{3,}|~{3,})(.*)$")
_DENSE: Final = re.compile(r"[\[\]!*_~`<&]{120,}")

Prefix = tuple[Piece, Piece]  # in front of the first line and of the others


@dataclass(slots=True)
class Block:
    """A piece of a document that doesn't depend on the width."""

    kind: str  # text, code, table, rule, blank
    pieces: list[Piece] = field(default_factory=list)
    first: tuple[Piece, ...] = ()
    rest: tuple[Piece, ...] = ()
    table: Table | None = None


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # only once there is something to read: the first screen is there before

    return MarkdownIt("commonmark", {"maxNesting": 24, "html": False}).enable(["table", "strikethrough"])


def markdown_lines(text: str, width: int) -> list[Line]:
    """The text as lines of `width` cells; the text is made harmless before it is parsed."""
    return lay_out(parse(safe_text(text)), width)


def parse(text: str) -> list[Block]:
    """The blocks of a harmless text. What would cost the parser too much is taken letter for letter."""
    if len(text) <= PARSE_CHARS:
        return _parse_part(text)
    blocks: list[Block] = []
    at = 0
    for found in _BIG_TABLE.finditer(text):
        before = text[at : found.start()]
        if len(found[0]) > PARSE_CHARS // 2 and not open_fence(before):
            blocks.extend(_parse_long(before))
            blocks.extend((Block("table", table=plain_table(found[0])), Block("blank")))
            at = found.end()
    return blocks + _parse_long(text[at:])


def _parse_long(text: str) -> list[Block]:
    """A part at a time, parted where a block ends or a line begins; a fence goes on in the next part."""
    blocks: list[Block] = []
    at, fence = 0, ""
    while at < len(text):
        end = at + PARSE_CHARS
        if end < len(text):
            end = _part_end(text, at + PARSE_CHARS // 2, end)
        part = f"{fence}\n{text[at:end]}" if fence else text[at:end]
        blocks.extend(_parse_part(part))
        fence = open_fence(part)
        at = end
    return blocks


def _part_end(text: str, low: int, high: int) -> int:
    cut = text.rfind("\n\n", low, high)
    if cut < 0:
        starts = [found.start() for found in _LINE_START.finditer(text, low, high)]
        cut = starts[-1] if starts else text.rfind("\n", low, high)
    return cut + 1 if cut >= 0 else high


def open_fence(text: str) -> str:
    """The line that opens the code fence the text ends in, or "" when it ends outside one."""
    opener = ""
    for found in _FENCE.finditer(text):
        marks, words = found.group(1), found.group(2)
        if not opener:
            if "`" not in words:
                opener = marks + words
        elif marks[0] == opener[0] and opener.startswith(marks[0] * 3) and not words.strip():
            length = len(opener) - len(opener.lstrip(marks[0]))
            opener = "" if len(marks) >= length else opener
    return opener


def _parse_part(text: str) -> list[Block]:
    hard = text.count("[") > MARKS_MOST or text.count("`") > MARKS_MOST or _DENSE.search(text)
    if hard or _DEEP.search(text) or _INDENTED.search(text):
        return [Block("text", [(text.strip("\n"), "")])]
    return _Builder().build(_parser().parse(text))


def lay_out(blocks: list[Block], width: int, whole: bool = False) -> list[Line]:
    """The blocks as lines of at most `width` cells; `whole` shows all rows of a large table."""
    out: list[Line] = []
    for block in blocks:
        match block.kind:
            case "blank":
                if out and out[-1] is not BLANK:
                    out.append(BLANK)
            case "rule":
                room = width - sum(cell_len(text) for text, _ in block.first)
                out.append(Line((*block.first, ("─" * max(1, min(room, 40)), "rule"))))
            case "code":
                out.extend(_code(block, width))
            case "table" if block.table is not None:
                room = max(8, width - sum(cell_len(text) for text, _ in block.rest))
                cut = table_lines(block.table, room, whole)
                out.extend(Line((*block.rest, *item.pieces), item.target, item.quiet) for item in cut)
            case _:
                out.extend(_text(block, width))
    while out and out[-1] is BLANK:
        out.pop()
    return out


def _text(block: Block, width: int) -> list[Line]:
    room = max(8, width - sum(cell_len(text) for text, _ in block.first))
    lines = wrap(block.pieces, room)
    return [
        Line((*(block.first if not index else block.rest), *item.pieces)) if block.first or block.rest else item
        for index, item in enumerate(lines)
    ]


def _code(block: Block, width: int) -> list[Line]:
    room = max(8, width - sum(cell_len(text) for text, _ in block.first) - 2)
    out: list[Line] = []
    for item in wrap_code(block.pieces, room):
        out.append(Line((*(block.first if not out else block.rest), ("│ ", "rule"), *item.pieces)))
    return out


def wrap_code(pieces: list[Piece], width: int) -> list[Line]:
    """Code as lines: its own line breaks, long lines parted at the edge and never at words."""
    out: list[Line] = []
    current: list[Piece] = []

    def close() -> None:
        nonlocal current
        rest = tuple(current)
        while sum(cell_len(text) for text, _ in rest) > width:
            head = _cut(rest, width)
            out.append(Line(head))
            rest = _after(rest, sum(len(text) for text, _ in head))
        out.append(Line(rest))
        current = []

    for text, style in pieces:
        for index, part in enumerate(text.split("\n")):
            if index:
                close()
            if part:
                current.append((part, style))
    close()
    return out


def _cut(pieces: tuple[Piece, ...], width: int) -> tuple[Piece, ...]:
    cut = fit_pieces(pieces, width + 1)  # one cell more: its … stands where the next line begins
    last, style = cut[-1]
    kept = (*cut[:-1], (last.removesuffix("…"), style))
    return kept if any(text for text, _ in kept) else ((pieces[0][0][:1], pieces[0][1]),)


def _after(pieces: tuple[Piece, ...], count: int) -> tuple[Piece, ...]:
    out: list[Piece] = []
    for text, style in pieces:
        if count >= len(text):
            count -= len(text)
            continue
        out.append((text[count:], style))
        count = 0
    return tuple(out)


class _Builder:
    """Walks the tokens once."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.prefixes: list[list[Prefix]] = []  # a prefix a nesting; the first part is used up by the first line
        self.numbers: list[int | None] = []
        self.heading = False

    def build(self, tokens: list[Token]) -> list[Block]:
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.type == "table_open":
                end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
                self._add(Block("table", table=_table(tokens[at : end + 1])))
                self._gap()
                at = end
            else:
                self._token(token)
            at += 1
        return self.blocks

    def _token(self, token: Token) -> None:  # noqa: PLR0912 - one match over the token types
        match token.type:
            case "blockquote_open":
                self.prefixes.append([(("┃ ", "rule"), ("┃ ", "rule"))])
            case "bullet_list_open":
                self.numbers.append(None)
            case "ordered_list_open":
                self.numbers.append(int(token.attrGet("start") or 1))
            case "list_item_open":
                self._item()
            case "list_item_close" | "blockquote_close":
                self.prefixes.pop()
                if token.type == "blockquote_close":
                    self._gap()
            case "bullet_list_close" | "ordered_list_close":
                self.numbers.pop()
                if not self.numbers:
                    self._gap()
            case "heading_open":
                self.heading = True
                self._gap()
            case "inline":
                self._inline(token)
            case "paragraph_close" if not token.hidden:
                self._gap()
            case "heading_close":
                self.heading = False
                self._gap()
            case "fence" | "code_block":
                self._fence(token)
            case "hr":
                self._add(Block("rule"))
                self._gap()
            case "html_block":
                self._add(Block("text", [(token.content.rstrip("\n"), "")]))
                self._gap()
            case _:
                pass

    def _item(self) -> None:
        number = self.numbers[-1] if self.numbers else None
        mark = "• "
        if number is not None:
            mark = f"{number}. "
            self.numbers[-1] = number + 1
        self.prefixes.append([((mark, "accent"), (" " * len(mark), ""))])

    def _inline(self, token: Token) -> None:
        pieces = inline_pieces(token.children or [], "heading" if self.heading else "")
        self._add(Block("text", pieces))

    def _fence(self, token: Token) -> None:
        language = token.info.split()[0] if token.info.split() else ""
        self._add(Block("code", code_pieces(token.content.removesuffix("\n"), language)))
        self._gap()

    def _add(self, block: Block) -> None:
        shown = self.prefixes[:NESTING]
        block.first = tuple(held[0][0] for held in shown)
        block.rest = tuple(held[0][1] for held in shown)
        for held in shown:
            held[0] = (held[0][1], held[0][1])
        self.blocks.append(block)

    def _gap(self) -> None:
        if not self.numbers:
            self.blocks.append(Block("blank"))


def inline_pieces(tokens: list[Token], base: str = "") -> list[Piece]:
    """Inline tokens as pieces; a link is its words and then its whole address, an image is its words."""
    out: list[Piece] = []
    styles = [base] if base else []
    links: list[tuple[str, int]] = []
    for token in tokens:
        name = " ".join(styles)
        match token.type:
            case "text" | "html_inline":
                out.append((token.content, name))
            case "code_inline":
                out.append((token.content, f"{name} code".strip()))
            case "softbreak":
                out.append(("\n", name))
            case "hardbreak":
                out.append(("\n", name))
            case "strong_open":
                styles.append("strong")
            case "em_open":
                styles.append("em")
            case "s_open":
                styles.append("strike")
            case "strong_close" | "em_close" | "s_close":
                styles.pop()
            case "link_open":
                links.append((str(token.attrGet("href") or ""), len(out)))
                styles.append("link")
            case "link_close":
                styles.pop()
                address, start = links.pop()
                words = "".join(text for text, _ in out[start:])
                if address and words not in (address, address.removeprefix("mailto:")):
                    out.append((f" ({safe_text(address, one_line=True)})", "muted"))
            case "image":
                address = safe_text(str(token.attrGet("src") or ""), one_line=True)
                words = "".join(text for text, _ in inline_pieces(token.children or []))
                out.append((f"[image: {words or 'no words'}]", f"{name} em".strip()))
                out.append((f" ({address})", "muted"))
            case _:
                out.append((token.content, name))
    return out


def _table(tokens: list[Token]) -> Table:
    rows: list[list[list[Piece]]] = []
    aligns: list[str] = []
    head = 0
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "thead_close":
            head = len(rows)
        elif token.type in ("th_open", "td_open") and len(rows) == 1:
            aligns.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
        elif token.type == "inline":
            rows[-1].append(inline_pieces(token.children or [], "strong" if not head else ""))
    return Table(rows, aligns, head)
