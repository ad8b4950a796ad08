"""What isn't an event: drafts, the queue, folds, seen, and the text so far of a streaming message."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from store import db
from store.decode import whole
from store.summaries import Query


@dataclass(frozen=True, slots=True)
class KeepState:
    """Set one value of a chat's state (`draft`, `queue`, `seen`, `folds`); None removes it. "" is the app."""

    chat: str
    key: str
    value: Any

    def apply(self, conn: db.Connection) -> None:
        """Inside the batch."""
        if self.value is None:
            conn.execute("DELETE FROM state WHERE chat=? AND key=?", (self.chat, self.key))
        else:
            conn.execute(
                "INSERT INTO state(chat, key, value) VALUES (?,?,?) "
                "ON CONFLICT(chat, key) DO UPDATE SET value=excluded.value",
                (self.chat, self.key, json.dumps(self.value)),
            )


@dataclass(frozen=True, slots=True)
class KeepLiveText:
    """The text so far of a message that streams; text None removes it (in the batch of `assistant.done`)."""

    chat: str
    message_id: str
    kind: str
    text: str | None

    def apply(self, conn: db.Connection) -> None:
        """Inside the batch."""
        if self.text is None:
            conn.execute("DELETE FROM live_text WHERE chat=? AND message_id=?", (self.chat, self.message_id))
        else:
            conn.execute(
                "INSERT INTO live_text(chat, message_id, kind, text) VALUES (?,?,?,?) "
                "ON CONFLICT(chat, message_id, kind) DO UPDATE SET text=excluded.text",
                (self.chat, self.message_id, self.kind, whole(self.text)),
            )


@dataclass(frozen=True, slots=True)
class LiveText:
    """The text so far of a message whose end never came; `kind` is `text` or `thinking`."""

    chat: str
    message_id: str
    kind: str
    text: str


def read_live_texts(query: Query, chat: str | None) -> tuple[LiveText, ...]:
    """The texts so far, of one chat or of all."""
    where, args = ("", ()) if chat is None else (" WHERE chat=?", (chat,))
    return tuple(LiveText(*r) for r in query(f"SELECT chat, message_id, kind, text FROM live_text{where}", args))


def read_state(query: Query, chat: str, key: str) -> Any:
    """One value, or None."""
    found = query("SELECT value FROM state WHERE chat=? AND key=?", (chat, key))
    return json.loads(found[0][0]) if found else None


def read_states(query: Query, key: str) -> dict[str, Any]:
    """One value of every chat that has it."""
    return {chat: json.loads(value) for chat, value in query("SELECT chat, value FROM state WHERE key=?", (key,))}


def read_states_under(query: Query, prefix: str) -> dict[str, Any]:
    """The app's own values whose key begins with `prefix`, which ends in a slash; by what follows it."""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    found = query("SELECT key, value FROM state WHERE chat='' AND key >= ? AND key < ?", (prefix, end))
    return {key[len(prefix) :]: json.loads(value) for key, value in found}
