"""`list_files` and `glob_files`: what there is in a folder."""

from __future__ import annotations

import heapq
import os

from pydantic import BaseModel, Field

from app.ports import ToolOutcome, TurnContext
from app.tools.beneath import Place, Refused
from app.tools.files.desk import FileArgs, FileTool, halted, in_thread, refused, short
from app.tools.files.walk import Entry, Walk
from store.limits import GLOB_FILES, LIST_DEPTH, LIST_ENTRIES, PATH_CHARS, SEARCH_SECONDS
from store.text import safe_text

LIST = (
    "List a folder of the work folder: names with sizes, folders with a slash. depth 2 or more lists what lies below."
)
GLOB = (
    "Find files by a pattern like **/*.py or src/*.{ext}, newest first. What .gitignore names, .git and node_modules "
    "are left out."
)
BAD_PATTERN = "“{pattern}” isn't a pattern that can be used: {why}."


class ListArgs(FileArgs):
    """Which folder."""

    path: str = Field(".", min_length=1, max_length=PATH_CHARS, description="The folder, from the work folder.")
    depth: int = Field(1, ge=1, le=LIST_DEPTH, description="How many levels.")


class GlobArgs(FileArgs):
    """Which names."""

    pattern: str = Field(min_length=1, max_length=500, description="As in .gitignore: ** is any number of folders.")
    path: str = Field(".", min_length=1, max_length=PATH_CHARS, description="Where to begin, from the work folder.")
    include_ignored: bool = Field(False, description="Also what .gitignore leaves out.")


class ListFiles(FileTool):
    """Implements `Tool`."""

    name = "list_files"
    description = LIST
    args: type[BaseModel] = ListArgs

    def label(self, args: ListArgs) -> str:
        """Listed src."""
        return f"Listed {short(args.path)}"

    async def run(self, args: ListArgs, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """List it off the event loop."""
        try:
            place = self._desk.place(args, args.path, ctx)
        except Refused as no:
            return refused(no.sentence)
        return await in_thread(lambda: self._list(args, place, ctx), place)

    def _list(self, args: ListArgs, place: Place, ctx: TurnContext) -> ToolOutcome:
        walk = Walk(
            place, self._desk.bounds_of(ctx), halted(ctx), SEARCH_SECONDS, ignored=args.depth == 1, depth=args.depth
        )
        lines: list[str] = []
        for entry in walk.entries():
            if len(lines) == LIST_ENTRIES:
                walk.cut = f"only the first {LIST_ENTRIES:,} are shown"
                break
            lines.append(_line(entry, place))
        if not lines and not walk.cut:
            return ToolOutcome(f"“{place.shown}” is empty.")
        return ToolOutcome("\n".join([*lines, *notes(walk)]))


class GlobFiles(FileTool):
    """Implements `Tool`."""

    name = "glob_files"
    description = GLOB
    args: type[BaseModel] = GlobArgs

    def label(self, args: GlobArgs) -> str:
        """Looked for *.ts in src."""
        where = "" if args.path == "." else f" in {short(args.path)}"
        return f"Looked for files {short(args.pattern)}{where}"

    async def run(self, args: GlobArgs, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Walk off the event loop."""
        try:
            place = self._desk.place(args, args.path, ctx)
            fits = Pattern(args.pattern)
        except Refused as no:
            return refused(no.sentence)
        return await in_thread(lambda: self._glob(args, fits, place, ctx), place)

    def _glob(self, args: GlobArgs, fits: Pattern, place: Place, ctx: TurnContext) -> ToolOutcome:
        walk = Walk(place, self._desk.bounds_of(ctx), halted(ctx), SEARCH_SECONDS, ignored=args.include_ignored)
        found = [e for e in walk.entries() if e.kind in ("file", "link") and fits(e.path)]
        newest = heapq.nlargest(GLOB_FILES, found, key=lambda e: e.mtime_ns)
        if not newest:
            return ToolOutcome("\n".join([f"No file fits “{short(args.pattern)}”.", *notes(walk)]))
        if len(found) > len(newest):
            walk.cut = walk.cut or f"{len(newest):,} of {len(found):,} are shown, the newest"
        return ToolOutcome("\n".join([*(plain(from_work(place, e.path)) for e in newest), *notes(walk)]))


class Pattern:
    """A glob with `{a,b}` as well. Raises Refused."""

    def __init__(self, pattern: str) -> None:
        from pathspec import GitIgnoreSpec

        texts = [p.removeprefix("./") for p in _braces(pattern)]
        try:
            self._spec = GitIgnoreSpec.from_lines(
                [("\\" + t if t[:1] in "!#" else t) + ("*" if t.endswith("/**/") else "") for t in texts]
            )
        except ValueError as error:
            why = safe_text(str(error), one_line=True, limit=120).rstrip(".")
            raise Refused(BAD_PATTERN.format(pattern=short(pattern), why=why)) from None

    def __call__(self, path: str) -> bool:
        """Whether a path fits."""
        return self._spec.match_file(path)


def _braces(pattern: str, most: int = 64) -> list[str]:
    """`a.{b,c}` as `a.b` and `a.c`; at most `most` of them."""
    done: list[str] = []
    todo = [pattern]
    while todo and len(done) + len(todo) <= most:
        one = todo.pop()
        start = one.find("{")
        end = one.find("}", start)
        if start < 0 or end < 0 or "," not in one[start:end]:
            done.append(one)
            continue
        todo += [one[:start] + part + one[end + 1 :] for part in one[start + 1 : end].split(",")]
    return [*done, *todo]


def from_work(place: Place, path: str) -> str:
    """The path as other file tools take it: from the work folder, or whole."""
    if place.inside is None:
        return os.path.join(place.path, path)
    return os.path.join(place.inside, path) if place.inside else path


def plain(path: str) -> str:
    """A name on one line without anything invisible."""
    return safe_text(path, one_line=True, mark_bidi=True, limit=PATH_CHARS)


def notes(walk: Walk) -> list[str]:
    """What wasn't seen, said at the end."""
    out = [f"[Shoal: {walk.cut}]"] if walk.cut else []
    return [*out, f"[Shoal: {walk.unread} folders couldn't be opened]"] if walk.unread else out


def _line(entry: Entry, place: Place) -> str:
    path = plain(entry.path)
    match entry.kind:
        case "folder":
            return f"{path}/"
        case "file":
            return f"{path}  {entry.size:,} bytes"
        case "link":
            try:
                return f"{path} -> {plain(os.readlink(os.path.join(place.path, entry.path)))}"
            except OSError:
                return f"{path}  (a link)"
    return f"{path}  (a pipe, socket or device)"
