"""What every running reply does now: who, where, which kind of step, and the files it changed. From memory."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from time import monotonic

from app.guard.may import is_yours
from app.ports import TurnContext
from app.tools.beneath import Place
from store import events as ev
from store.limits import LINK_SECONDS, LINKS_KEPT
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
    sets: dict[str, tuple[str, ...]] = field(default_factory=dict)  # change set → whole paths
    shared_sets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    undone: dict[str, set[str]] = field(default_factory=dict)
    files: tuple[str, ...] = ()  # all of it flat, ready for every step that asks
    shared: tuple[str, ...] = ()

    def flatten(self) -> None:
        """After a change."""
        self.files, self.shared = self._flat(self.sets), self._flat(self.shared_sets)

    def _flat(self, sets: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
        none: set[str] = set()
        return tuple(dict.fromkeys(p for n, paths in sets.items() for p in paths if p not in self.undone.get(n, none)))


class Snapshot:
    """Fed by the store's commits. `working` touches only chats whose reply runs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._replies: dict[str, _Reply] = {}
        self._counter = itertools.count(1)
        self._changed: dict[str, dict[str, int]] = {}  # whole path → chat whose reply runs → when it changed it last
        self._read: dict[tuple[str, str], int] = {}  # (chat, whole path) → when it read it last, after such a change
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
        return Working(summary, reply.files, reply.shared)

    # -- files, for the check before an edit (decisions 29)

    def noted(self, ctx: TurnContext, place: Place) -> None:
        """The chat knows the file as it is now. Worth keeping only while a running reply has changed anything."""
        path = real(place.path)
        with self._lock:
            if self._changed:
                self._read[(ctx.chat, path)] = next(self._counter)

    def changed_by(self, ctx: TurnContext, path: str, where: str) -> Working | None:
        """The running reply of another chat in the same place (`where`) that changed it since this chat read it."""
        found = real(path)
        with self._lock:
            changed = dict(self._changed.get(found, {}))
            known = self._read.get((ctx.chat, found), 0)
        later = sorted(
            ((when, chat) for chat, when in changed.items() if chat != ctx.chat and when > known), reverse=True
        )
        if not later:
            return None
        others = {w.chat.id: w for w in self.working() if w.chat.place == where}
        return next((others[chat] for _, chat in later if chat in others), None)

    def newer(self, ctx: TurnContext, changed: str, read: str) -> bool:
        """Whether another chat changed the one path after this chat read the other (its namesake)."""
        with self._lock:
            known = self._read.get((ctx.chat, read), 0)
            return any(when > known for chat, when in self._changed.get(changed, {}).items() if chat != ctx.chat)

    # -- on the writer thread

    def _committed(self, events: tuple[ev.Stored, ...]) -> None:
        for stored in events:
            event, chat = stored.event, stored.chat
            match event:
                case ev.TurnStarted():
                    self._forget(chat)
                    self._replies[chat] = _Reply(event.turn_id)
                case ev.TurnCompleted():
                    self._forget(chat)
                case ev.FilesChanged() if (reply := self._replies.get(chat)) is not None:
                    paths = tuple(self._whole(chat, f.path) for f in event.files)
                    (reply.shared_sets if event.shared else reply.sets)[event.change_id] = paths
                    reply.flatten()
                    with self._lock:
                        for path in paths:
                            self._changed.setdefault(path, {})[chat] = next(self._counter)
                case ev.FilesRestored() if (reply := self._replies.get(chat)) is not None:
                    undone = reply.undone.setdefault(event.change_id, set())
                    files = {self._whole(chat, path) for path in event.files}
                    undone.update(files) if event.direction == "undo" else undone.difference_update(files)
                    reply.flatten()

    def _whole(self, chat: str, path: str) -> str:
        summary = self._store.summary(chat)
        return real(os.path.join(summary.folder if summary else "", path))

    def _forget(self, chat: str) -> None:
        """The reply has ended: what it changed, and what was read before all that is left, matter to nobody."""
        reply = self._replies.pop(chat, None)
        if reply is None:
            return
        with self._lock:
            for path in {p for sets in (reply.sets, reply.shared_sets) for paths in sets.values() for p in paths}:
                changed = self._changed.get(path, {})
                changed.pop(chat, None)
                if not changed:
                    self._changed.pop(path, None)
            oldest = min((when for chats in self._changed.values() for when in chats.values()), default=None)
            kept = {} if oldest is None else {k: when for k, when in self._read.items() if when > oldest}
            self._read = kept

    def _gone(self, chat: str) -> None:
        self._forget(chat)
        with self._lock:
            self._read = {k: when for k, when in self._read.items() if k[0] != chat}


class _Links:
    """Where paths lead, looked up anew after `LINK_SECONDS`: a link can be pointed elsewhere at any time."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, str]] = {}

    def real(self, path: str) -> str:
        """The path with links followed, and with case folded where its disk ignores case."""
        now = monotonic()
        at, found = self._known.get(path, (-LINK_SECONDS, ""))
        if now - at < LINK_SECONDS:
            return found
        found = os.path.realpath(path)
        found = found.casefold() if ignores_case(os.path.dirname(found)) else found
        if len(self._known) >= LINKS_KEPT:
            self._known.clear()  # one look each, and it is full again only after as many others
        self._known[path] = (now, found)
        return found


real = _Links().real


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
