"""The one place that makes asyncio tasks, so that none is lost to the garbage collector."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class TaskSet:
    """Tasks owned by one object: kept alive, and cancelled together at `close`."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
        """Start `coro` as a task of this set."""
        task = asyncio.get_running_loop().create_task(coro, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self, seconds: float | None = None) -> None:
        """Cancel what runs and wait for it, at most `seconds` (None: until it has ended)."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            done, _ = await asyncio.wait(tasks, timeout=seconds)
            for task in done:
                task.cancelled() or task.exception()  # looked at, so that nothing is said of it later
