"""`write_file`: a whole file, new or instead of one that was read."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, Field

from app.guard import redactor, secrets
from app.ports import CallFacts, ToolOutcome, TurnContext
from app.tools.beneath import Place, Refused, in_words
from app.tools.files import atomic
from app.tools.files.desk import STOPPED, FileArgs, FileDesk, FileTool, Sign, halted, refused, short
from app.tools.files.editing import counted, diff
from app.tools.files.kinds import Kind, kind_of_all
from store.limits import EDIT_FILE_BYTES, PATH_CHARS

DESCRIPTION = (
    "Write a whole text file in the work folder, making folders as needed. A file that is there already must have "
    "been read in this chat first; to change a part of it use edit_file."
)
MASKED = (
    "The text holds “{mask}”, which Shoal puts where a secret is hidden from you. Writing it would lose the real "
    "value, so nothing was written; leave those lines as they are and edit others."
)
NOT_TEXT = "“{path}” is {words}, not text, so it isn't written over."
NO_ROOM_FOR = "“{path}” is {words}, which can't hold a character of the new text. Nothing was changed."
HALF = "The text has half a character in it (a lone surrogate). Nothing was written."
UTF8 = Kind("text", "utf-8", plain=True)
NewBytes = Callable[[bytes | None], tuple[bytes, str]]  # of what is there: the new bytes, and the words of the result


class Args(FileArgs):
    """Which file, and all of its text."""

    path: str = Field(min_length=1, max_length=PATH_CHARS, description="The file, from the work folder or whole.")
    content: str = Field(max_length=EDIT_FILE_BYTES, description="All of its text.")


class WriteFile(FileTool):
    """Implements `Tool`."""

    name = "write_file"
    description = DESCRIPTION
    args: type[BaseModel] = Args
    effect: Literal["read", "write"] = "write"

    def label(self, args: Args) -> str:
        """Wrote src/auth.ts."""
        return f"Wrote {short(args.path)}"

    async def facts(self, args: Args, ctx: TurnContext) -> CallFacts:
        """Which file it writes, with the difference to what is there."""
        told = self._desk.facts(self, args, args.path, ctx)
        preview = await asyncio.to_thread(self._preview, args, ctx, told.never is None)
        return self._desk.facts(self, args, args.path, ctx, preview)

    def _preview(self, args: Args, ctx: TurnContext, may_look: bool) -> str:
        place = args._place
        if may_look and place is not None and place.inside is not None:
            try:
                now = atomic.current(place, self._desk.bounds_of(ctx))
            except (Refused, OSError):
                now = None
            if now is not None and (kind := kind_of_all(now[0])).encoding is not None:
                return diff(kind.decode(now[0]), args.content, place.shown)
        return args.content

    async def run(self, args: Args, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Compare, then write, with the file's lock held."""
        if mask := masked(args.content):
            return refused(MASKED.format(mask=mask))
        try:
            place = self._desk.place(args, args.path, ctx, write=True)
        except Refused as no:
            return refused(no.sentence)

        def new(now: bytes | None) -> tuple[bytes, str]:
            kind = UTF8 if now is None else kind_of_all(now)
            if kind.encoding is None:
                raise Refused(NOT_TEXT.format(path=place.shown, words=kind.words))
            data = encoded(kind, args.content, now or b"", place)
            before = kind.decode(now) if now is not None else ""
            if now is None:
                count = args.content.count("\n") + (not args.content.endswith("\n") and bool(args.content))
                return data, f"Made {place.shown}: {count:,} lines."
            added, removed = counted(before, args.content)
            return data, f"Wrote {place.shown}: +{added:,} −{removed:,} lines."

        return await write(self._desk, ctx, call_id, self.label(args), place, new)


async def write(desk: FileDesk, ctx: TurnContext, call_id: str, label: str, place: Place, new: NewBytes) -> ToolOutcome:
    """Read what is there, ask whether the chat knows it, make the new bytes, put them there, and keep both."""
    async with desk.lock(place):
        if desk.watch is not None and (why := await desk.watch.why_not(ctx, place)):
            return refused(why)
        try:
            before, found, data, words = await asyncio.shield(asyncio.to_thread(_write, desk, ctx, place, new))
        except Refused as no:
            return refused(no.sentence)
        except OSError as error:
            return refused(in_words(place, error))
        desk.noted(ctx, place, Sign.of(found, data))
        if desk.changes is None or before == data:
            return ToolOutcome(words)
        made, changes = await asyncio.to_thread(
            desk.changes.wrote, ctx, call_id, label, place, before, data, found.st_mode & 0o777
        )
        return ToolOutcome(words, events=tuple(made), changes=tuple(changes))


def _write(
    desk: FileDesk, ctx: TurnContext, place: Place, new: NewBytes
) -> tuple[bytes | None, os.stat_result, bytes, str]:
    bounds = desk.bounds_of(ctx)
    now = atomic.current(place, bounds)
    if now is not None and (why := desk.unread(ctx, place, now[1], now[0])):
        raise Refused(why)
    data, words = new(now[0] if now else None)
    if halted(ctx)():
        raise Refused(STOPPED)
    found = atomic.replace(place, data, bounds, now[1] if now else None)
    return now[0] if now else None, found, data, words


def masked(text: str) -> str | None:
    """The filter's mask in a text, if it is there."""
    return next((mask for mask in (secrets.MASK, redactor.MASK) if mask in text), None)


def encoded(kind: Kind, text: str, now: bytes, place: Place) -> bytes:
    """The bytes of a text in the file's own encoding. Raises Refused where that can't hold it."""
    try:
        return kind.encode(text, now)
    except UnicodeEncodeError:
        words = HALF if kind.encoding == "utf-8" else NO_ROOM_FOR.format(path=place.shown, words=kind.words)
        raise Refused(words) from None
