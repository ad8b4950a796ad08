"""What other threads see of the index and may ask of it: how far it is, what changed, that a file is damaged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from store import db, index, said
from store.events import ChatCreated, OptionsChanged, Stored
from store.index_files import IndexFiles
from store.index_pace import PaceKeeper
from store.places import Places
from store.projection import SAID_TYPES
from store.typo_keeper import TypoKeeper

State = Literal["catching-up", "ready", "unavailable"]

BROKEN_WORDS: Final = (
    "Search isn't working: its index can't be read. Press Repair search (or run shoal doctor --repair)."
)
REBUILDING_WORDS: Final = "The search index was damaged and is being rebuilt; try again in a moment."
HEALED_WORDS: Final = "The search index was damaged; it was rebuilt from your chats. Nothing was lost."
_MARKING: Final = frozenset(SAID_TYPES)


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """How far the index is. `words` is one sentence when there is something to say."""

    state: State
    indexed: int = 0
    to_index: int = 0
    words: str = ""


class IndexState:
    """The current file and what is known of it. Readers open `path` and open again when `generation` has changed."""

    def __init__(
        self,
        log: said.Log,
        folder: Path,
        spans: index.Spans,
        spans_version: int,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        self.log = log
        self.folder = folder
        self._files = IndexFiles(folder)
        self.path: Path | None = None
        self.generation = 0
        self.entries: dict[str, index.ChatEntry] = {}
        self.by_no: dict[int, index.ChatEntry] = {}
        self.sizes = index.Sizes(self.by_no)
        self.speakers: set[str] = set()  # folded words of people's names
        self.typos = TypoKeeper(folder)
        self.pace = PaceKeeper()
        self._places = Places()
        self._searched = False  # until then a start needn't read in where lines are
        self.enhanced = index.has_enhanced_syntax()
        self.private: set[str] = set()
        self._spans = spans
        self._spans_version = spans_version
        self._uuid = ""
        self._on_notice = on_notice
        self._conn: db.Connection | None = None
        self._dirty: dict[str, int] = {}  # with a number that is another one after each mark
        self._marks = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._quiet = threading.Event()  # set while nothing is left to do
        self._state: State = "catching-up"
        self._words = ""
        self._todo = 0
        self._failures = 0
        self._broken: Path | None = None
        self._rebuild = False
        self._stopping = False
        self._following = False  # another process writes it; what that one replaces, it also removes
        self._gone = 0  # lines removed since the last optimize
        self._thread: threading.Thread | None = None

    def mark(self, events: Iterable[Stored]) -> None:
        """Called by the store's writer with every commit: only marks, never waits."""
        chats: dict[str, None] = {}
        for stored in events:
            event = stored.event
            if isinstance(event, ChatCreated | OptionsChanged):
                if event.private:
                    self.private.add(stored.chat)
                elif event.private is False:
                    self.private.discard(stored.chat)
                chats[stored.chat] = None
            elif event.type in _MARKING:
                chats[stored.chat] = None
        if chats:
            self.mark_chats(chats)

    def mark_chats(self, chats: Iterable[str]) -> None:
        """Chats to look at again: they said something, or are gone."""
        with self._lock:
            for chat in chats:
                self._dirty.pop(chat, None)
                self._marks += 1
                self._dirty[chat] = self._marks
            self._quiet.clear()
        self._wake.set()

    def status(self) -> IndexStatus:
        """How far it is now."""
        done = sum(e.lines for e in list(self.entries.values()))
        if self._state == "unavailable":
            return IndexStatus("unavailable", done, done, self._words or BROKEN_WORDS)
        if self._quiet.is_set():
            return IndexStatus("ready", done, done)
        total = max(self._todo, done)
        return IndexStatus("catching-up", done, total, self._words or f"Still indexing: {done:,} lines so far.")

    def is_ready(self) -> bool:
        """Whether everything said is indexed; costs nothing, unlike `status`, which counts."""
        return self._state != "unavailable" and self._quiet.is_set()

    def places_of(self, path: Path) -> Places | None:
        """Where the lines of that file are; read in after the first search, as a start shouldn't wait for it."""
        if not self._searched:
            self._searched = True
            self._wake.set()
        places = self._places
        return places if places.path == path else None

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to index; answers whether it is so."""
        return self._quiet.wait(seconds)

    def report_broken(self, path: Path | None) -> None:
        """A reader met a damaged file. Reports about a file that was replaced meanwhile are ignored."""
        with self._lock:
            if path is None or path != self.path or self._state == "unavailable":
                return
            self._broken, self._words = path, REBUILDING_WORDS
            self._quiet.clear()
        self._wake.set()

    # -- for the writer's thread

    def _use(self, path: Path, conn: db.Connection, known: dict[str, index.ChatEntry]) -> None:
        old_conn, old_path = self._conn, self.path
        self._conn = conn
        self.entries = known
        self.by_no = {e.no: e for e in known.values()}
        self.sizes = index.Sizes(self.by_no)
        self.speakers = index.speakers(conn)
        self.private |= {e.chat for e in known.values() if e.private}
        self.path = path
        self.pace.read(conn)
        self._places = Places(path)
        self.typos.use(path)
        self.generation += 1
        if old_conn is not None:
            old_conn.close()
        if old_path is not None and old_path != path and not self._following:
            self._files.remove(old_path)

    def _unavailable(self, words: str) -> None:
        with self._lock:
            self._state, self._words = "unavailable", words
            self._broken, self._rebuild = None, False
