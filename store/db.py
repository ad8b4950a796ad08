"""SQLite, in one place: connections, pragmas, and which failures mean what."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

Connection = sqlite3.Connection
DatabaseError = sqlite3.DatabaseError
OperationalError = sqlite3.OperationalError


def connect(path: Path, *, readonly: bool = False, full_sync: bool = True) -> Connection:
    """A connection in autocommit mode (transactions are begun by hand), WAL, file mode 0600."""
    if readonly:
        conn = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
    else:
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        conn = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        conn.execute("PRAGMA journal_mode=WAL")
        conn.execute(f"PRAGMA synchronous={'FULL' if full_sync else 'NORMAL'}")
    conn.execute("PRAGMA busy_timeout=5000")
    return conn
