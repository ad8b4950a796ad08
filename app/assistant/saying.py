"""One message while it streams: live to the bus, and its text so far kept in the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Literal

from store.errors import StoreError
from store.ids import MESSAGE, new_id
from store.limits import LIVE_TEXT_CHARS, LIVE_TEXT_SECONDS
from store.log import Batch, Store
from store.state import KeepLiveText

log = logging.getLogger("shoal.loop")
Signal = Callable[[str, str, dict[str, Any]], None]  # (chat, kind, data); never waits
Kind = Literal["text", "thinking"]


class Saying:
    """Collects a step's words. `keep_going` is a task beside the stream; nothing here waits for the disk."""

    def __init__(self, chat: str, store: Store, signal: Signal) -> None:
        self.message_id = new_id(MESSAGE)
        self._chat = chat
        self._store = store
        self._signal = signal
        self._parts: dict[Kind, list[str]] = {"text": [], "thinking": []}
        self._length: dict[Kind, int] = {"text": 0, "thinking": 0}
        self._unkept = 0
        self._changed: set[Kind] = set()
        self._due = asyncio.Event()
        self.kept = False  # whether a row of it lies in the store

    def text(self, kind: Kind = "text") -> str:
        """All that came so far."""
        return "".join(self._parts[kind])

    def add(self, kind: Kind, delta: str) -> None:
        """Words came."""
        if not delta:
            return
        offset = self._length[kind]
        self._parts[kind].append(delta)
        self._length[kind] += len(delta)
        self._unkept += len(delta)
        self._changed.add(kind)
        data = {"message_id": self.message_id, "kind": kind, "offset": offset, "delta": delta}
        self._signal(self._chat, "delta", data)
        if self._unkept >= LIVE_TEXT_CHARS:
            self._due.set()

    async def keep_going(self) -> None:
        """Keep the text so far each second or 2 KB, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(LIVE_TEXT_SECONDS):  # not wait_for, which may swallow a cancel
                    await self._due.wait()
            except TimeoutError:
                pass  # a second went by
            self._due.clear()
            if self._changed:
                await self._keep()

    async def _keep(self) -> None:
        changes = [KeepLiveText(self._chat, self.message_id, kind, self.text(kind)) for kind in sorted(self._changed)]
        self._unkept, self._changed, self.kept = 0, set(), True
        try:
            await self._store.commit(Batch(changes=changes, kind="step"))
        except StoreError:
            log.warning("the text so far of %s couldn't be kept", self.message_id)

    def forget(self) -> KeepLiveText:
        """The change that removes the text so far, for the batch of `assistant.done`."""
        return KeepLiveText(self._chat, self.message_id, "text", None)
