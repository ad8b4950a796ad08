"""The tables of the store, and how an older store's become today's."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from store import db, ids, together
from store.errors import StoreNewer

Migration = Callable[[db.Connection], None]

NEWER_WORDS = (
    "This Shoal is older than the one that wrote your chats, so they weren't opened; nothing was changed. Update Shoal."
)

_FIRST = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE event(id INTEGER PRIMARY KEY AUTOINCREMENT, chat TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
  type TEXT NOT NULL, v INTEGER NOT NULL, row TEXT, body TEXT NOT NULL, blob TEXT);
CREATE UNIQUE INDEX event_chat ON event(chat, seq);
CREATE INDEX event_row ON event(chat, row) WHERE row IS NOT NULL;
CREATE TABLE row(chat TEXT NOT NULL, n INTEGER NOT NULL, row TEXT NOT NULL, first_seq INTEGER NOT NULL,
  PRIMARY KEY(chat, n)) WITHOUT ROWID;
CREATE UNIQUE INDEX row_key ON row(chat, row);
CREATE TABLE chat(id TEXT PRIMARY KEY, last_active INTEGER NOT NULL, last_id INTEGER NOT NULL,
  archived INTEGER NOT NULL, working INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX chat_recent ON chat(archived, last_active);
CREATE INDEX chat_working ON chat(id) WHERE working;
CREATE TABLE tombstone(id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE live_text(chat TEXT NOT NULL, message_id TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY(chat, message_id, kind)) WITHOUT ROWID;
CREATE TABLE state(chat TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(chat, key)) WITHOUT ROWID;
CREATE TABLE blob_ref(sha TEXT NOT NULL, chat TEXT NOT NULL, PRIMARY KEY(sha, chat)) WITHOUT ROWID;
CREATE INDEX blob_ref_chat ON blob_ref(chat)
"""


def _create_all(conn: db.Connection) -> None:
    for statement in _FIRST.split(";"):
        conn.execute(statement)
    conn.execute("INSERT INTO meta VALUES ('store_uuid', ?), ('last_event', '0')", (ids.new_id("s"),))


def _chats_together(conn: db.Connection) -> None:
    for statement in together.SCHEMA.split(";"):
        conn.execute(statement)


MIGRATIONS: Sequence[Migration] = (_create_all, _chats_together)  # number n brings a store of version n to n + 1


def version(conn: db.Connection) -> int:
    """The version of the tables; 0 for a database that has none."""
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


def migrate(conn: db.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the tables to the newest version, all in one transaction: a failed one leaves the old version whole.

    Raises StoreNewer, having changed nothing, for tables of a newer version.
    """
    have = version(conn)
    if have > len(migrations):
        raise StoreNewer(NEWER_WORDS)
    if have == len(migrations):
        return
    conn.execute("BEGIN IMMEDIATE")
    try:
        for step in migrations[have:]:
            step(conn)
        conn.execute(f"PRAGMA user_version={len(migrations)}")
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise


def create(path: Path) -> None:
    """A new, empty store: built beside `path` and renamed, so that a half made one never lies there."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    conn = db.connect_rebuilding(beside)
    try:
        migrate(conn)
    finally:
        conn.close()
    settle(beside, path)


def settle(beside: Path, path: Path) -> None:
    """Put a file written beside in its place, durably."""
    sync(beside)
    os.replace(beside, path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file or folder to the disk (a folder where the system can)."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except PermissionError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
