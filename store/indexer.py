"""The index's one writer: a thread that catches up, drains what changed, rebuilds beside, and heals once."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from store import db, index, index_build, index_drain, said, words
from store.errors import StoreError
from store.events import ChatCreated, OptionsChanged, Stored
from store.index_lock import IndexLock
from store.limits import INDEX_TURN_SECONDS
from store.places import Places
from store.projection import SAID_TYPES
from store.typo_keeper import TypoKeeper

State = Literal["catching-up", "ready", "unavailable"]

BROKEN_WORDS: Final = (
    "Search isn't working: its index can't be read. Press Repair search (or run shoal doctor --repair)."
)
REBUILDING_WORDS: Final = "The search index was damaged and is being rebuilt; try again in a moment."
HEALED_WORDS: Final = "The search index was damaged; it was rebuilt from your chats. Nothing was lost."
FOLLOW_TRIES: Final = 20
_MARKING: Final = frozenset(SAID_TYPES)


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """How far the index is. `words` is one sentence when there is something to say."""

    state: State
    indexed: int = 0
    to_index: int = 0
    words: str = ""


class Indexer:
    """Owns the index folder. Readers open `path` and open again when `generation` has changed."""

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
        self.path: Path | None = None
        self.generation = 0
        self.entries: dict[str, index.ChatEntry] = {}
        self.by_no: dict[int, index.ChatEntry] = {}
        self.sizes = index.Sizes(self.by_no)
        self.speakers: set[str] = set()  # folded words of people's names
        self.typos = TypoKeeper(folder)
        self._places = Places()
        self._searched = False
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

    # -- from other threads

    def start(self) -> None:
        """Begin; at once answers from the last file if it is usable."""
        with contextlib.suppress(OSError):  # then there is nothing to read, which is said, and nothing to write
            self.folder.mkdir(parents=True, exist_ok=True)
        self._uuid = self.log.store_uuid()
        self.log.listen(self.mark)
        self.log.listen_deleted(lambda chat: self.mark_chats([chat]))
        self._begin()

    def _begin(self) -> None:
        if not self.folder.is_dir():
            self._unavailable(
                "Search isn't working: its folder can't be used. Move what is in its way, then press Repair."
            )
            self._quiet.set()
            return
        self._thread = threading.Thread(target=self._run, name="index", daemon=True)
        self._thread.start()

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

    def repair(self) -> None:
        """Rebuild whatever the state; a person asked for it."""
        with self._lock:
            self._failures = 0
            self._rebuild = True
            self._state, self._words = "catching-up", ""
            self._quiet.clear()
        self._wake.set()
        if self._thread is None:
            with contextlib.suppress(OSError):
                self.folder.mkdir(parents=True, exist_ok=True)
            self._begin()

    def close(self) -> None:
        """Stop after the transaction that runs."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
        self.typos.close()

    # -- on the thread

    def _run(self) -> None:
        while not self._stopping:
            with IndexLock(self.folder) as turn:
                self._following = not turn.take(wait=lambda: not (self.log.readonly or self._stopping))
                if self._following:
                    self._broken = None  # it isn't ours to mend
                else:
                    self._keep()
            self._follow()

    def _follow(self) -> None:
        """Another process keeps this index, or nobody can: only read it, and look again until nothing is missing."""
        self._following = True
        while not (self._stopping or self._broken):
            self._wake.clear()
            try:
                self._look_again()
            except (db.DatabaseError, OSError):  # maybe it was replaced just now
                self._failures += 1
                if self._failures >= FOLLOW_TRIES:
                    self._unavailable(BROKEN_WORDS)
            if self._quiet.is_set() or self._state == "unavailable":
                self._quiet.set()
                if not (self._stopping or self._broken):
                    self._wake.wait()
            else:
                time.sleep(INDEX_TURN_SECONDS)
        if self._conn is not None:
            self._conn.close()

    def _look_again(self) -> None:
        files = self._files()
        if files:
            conn = db.connect(files[-1], readonly=True)
            if index.read_meta(conn).get("schema") != str(index.SCHEMA_VERSION):
                conn.close()
                files = []
            else:
                self._use(files[-1], conn, index.entries(conn))
        summaries = self.log.summaries()
        self.private |= {s.id for s in summaries if s.private}
        self._todo = sum(s.messages for s in summaries)
        there = {s.id for s in summaries}
        missing = [s for s in summaries if (e := self.entries.get(s.id)) is None or e.last_id < s.last_id]
        if files and not missing and all(chat in there for chat in self.entries):
            self._state, self._words = "ready", ""
            self._quiet.set()

    def _keep(self) -> None:
        try:
            self._guarded(self._open)
            while not self._stopping:
                self._wake.clear()
                if self._broken or self._rebuild:
                    self._guarded(self._build_again)
                elif self._state != "unavailable":
                    self._guarded(self._drain)
                with self._lock:
                    idle = self._state == "unavailable" or not (self._dirty or self._broken or self._rebuild)
                    if idle:
                        if self._state != "unavailable":
                            self._state, self._words = "ready", ""
                        self._quiet.set()
                if idle and self.log.readonly:
                    return  # up to date; whoever writes the log may keep it now
                if idle and not self._stopping and not self._reading_places():
                    self._wake.wait()
        finally:
            if self._conn is not None:
                self._conn.close()

    def _reading_places(self) -> bool:
        """Read some more lines' places, while nothing else is to do; answers whether there is more."""
        if not self._searched or self._conn is None or self._places.whole:
            return False
        self._guarded(self._read_places)
        return not self._places.whole and self._state != "unavailable"

    def _read_places(self) -> None:
        if self._conn is not None:
            self._places.load(self._conn)

    def _guarded(self, step: Callable[[], None]) -> None:
        """Run a step; damage leads to one rebuild a run, anything else that fails makes search unavailable in words."""
        try:
            step()
        except db.DatabaseError:
            self._failed()
        except StoreError as error:
            self._unavailable(f"Search isn't working: {error}")
        except OSError as error:
            self._unavailable(f"Search isn't working: {error.strerror or 'its folder can’t be used'}.")

    def _failed(self) -> None:
        """A step met damage: heal what can be healed, once a run."""
        self._quiet.clear()
        if self._broken is None:
            self._broken = self.path
        try:
            self._build_again()
        except (db.DatabaseError, OSError, StoreError):
            self._unavailable(BROKEN_WORDS)

    def _unavailable(self, words: str) -> None:
        with self._lock:
            self._state, self._words = "unavailable", words
            self._broken, self._rebuild = None, False

    # -- files: index-N.db, the newest whole one counts

    def _files(self) -> list[Path]:
        found = [p for p in self.folder.glob("index-*.db") if p.stem[6:].isdigit()]
        return sorted(found, key=lambda p: int(p.stem[6:]))

    def _remove(self, path: Path) -> None:
        for name in (path.name, path.name + "-wal", path.name + "-shm", path.name + "-journal"):
            try:
                (self.folder / name).unlink(missing_ok=True)
            except OSError:
                continue  # still open on this system; the next start removes it

    def _open(self) -> None:
        files = self._files()
        for path in self.folder.glob("building-*"):
            self._remove(path)
        for path in files[:-1]:
            self._remove(path)
        if not files:
            self._build()
            return
        path = files[-1]
        conn: db.Connection | None = None
        try:
            conn = db.connect(path, full_sync=False)
            meta = index.read_meta(conn)
            known = index.entries(conn)
        except db.DatabaseError:
            if conn is not None:
                conn.close()
            self._broken = path
            raise
        if meta.get("schema") != str(index.SCHEMA_VERSION):
            conn.close()
            self._build()
            return
        self._use(path, conn, known)
        wanted = index.wanted_meta(self._spans_version, self._uuid)
        if any(meta.get(k) != v for k, v in wanted.items()):
            self._build()  # the old one answers meanwhile
            return
        self._compare()

    def _use(self, path: Path, conn: db.Connection, known: dict[str, index.ChatEntry]) -> None:
        old_conn, old_path = self._conn, self.path
        self._conn = conn
        self.entries = known
        self.by_no = {e.no: e for e in known.values()}
        self.sizes = index.Sizes(self.by_no)
        self.speakers = index.speakers(conn)
        self.private |= {e.chat for e in known.values() if e.private}
        self.path = path
        self._places = Places(path)
        self.typos.use(path)
        self.generation += 1
        if old_conn is not None:
            old_conn.close()
        if old_path is not None and old_path != path and not self._following:
            self._remove(old_path)

    def _compare(self) -> None:
        """Mark every chat that the log has more of, less of, or no longer."""
        summaries = self.log.summaries()
        self.private |= {s.id for s in summaries if s.private}
        there = {s.id: s for s in summaries}
        stale = [c for c, e in self.entries.items() if c not in there]
        newest_last = reversed(summaries)
        stale += [
            s.id for s in newest_last if (e := self.entries.get(s.id)) is None or index_build.apart(e, s, self._uuid)
        ]
        self._todo = sum(s.messages for s in summaries)
        lines = sum(e.lines for e in self.entries.values())
        if len(stale) > 1000 and self._todo > 4 * lines:
            self._build()
        elif stale:
            self.mark_chats(stale)

    # -- draining

    def _drain(self) -> None:
        conn = self._conn
        while conn is not None and not self._stopping and not self._broken and not self._rebuild:
            with self._lock:
                if not self._dirty:
                    break
                chat = next(reversed(self._dirty))
                mark = self._dirty[chat]
            if self._drain_some(conn, chat):
                with self._lock:
                    if self._dirty.get(chat) == mark:  # else it was marked again meanwhile, and comes again
                        del self._dirty[chat]
        if conn is not None and self._gone and not self._dirty:
            self._gone = 0
            conn.execute("INSERT INTO f(f) VALUES('optimize')")  # else a deleted chat's words stay in old segments
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self.typos.forget()
        if conn is not None and self.path is not None and not self._dirty:
            self.typos.refresh(self.path, conn)

    def _drain_some(self, conn: db.Connection, chat: str) -> bool:
        """One transaction's worth of a chat; answers whether it is done."""
        summary = self.log.summary(chat)
        entry = self.entries.get(chat)
        if summary is None:
            if entry is not None:
                self._forget(conn, entry)
            return True
        if entry is not None and (entry.last_id > summary.last_id or entry.store_uuid != self._uuid):
            self._forget(conn, entry)
            entry = None
        after = entry.last_id if entry else 0
        ready, last_id, done = index_drain.some(self.log, self._spans, chat, after)
        grown, written, counted = index_drain.write(conn, summary, entry, ready, last_id, self._uuid, self._places)
        self.entries[chat] = self.by_no[grown.no] = grown
        self.speakers.update(w for p in written if p.line.name for w in words.tokens(p.line.name))
        self.typos.add(counted)
        return done

    def _forget(self, conn: db.Connection, entry: index.ChatEntry) -> None:
        self._gone += index_drain.forget(conn, entry)
        self.entries.pop(entry.chat, None)
        self.by_no.pop(entry.no, None)

    # -- rebuilding

    def _build_again(self) -> None:
        """Set a damaged file aside (one copy is kept) and rebuild."""
        broken, self._broken = self._broken, None
        asked, self._rebuild = self._rebuild, False
        if self._failures and not asked:
            self._unavailable(BROKEN_WORDS)
            return
        if broken is not None:
            self._failures += 1
            self._words = REBUILDING_WORDS
            if self._conn is not None:
                self._conn.close()
                self._conn = None
            self.path = None
            self.generation += 1
            self.entries, self.by_no = {}, {}
            os.replace(broken, self.folder / "damaged.db")
            self._remove(broken)
        self._build()
        if broken is not None and self._on_notice is not None:
            self._on_notice(HEALED_WORDS)

    def _build(self) -> None:
        """A new file from the whole log, while the old one (if there is one) answers."""
        numbers = [int(p.stem[6:]) for p in self._files()]
        number = max([*numbers, 0]) + 1
        beside, path = self.folder / f"building-{number}.db", self.folder / f"index-{number}.db"
        self._remove(beside)
        summaries = self.log.summaries()
        self._todo = sum(s.messages for s in summaries)
        conn = index.create(beside, bulk=True)
        try:
            known = index_build.build(conn, self.log, self._spans, {s.id: s for s in summaries}, lambda: self._stopping)
            if known is None:
                return
            index.finish_bulk(conn, index.wanted_meta(self._spans_version, self._uuid))
        finally:
            conn.close()
        os.replace(beside, path)
        self._use(path, db.connect(path, full_sync=False), known)
        for older in self._files()[:-1]:
            self._remove(older)
        self._compare()
