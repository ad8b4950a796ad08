"""Background processes as the person meets them: one is stopped, or ends with its chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from app import commands as cmd
from app.session.desk import Desk, refuse

NOT_RUNNING = "That process doesn't run (any more)."


class EndsProcesses(Protocol):
    """The part of the process registry that the session asks."""

    async def stop_by_id(self, process_id: str) -> bool:
        """End one; False where none of that id runs."""

    async def stop_all(self, chat: str) -> None:
        """End all of a chat."""


class Processes:
    """Takes `stop-process`, and ends what a deleted chat left running."""

    def __init__(self, desk: Desk, processes: EndsProcesses) -> None:
        self._desk = desk
        self._processes = processes

    async def stop(self, command: cmd.StopProcess) -> dict[str, Any]:
        """End one with everything it started; its end is written as an event."""
        if not await self._processes.stop_by_id(command.process):
            return refuse("not-allowed", NOT_RUNNING)
        return {}

    def with_its_chat(
        self, delete: Callable[[cmd.Delete], Awaitable[dict[str, Any]]]
    ) -> Callable[[cmd.Delete], Awaitable[dict[str, Any]]]:
        """Deleting, with the chat's processes ended as well."""

        async def deleted(command: cmd.Delete) -> dict[str, Any]:
            done = await delete(command)
            await self._processes.stop_all(command.chat)
            return done

        return deleted
