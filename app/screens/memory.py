"""What the screens keep between runs (drafts, the deck, what is new): written a moment after the last change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from app.aio import TaskSet
from store.errors import StoreError
from store.log import Batch, Store
from store.state import KeepState

PAUSE_SECONDS: Final = 0.5


class Memory:
    """Holds changed values and writes them together; `trouble` is told, once, when they can't be kept."""

    def __init__(self, store: Store, tasks: TaskSet, trouble: Callable[[str], None]) -> None:
        self._store, self._tasks, self._trouble = store, tasks, trouble
        self._waiting: dict[tuple[str, str], Any] = {}
        self._writing: dict[tuple[str, str], Any] = {}  # on its way into the store
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._told = False

    def keep(self, chat: str, key: str, value: Any) -> None:
        """Keep a value (None removes it); "" as the chat is the app's own."""
        if self._store.readonly:
            return
        self._waiting[(chat, key)] = value
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._later)

    def forget(self, chat: str) -> None:
        """Drop what waits for a chat that is gone."""
        for key in [k for k in self._waiting if k[0] == chat]:
            del self._waiting[key]

    def read(self, chat: str, key: str) -> Any:
        """A kept value, None when there is none."""
        for newer in (self._waiting, self._writing):
            if (chat, key) in newer:
                return newer[(chat, key)]
        return self._store.state(chat, key)

    def _later(self) -> None:
        self._tasks.spawn(self.flush(), "keep")

    async def flush(self) -> None:
        """Write what waits now; all that was kept before is in the store when this returns."""
        async with self._turn:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._writing, self._waiting = self._waiting, {}
            if not self._writing:
                return
            changes = [KeepState(chat, key, value) for (chat, key), value in self._writing.items()]
            try:
                await self._store.commit(Batch(changes=changes))
                self._told = False
            except StoreError as error:
                self._waiting = self._writing | self._waiting
                if not self._told:
                    self._told = True
                    self._trouble(str(error))
            finally:
                self._writing = {}
