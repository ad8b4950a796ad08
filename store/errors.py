"""What can go wrong in the store, each with one sentence for the person."""

from __future__ import annotations


class StoreError(Exception):
    """One sentence that says what is wrong and what to do; `code` is what headless and exit codes use."""

    code = "failed"


class StoreBroken(StoreError):
    """The store can't be read (exit 3)."""

    code = "broken"


class StoreReadOnly(StoreError):
    """Nothing can be saved: a read-only file or folder, or opened for reading."""

    code = "read-only"


class StoreFull(StoreError):
    """The disk is full; nothing half written."""

    code = "failed"


class StoreHeld(StoreError):
    """Another Shoal writes to this home (exit 4)."""

    code = "held"


class ChatGone(StoreError):
    """The chat was deleted; the batch was dropped whole."""

    code = "gone"
