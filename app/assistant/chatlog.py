"""A chat's events for the model: read once, then only what is new; what was summarised is left in the store."""

from __future__ import annotations

from collections import OrderedDict

from store.events import ContextCompacted, Stored
from store.limits import CONTEXT_CHATS_KEPT, CONTEXT_EVENTS_KEPT
from store.log import Store
from store.state import KeepState

FROM = "context_from"  # the state key: the id of the last event that the newest summary covers


class ChatLog:
    """One chat's events since its newest summary's cut, in order."""

    def __init__(self, chat: str, after: int) -> None:
        self.chat = chat
        self.after = after  # events up to this id aren't here
        self.events: list[Stored] = []

    @property
    def cut(self) -> bool:
        """Whether earlier events were left out."""
        return self.after > 0

    def cut_change(self, compacted: ContextCompacted) -> KeepState:
        """The change that goes with a summary, so that the next turn reads only what is after it."""
        covered = [s.id for s in self.events if s.seq <= compacted.through_seq]
        return KeepState(self.chat, FROM, covered[-1] if covered else self.after or None)


class ChatLogs:
    """Keeps the logs of the chats that worked last, so that a turn in a long chat begins at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[str, ChatLog] = OrderedDict()

    async def open(self, chat: str) -> ChatLog:
        """The chat's log as it is now."""
        log = self._kept.pop(chat, None)
        after = self._store.state(chat, FROM)
        after = after if isinstance(after, int) else 0
        if log is None or log.after != after:
            log = ChatLog(chat, after)
        await self.refresh(log)
        return log

    async def refresh(self, log: ChatLog) -> None:
        """Take in what was written since."""
        after = log.events[-1].id if log.events else log.after
        log.events += await self._store.read(lambda: list(self._store.events(after, log.chat)))

    def keep(self, log: ChatLog) -> None:
        """The turn is over; a long log isn't kept."""
        if len(log.events) <= CONTEXT_EVENTS_KEPT:
            self._kept[log.chat] = log
            while len(self._kept) > CONTEXT_CHATS_KEPT:
                self._kept.popitem(last=False)
