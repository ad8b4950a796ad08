"""`read_file`: a part of a text file with its line numbers."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import BaseModel, Field

from app.guard.secrets import MASK
from app.ports import ToolOutcome, TurnContext
from app.tools.beneath import Place, Refused, locate, open_file
from app.tools.bounds import Bounds
from app.tools.files.desk import FileArgs, FileTool, Sign, halted, in_thread, refused, short
from app.tools.files.hiding import KeyBlock, cut
from app.tools.files.kinds import SAMPLE_BYTES, Kind, kind_of, shown
from store.limits import (
    CHANGE_FILE_BYTES,
    FILE_CHUNK_BYTES,
    HIDDEN_MARGIN_CHARS,
    PATH_CHARS,
    READ_FILE_CHARS,
    READ_FILE_LINE_CHARS,
    READ_FILE_LINES,
    READ_FILE_SECONDS,
)

DESCRIPTION = (
    "Read a text file of the work folder. Gives its lines with their numbers, which aren't part of the file. "
    "A long file comes in parts: go on with offset. Read a file before you write or edit it."
)
TOO_FAR = "Line {line} of “{path}” can't be reached in time: the file is too large. Search in it instead."


class Args(FileArgs):
    """Which file, and which of its lines."""

    path: str = Field(min_length=1, max_length=PATH_CHARS, description="The file, from the work folder or whole.")
    offset: int = Field(1, ge=1, le=10**9, description="The first line, from 1.")
    limit: int = Field(READ_FILE_LINES, ge=1, le=10 * READ_FILE_LINES, description="How many lines at most.")


@dataclass(slots=True)
class Part:
    """Some lines of a file. `more`: it goes on behind them; `lines_all`: how many it has, where that was counted."""

    first: int
    lines: list[str] = field(default_factory=list)
    more: bool = False
    lines_all: int | None = None
    reached: int = 0


class ReadFile(FileTool):
    """Implements `Tool`."""

    name = "read_file"
    description = DESCRIPTION
    args: type[BaseModel] = Args

    def label(self, args: Args) -> str:
        """Read src/auth.ts."""
        return f"Read {short(args.path)}"

    async def run(self, args: Args, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Read it off the event loop."""
        try:
            place = self._desk.place(args, args.path, ctx)
        except Refused as no:
            return refused(no.sentence)
        return await in_thread(lambda: self._read(args, place, ctx), place)

    def _read(self, args: Args, place: Place, ctx: TurnContext) -> ToolOutcome:
        bounds = self._desk.bounds_of(ctx)
        place = like(place, ctx, bounds)
        fd, found = open_file(place, bounds)
        try:
            sample = os.read(fd, SAMPLE_BYTES)
            kind = kind_of(sample, whole=len(sample) >= found.st_size)
            whole = None
            if found.st_size <= CHANGE_FILE_BYTES:
                whole = sample + read_rest(fd, CHANGE_FILE_BYTES - len(sample) + 1)
            self._desk.noted(ctx, place, Sign.of(found, whole))
            if kind.encoding is None:
                return ToolOutcome(f"“{place.shown}” is {kind.words} of {found.st_size:,} bytes, not text.")
            os.lseek(fd, kind.bom, os.SEEK_SET)
            part = take(fd, kind, args.offset, args.limit, found.st_size - kind.bom, halted(ctx))
        finally:
            os.close(fd)
        return answer(place, kind, part, found.st_size)


def like(place: Place, ctx: TurnContext, bounds: Bounds) -> Place:
    """The file of that name, or the only one whose names differ in case, form or a last dot; nothing is guessed."""
    if os.path.lexists(place.path) or not place.inside:
        return place
    path = place.root
    for part in place.inside.split("/"):
        exact = os.path.join(path, part)
        if not os.path.lexists(exact):
            try:
                same = [name for name in os.listdir(path) if _folded(name) == _folded(part)]
            except OSError:
                return place
            if len(same) != 1:
                return place
            exact = os.path.join(path, same[0])
        path = exact
    found = locate(ctx.folder, path)
    return found if found.inside is not None and bounds.never(found.path) is None else place


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold().rstrip(". ")


def read_rest(fd: int, most: int) -> bytes:
    """What follows, at most `most` bytes."""
    parts = []
    while most > 0 and (part := os.read(fd, min(most, FILE_CHUNK_BYTES * 16))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def take(fd: int, kind: Kind, first: int, limit: int, size: int, stop: Callable[[], bool]) -> Part:
    """Lines `first` and on, in bounded memory; goes on counting a while, so that the end can be told."""
    out, decoder = Part(first), kind.decoder()
    number, chars, line, more = 1, 0, "", 0  # `more`: characters of a long line that aren't kept
    full = began = False
    block, hides = KeyBlock(), False  # `hides`: the part begins inside a private key
    until = time.monotonic() + READ_FILE_SECONDS
    left = size
    while True:
        data = os.read(fd, min(FILE_CHUNK_BYTES, left)) if left > 0 else b""
        left -= len(data)
        text = decoder.decode(data, not data)
        pieces = text.split("\n")
        for i, piece in enumerate(pieces):
            if i:
                began = False
                inside = block.holds(line)
                hides = inside and (hides or number <= first)
                if number >= first and not full:
                    chars += _close(out, MASK if hides else line, more)
                    full = len(out.lines) >= limit or chars >= READ_FILE_CHARS
                number, line, more = number + 1, "", 0
            if piece:
                began = True
                if full:
                    out.more = True
                else:
                    room = READ_FILE_LINE_CHARS + HIDDEN_MARGIN_CHARS - len(line)
                    line, more = line + piece[:room], more + max(0, len(piece) - room)
        if not data:
            break
        if stop() or time.monotonic() > until:
            out.more, out.reached = True, number
            if began and number >= first and not full:
                _close(out, MASK if hides and block.holds(line) else line, more)
            return out
    if began and number >= first and not full:
        _close(out, MASK if block.holds(line) and (hides or number <= first) else line, more)
    out.lines_all = out.reached = number if began else number - 1
    out.more = out.lines_all >= first + len(out.lines)
    return out


def _close(part: Part, line: str, more: int) -> int:
    """Keep a line; answers the characters it takes."""
    more += max(0, len(line) - READ_FILE_LINE_CHARS)
    line = cut(line, 0, READ_FILE_LINE_CHARS) if more else line
    words = shown(line) + (f" … [Shoal: the line goes on for {more:,} more characters]" if more else "")
    part.lines.append(words)
    return len(words) + 8


def answer(place: Place, kind: Kind, part: Part, size: int) -> ToolOutcome:
    """The lines with their numbers, and what there is to know beside them."""
    if size == 0 or part.lines_all == 0:
        return ToolOutcome(f"“{place.shown}” is empty.")
    if not part.lines:
        if part.lines_all is None:
            return refused(TOO_FAR.format(line=part.first, path=place.shown))
        return refused(f"“{place.shown}” has only {part.lines_all:,} lines.")
    head = [] if kind.plain else [f"[Shoal: {kind.words}]"]
    body = [f"{part.first + i:>6}\t{line}" for i, line in enumerate(part.lines)]
    last = part.first + len(part.lines) - 1
    if part.more:
        of = f" of {part.lines_all:,}" if part.lines_all else f"; the file has {size:,} bytes"
        body.append(f"[Shoal: lines {part.first:,} to {last:,}{of}. There is more: go on with offset={last + 1}]")
    return ToolOutcome("\n".join([*head, *body]))
