"""The one thread that writes: all waiting work in one transaction, each its own savepoint."""

from __future__ import annotations

import concurrent.futures
import logging
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from store import db
from store.clock import SystemClock
from store.errors import StoreError, StoreMoved
from store.limits import LOCK_NOTICE_SECONDS, LOCK_WAIT_SECONDS

log = logging.getLogger("shoal.store")
WAITING_WORDS = "Another program is using Shoal's store; Shoal waits until it is done. Nothing is lost."
CLOSED_WORDS = "The store is closed, so this wasn't saved."
BUSY_SLICE_MS = 100  # how long SQLite itself waits before the writer looks around again
CLOSING_WAIT_SECONDS = 2.0  # a locked store holds up quitting no longer than this


@dataclass(slots=True)
class Job:
    """Work for the writer: `run` inside the transaction, `after` once it is durable."""

    run: Callable[[db.Connection], Any]
    after: Callable[[Any], None]
    done: concurrent.futures.Future[Any] = field(default_factory=concurrent.futures.Future)


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the store does around each transaction, on the writer thread."""

    before_commit: Callable[[db.Connection], None]
    committed: Callable[[], None]
    rolled_back: Callable[[], None]
    trouble: Callable[[str | None], None]
    failed: Callable[[BaseException], None]


class Writer:
    """Takes jobs from any thread; every job's future ends, whatever happens."""

    def __init__(self, conn: db.Connection, path: Path, hooks: Hooks) -> None:
        self.conn = conn
        self.lock_wait = LOCK_WAIT_SECONDS
        self.lock_notice = LOCK_NOTICE_SECONDS
        self.hurry = False  # set when the program ends: a locked store is then waited for only shortly
        self._path = path
        self._place = _place(path)
        self._hooks = hooks
        self._clock = SystemClock()  # real time: how long a lock is waited for has nothing to do with a test's clock
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closing = False
        conn.execute(f"PRAGMA busy_timeout={BUSY_SLICE_MS}")
        conn.execute("PRAGMA secure_delete=ON")  # a deleted chat's words don't stay in free pages
        self._thread = threading.Thread(target=self._loop, name="store-write", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> concurrent.futures.Future[Any]:
        """Queue a job; its future has the result, or one sentence of the store's as its exception."""
        with self._gate:
            if self._closing:
                job.done.set_exception(StoreError(CLOSED_WORDS))
            else:
                job.done.set_running_or_notify_cancel()  # from here on nobody's cancel reaches it
                self._queue.put(job)
        return job.done

    def close(self) -> None:
        """Finish what waits, then end the thread; the connection stays open."""
        with self._gate:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        self._thread.join()

    def is_current_thread(self) -> bool:
        """Whether the caller runs on the writer's thread."""
        return threading.current_thread() is self._thread

    def at_home(self) -> bool:
        """Whether the file is still where it was opened."""
        return _place(self._path) == self._place

    # -- on the writer thread

    def _loop(self) -> None:
        ending = False
        while not ending:
            group = [self._queue.get()]
            while not self._queue.empty():
                group.append(self._queue.get())
            ending = None in group
            jobs = [j for j in group if j is not None]
            try:
                if jobs:
                    self._write(jobs)
            except Exception as error:  # the thread must live; whoever waits is told
                log.exception("the writer met an error it doesn't know")
                for job in jobs:
                    if not job.done.done():
                        job.done.set_exception(error)

    def _write(self, jobs: list[Job]) -> None:
        try:
            results = self._transaction(jobs)
        except Exception as raw:  # noqa: BLE001 - handed to the callers that wait
            self._hooks.rolled_back()
            error = db.explain(raw)
            self._hooks.failed(raw)
            if len(jobs) > 1 and not db.is_busy(raw) and not isinstance(error, StoreMoved):
                for job in jobs:  # one that fits is saved although another one doesn't
                    self._write([job])
                return
            for job in jobs:
                job.done.set_exception(error)
            return
        self._hooks.committed()
        for job, (result, failure) in zip(jobs, results, strict=True):
            if failure is not None:
                self._hooks.failed(failure)
                job.done.set_exception(db.explain(failure))
                continue
            try:
                job.after(result)
            except Exception:  # it is durable; what follows from it may not undo that
                log.exception("after a commit")
            job.done.set_result(result)

    def _transaction(self, jobs: list[Job]) -> list[tuple[Any, BaseException | None]]:
        conn = self.conn
        results: list[tuple[Any, BaseException | None]] = []
        if not self.at_home():
            raise StoreMoved(db.MOVED_WORDS)
        self._begin()
        try:
            for job in jobs:
                conn.execute("SAVEPOINT job")
                try:
                    results.append((job.run(conn), None))
                except Exception as error:  # kept for the caller that waits for this job
                    if not conn.in_transaction:
                        raise  # SQLite gave up the whole transaction (a full disk): each is tried alone
                    conn.execute("ROLLBACK TO job")
                    results.append((None, error))
                conn.execute("RELEASE job")
            self._hooks.before_commit(conn)
            if not self.at_home():
                raise StoreMoved(db.MOVED_WORDS)
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise
        return results

    def _begin(self) -> None:
        """BEGIN IMMEDIATE, waiting for another program's lock; says so when that takes long."""
        start = self._clock.steady()
        said = False
        while True:
            try:
                self.conn.execute("BEGIN IMMEDIATE")
                break
            except db.OperationalError as error:
                waited = self._clock.steady() - start
                limit = min(self.lock_wait, CLOSING_WAIT_SECONDS) if self.hurry or self._closing else self.lock_wait
                if not db.is_busy(error) or waited > limit:
                    if said:
                        self._hooks.trouble(None)
                    raise
                if waited >= self.lock_notice and not said:
                    said = True
                    self._hooks.trouble(WAITING_WORDS)
        if said:
            self._hooks.trouble(None)


def _place(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
