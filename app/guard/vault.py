"""The vault: named values for commands. Never in an event, an answer, a message to a model or a log.

A keyring of the system holds them where a real one answers (never a plain-text one); else one encrypted file, with a
passphrase (`SHOAL_VAULT_PASSPHRASE`, or asked) or, where there is none, a key file beside it (0600). What a home began
with it goes on with. `SHOAL_VAULT=file` leaves the keyring alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from app.guard.redactor import SHORTEST_VALUE, Redactor
from app.guard.vault_places import (
    NO_ANSWER,
    Backend,
    FileBackend,
    KeyringBackend,
    Kind,
    VaultProblem,
    real_keyring,
)
from store.limits import (
    VAULT_NAME_CHARS,
    VAULT_NAMES,
    VAULT_PASSPHRASE_LEAST,
    VAULT_SECONDS,
    VAULT_VALUE_CHARS,
)
from store.text import safe_name

T = TypeVar("T")

NO_NAME = "A password needs a name with letters in it."
TOO_SHORT = (
    f"A password of fewer than {SHORTEST_VALUE} characters can't be hidden in what tools answer, so it isn't kept."
)
TOO_LONG = f"A password may have {VAULT_VALUE_CHARS:,} characters at most."
NO_NUL = "A password can't hold a zero byte: no command could be given it."
TOO_MANY = f"There are {VAULT_NAMES} passwords already."
NOT_WEAK = f"A passphrase needs {VAULT_PASSPHRASE_LEAST} characters at least."


@dataclass(frozen=True, slots=True)
class VaultState:
    """Where the values lie, whether a passphrase is wanted first, and their names (none while locked)."""

    kind: Kind
    locked: bool = False
    names: tuple[str, ...] = ()


class Vault:
    """Names and values of one home. Everything slow is imported and run on a thread, at the first use."""

    def __init__(
        self,
        folder: Path,
        redactor: Redactor,
        environ: Mapping[str, str] = os.environ,
        ask: Callable[[], str | None] = lambda: None,
        find_keyring: Callable[[], Any] | None = None,
    ) -> None:
        self._folder = folder
        self._redactor = redactor
        self._environ = environ
        self._ask = ask
        self._find_keyring = find_keyring or real_keyring
        self._lock = asyncio.Lock()
        self._backend: Backend | None = None

    async def start(self) -> None:
        """Every value that may have been handed out is hidden from now on; does nothing where there is no vault."""
        if not self._folder.is_dir():
            return
        with contextlib.suppress(VaultProblem):  # said when a password is wanted
            await self._hide_all()

    async def _hide_all(self) -> None:
        for name in await self.names():
            await self.get(name)

    async def state(self) -> VaultState:
        """How it stands. Raises VaultProblem."""

        def look(backend: Backend) -> VaultState:
            kind, locked = backend.state()
            return VaultState(kind, locked, () if locked else tuple(backend.names()))

        return await self._with(look)

    async def unlock(self, passphrase: str) -> None:
        """Open it for this run; every value is hidden in answers from now on. Raises VaultProblem (VaultLocked)."""
        await self._with(lambda backend: backend.unlock(passphrase))
        await self._hide_all()

    async def lock(self) -> None:
        """From now on its passphrase is wanted again; what was handed out stays hidden. Raises VaultProblem."""
        await self._with(lambda backend: backend.lock())

    async def set_passphrase(self, passphrase: str) -> None:
        """Give it a passphrase, or another one. Raises VaultProblem, also where it is too short or the vault locked."""
        if len(passphrase.strip()) < VAULT_PASSPHRASE_LEAST:
            raise VaultProblem(NOT_WEAK)
        await self._with(lambda backend: backend.set_passphrase(passphrase))

    async def names(self) -> list[str]:
        """The names, without values. Raises VaultProblem."""
        if not self._folder.is_dir():
            return []
        return await self._with(lambda backend: backend.names())

    async def has(self, name: str) -> bool:
        """Whether there is a value of that name, however it is capitalised. Raises VaultProblem."""
        return _same(await self.names(), name) is not None

    async def get(self, name: str) -> str | None:
        """The value of a name, however it is capitalised; hidden in all answers from now on. Raises VaultProblem."""
        if not self._folder.is_dir():
            return None

        def read(backend: Backend) -> str | None:
            same = _same(backend.names(), name)
            return None if same is None else backend.get(same)

        value = await self._with(read)
        if value is not None:
            self._redactor.add(value)
        return value

    async def put(self, name: str, value: str) -> None:
        """Keep a value; one of the same name is replaced. Raises VaultProblem."""
        tidy = " ".join(safe_name(name, VAULT_NAME_CHARS).split()) if any(c.isalnum() for c in name) else ""
        problem = _problem(tidy, value)
        if problem is not None:
            raise VaultProblem(problem)
        self._redactor.add(value)

        def keep(backend: Backend) -> None:
            names = backend.names()
            if len(names) >= VAULT_NAMES and _same(names, tidy) is None:
                raise VaultProblem(TOO_MANY)
            backend.put(_same(names, tidy) or tidy, value)

        await self._with(keep)

    async def remove(self, name: str) -> bool:
        """Forget a value; False where there is none of that name. Raises VaultProblem."""

        def drop(backend: Backend) -> bool:
            same = _same(backend.names(), name)
            if same is not None:
                backend.remove(same)
            return same is not None

        return await self._with(drop)

    async def _with(self, use: Callable[[Backend], T]) -> T:
        async with self._lock:
            try:
                return await asyncio.wait_for(asyncio.to_thread(self._use, use), VAULT_SECONDS)
            except TimeoutError:
                raise VaultProblem(NO_ANSWER) from None

    def _use(self, use: Callable[[Backend], T]) -> T:
        if self._backend is None:
            self._backend = self._open()
        return use(self._backend)

    def _open(self) -> Backend:
        file = FileBackend(self._folder, self._environ.get("SHOAL_VAULT_PASSPHRASE") or None, self._ask)
        began = (self._folder / "names.json").exists()
        if self._environ.get("SHOAL_VAULT") == "file" or (file.path.exists() and not began):
            return file
        ring = self._find_keyring()
        if ring is None and began:
            raise VaultProblem(NO_ANSWER)
        return file if ring is None else KeyringBackend(self._folder, ring)


def _same(names: list[str], name: str) -> str | None:
    wanted = " ".join(name.split()).casefold()
    return next((n for n in names if n.casefold() == wanted), None)


def _problem(name: str, value: str) -> str | None:
    if not any(c.isalnum() for c in name):
        return NO_NAME
    if len(value.strip()) < SHORTEST_VALUE:
        return TOO_SHORT
    if len(value) > VAULT_VALUE_CHARS:
        return TOO_LONG
    return NO_NUL if "\0" in value else None


class HandedOut:
    """What the next command of a turn gets in its environment; each value once, and only in its own turn."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, dict[str, str]]] = {}

    def hand(self, chat: str, turn_id: str, variable: str, value: str) -> None:
        """Hold a value for the turn's next command."""
        turn, held = self._held.get(chat, ("", {}))
        self._held[chat] = (turn_id, {**(held if turn == turn_id else {}), variable: value})

    def take(self, chat: str, turn_id: str) -> dict[str, str]:
        """What is held for it; nothing is left."""
        turn, held = self._held.pop(chat, ("", {}))
        return held if turn == turn_id else {}
