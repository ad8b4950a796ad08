"""`search_files`: lines that hold a word or fit a pattern, in linear time."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, Field

from app.ports import ToolOutcome, TurnContext
from app.tools.beneath import Place, Refused, open_file
from app.tools.bounds import Bounds
from app.tools.files.desk import FileArgs, FileTool, halted, in_thread, refused, short
from app.tools.files.hiding import cut, without_keys
from app.tools.files.kinds import SAMPLE_BYTES, kind_of, shown
from app.tools.files.list_files import Pattern, from_work, notes, plain
from app.tools.files.read_file import read_rest
from app.tools.files.walk import Walk
from store.limits import (
    PATH_CHARS,
    SEARCH_FILE_BYTES,
    SEARCH_FILE_MATCHES,
    SEARCH_LINE_CHARS,
    SEARCH_MATCHES,
    SEARCH_SECONDS,
)
from store.text import safe_text

DESCRIPTION = (
    "Search the text of files: gives path:line: text. pattern is plain words, or an RE2 expression with regex=true. "
    "Binary files, .git, node_modules and what .gitignore names are left out."
)
BAD_PATTERN = "“{pattern}” isn't an expression RE2 understands: {why}. Without regex=true it is searched as it stands."


class Args(FileArgs):
    """What, and where."""

    pattern: str = Field(min_length=1, max_length=1_000, description="The words, or the expression.")
    path: str = Field(".", min_length=1, max_length=PATH_CHARS, description="The folder or file to search.")
    glob: str | None = Field(None, max_length=500, description="Only files whose path fits, like *.py.")
    regex: bool = Field(False, description="pattern is an RE2 expression.")
    ignore_case: bool = Field(False, description="Capitals don't matter.")
    limit: int = Field(SEARCH_MATCHES // 2, ge=1, le=SEARCH_MATCHES, description="How many lines at most.")


class SearchFiles(FileTool):
    """Implements `Tool`."""

    name = "search_files"
    description = DESCRIPTION
    args: type[BaseModel] = Args

    def label(self, args: Args) -> str:
        """Searched src for “token”."""
        where = "files" if args.path == "." else short(args.path)
        return f"Searched {where} for “{safe_text(args.pattern, one_line=True, limit=80)}”"

    async def run(self, args: Args, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Search off the event loop, at most `SEARCH_SECONDS`."""
        try:
            place = self._desk.place(args, args.path, ctx)
            finder = compiled(args)
            fits = Pattern(args.glob) if args.glob else None
        except Refused as no:
            return refused(no.sentence)
        return await in_thread(lambda: self._search(args, finder, fits, place, ctx), place)

    def _search(self, args: Args, finder: Any, fits: Pattern | None, place: Place, ctx: TurnContext) -> ToolOutcome:
        bounds, stop = self._desk.bounds_of(ctx), halted(ctx)
        walk = Walk(place, bounds, stop, SEARCH_SECONDS)
        until = time.monotonic() + SEARCH_SECONDS
        lines: list[str] = []
        large = 0
        for path, size in _files(walk, place, bounds, fits):
            if size > SEARCH_FILE_BYTES:
                large += 1
                continue
            target = place if path is None else _below(place, path)
            name = plain(place.shown if path is None else from_work(place, path))
            lines += [f"{name}:{n}: {text}" for n, text in self._in_file(finder, target, bounds)]
            if len(lines) >= args.limit or time.monotonic() > until or stop():
                enough = len(lines) >= args.limit
                walk.cut = f"cut at {args.limit} lines; there may be more" if enough else "it took too long"
                break
        if large:
            lines = lines[: args.limit]
            lines.append(f"[Shoal: {large} files larger than {SEARCH_FILE_BYTES // 1024**2} MB weren't searched]")
        if not lines:
            return ToolOutcome("\n".join(["Nothing found.", *notes(walk)]))
        return ToolOutcome("\n".join([*lines[: args.limit + 1], *notes(walk)]))

    def _in_file(self, finder: Any, place: Place, bounds: Bounds) -> Iterator[tuple[int, str]]:
        try:
            fd, _ = open_file(place, bounds)
        except Refused:
            return
        try:
            sample = os.read(fd, SAMPLE_BYTES)
            kind = kind_of(sample)
            if kind.encoding is None:
                return
            data = sample + read_rest(fd, SEARCH_FILE_BYTES)
        finally:
            os.close(fd)
        text = data[kind.bom :].decode(kind.encoding, "replace").replace("\r\n", "\n").replace("\r", "\n")
        yield from matches(finder, without_keys(text))


def matches(finder: Any, text: str) -> Iterator[tuple[int, str]]:
    """Lines with a match and their numbers, each once, the long ones cut about the match."""
    number, at, last = 1, 0, 0
    found = 0
    for match in finder.finditer(text):
        start = match.start()
        number += text.count("\n", at, start)
        at = start
        if number == last:
            continue
        last = number
        begin, end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
        line = text[begin : end if end >= 0 else len(text)]
        yield number, _cut(line, start - begin)
        found += 1
        if found >= SEARCH_FILE_MATCHES:
            return


def _cut(line: str, at: int) -> str:
    if len(line) <= SEARCH_LINE_CHARS:
        return shown(line)
    start = max(0, min(at - SEARCH_LINE_CHARS // 3, len(line) - SEARCH_LINE_CHARS))
    part = shown(cut(line, start, start + SEARCH_LINE_CHARS))
    return f"{'…' if start else ''}{part}{'…' if start + SEARCH_LINE_CHARS < len(line) else ''}"


def compiled(args: Args) -> Any:
    """The pattern as an RE2 expression. Raises Refused."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not args.ignore_case
    options.never_nl = False
    pattern = f"(?m:{args.pattern})" if args.regex else re2.escape(args.pattern.replace("\r\n", "\n"))
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0] if error.args else "unknown"
        why = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        words = safe_text(why, one_line=True, limit=120).rstrip(".")
        raise Refused(BAD_PATTERN.format(pattern=short(args.pattern), why=words)) from None


def _files(walk: Walk, place: Place, bounds: Bounds, fits: Pattern | None) -> Iterator[tuple[str | None, int]]:
    """The files to search and their sizes; None stands for the place itself, where that is a file."""
    try:
        found = os.lstat(place.path)
    except OSError:
        found = None
    if found is not None and not stat.S_ISDIR(found.st_mode):
        fd, found = open_file(place, bounds)
        os.close(fd)
        yield None, found.st_size
        return
    for entry in walk.entries():
        if entry.kind == "file" and (fits is None or fits(entry.path)):
            yield entry.path, entry.size


def _below(place: Place, path: str) -> Place:
    inside = None if place.inside is None else from_work(place, path)
    return Place(path, os.path.join(place.path, path), inside, place.root)
