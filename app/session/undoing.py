"""Undo and redo of what a reply changed in files, and what changed in a turn without a tool."""

from __future__ import annotations

import logging
from typing import Any, Literal

from app import commands as cmd
from app.ports import Turn
from app.session.desk import Desk
from app.tools.changes import ChangeTracker, Made
from app.tools.undo import Undo
from store.errors import StoreError
from store.log import Batch
from store.models import FileDiff

log = logging.getLogger("shoal.session")


class FileChanges:
    """The session's part of the change tracker."""

    def __init__(self, tracker: ChangeTracker, undo: Undo) -> None:
        self._tracker = tracker
        self._undo = undo
        self._desk: Desk | None = None

    def at(self, desk: Desk) -> FileChanges:
        """The same, with the session's desk."""
        self._desk = desk
        return self

    async def undo(self, command: cmd.UndoChange) -> dict[str, Any]:
        """Put back what was before."""
        return await self._restore(command.chat, command.change, "undo")

    async def redo(self, command: cmd.RedoChange) -> dict[str, Any]:
        """Do it again."""
        return await self._restore(command.chat, command.change, "redo")

    async def diffs(self, chat: str, change: str) -> list[FileDiff]:
        """What a set did to its files. Raises StoreError."""
        if self._desk is None:
            return []
        return await self._desk.store.read(self._undo.diffs, chat, change)

    async def recovered(self) -> dict[str, Made]:
        """What broken-off commands changed, by chat; a start goes well also when that can't be told."""
        try:
            return await self._tracker.recovered()
        except (OSError, StoreError) as error:
            log.warning("what broken-off commands changed couldn't be told: %s", error)
            return {}

    async def turn_ended(self, turn: Turn) -> None:
        """Write down what changed in the turn without a tool; a turn ends well also when that can't be told."""
        if self._desk is None:
            return
        try:
            events, changes = await self._tracker.turn_ended(turn.chat, turn.turn_id)
            if events:
                await self._desk.store.commit(Batch.of(turn.chat, *events, changes=changes))
        except (OSError, StoreError) as error:
            log.warning("what changed in a turn of %s couldn't be told: %s", turn.chat, error)

    async def _restore(self, chat: str, change: str, direction: Literal["undo", "redo"]) -> dict[str, Any]:
        if self._desk is not None:
            self._desk.open_chat(chat)
        files, last_id = await self._undo.restore(chat, change, direction)
        return {"files": files, "last_id": last_id}
