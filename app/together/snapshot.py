"""What every running reply does now: who, where, which kind of step, and the files it changed. From memory."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.guard.may import is_yours
from app.ports import TurnContext
from app.tools.beneath import Place
from store import events as ev
from store.log import Store
from store.models import ChatSummary


@dataclass(frozen=True, slots=True)
class Working:
    """A running reply of one of the person's chats; `files` are whole paths it changed itself, oldest first."""

    chat: ChatSummary
    files: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()  # changed while another wrote there too: shown, not counted for note D


@dataclass(slots=True)
class _Reply:
    turn_id: str
    sets: dict[str, tuple[str, ...]]  # change set → whole paths
    shared: dict[str, tuple[str, ...]]


class Snapshot:
    """Fed by the store's commits. `working` touches only chats whose reply runs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._replies: dict[str, _Reply] = {}
        self._counter = itertools.count(1)
        self._changed: dict[str, dict[str, int]] = {}  # whole path → chat → when it changed it last
        self._read: dict[tuple[str, str], int] = {}  # (chat, whole path) → when it read it last
        store.listen(self._committed)
        store.listen_deleted(self._gone)

    def working(self) -> list[Working]:
        """The running replies of the person's own chats, newest first."""
        return [self._of(s) for s in self._store.working() if s.turn_id is not None and is_yours(s)]

    def of(self, chat: ChatSummary) -> Working:
        """One chat's."""
        return self._of(chat)

    def _of(self, summary: ChatSummary) -> Working:
        reply = self._replies.get(summary.id)
        if reply is None or reply.turn_id != summary.turn_id:
            return Working(summary)
        with self._lock:
            return Working(summary, _flat(reply.sets), _flat(reply.shared))

    # -- files, for the check before an edit (decisions 29)

    def noted(self, ctx: TurnContext, place: Place) -> None:
        """The chat knows the file as it is now."""
        self._read[(ctx.chat, real(place.path))] = next(self._counter)

    def changed_by(self, ctx: TurnContext, path: str) -> Working | None:
        """The running reply of another chat that changed the file since this chat last read it."""
        changed = self._changed.get(real(path), {})
        known = self._read.get((ctx.chat, real(path)), 0)
        later = [(when, chat) for chat, when in changed.items() if chat != ctx.chat and when > known]
        newest = max(later, default=None)
        if newest is None:
            return None
        return next((w for w in self.working() if w.chat.id == newest[1]), None)

    def newer(self, ctx: TurnContext, changed: str, read: str) -> bool:
        """Whether another chat changed the one path after this chat read the other (its namesake)."""
        known = self._read.get((ctx.chat, read), 0)
        return any(when > known for chat, when in self._changed.get(changed, {}).items() if chat != ctx.chat)

    # -- on the writer thread

    def _committed(self, events: tuple[ev.Stored, ...]) -> None:
        for stored in events:
            event, chat = stored.event, stored.chat
            match event:
                case ev.TurnStarted():
                    self._forget(chat)
                    self._replies[chat] = _Reply(event.turn_id, {}, {})
                case ev.TurnCompleted():
                    self._forget(chat)
                case ev.FilesChanged() if (reply := self._replies.get(chat)) is not None:
                    summary = self._store.summary(chat)
                    folder = summary.folder if summary else ""
                    paths = tuple(real(os.path.join(folder, f.path)) for f in event.files)
                    with self._lock:
                        (reply.shared if event.shared else reply.sets)[event.change_id] = paths
                        for path in paths:
                            self._changed.setdefault(path, {})[chat] = next(self._counter)
                case ev.FilesRestored() if (reply := self._replies.get(chat)) is not None:
                    with self._lock:
                        if event.direction == "undo":
                            reply.sets.pop(event.change_id, None)

    def _forget(self, chat: str) -> None:
        with self._lock:
            reply = self._replies.pop(chat, None)
            for path in _flat(reply.sets) + _flat(reply.shared) if reply else ():
                changed = self._changed.get(path, {})
                changed.pop(chat, None)
                if not changed:
                    self._changed.pop(path, None)

    def _gone(self, chat: str) -> None:
        self._forget(chat)
        for key in [k for k in self._read if k[0] == chat]:
            self._read.pop(key, None)


def _flat(sets: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for paths in sets.values() for path in paths))


@lru_cache(maxsize=4096)
def real(path: str) -> str:
    """The path with links followed, and with case folded where its disk ignores case."""
    found = os.path.realpath(path)
    return found.casefold() if ignores_case(os.path.dirname(found)) else found


@lru_cache(maxsize=1024)
def ignores_case(folder: str) -> bool:
    """Whether the disk of an existing folder takes "A" and "a" for one name; False where that can't be told."""
    while folder and not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    swapped = folder.swapcase()
    if swapped == folder:
        return False
    try:
        return os.path.samefile(folder, swapped)
    except OSError:
        return False


def same_place(a: ChatSummary, b: ChatSummary, own: Sequence[str] = ()) -> bool:
    """Whether two chats' replies work in one place: the same computer, and one folder or one inside the other.

    Inside Shoal's own folders (`own`), where each task's worktree is, only the same folder counts (ADR 0134).
    """
    if a.place != b.place or not a.folder or not b.folder:
        return False
    first, second = real(a.folder), real(b.folder)
    if first == second:
        return True
    if not (within(first, second) or within(second, first)):
        return False
    return not any(within(first, real(home)) or within(second, real(home)) for home in own)


def within(path: str, folder: str) -> bool:
    """Whether a path is the folder or lies in it; both already `real`."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
