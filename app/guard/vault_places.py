"""Where the vault's values lie: the system's keyring, or one encrypted file. Blocking, all of it."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from store.ids import new_id

log = logging.getLogger("shoal.vault")
# keyring: the system's; passphrase: a file; key-file: a file whose key lies beside it; new: a file to be
Kind = Literal["keyring", "passphrase", "key-file", "new"]

REAL: Final = (
    "keyring.backends.macOS",
    "keyring.backends.SecretService",
    "keyring.backends.libsecret",
    "keyring.backends.kwallet",
    "keyring.backends.Windows",
)
SCRYPT_N: Final = 2**15
NO_ANSWER = "The system's keyring, which holds the passwords, doesn't answer; unlock it and try again."
LOCKED = "The vault is locked: unlock it in Shoal, or start Shoal with SHOAL_VAULT_PASSPHRASE set to its passphrase."
NOT_IT = "That isn't the vault's passphrase, or its file was changed; it stays locked."
NOTHING_TO_LOCK = "The vault has no passphrase, so it can't be locked."
RING_HAS_NONE = "The system's keyring holds the passwords, and has a passphrase of its own."
WRONG = "The vault couldn't be opened: its passphrase is another one, or its file was changed."
UNREADABLE = "The vault's file couldn't be read ({why})."
UNWRITABLE = "The vault's file couldn't be written ({why}); nothing was kept."


class VaultProblem(Exception):
    """What is wrong with the vault or a value, in a sentence that never holds the value."""


class VaultLocked(VaultProblem):
    """The passphrase is wanted."""


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

    def state(self) -> tuple[Kind, bool]:
        """What it is, and whether it is locked."""

    def unlock(self, passphrase: str) -> None:
        """Open it. Raises VaultLocked where that isn't its passphrase."""

    def lock(self) -> None:
        """Let go of what opens it."""

    def set_passphrase(self, passphrase: str) -> None:
        """From now on with this one; it has to be open."""


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

    def state(self) -> tuple[Kind, bool]:
        """Never locked by Shoal."""
        return "keyring", False

    def unlock(self, passphrase: str) -> None:
        """The system does that."""
        raise VaultProblem(RING_HAS_NONE)

    def lock(self) -> None:
        """As above."""
        raise VaultProblem(RING_HAS_NONE)

    def set_passphrase(self, passphrase: str) -> None:
        """As above."""
        raise VaultProblem(RING_HAS_NONE)

    def _keep(self, names: list[str]) -> None:
        _write(self._path, json.dumps({"service": self._service, "names": names}).encode())
        self._names = names

    def _answer(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - as above
            log.warning("the keyring failed: %s", type(error).__name__)
            raise VaultProblem(NO_ANSWER) from None


class FileBackend:
    """All names and values in one encrypted file, written beside and renamed (0600)."""

    def __init__(self, folder: Path, passphrase: str | None, ask: Callable[[], str | None]) -> None:
        self.path = folder / "vault.json"
        self._key_path = folder / "vault.key"
        self._passphrase = passphrase
        self._ask = ask
        self._asks = True  # until somebody locks it
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

    def state(self) -> tuple[Kind, bool]:
        """By the file's head; what an earlier passphrase doesn't open is locked."""
        kept = _read_json(self.path)
        if not kept:
            return "new" if self._passphrase is None else "passphrase", False
        if kept.get("key") == "file":
            return "key-file", False
        try:
            self._values()
        except VaultLocked:
            return "passphrase", True
        return "passphrase", False

    def unlock(self, passphrase: str) -> None:
        """Try it; a wrong one is let go of."""
        self.lock()
        self._passphrase = passphrase
        try:
            self._values()
        except VaultLocked:
            self._passphrase = None
            raise VaultLocked(NOT_IT) from None

    def lock(self) -> None:
        """Nothing that opens the file, and none of its values, stays here."""
        if _read_json(self.path).get("key") != "scrypt":
            raise VaultProblem(NOTHING_TO_LOCK)
        self._passphrase = self._held = self._cipher = None
        self._asks = False

    def set_passphrase(self, passphrase: str) -> None:
        """Write all of it anew."""
        values, before = self._values(), (self._passphrase, self._cipher)
        self._passphrase, self._cipher = passphrase, None
        try:
            self._write(values)
        except VaultProblem:
            self._passphrase, self._cipher = before
            raise

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
            raise (VaultLocked if head.get("key") == "scrypt" else VaultProblem)(WRONG) from None

    def _opener(self, head: Mapping[str, Any]) -> Any:
        from cryptography.fernet import Fernet

        if head.get("key") == "file":
            try:
                return Fernet(self._key_path.read_bytes())
            except OSError as error:
                raise VaultProblem(UNREADABLE.format(why=error.strerror)) from None
        if self._passphrase is None and self._asks:
            self._passphrase = self._ask() or None
        if self._passphrase is None:
            raise VaultLocked(LOCKED)
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
