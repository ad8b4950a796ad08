"""What the file tools share: where a path leads, what a chat has read, who writes now."""

from __future__ import annotations

import asyncio
import hashlib
import os
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import PrivateAttr

from app.ports import CallFacts, ToolOutcome, TurnContext
from app.tools.base import ToolArgs, to_come
from app.tools.beneath import NOT_ALLOWED, Place, Refused, in_words, locate
from app.tools.bounds import Bounds, starts_by_itself
from store.events import Event
from store.limits import CHANGE_FILE_BYTES
from store.log import Change
from store.text import safe_text

NOT_READ = "“{path}” is there already, and this chat hasn't read it: read it first, so that nothing in it is lost."
CHANGED = "“{path}” was changed since you read it: read it again, then make the change."
STOPPED = "Stopped before it was done."


class EditWatch(Protocol):
    """Knows what other running replies changed (decisions 29)."""

    def noted(self, ctx: TurnContext, place: Place) -> None:
        """The chat knows the file as it is now."""

    async def why_not(self, ctx: TurnContext, place: Place) -> str | None:
        """Why an edit isn't made now; None: it may be."""


class FileArgs(ToolArgs):
    """Arguments of a file tool; remembers what its path led to when the call was judged."""

    _place: Place | None = PrivateAttr(default=None)


class FileChanges(Protocol):
    """The part of the change tracker that file tools tell of what they wrote."""

    def wrote(
        self, ctx: TurnContext, call_id: str, label: str, place: Place, before: bytes | None, after: bytes, mode: int
    ) -> tuple[Sequence[Event], Sequence[Change]]:
        """The change set, for the batch of the call's result."""


@dataclass(frozen=True, slots=True)
class Sign:
    """How a file is told from a changed one: first by its stat, then by its hash where that was taken."""

    stat: tuple[int, int, int]
    sha: str | None

    @classmethod
    def of(cls, found: os.stat_result, data: bytes | None) -> Sign:
        """The sign of a file; `data` its whole content where it was read."""
        sha = hashlib.sha256(data).hexdigest() if data is not None and len(data) <= CHANGE_FILE_BYTES else None
        return cls(stat_of(found), sha)

    def same(self, found: os.stat_result, data: bytes | None) -> bool:
        """Whether the file is still that one; one only touched is."""
        if self.stat == stat_of(found):
            return True
        return self.sha is not None and data is not None and hashlib.sha256(data).hexdigest() == self.sha


def stat_of(found: os.stat_result) -> tuple[int, int, int]:
    """Time, size and inode."""
    return found.st_mtime_ns, found.st_size, found.st_ino


class FileDesk:
    """Handed to every file tool. What was read is known while Shoal runs; after a restart files are read again."""

    def __init__(self, bounds: Bounds, changes: FileChanges | None = None, watch: EditWatch | None = None) -> None:
        self.bounds = bounds
        self.changes = changes
        self.watch = watch
        self._read: dict[tuple[str, str], Sign] = {}
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    def lock(self, place: Place) -> asyncio.Lock:
        """Held while a file is compared and written."""
        lock = self._locks.get(place.path)
        if lock is None:
            lock = self._locks[place.path] = asyncio.Lock()
        return lock

    def bounds_of(self, ctx: TurnContext) -> Bounds:
        """The bounds, seen from the chat's work folder."""
        return self.bounds.within(os.path.realpath(ctx.folder)) if ctx.folder else self.bounds

    def place(self, args: FileArgs, given: str, ctx: TurnContext, *, write: bool = False) -> Place:
        """Where the path leads: as it was judged, else inside the folder only. Raises Refused."""
        place = args._place
        if place is None:
            place = locate(ctx.folder, given)
            if place.inside is None:
                raise Refused(
                    self.bounds_of(ctx).never(place.path, write=write) or NOT_ALLOWED.format(path=place.shown)
                )
        if why := self.bounds_of(ctx).never(place.path, write=write):
            raise Refused(why)
        return place

    def noted(self, ctx: TurnContext, place: Place, sign: Sign) -> None:
        """The chat knows the file as it is now."""
        self._read[(ctx.chat, place.path)] = sign
        if self.watch is not None:
            self.watch.noted(ctx, place)

    def unread(self, ctx: TurnContext, place: Place, found: os.stat_result, data: bytes | None) -> str | None:
        """Why the chat may not write over the file yet."""
        sign = self._read.get((ctx.chat, place.path))
        if sign is None:
            return NOT_READ.format(path=place.shown)
        return None if sign.same(found, data) else CHANGED.format(path=place.shown)

    def facts(self, tool: Any, args: FileArgs, given: str, ctx: TurnContext, preview: str = "") -> CallFacts:
        """What the call would do; from here on the call means exactly this place."""
        write = tool.effect == "write"
        summary = to_come(tool.label(args))
        try:
            place = locate(ctx.folder, given)
        except Refused as refused:
            return CallFacts(tool.name, tool.family, tool.effect, summary=summary, never=refused.sentence)
        args._place = place
        never = self.bounds_of(ctx).never(place.path, write=write)
        asked = place.inside is None or (write and starts_by_itself(place.inside))
        return CallFacts(
            tool.name,
            tool.family,
            tool.effect,
            summary=summary,
            preview=preview,
            place=place.path,
            folder=place.root,
            paths=(place.path,),
            outside=(place.path,) if asked else (),
            never=never,
        )


def short(path: str) -> str:
    """A path as the model gave it, for a label."""
    return safe_text(path, one_line=True, limit=160) or "."


def halted(ctx: TurnContext) -> Callable[[], bool]:
    """Whether the turn was asked to end; may be asked from a thread."""
    stop = ctx.stop
    return (lambda: stop.is_set()) if stop is not None else (lambda: False)


def refused(sentence: str) -> ToolOutcome:
    """A result that is a refusal."""
    return ToolOutcome(sentence, ok=False)


async def in_thread(work: Callable[[], ToolOutcome], place: Place | None = None) -> ToolOutcome:
    """Run file work off the event loop; what it refuses is its result."""
    try:
        return await asyncio.to_thread(work)
    except Refused as no:
        return refused(no.sentence)
    except OSError as error:
        shown = place or Place("", error.filename if isinstance(error.filename, str) else "it", None, "")
        return refused(in_words(shown, error))


class FileTool:
    """What every file tool is: of the family, asked of nobody by itself (the guard judges each call), at one path."""

    family = "files"
    effect: Literal["read", "write"] = "read"
    prompt: str | None = None

    def __init__(self, desk: FileDesk) -> None:
        self._desk = desk

    def refusal(self, ctx: TurnContext) -> str | None:
        """Every chat may."""
        return None

    def label(self, args: Any) -> str:
        """What the call does, in plain words."""
        raise NotImplementedError

    async def facts(self, args: Any, ctx: TurnContext) -> CallFacts:
        """Which place it means."""
        return self._desk.facts(self, args, args.path, ctx)
