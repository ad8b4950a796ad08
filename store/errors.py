"""What can go wrong in the store, each with one sentence for the person."""

from __future__ import annotations


class StoreError(Exception):
    """One sentence that says what is wrong and what to do; `code` is what headless and exit codes use."""

    code = "failed"


class StoreBroken(StoreError):
    """The store can't be read (exit 3)."""

    code = "broken"


class StoreNewer(StoreBroken):
    """A newer Shoal wrote this store; it was left as it is (exit 3)."""


class StoreReadOnly(StoreError):
    """Nothing can be saved: a read-only file or folder, or opened for reading."""

    code = "read-only"


class StoreFull(StoreError):
    """The disk is full; nothing half written."""

    code = "failed"


class StoreLocked(StoreError):
    """Another program kept the database locked for longer than is waited."""

    code = "busy"


class StoreMoved(StoreError):
    """The store's file isn't where it was: its folder was deleted or moved while Shoal ran."""

    code = "failed"


class StoreHeld(StoreError):
    """Another Shoal writes to this home (exit 4)."""

    code = "held"


class ChatGone(StoreError):
    """The chat was deleted; the batch was dropped whole."""

    code = "gone"
