"""For screens that list what is in the log: told a moment after something of theirs was written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from store.events import Stored

if TYPE_CHECKING:
    from app.session.bus import Bus

PAUSE_SECONDS: Final = 0.25  # what comes within it is one refresh


class Following:
    """Reads the bus; `changed` is called at most once a pause."""

    def __init__(self, bus: Bus, types: Collection[str], changed: Callable[[], None]) -> None:
        self._bus, self._types, self._changed = bus, frozenset(types), changed
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        subscription = self._bus.subscribe()
        try:
            async for item in subscription:
                lagged = getattr(item, "last_id", None) is not None
                mine = isinstance(item, Stored) and item.event.type in self._types
                if (lagged or mine) and self._timer is None:
                    self._timer = loop.call_later(PAUSE_SECONDS, self._due)
        finally:
            subscription.close()
            if self._timer is not None:
                self._timer.cancel()

    def _due(self) -> None:
        self._timer = None
        self._changed()
