"""Values the person puts in the vault."""

from __future__ import annotations

from typing import Any, Protocol

from app import commands as cmd
from app.guard.vault_places import VaultProblem
from app.session.desk import refuse


class KeepsValues(Protocol):
    """The part of the vault that the session asks."""

    async def put(self, name: str, value: str) -> None:
        """Keep a value. Raises VaultProblem."""


class Passwords:
    """Takes `vault`."""

    def __init__(self, vault: KeepsValues) -> None:
        self._vault = vault

    async def put(self, command: cmd.PutInVault) -> dict[str, Any]:
        """Keep it; nothing of it is written anywhere else."""
        try:
            await self._vault.put(command.name, command.value)
        except VaultProblem as error:
            return refuse("failed", str(error))
        return {}
