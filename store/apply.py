"""What a batch and a delete do inside the writer's transaction."""

from __future__ import annotations

from dataclasses import dataclass

from store import db, derived, summaries
from store.batch import Batch, Committed, NewEvent
from store.blobs import Blobs, refer, unrefer
from store.clock import Clock
from store.decode import body_of
from store.errors import ChatGone
from store.events import Stored
from store.limits import BIG_BODY_BYTES
from store.models import ChatSummary
from store.summary import fold_summary
from store.together import forget_chat

GONE_WORDS = "This chat was deleted."


@dataclass(frozen=True, slots=True)
class Removed:
    """A deleted chat, and the blobs only it needed."""

    chat: str
    blobs: tuple[str, ...]


class Apply:
    """Runs on the writer thread only; remembers what the transaction did to summaries until it is durable."""

    def __init__(self, clock: Clock, blobs: Blobs, known: summaries.Summaries) -> None:
        self._clock = clock
        self._blobs = blobs
        self._known = known
        self._made: dict[str, ChatSummary] = {}
        self._gone: set[str] = set()

    def batch(self, conn: db.Connection, batch: Batch) -> Committed:
        """Write the events, their summaries and rows, and the changes. Raises ChatGone for a deleted chat."""
        chats = [*(n.chat for n in batch.events), *(getattr(c, "chat", "") for c in batch.changes)]
        found = {chat: self._find(conn, chat) for chat in dict.fromkeys(chats)}
        out: list[Stored] = []
        made: dict[str, ChatSummary] = {}
        for new in batch.events:
            summary = made.get(new.chat) or found[new.chat] or ChatSummary(new.chat)
            stored = self._insert(conn, new, summary.last_seq + 1)
            made[new.chat] = fold_summary(summary, stored)
            out.append(stored)
        for summary in made.values():
            summaries.write(conn, summary)
        for change in batch.changes:
            change.apply(conn)
        self._made |= made
        last = out[-1].id if out else int(conn.execute("SELECT coalesce(max(id), 0) FROM event").fetchone()[0])
        return Committed(tuple(out), last)

    def remove(self, conn: db.Connection, chat: str) -> Removed | None:
        """Take the chat away and leave a tombstone; None when there is no such chat."""
        if chat in self._gone or self._find_quietly(conn, chat) is None:
            return None
        blobs = unrefer(conn, chat)
        for table in ("event", "row", "state", "live_text"):
            conn.execute(f"DELETE FROM {table} WHERE chat=?", (chat,))
        forget_chat(conn, chat)
        conn.execute("DELETE FROM chat WHERE id=?", (chat,))
        conn.execute("INSERT OR IGNORE INTO tombstone(id, at) VALUES (?,?)", (chat, self._clock.now_ms()))
        self._made.pop(chat, None)
        self._gone.add(chat)
        return Removed(chat, tuple(blobs))

    def rebuild(self, conn: db.Connection, chats: set[str]) -> None:
        """Make summaries and rows anew from the events."""
        for chat in chats:
            derived.rebuild(conn, chat, self._blobs.get)

    def committed(self) -> None:
        """What the transaction did is durable: lists may show it."""
        self._known.put(self._made.values())
        for chat in self._gone:
            self._known.drop(chat)
        self.rolled_back()

    def rolled_back(self) -> None:
        """The transaction left nothing."""
        self._made.clear()
        self._gone.clear()

    def _find(self, conn: db.Connection, chat: str) -> ChatSummary | None:
        summary = self._find_quietly(conn, chat)
        if summary is None and conn.execute("SELECT 1 FROM tombstone WHERE id=?", (chat,)).fetchone():
            raise ChatGone(GONE_WORDS)
        return summary

    def _find_quietly(self, conn: db.Connection, chat: str) -> ChatSummary | None:
        if chat in self._gone:
            return None
        return self._made.get(chat) or self._known.peek(chat) or summaries.read(conn, chat)

    def _insert(self, conn: db.Connection, new: NewEvent, seq: int) -> Stored:
        event, body = body_of(new.event)
        at = self._clock.now_ms() if new.at is None else new.at
        sha: str | None = None
        if len(body) > BIG_BODY_BYTES // 4 and len(data := body.encode()) > BIG_BODY_BYTES:
            sha, body = self._blobs.put(data), ""
            refer(conn, sha, new.chat)
        key = derived.row_key(Stored(0, new.chat, seq, at, event))
        cursor = conn.execute(
            "INSERT INTO event(chat, seq, at, type, v, row, body, blob) VALUES (?,?,?,?,?,?,?,?)",
            (new.chat, seq, at, event.type, event.v, key, body, sha),
        )
        stored = Stored(int(cursor.lastrowid or 0), new.chat, seq, at, event)
        if key is not None:
            derived.add_row(conn, stored, key)
        return stored
