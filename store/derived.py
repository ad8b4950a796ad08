"""What is computed from the events: summaries and row places. The log wins; this compares and rebuilds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from store import db, summaries
from store.decode import COLUMNS, stored_of
from store.events import Stored, UnknownEvent
from store.models import ChatSummary
from store.summary import fold_summary

Blob = Callable[[str], bytes | None]

_ADD_ROW = (
    "INSERT INTO row(chat, n, row, first_seq) "
    "SELECT ?1, coalesce((SELECT max(n) + 1 FROM row WHERE chat=?1), 0), ?2, ?3 "
    "WHERE NOT EXISTS (SELECT 1 FROM row WHERE chat=?1 AND row=?2)"
)
_ROWS = (
    "SELECT row_number() OVER (ORDER BY s) - 1 AS n, row, s AS first_seq FROM "
    "(SELECT row, min(seq) AS s FROM event WHERE chat=:chat AND row IS NOT NULL GROUP BY row) ORDER BY s"
)
# Each chat once by hops through the index, not by a walk over every event.
_CHATS = (
    "WITH RECURSIVE c(id) AS (SELECT min(chat) FROM event UNION ALL "
    "SELECT (SELECT min(chat) FROM event WHERE chat > c.id) FROM c WHERE c.id IS NOT NULL) "
    "SELECT id FROM c WHERE id IS NOT NULL"
)


def row_key(stored: Stored) -> str | None:
    """The row an event changes; an event of a newer Shoal has a quiet row of its own."""
    if isinstance(stored.event, UnknownEvent):
        return f"unknown-{stored.chat}-{stored.seq}"
    return stored.event.row()


def add_row(conn: db.Connection, stored: Stored, key: str) -> None:
    """Give a row its place in the chat, at its first event."""
    conn.execute(_ADD_ROW, (stored.chat, key, stored.seq))


def note_last(conn: db.Connection) -> None:
    """Record the highest event id, in every commit.

    `disagree` compares it at the next start. Besides, the page with the store's uuid is thereby in every generation
    of the WAL, which tells our own WAL from another store's.
    """
    conn.execute("UPDATE meta SET value=(SELECT coalesce(max(id), 0) FROM event) WHERE key='last_event'")


def ends_apart(conn: db.Connection) -> bool:
    """Whether the last event isn't the one recorded: a look that costs nothing."""
    found = conn.execute(
        "SELECT (SELECT value FROM meta WHERE key='last_event') = (SELECT coalesce(max(id), 0) FROM event)"
    ).fetchone()
    return not found[0]


def disagree(conn: db.Connection) -> set[str]:
    """The chats whose summary doesn't end where their events do, by a few index look-ups a chat."""
    events = {
        chat: conn.execute(
            "SELECT seq, id FROM event WHERE chat=? ORDER BY seq DESC LIMIT 1",
            (chat,),
        ).fetchone()
        for (chat,) in conn.execute(_CHATS).fetchall()
    }
    wrong = set(events)
    for chat, last_id, body in conn.execute("SELECT id, last_id, body FROM chat"):
        try:
            summary = summaries.decode(body)
        except (ValueError, TypeError):
            wrong.add(chat)
            continue
        if events.get(chat) == (summary.last_seq, last_id) == (summary.last_seq, summary.last_id):
            wrong.discard(chat)
        else:
            wrong.add(chat)
    return wrong | _rows_apart(conn, events)


def _rows_apart(conn: db.Connection, chats: Iterable[str]) -> set[str]:
    wrong = {r[0] for r in conn.execute("SELECT DISTINCT chat FROM row")} - set(chats)
    for chat in chats:
        places, last = conn.execute(
            "SELECT coalesce((SELECT max(n) + 1 FROM row WHERE chat=?1), 0), "
            "(SELECT row FROM event WHERE chat=?1 AND row IS NOT NULL ORDER BY seq DESC LIMIT 1)",
            (chat,),
        ).fetchone()
        if last is not None and not conn.execute("SELECT 1 FROM row WHERE chat=? AND row=?", (chat, last)).fetchone():
            wrong.add(chat)
        if last is None and places:
            wrong.add(chat)
    return wrong


def verify(conn: db.Connection, blob: Blob) -> set[str]:
    """The chats whose summary or rows aren't what their events make of them: reads every event."""
    wrong = disagree(conn)
    for (chat,) in conn.execute(_CHATS).fetchall():
        if chat in wrong:
            continue
        kept = conn.execute("SELECT n, row, first_seq FROM row WHERE chat=? ORDER BY n", (chat,)).fetchall()
        rows = conn.execute(_ROWS, {"chat": chat}).fetchall()
        if kept != rows or summaries.read(conn, chat) != folded(chat, _events(conn, chat, blob)):
            wrong.add(chat)
    return wrong


def rebuild(conn: db.Connection, chat: str, blob: Blob) -> ChatSummary | None:
    """Make a chat's summary and rows anew from its events, inside the caller's transaction; None: it has no events."""
    summary = folded(chat, _events(conn, chat, blob))
    conn.execute("DELETE FROM row WHERE chat=?", (chat,))
    conn.execute("DELETE FROM chat WHERE id=?", (chat,))
    if summary is not None:
        conn.execute(f"INSERT INTO row(chat, n, row, first_seq) SELECT :chat, * FROM ({_ROWS})", {"chat": chat})
        summaries.write(conn, summary)
    return summary


def folded(chat: str, events: Iterable[Stored]) -> ChatSummary | None:
    """A chat's summary from all its events; None without any."""
    summary: ChatSummary | None = None
    for stored in events:
        summary = fold_summary(summary or ChatSummary(chat), stored)
    return summary


def _events(conn: db.Connection, chat: str, blob: Blob) -> Iterator[Stored]:
    rows: Iterator[tuple[Any, ...]] = conn.execute(f"SELECT {COLUMNS} FROM event WHERE chat=? ORDER BY seq", (chat,))
    return (stored_of(r, blob) for r in rows)
