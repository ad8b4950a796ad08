"""The append-only log: `Store.commit` is the only write, and what it acknowledged survives a kill."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from store import db, derived, opening
from store.apply import Apply, Removed
from store.batch import Batch, BatchKind, Change, Committed, NewEvent, Page, batch_of
from store.blobs import Blobs
from store.clock import Clock, SystemClock
from store.errors import StoreReadOnly
from store.events import Stored
from store.lock import HomeLock
from store.reading import Reads
from store.writer import Hooks, Job, Writer

T = TypeVar("T")
Listener = Callable[[tuple[Stored, ...]], None]

log = logging.getLogger("shoal.store")
REBUILT_NOTICE = "The list of chats didn't agree with what was said in them; {n} {entries} made anew."


class Store(Reads):
    """The truth of one home. Reads are sync and quick; `await store.read(f, …)` runs one on a worker thread."""

    def __init__(
        self, path: Path, clock: Clock | None = None, *, readonly: bool = False, lock: HomeLock | None = None
    ) -> None:
        self.path = path
        self.clock = clock or SystemClock()
        self.on_trouble: Callable[[str | None], None] | None = None  # one more listener, see `listen_trouble`
        self._lock = lock
        self._listeners: list[Listener] = []
        self._deleted: list[Callable[[str], None]] = []
        self._troubled: list[Callable[[str | None], None]] = []
        self._sound = True
        opened = opening.for_reading(path) if readonly else opening.for_writing(path, self.clock)
        self.notices = opened.notices
        self._let_go = opened.let_go
        self.readonly = opened.writer is None
        super().__init__(opened.reader, Blobs(path.parent / "blobs"), kept=not self.readonly)
        self._apply = Apply(self.clock, self.blobs, self._summaries)
        self._writer: Writer | None = None
        if opened.writer is not None:
            hooks = Hooks(
                derived.note_last, self._apply.committed, self._apply.rolled_back, self._trouble, self._failed
            )
            self._writer = Writer(opened.writer, path, hooks)
            try:
                if opened.careful or derived.ends_apart(opened.writer):
                    self._heal(opened.writer)
            except BaseException:
                self.close()
                raise

    @classmethod
    def open(cls, home_root: Path, clock: Clock | None = None, readonly: bool = False) -> Store:
        """The store of a home, made if need be; for writing it takes the home's lock and lets go at `close`.

        Raises StoreHeld (another Shoal writes), StoreNewer, StoreLocked or StoreReadOnly. Where nothing can be
        written it opens for reading (`readonly` is then True). `notices` says in words what had to be done.
        """
        if readonly:
            return cls(home_root / "store.db", clock, readonly=True)
        lock: HomeLock | None = None
        try:
            home_root.mkdir(parents=True, exist_ok=True, mode=0o700)
            if home_root.stat().st_mode & 0o077:
                with contextlib.suppress(PermissionError):
                    home_root.chmod(0o700)
            try:
                lock = HomeLock(home_root, clock).acquire()
            except StoreReadOnly:
                store = cls(home_root / "store.db", clock, readonly=True)
                store.notices.append(opening.READ_ONLY_NOTICE)
                return store
            return cls(home_root / "store.db", clock, lock=lock)
        except BaseException as error:
            if lock is not None:
                lock.release()
            if isinstance(error, OSError):
                raise db.explain(error) from error
            raise

    # -- writing

    def listen(self, listener: Listener) -> None:
        """Call `listener` on the writer thread with every commit's events, in order, before it is acknowledged."""
        self._listeners.append(listener)

    def listen_deleted(self, listener: Callable[[str], None]) -> None:
        """Call `listener` on the writer thread with the id of every chat that was deleted."""
        self._deleted.append(listener)

    def listen_trouble(self, listener: Callable[[str | None], None]) -> None:
        """Call `listener` on the writer thread with a sentence while a lock is waited for, and None when it is over."""
        self._troubled.append(listener)

    async def commit(self, batch: Batch) -> Committed:
        """Write a batch; returns once it is durable. A cancel is raised only after the write has ended."""
        return await _whole(self._submit_batch(batch))

    def commit_sync(self, batch: Batch) -> Committed:
        """`commit` for code without an event loop; never from a listener, which would wait for itself."""
        if self._writer is not None and self._writer.is_current_thread():
            raise RuntimeError("commit_sync was called on the writer's own thread")
        return self._submit_batch(batch).result()

    async def delete(self, chat: str) -> bool:
        """Remove a chat for ever: events, rows, state and blobs; a tombstone stays. False: there was none."""
        return await _whole(self._submit_delete(chat)) is not None

    def delete_sync(self, chat: str) -> bool:
        """`delete` for code without an event loop."""
        return self._submit_delete(chat).result() is not None

    def rebuild_derived(self, chats: set[str]) -> None:
        """Make the summaries and rows of `chats` anew from their events."""
        self._submit(lambda conn: self._apply.rebuild(conn, chats), lambda _: self._summaries.forget()).result()

    def _submit_batch(self, batch: Batch) -> concurrent.futures.Future[Committed]:
        return self._submit(lambda conn: self._apply.batch(conn, batch), lambda done: self._tell(done.events))

    def _submit_delete(self, chat: str) -> concurrent.futures.Future[Removed | None]:
        return self._submit(lambda conn: self._apply.remove(conn, chat), self._removed)

    def _submit(self, run: Callable[[db.Connection], T], after: Callable[[T], None]) -> concurrent.futures.Future[T]:
        if self._writer is None:
            refused: concurrent.futures.Future[T] = concurrent.futures.Future()
            refused.set_exception(StoreReadOnly(db.READ_ONLY_WORDS))
            return refused
        return cast("concurrent.futures.Future[T]", self._writer.submit(Job(run, after)))

    # -- on the writer thread

    def _tell(self, events: tuple[Stored, ...]) -> None:
        if events:
            _each(self._listeners, events)

    def _removed(self, removed: Removed | None) -> None:
        if removed is None or self._writer is None:
            return
        _each(self._deleted, removed.chat)
        with contextlib.suppress(db.Error):  # busy readers: the next checkpoint does it
            opening.checkpoint(self._writer.conn)
        self.blobs.remove(removed.blobs)

    def _trouble(self, words: str | None) -> None:
        _each([*self._troubled, *([self.on_trouble] if self.on_trouble else [])], words)

    def _failed(self, error: BaseException) -> None:
        if db.is_damage(error):
            opening.suspect(self.path)
            self._sound = False

    def hurry(self) -> None:
        """The program ends: from now on a locked store is waited for 2 s, so that no commit holds up the end."""
        if self._writer is not None:
            self._writer.hurry = True

    def close(self) -> None:
        """Finish what waits, then close and let the home's lock go."""
        if self._closed:
            return
        self._closed = True
        emptied = False
        if self._writer is not None:
            self._writer.close()
        self._close_readers()
        if self._writer is not None:
            here = self._writer.at_home()
            with contextlib.suppress(db.Error):
                emptied = opening.checkpoint(self._writer.conn)
            with contextlib.suppress(db.Error):
                self._writer.conn.close()
            if emptied and here and self._sound:
                with contextlib.suppress(OSError):  # then the next start looks more carefully
                    opening.closed_now(self.path)
        self._let_go()
        if self._lock is not None:
            self._lock.release()

    def _heal(self, conn: db.Connection) -> None:
        wrong = derived.disagree(conn)
        if wrong:
            self.rebuild_derived(wrong)
            words = REBUILT_NOTICE.format(n=len(wrong), entries="entry was" if len(wrong) == 1 else "entries were")
            log.warning(words)
            self.notices.append(words)


def _each(listeners: list[Callable[[T], None]], told: T) -> None:
    """Tell every listener; one's fault is neither the writer's nor another's."""
    for listener in listeners:
        try:
            listener(told)
        except Exception:
            log.exception("a listener of the store")


async def _whole(job: concurrent.futures.Future[T]) -> T:
    """Wait for a write to end, whatever is cancelled meanwhile; a cancel is raised afterwards."""
    done = asyncio.wrap_future(job)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        while not done.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([done])
        done.cancelled() or done.exception()
        raise


__all__ = ["Batch", "BatchKind", "Change", "Committed", "NewEvent", "Page", "Store", "batch_of"]
