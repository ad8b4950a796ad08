"""Ids: a prefix and 16 base32 characters, made nowhere else."""

from __future__ import annotations

import base64
import hashlib
import secrets

CHAT, MESSAGE, CALL, PERMISSION, WAIT, TASK, LOOK, TURN = "c", "m", "t", "p", "w", "k", "l", "r"
CHANGE, PROCESS, MEMORY, CHAIN = "f", "s", "y", "h"


def new_id(prefix: str) -> str:
    """A fresh id such as `c_7k2m…` (80 random bits)."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(10)).decode().lower()}"


def import_prefix(source: str) -> str:
    """`i` and 4 characters that name the imported file or program, the same at every import of it."""
    digest = hashlib.sha256(source.encode("utf-8", "replace")).digest()
    return "i" + base64.b32encode(digest).decode().lower()[:4]


def imported_id(prefix: str, own: str) -> str:
    """The id of an imported chat or message: `iab12/` and the file's own id."""
    return f"{prefix}/{own}"
