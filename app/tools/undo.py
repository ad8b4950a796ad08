"""Undoing a change set and doing it again, byte for byte; what was changed since is left alone and named."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

from app.commands import CommandError
from app.tools.beneath import Place, Refused, inside, open_file
from app.tools.bounds import Bounds
from app.tools.changes import ChangeTracker, sha_of
from app.tools.diffs import diff_of
from app.tools.files import atomic
from app.tools.files.read_file import read_rest
from store.blobs import KeepBlob, LetBlobGo
from store.clock import Clock
from store.events import FileChange, FilesChanged, FilesRestored, Stored
from store.limits import CHANGE_DAYS, CHANGE_KEPT_BYTES, DIFF_FILES, DIFF_LINES, EDIT_FILE_BYTES
from store.log import Batch, Change, Store
from store.models import FileDiff

Direction = Literal["undo", "redo"]

NO_CHANGE = "There is no such change in this chat."
SHARED = "Another reply wrote there meanwhile, so this change isn't undone by one press."
NOT_KEPT = "What was there before isn't kept in this chat, so this change can't be undone here."
ALREADY = {"undo": "This change is undone already.", "redo": "This change isn't undone, so there is nothing to redo."}
EXPIRED = f"This change is more than {CHANGE_DAYS} days old or made room for newer ones: what was before is gone."
ALL_LEFT = "Nothing was put back: {names} changed since."
FAILED = "“{path}” couldn't be put back: {why}"


@dataclass(frozen=True, slots=True)
class _Step:
    """One file on its way: what must be there, and what is to be."""

    file: FileChange
    place: Place
    now: bytes | None
    found: os.stat_result | None
    target: str | None  # the hash it shall have; None: not there

    @property
    def done(self) -> bool:
        """A kill in the middle of an earlier undo may have left it as wanted."""
        return sha_of(self.now) == self.target


class Undo:
    """Reads change sets from the log; one undo at a time."""

    def __init__(self, store: Store, clock: Clock, tracker: ChangeTracker, bounds: Bounds) -> None:
        self._store = store
        self._clock = clock
        self._tracker = tracker
        self._bounds = bounds
        self._lock = asyncio.Lock()

    async def restore(self, chat: str, change: str, direction: Direction) -> tuple[list[str], int]:
        """The files put back, and the store's highest event id before. Raises CommandError in words."""
        async with self._lock:
            event = await self._store.read(self._allowed, chat, change, direction)
            summary = self._store.summary(chat)
            root = await asyncio.to_thread(os.path.realpath, summary.folder) if summary and summary.folder else ""
            steps, left = await asyncio.to_thread(self._steps, event, root, direction)
            if not steps:
                _refuse("not-allowed", ALL_LEFT.format(names=", ".join(left) or "the files"))
            wanted, gone = await asyncio.to_thread(self._wanted, steps)
            steps = [s for s in steps if s.file.path not in gone]
            if not steps:
                _refuse("gone", EXPIRED)
            keep = [
                KeepBlob(self._store.blobs, chat, s.now) for s in steps if s.now is not None and not s.done
            ]  # so that it can be done again
            if keep:
                await self._store.commit(Batch(changes=keep))
            files, failed = await asyncio.shield(asyncio.to_thread(self._put, steps, wanted))
            if not files:
                _refuse("failed", failed[0])
            left = [*left, *sorted(gone), *(s.file.path for s in steps if s.file.path not in files)]
            done = FilesRestored(change_id=change, direction=direction, files=tuple(files), left=tuple(left))
            written = await self._store.commit(Batch.of(chat, done))
            return files, written.events[0].id - 1 if written.events else written.last_id

    def diffs(self, chat: str, change: str) -> list[FileDiff]:
        """What the set did to each of its first files, for the person to read; blocks."""
        events = self._events(chat, change)
        if not events or not isinstance(event := events[0].event, FilesChanged):
            return []
        summary = self._store.summary(chat)
        root = os.path.realpath(summary.folder) if summary and summary.folder else ""
        out: list[FileDiff] = []
        room = DIFF_LINES
        for file in event.files[:DIFF_FILES]:
            found = diff_of(file, self._side(file.before), self._after(file, root), room)
            room -= len(found.lines)
            out.append(found)
        return out

    def _side(self, sha: str | None) -> bytes | None:
        return self._store.blobs.get(sha) if sha else None

    def _after(self, file: FileChange, root: str) -> bytes | None:
        """What the reply wrote: kept since it was undone, or there still."""
        kept = self._side(file.after)
        if kept is not None or file.after is None:
            return kept
        now, _ = self._now(_place(root, file.path))
        return now if sha_of(now) == file.after else None

    async def tidy(self) -> None:
        """Let go of what was kept for sets past their days, and of the oldest past the room for all."""
        changes = await self._store.read(self._expired)
        if changes:
            await self._store.commit(Batch(changes=changes))

    # -- within

    def _events(self, chat: str, change: str) -> list[Stored]:
        page = self._store.page_around(chat, change, 1)
        return [s for s in page.events if s.event.row() == change]

    def _allowed(self, chat: str, change: str, direction: Direction) -> FilesChanged:
        events = self._events(chat, change)
        if not events or not isinstance(event := events[0].event, FilesChanged):
            return _refuse("gone", NO_CHANGE)
        if event.shared:
            return _refuse("not-allowed", SHARED)
        if not event.undoable:
            return _refuse("not-allowed", NOT_KEPT)
        last = events[-1].event
        undone = isinstance(last, FilesRestored) and last.direction == "undo"
        if undone == (direction == "undo"):
            return _refuse("gone", ALREADY[direction])
        if self._clock.now_ms() - events[0].at > CHANGE_DAYS * 86_400_000:
            return _refuse("gone", EXPIRED)
        return event

    def _steps(self, event: FilesChanged, root: str, direction: Direction) -> tuple[list[_Step], list[str]]:
        steps: list[_Step] = []
        left: list[str] = []
        for file in event.files:
            place = _place(root, file.path)
            now, found = self._now(place)
            there, target = (file.after, file.before) if direction == "undo" else (file.before, file.after)
            same = sha_of(now) in (there, target) and not (now is None and os.path.lexists(place.path))
            if same:
                steps.append(_Step(file, place, now, found, target))
            else:
                left.append(file.path)
        return steps, left

    def _now(self, place: Place) -> tuple[bytes | None, os.stat_result | None]:
        """What a file holds; nothing for what isn't there or isn't a file."""
        try:
            fd, found = open_file(place, self._bounds.within(place.root))
        except Refused:
            return None, None
        try:
            return read_rest(fd, EDIT_FILE_BYTES + 1), found
        finally:
            os.close(fd)

    def _wanted(self, steps: Sequence[_Step]) -> tuple[dict[str, bytes], set[str]]:
        """The contents to put back, all of them before anything is touched; and the files whose content is gone."""
        out: dict[str, bytes] = {}
        gone: set[str] = set()
        for step in steps:
            if step.target is None or step.done:
                continue
            data = self._store.blobs.get(step.target)
            if data is None:
                gone.add(step.file.path)
            else:
                out[step.target] = data
        return out, gone

    def _put(self, steps: Sequence[_Step], wanted: dict[str, bytes]) -> tuple[list[str], list[str]]:
        files: list[str] = []
        failed: list[str] = []
        for step in steps:
            bounds = self._bounds.within(step.place.root)
            data = wanted[step.target] if step.target is not None and not step.done else None
            try:
                if not step.done and data is not None:
                    atomic.replace(step.place, data, bounds, step.found, step.file.mode)
                elif not step.done and step.found is not None:
                    atomic.remove(step.place, bounds, step.found)
                if not step.done:
                    self._tracker.noted(step.place.path, data)
                files.append(step.file.path)
            except Refused as no:
                failed.append(FAILED.format(path=step.file.path, why=no.sentence))
            except OSError as error:
                failed.append(FAILED.format(path=step.file.path, why=os.strerror(error.errno or 0) + "."))
        return files, failed

    def _expired(self) -> list[Change]:
        oldest = self._clock.now_ms() - CHANGE_DAYS * 86_400_000
        live: set[tuple[str, str]] = set()
        sized: set[str] = set()
        going: set[tuple[str, str]] = set()
        room = CHANGE_KEPT_BYTES
        for stored in reversed(list(self._store.by_time(["files.changed"]))):
            event = stored.event
            if not isinstance(event, FilesChanged):
                continue
            shas = {sha for f in event.files for sha in (f.before, f.after) if sha is not None}
            sizes = {sha: self._size(sha) for sha in shas}
            room -= sum(size for sha, size in sizes.items() if sha not in sized)
            sized |= shas
            mine = {(stored.chat, sha) for sha in shas if sizes[sha]}
            if stored.at >= oldest and room >= 0:
                live |= mine
            else:
                going |= mine
        return [LetBlobGo(self._store.blobs, chat, sha) for chat, sha in sorted(going - live)]

    def _size(self, sha: str) -> int:
        try:
            found = (self._store.blobs.folder / sha).stat()
        except OSError:
            return 0
        return found.st_size or 1 if stat.S_ISREG(found.st_mode) else 0


def _place(root: str, path: str) -> Place:
    """The place of an event's file: from the folder, or whole."""
    whole = path if os.path.isabs(path) or not root else os.path.join(root, path)
    return Place(path, whole, inside(root, whole), root)


def _refuse(code: str, message: str) -> NoReturn:
    raise CommandError(code, message)
