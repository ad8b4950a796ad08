"""The index's one writer: a thread that catches up, drains what changed, rebuilds beside, and heals once."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import Final

from store import db, index, index_build, index_drain, words
from store.errors import StoreError
from store.index_lock import IndexLock
from store.index_state import BROKEN_WORDS, HEALED_WORDS, REBUILDING_WORDS, IndexState
from store.limits import INDEX_TURN_SECONDS

FOLLOW_TRIES: Final = 20


class Indexer(IndexState):
    """Owns the index folder, and is the only one to write in it."""

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
        path = self._files.newest()
        if path is not None:
            conn = db.connect(path, readonly=True)
            if index.read_meta(conn).get("schema") != str(index.SCHEMA_VERSION):
                conn.close()
                path = None
            else:
                self._use(path, conn, index.entries(conn))
        summaries = self.log.summaries()
        self.private |= {s.id for s in summaries if s.private}
        self._todo = sum(s.messages for s in summaries)
        there = {s.id for s in summaries}
        missing = [s for s in summaries if (e := self.entries.get(s.id)) is None or e.last_id < s.last_id]
        if path is not None and not missing and all(chat in there for chat in self.entries):
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
                if idle and not self._stopping and not self._reading_places() and self._quiet.is_set():
                    self._wake.wait()  # (reading places may have met damage, which isn't quiet any more)
        finally:
            if self._conn is not None:
                with contextlib.suppress(db.DatabaseError):
                    self.pace.write(self._conn, last=True)
                self._conn.close()

    def _reading_places(self) -> bool:
        """Read some more lines' places, while nothing else is to do; answers whether there is more."""
        if not self._searched or self._conn is None or self._places.beginnings.whole:
            return False
        self._guarded(self._read_places)
        return not self._places.beginnings.whole and self._state != "unavailable"

    def _read_places(self) -> None:
        if self._conn is not None and not self._places.whole:
            self._places.load(self._conn)
        elif self._conn is not None:
            self._places.beginnings.load(self._conn)

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

    # -- opening

    def _open(self) -> None:
        self._files.tidy()
        path = self._files.newest()
        if path is None:
            self._build()
            return
        conn: db.Connection | None = None
        try:
            conn = index.connect(path)
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
        conn, started, waiting = self._conn, time.monotonic(), len(self._dirty)
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
        if conn is not None and waiting:
            self.pace.drained(time.monotonic() - started, waiting)
            self.pace.write(conn)

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
            self._files.set_aside(broken)
        self._build()
        if broken is not None and self._on_notice is not None:
            self._on_notice(HEALED_WORDS)

    def _build(self) -> None:
        """A new file from the whole log, while the old one (if there is one) answers."""
        started = time.monotonic()
        beside, path = self._files.next()
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
        self.pace.built(time.monotonic() - started)
        self._use(path, index.connect(path), known)
        self._files.tidy()
        self._compare()
