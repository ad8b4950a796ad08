"""Building an index file anew from everything said, and what tells that a chat isn't as it was indexed."""

from __future__ import annotations

from collections.abc import Callable

from store import db, index, said
from store.limits import REBUILD_BATCH
from store.models import ChatSummary
from store.projection import project


def build(
    conn: db.Connection,
    log: said.Log,
    spans: index.Spans,
    summaries: dict[str, ChatSummary],
    stopped: Callable[[], bool] = lambda: False,
) -> dict[str, index.ChatEntry] | None:
    """Fill a new file with everything said, in the order of time; None when stopped half way."""
    through, uuid = log.last_id(), log.store_uuid()
    known: dict[str, index.ChatEntry] = {}
    batch: list[tuple[index.ChatEntry, index.Prepared]] = []
    first = 1
    for stored in said.by_time(log):
        entry = known.get(stored.chat)
        if entry is None:
            entry = known[stored.chat] = index.ChatEntry(len(known) + 1, stored.chat, store_uuid=uuid)
        line = project(stored) if stored.id <= through else None
        if line is None:
            continue
        batch.append((entry, index.prepare(line, spans)))
        if len(batch) >= REBUILD_BATCH:
            first = _flush(conn, batch, first)
            if stopped():
                return None
    _flush(conn, batch, first)
    for summary in summaries.values():
        entry = known.get(summary.id)
        if entry is None:
            entry = known[summary.id] = index.ChatEntry(len(known) + 1, summary.id, store_uuid=uuid)
        entry.last_id = min(summary.last_id, through)
        entry.private, entry.folder = summary.private, summary.folder
    conn.execute("BEGIN")
    for entry in known.values():
        index.save_entry(conn, entry)
    conn.execute("COMMIT")
    return known


def _flush(conn: db.Connection, batch: list[tuple[index.ChatEntry, index.Prepared]], first: int) -> int:
    conn.execute("BEGIN")
    first = index.write(conn, batch, first)
    conn.execute("COMMIT")
    batch.clear()
    return first


def apart(entry: index.ChatEntry, summary: ChatSummary, store_uuid: str) -> bool:
    """Whether the log has more or less of a chat than is indexed, or the chat is another's or may be seen by others."""
    return (
        entry.last_id != summary.last_id
        or entry.store_uuid != store_uuid
        or entry.private != summary.private
        or entry.folder != summary.folder
    )


def unlike(ready: list[index.Prepared]) -> list[index.Prepared]:
    """One line an anchor."""
    return list({p.line.anchor: p for p in ready}.values())
