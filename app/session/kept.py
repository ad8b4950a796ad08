"""Reads of the store's tables that aren't events."""

from __future__ import annotations

from typing import Any

from store.log import Store


def state(store: Store, chat: str, key: str) -> Any:
    """One value of a chat's state, or None."""
    read = getattr(store, "state", None)
    return read(chat, key) if read else None


def live_texts(store: Store, chat: str | None) -> list[tuple[str, str, str, str]]:
    """Leftover texts as (chat, message_id, kind, text)."""
    read = getattr(store, "live_texts", None)
    return [(t.chat, t.message_id, t.kind, t.text) for t in read(chat)] if read else []
