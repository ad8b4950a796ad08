"""Tasks of the screens whose faults are never lost: told to the app, which says one sentence and keeps a report."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from app.aio import TaskSet


class WatchedTasks(TaskSet):
    """As `TaskSet`; an exception that nobody caught goes to `fault`."""

    def __init__(self, fault: Callable[[BaseException], None]) -> None:
        super().__init__()
        self._fault = fault

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
        """Start `coro`, watched."""
        task = super().spawn(coro, name)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fault(error)
