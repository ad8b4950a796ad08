"""Big bodies as files named by their hash, durable before the commit that points at them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from store import db
from store.tables import sync


class Blobs:
    """`blobs/<sha256>` of one home. A file nothing points at is harmless; it goes when a chat is deleted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Write `data` durably and answer its hash. Raises OSError, leaving nothing behind, when it can't."""
        sha = hashlib.sha256(data).hexdigest()
        path = self.folder / sha
        try:
            if path.stat().st_size == len(data):
                return sha
        except FileNotFoundError:
            self.folder.mkdir(mode=0o700, exist_ok=True)
        beside = self.folder / f".{sha}.new"
        try:
            handle = os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(handle, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            os.replace(beside, path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise
        sync(self.folder)
        return sha

    def get(self, sha: str) -> bytes | None:
        """The bytes, or None when the file is gone or isn't what its name says."""
        try:
            data = (self.folder / sha).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == sha else None

    def remove(self, shas: Iterable[str]) -> None:
        """Take files away; one that can't be removed stays, unreferenced."""
        for sha in shas:
            try:
                (self.folder / sha).unlink(missing_ok=True)
            except OSError:
                continue


@dataclass(frozen=True, slots=True)
class KeepBlob:
    """Keep `data` for a chat (a change-set's pre-image), durable with the batch and gone with the chat.

    `sha` is its name for `Store.blobs.get`.
    """

    blobs: Blobs
    chat: str
    data: bytes

    @property
    def sha(self) -> str:
        """The sha256 it is kept under."""
        return hashlib.sha256(self.data).hexdigest()

    def apply(self, conn: db.Connection) -> None:
        """Inside the batch; on the writer thread, so that no delete takes the file away in between."""
        refer(conn, self.blobs.put(self.data), self.chat)


@dataclass(frozen=True, slots=True)
class LetBlobGo:
    """A chat no longer needs a blob (an expired pre-image); what nothing needs goes from the disk.

    A long event of the chat with the very same bytes keeps it.
    """

    blobs: Blobs
    chat: str
    sha: str

    def apply(self, conn: db.Connection) -> None:
        """Inside the batch; on the writer thread, so that nothing takes it up in between."""
        if conn.execute("SELECT 1 FROM event WHERE chat=? AND blob=?", (self.chat, self.sha)).fetchone():
            return
        conn.execute("DELETE FROM blob_ref WHERE sha=? AND chat=?", (self.sha, self.chat))
        if not conn.execute("SELECT 1 FROM blob_ref WHERE sha=?", (self.sha,)).fetchone():
            self.blobs.remove([self.sha])


def refer(conn: db.Connection, sha: str, chat: str) -> None:
    """Note that a chat needs a blob."""
    conn.execute("INSERT OR IGNORE INTO blob_ref(sha, chat) VALUES (?, ?)", (sha, chat))


def unrefer(conn: db.Connection, chat: str) -> list[str]:
    """Forget what a chat needed; answers the blobs that nothing needs any more."""
    mine = [r[0] for r in conn.execute("SELECT sha FROM blob_ref WHERE chat=?", (chat,))]
    conn.execute("DELETE FROM blob_ref WHERE chat=?", (chat,))
    return [s for s in mine if not conn.execute("SELECT 1 FROM blob_ref WHERE sha=?", (s,)).fetchone()]
