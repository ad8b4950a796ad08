"""The vault: named values for commands. Never in an event, an answer, a message to a model or a log.

A keyring of the system holds them where a real one answers (never a plain-text one); else one encrypted file, with a
passphrase (`SHOAL_VAULT_PASSPHRASE`, or asked) or, where there is none, a key file beside it (0600). What a home began
with it goes on with. `SHOAL_VAULT=file` leaves the keyring alone.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from app.guard.redactor import SHORTEST_VALUE, Redactor
from store.ids import new_id
from store.limits import VAULT_NAME_CHARS, VAULT_NAMES, VAULT_SECONDS, VAULT_VALUE_CHARS
from store.text import safe_name

log = logging.getLogger("shoal.vault")
T = TypeVar("T")

REAL: Final = (
    "keyring.backends.macOS",
    "keyring.backends.SecretService",
    "keyring.backends.libsecret",
    "keyring.backends.kwallet",
    "keyring.backends.Windows",
)
SCRYPT_N: Final = 2**15
NO_NAME = "A password needs a name with letters in it."
TOO_SHORT = (
    f"A password of fewer than {SHORTEST_VALUE} characters can't be hidden in what tools answer, so it isn't kept."
)
TOO_LONG = f"A password may have {VAULT_VALUE_CHARS:,} characters at most."
NO_NUL = "A password can't hold a zero byte: no command could be given it."
TOO_MANY = f"There are {VAULT_NAMES} passwords already."
NO_ANSWER = "The system's keyring, which holds the passwords, doesn't answer; unlock it and try again."
LOCKED = "The vault has a passphrase; start Shoal with SHOAL_VAULT_PASSPHRASE set to it."
WRONG = "The vault couldn't be opened: its passphrase is another one, or its file was changed."
UNREADABLE = "The vault's file couldn't be read ({why})."
UNWRITABLE = "The vault's file couldn't be written ({why}); nothing was kept."


class VaultProblem(Exception):
    """What is wrong with the vault or a value, in a sentence that never holds the value."""


class Backend(Protocol):
    """Where the values lie; blocking. Raises VaultProblem."""

    def names(self) -> list[str]:
        """The names, in order."""

    def get(self, name: str) -> str | None:
        """A value."""

    def put(self, name: str, value: str) -> None:
        """Keep a value, in place of an earlier one of that name."""

    def remove(self, name: str) -> None:
        """Forget a value."""


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
            for name in await self.names():
                await self.get(name)

    async def names(self) -> list[str]:
        """The names, without values. Raises VaultProblem."""
        if not self._folder.is_dir():
            return []
        return await self._with(lambda backend: backend.names())

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


# -- the system's keyring


def real_keyring() -> Any:
    """The best of the system's own keyrings that answers; None where there is only a plain-text one, or none."""
    import keyring.backend

    best: tuple[float, Any] | None = None
    for ring in keyring.backend.get_all_keyring():
        if not type(ring).__module__.startswith(REAL):
            continue
        try:
            priority = float(ring.priority)
            ring.get_password("shoal", "probe")
        except Exception as error:  # noqa: BLE001 - what a backend raises where it can't be used is its own affair
            log.info("a keyring isn't used: %s %s", type(ring).__module__, type(error).__name__)
            continue
        if priority > 0 and (best is None or priority > best[0]):
            best = (priority, ring)
    return best[1] if best else None


class KeyringBackend:
    """Values in the system's keyring; the names in a file, since a keyring can't list."""

    def __init__(self, folder: Path, ring: Any) -> None:
        self._path = folder / "names.json"
        self._ring = ring
        kept = _read_json(self._path)
        self._service = str(kept.get("service") or new_id("shoal"))
        self._names = [str(name) for name in kept.get("names") or ()]

    def names(self) -> list[str]:
        """From the file."""
        return list(self._names)

    def get(self, name: str) -> str | None:
        """From the keyring."""
        value = self._answer(lambda: self._ring.get_password(self._service, name))
        return None if value is None else str(value)

    def put(self, name: str, value: str) -> None:
        """The value first, then its name."""
        self._answer(lambda: self._ring.set_password(self._service, name, value))
        if name not in self._names:
            self._keep([*self._names, name])

    def remove(self, name: str) -> None:
        """From both."""
        self._answer(lambda: self._ring.delete_password(self._service, name))
        self._keep([n for n in self._names if n != name])

    def _keep(self, names: list[str]) -> None:
        _write(self._path, json.dumps({"service": self._service, "names": names}).encode())
        self._names = names

    def _answer(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - as above
            log.warning("the keyring failed: %s", type(error).__name__)
            raise VaultProblem(NO_ANSWER) from None


# -- the encrypted file


class FileBackend:
    """All names and values in one encrypted file, written beside and renamed (0600)."""

    def __init__(self, folder: Path, passphrase: str | None, ask: Callable[[], str | None]) -> None:
        self.path = folder / "vault.json"
        self._key_path = folder / "vault.key"
        self._passphrase = passphrase
        self._ask = ask
        self._cipher: tuple[dict[str, Any], Any] | None = None  # the file's head, and what opens it
        self._held: dict[str, str] | None = None

    def names(self) -> list[str]:
        """In the order they were kept."""
        return list(self._values())

    def get(self, name: str) -> str | None:
        """A value."""
        return self._values().get(name)

    def put(self, name: str, value: str) -> None:
        """Keep a value."""
        self._write({**self._values(), name: value})

    def remove(self, name: str) -> None:
        """Forget a value."""
        self._write({n: v for n, v in self._values().items() if n != name})

    def _values(self) -> dict[str, str]:
        if self._held is None:
            self._held = self._read()
        return self._held

    def _read(self) -> dict[str, str]:
        from cryptography.fernet import InvalidToken

        kept = _read_json(self.path)
        if not kept:
            return {}
        head = {k: v for k, v in kept.items() if k != "data"}
        try:
            cipher = self._opener(head)
            values = json.loads(cipher.decrypt(str(kept.get("data", "")).encode()))
            self._cipher = (head, cipher)
            return {str(name): str(value) for name, value in values.items()}
        except (InvalidToken, ValueError, TypeError, AttributeError, KeyError):
            raise VaultProblem(WRONG) from None

    def _opener(self, head: Mapping[str, Any]) -> Any:
        from cryptography.fernet import Fernet

        if head.get("key") == "file":
            try:
                return Fernet(self._key_path.read_bytes())
            except OSError as error:
                raise VaultProblem(UNREADABLE.format(why=error.strerror)) from None
        if self._passphrase is None:
            self._passphrase = self._ask() or None
        if self._passphrase is None:
            raise VaultProblem(LOCKED)
        return Fernet(_stretched(self._passphrase, base64.b64decode(head["salt"]), int(head["n"])))

    def _new_cipher(self) -> tuple[dict[str, Any], Any]:
        from cryptography.fernet import Fernet

        if self._passphrase is None:
            key = Fernet.generate_key()
            _write(self._key_path, key)
            return {"v": 1, "key": "file"}, Fernet(key)
        salt = os.urandom(16)
        head = {"v": 1, "key": "scrypt", "n": SCRYPT_N, "salt": base64.b64encode(salt).decode()}
        return head, Fernet(_stretched(self._passphrase, salt, SCRYPT_N))

    def _write(self, values: dict[str, str]) -> None:
        if self._cipher is None or (self._passphrase is not None and self._cipher[0].get("key") == "file"):
            self._cipher = self._new_cipher()  # from now on with the passphrase
        head, cipher = self._cipher
        body = head | {"data": cipher.encrypt(json.dumps(values).encode()).decode()}
        _write(self.path, json.dumps(body).encode())
        self._held = values
        if head["key"] != "file":
            with contextlib.suppress(OSError):
                self._key_path.unlink(missing_ok=True)


def _stretched(passphrase: str, salt: bytes, n: int) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    if not 2**10 <= n <= 2**20:
        raise ValueError("n")
    return base64.urlsafe_b64encode(Scrypt(salt=salt, length=32, n=n, r=8, p=1).derive(passphrase.encode()))


def _read_json(path: Path) -> dict[str, Any]:
    """The object in a file; {} where there is no file. Raises VaultProblem."""
    try:
        kept = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise VaultProblem(UNREADABLE.format(why=error.strerror)) from None
    except ValueError:
        raise VaultProblem(WRONG) from None
    return kept if isinstance(kept, dict) else {}


def _write(path: Path, data: bytes) -> None:
    """Beside, flushed, renamed; 0600 in a 0700 folder. Raises VaultProblem."""
    beside = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise VaultProblem(UNWRITABLE.format(why=error.strerror)) from None


# -- for the next command


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
