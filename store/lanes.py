"""Two lanes to the index: *typing*, where the latest query wins, and *tools*, first come first served with a limit."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from typing import TypeVar

from store import db, indexer, ranking
from store.retrieve import Core

T = TypeVar("T")


class Superseded(Exception):
    """A newer query came while this one waited or ran."""


class Unready(Exception):
    """There is no index file to read yet."""


class Seat:
    """One connection, used by one thread at a time; opens the current file anew when it was replaced."""

    def __init__(self, owner: indexer.Indexer) -> None:
        self._owner = owner
        self._generation = -1
        self._core: Core | None = None

    def core(self) -> Core:
        """The core on the current file; raises Unready."""
        owner = self._owner
        generation, path = owner.generation, owner.path
        if self._core is None or generation != self._generation:
            self.close()
            if path is None:
                raise Unready
            conn = ranking.open_index(path)
            core = Core(conn, owner.enhanced, owner.sizes, owner.by_no, owner.speakers, owner.typos.get)
            core.places = owner.places_of(path)
            self._core, self._generation = core, generation
        return self._core

    def interrupt(self) -> None:
        """Stop what runs on the connection."""
        if self._core is not None:
            self._core.conn.interrupt()

    def close(self) -> None:
        """Give the file up."""
        if self._core is not None:
            self._core.conn.close()
            self._core = None


class TypingLane:
    """One connection; a new query makes an older one give up."""

    def __init__(self, owner: indexer.Indexer) -> None:
        self._seat = Seat(owner)
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "search-typing")
        self._lock = threading.Lock()
        self._latest = 0
        self._running = 0  # the generation that runs, or 0

    async def run(self, work: Callable[[Core], T]) -> T:
        """Run on the lane's thread; raises Superseded for a query that a newer one overtook."""
        with self._lock:
            self._latest += 1
            mine = self._latest
            if 0 < self._running < mine:
                self._seat.interrupt()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._step, mine, work)
        except asyncio.CancelledError:
            with self._lock:
                if self._running == mine:
                    self._seat.interrupt()
            raise

    def _step(self, mine: int, work: Callable[[Core], T]) -> T:
        with self._lock:
            if mine < self._latest:
                raise Superseded
            core = self._seat.core()
            self._running = mine
        try:
            return work(core)
        except db.DatabaseError:
            with self._lock:
                if mine < self._latest:
                    raise Superseded from None
            raise
        finally:
            with self._lock:
                self._running = 0

    def close(self) -> None:
        """Wait for what runs, give the file up."""
        with self._lock:
            self._latest += 1
            if self._running:
                self._seat.interrupt()
        self._thread.shutdown()
        self._seat.close()


class ToolsLane:
    """Two connections; a query that runs too long is stopped, and says so by what `timed_out` answers."""

    def __init__(self, owner: indexer.Indexer, seconds: float, seats: int = 2) -> None:
        self._seats = [Seat(owner) for _ in range(seats)]
        self._free = list(self._seats)
        self._lock = threading.Lock()
        self._threads = concurrent.futures.ThreadPoolExecutor(seats, "search-tools")
        self._seconds = seconds

    async def run(self, work: Callable[[Core], T]) -> T:
        """Run in turn."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.run_now, work)

    def run_now(self, work: Callable[[Core], T]) -> T:
        """Run on this thread, on a free connection (there are as many as the lane has threads)."""
        with self._lock:
            seat = self._free.pop() if self._free else Seat(self._seats[0]._owner)
        timer: threading.Timer | None = None
        try:
            core = seat.core()
            core.stopped = False
            state = threading.Lock()

            def stop() -> None:
                with state:
                    if not over:
                        core.stopped = True
                        seat.interrupt()

            over: list[bool] = []
            timer = threading.Timer(self._seconds, stop)
            timer.daemon = True
            timer.start()
            try:
                return work(core)
            finally:
                with state:
                    over.append(True)
        finally:
            if timer is not None:
                timer.cancel()
            with self._lock:
                if seat in self._seats:
                    self._free.append(seat)
                else:
                    seat.close()

    def close(self) -> None:
        """Stop what runs, give the files up."""
        for seat in self._seats:
            seat.interrupt()
        self._threads.shutdown()
        for seat in self._seats:
            seat.close()
