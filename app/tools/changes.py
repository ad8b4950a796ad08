"""What each reply changed in files: by file tools directly, by commands through a look before and after."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.aio import TaskSet
from app.ports import TurnContext
from app.tools import pack
from app.tools.beneath import Place
from app.tools.bounds import Bounds, folded, within
from app.tools.files.editing import MOST_DIFFED, counted
from app.tools.files.kinds import kind_of_all
from app.tools.shadow import Difference, Shadow
from store.blobs import KeepBlob
from store.events import Event, FileChange, FilesChanged, FilesRestored, ToolFinished, ToolStarted, TurnStarted
from store.ids import CHANGE, new_id
from store.limits import (
    CHANGE_BEAT_SECONDS,
    CHANGE_FILE_BYTES,
    CHANGE_FOLDERS_HINTED,
    CHANGE_FOLDERS_WATCHED,
    CHANGE_LATE_SECONDS,
    CHANGE_SET_BYTES,
    CHANGE_SET_FILES,
)
from store.log import Change, Store

DURING = "Changed during this turn"
Made = tuple[Sequence[Event], Sequence[Change]]
NOTHING: Made = ((), ())


@dataclass(slots=True)
class _Call:
    """A command that runs. `shared`: another reply wrote there meanwhile."""

    chat: str
    root: str
    shared: bool = False
    found: dict[str, Difference] = field(default_factory=dict)
    hinted: set[str] = field(default_factory=set)
    watch: asyncio.Task[None] | None = None
    beat: asyncio.Task[None] | None = None

    def unwatch(self) -> None:
        """It has ended."""
        for task in (self.watch, self.beat):
            if task is not None:
                task.cancel()


@dataclass(slots=True)
class _Rest:
    """What changed in a turn without a tool."""

    turn_id: str
    root: str
    found: dict[str, Difference] = field(default_factory=dict)


class ChangeTracker:
    """One for all chats. What it answers goes in the batch of the call's result; facts live in the log and blobs."""

    def __init__(self, store: Store, home: Path, bounds: Bounds) -> None:
        self._store = store
        self._home = home
        self._bounds = bounds
        self._shadows: OrderedDict[str, Shadow] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}
        self._calls: dict[tuple[str, str], _Call] = {}
        self._rests: dict[str, _Rest] = {}
        self._tasks = TaskSet()

    # -- around commands

    async def before(self, ctx: TurnContext, call_id: str) -> None:
        """A command is about to run: know what the folder holds."""
        root = await asyncio.to_thread(_root, ctx.folder)
        if not root:
            return
        rest = self._rests.get(ctx.chat)
        if rest is None or rest.turn_id != ctx.turn_id:
            self._take(root, await self._scan(root), None)
            self._rests[ctx.chat] = _Rest(ctx.turn_id, root)
        else:
            self._take(root, await self._scan(root), rest)
        call = _Call(ctx.chat, root)
        for other in self._beside(root, ctx.chat):
            call.shared = other.shared = True
        self._calls[(ctx.chat, call_id)] = call
        shadow = self._shadows.get(root)
        if shadow is not None and not shadow.over:
            call.watch = self._tasks.spawn(_watch(root, shadow.folders, call.hinted))
            call.beat = self._tasks.spawn(_beat(shadow))

    async def after(self, ctx: TurnContext, call_id: str, label: str) -> Made:
        """It has ended: what is different, as one change set."""
        call = self._calls.get((ctx.chat, call_id))
        if call is None:
            return NOTHING
        try:
            call.unwatch()
            _add(call.found, await self._scan(call.root, call.hinted))
        finally:
            self._calls.pop((ctx.chat, call_id), None)
        return await asyncio.to_thread(self._set, ctx.chat, call_id, label, call.found.values(), call.shared)

    def dropped(self, ctx: TurnContext, call_id: str) -> None:
        """The call was broken off and gives no result: what it changed is told at the turn's end."""
        call = self._calls.pop((ctx.chat, call_id), None)
        if call is None:
            return
        call.unwatch()
        rest = self._rests.get(ctx.chat)
        if rest is not None:
            _add(rest.found, call.found.values())

    async def turn_ended(self, chat: str, turn_id: str) -> Made:
        """What changed in the turn without a tool: shown, and never counted as the chat's own."""
        rest = self._rests.get(chat)
        if rest is None or rest.turn_id != turn_id:
            return NOTHING
        self._take(rest.root, await self._scan(rest.root), rest)
        self._rests.pop(chat, None)
        return await asyncio.to_thread(self._set, chat, None, DURING, rest.found.values(), True)

    async def recovered(self) -> dict[str, Made]:
        """What commands changed that a kill of Shoal broke off, by chat; asked once, before their turns are closed.

        What changed when nobody watched any more is nobody's, and left out.
        """
        return await asyncio.to_thread(self._recovered)

    def _recovered(self) -> dict[str, Made]:
        out: dict[str, Made] = {}
        calls = dict(_broken_off(self._store))
        newest = {kept.root: kept for kept in sorted(pack.left(self._home), key=lambda kept: kept.until)}
        for chat, (root, started) in calls.items():
            if root not in newest:
                continue
            shadow = Shadow.of(newest[root], self._bounds, self._home)
            try:
                found = [d for d in shadow.scan() if not _late(root, d.path, newest[root].until)]
            finally:
                shadow.close()
            mine = folded(root)
            shared = any(
                other != chat and (within(mine, folded(there)) or within(folded(there), mine))
                for other, (there, _) in calls.items()
            )
            made = self._set(chat, started.call_id, started.label, found, shared)
            if made[0]:
                out[chat] = made
        pack.clear(self._home)
        return out

    async def close(self) -> None:
        """Stop watching; let the kept contents go."""
        await self._tasks.close()
        for shadow in self._shadows.values():
            await asyncio.to_thread(shadow.close)
        self._shadows.clear()

    # -- file tools

    def wrote(
        self, ctx: TurnContext, call_id: str, label: str, place: Place, before: bytes | None, after: bytes, mode: int
    ) -> Made:
        """The change set of a file tool: the chat's own, whoever else works there. Called on a worker thread."""
        self.noted(place.path, after, ctx.chat)
        path = place.inside if place.inside is not None else place.path
        return self._set(ctx.chat, call_id, label, [Difference(path, before, after, mode)], shared=False)

    def noted(self, path: str, data: bytes | None, chat: str | None = None) -> None:
        """A file was written by a known hand: commands of other chats that run there now share the folder."""
        for root, shadow in list(self._shadows.items()):
            if path.startswith(root.rstrip("/") + "/"):
                shadow.note(path[len(root.rstrip("/")) + 1 :], data)
        parts = folded(path)
        for call in list(self._calls.values()):
            if call.chat != chat and within(parts, folded(call.root)):
                call.shared = True

    # -- questions

    def changed_since(self, chat: str, turn_id: str) -> frozenset[str]:
        """The files the chat itself changed since that turn began, as its events name them; blocks on the store.

        Shared ones and those undone since don't count.
        """
        files: dict[str, set[str]] = {}
        for stored in self._store.since_turn(chat):
            match stored.event:
                case TurnStarted() as e if e.turn_id != turn_id:
                    return frozenset()
                case FilesChanged() as e if not e.shared:
                    files[e.change_id] = {f.path for f in e.files}
                case FilesRestored() as e if e.change_id in files:
                    mine = files[e.change_id]
                    files[e.change_id] = mine - set(e.files) if e.direction == "undo" else mine | set(e.files)
        return frozenset().union(*files.values())

    # -- within

    async def _scan(self, root: str, hinted: Iterable[str] = ()) -> list[Difference]:
        async with self._locks.setdefault(root, asyncio.Lock()):
            shadow = self._shadows.get(root)
            if shadow is None:
                shadow = self._shadows[root] = await asyncio.to_thread(Shadow, root, self._bounds, self._home)
            self._shadows.move_to_end(root)
            found = await asyncio.to_thread(shadow.scan, frozenset(hinted))
        used = {call.root for call in self._calls.values()} | {rest.root for rest in self._rests.values()}
        for old in [r for r in self._shadows if r not in used and r != root][: -CHANGE_FOLDERS_WATCHED or None]:
            await asyncio.to_thread(self._shadows.pop(old).close)
        return found

    def _take(self, root: str, found: Iterable[Difference], rest: _Rest | None) -> None:
        """What was found beside a command's end belongs to the command that runs there, else to the turn, if any."""
        running: _Call | None = next((call for call in self._calls.values() if call.root == root), None)
        owner: _Call | _Rest | None = running if running is not None else rest
        if owner is not None:
            _add(owner.found, found)

    def _beside(self, root: str, chat: str) -> list[_Call]:
        mine = folded(root)
        return [
            call
            for call in self._calls.values()
            if call.chat != chat and (within(mine, folded(call.root)) or within(folded(call.root), mine))
        ]

    def _set(self, chat: str, call_id: str | None, label: str, found: Iterable[Difference], shared: bool) -> Made:
        """The event of some differences, and the blobs that keep what was before."""
        differences = sorted(found, key=lambda d: d.path)
        if not differences:
            return NOTHING
        size = sum(len(d.before or b"") for d in differences)
        large = any(d.before is not None and len(d.before) > CHANGE_FILE_BYTES for d in differences)
        kept = len(differences) <= CHANGE_SET_FILES and size <= CHANGE_SET_BYTES and not large
        most = MOST_DIFFED // max(1, len(differences) // 4)  # so that a set of many files takes no longer than one
        files = tuple(change_of(d, kept=kept, most=most) for d in differences[:CHANGE_SET_FILES])
        more = len(differences) - len(files)
        event = FilesChanged(
            change_id=new_id(CHANGE),
            call_id=call_id,
            label=f"{label} ({more:,} more files)" if more else label,
            files=files,
            shared=shared,
            undoable=kept,
        )
        blobs = {d.before for d in differences if d.before is not None} if kept else set()
        return (event,), tuple(KeepBlob(self._store.blobs, chat, data) for data in sorted(blobs))


def change_of(difference: Difference, *, kept: bool, most: int) -> FileChange:
    """A difference as an event tells it."""
    before, after = difference.before, difference.after
    added = removed = None
    if kept and max(len(before or b""), len(after or b"")) <= CHANGE_FILE_BYTES:
        had, has = kind_of_all(before or b""), kind_of_all(after or b"")
        if had.encoding is not None and has.encoding is not None:
            added, removed = counted(had.decode(before or b""), has.decode(after or b""), most=most)
    return FileChange(
        path=difference.path,
        change="created" if before is None else "deleted" if after is None else "changed",
        added=added,
        removed=removed,
        before=sha_of(before) if kept else None,
        after=sha_of(after),
        mode=difference.mode,
    )


def sha_of(data: bytes | None) -> str | None:
    """The name a content has as a blob; None for what isn't there."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def _root(folder: str) -> str:
    root = os.path.realpath(folder) if folder else ""
    return root if root and os.path.isdir(root) else ""


def _broken_off(store: Store) -> Iterable[tuple[str, tuple[str, ToolStarted]]]:
    """Every chat whose open turn has a command without a result: its folder, and the call."""
    for summary in store.working():
        events = [stored.event for stored in store.since_turn(summary.id)]
        ended = {e.call_id for e in events if isinstance(e, ToolFinished)}
        root = _root(summary.folder)
        for event in events:
            match event:
                case ToolStarted(family="command", effect="write", call_id=call_id) if root and call_id not in ended:
                    yield summary.id, (root, event)


def _late(root: str, path: str, until: int) -> bool:
    """Whether a file was changed, or (as its folder tells) removed, well after Shoal was last there to watch."""
    place = os.path.join(root, path)
    while not os.path.lexists(place) and place != root:
        place = os.path.dirname(place)
    try:
        return os.lstat(place).st_ctime_ns > until + int(CHANGE_LATE_SECONDS * 1e9)
    except OSError:
        return True


async def _beat(shadow: Shadow) -> None:
    while True:
        await asyncio.sleep(CHANGE_BEAT_SECONDS)
        await asyncio.to_thread(shadow.beat)


def _add(into: dict[str, Difference], found: Iterable[Difference]) -> None:
    for one in found:
        earlier = into.pop(one.path, None)
        joined = one if earlier is None else earlier.then(one)
        if joined is not None:
            into[one.path] = joined


async def _watch(root: str, folders: Sequence[str], hinted: set[str]) -> None:
    """Note what the system says is written, for files whose time and size stay the same; a hint, never the truth."""
    from watchfiles import awatch

    start = root.rstrip("/") + "/"
    if len(folders) > CHANGE_FOLDERS_HINTED:
        return
    with contextlib.suppress(OSError, RuntimeError):  # no watches left: the look afterwards does it alone
        async for changes in awatch(
            *(os.path.join(root, f) for f in folders), recursive=False, step=50, debounce=200, watch_filter=None
        ):
            hinted.update(path.removeprefix(start) for _, path in changes)
