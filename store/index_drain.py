"""Writing what a chat said since it was last looked at, a transaction at a time, and taking a chat out again."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator

from store import db, index, index_build, said
from store.limits import INDEX_DRAIN_MESSAGES, INDEX_DRAIN_SECONDS
from store.models import ChatSummary
from store.places import Places
from store.projection import project


def some(log: said.Log, spans: index.Spans, chat: str, after: int) -> tuple[list[index.Prepared], int, bool]:
    """One transaction's worth of a chat's lines, the last event looked at, and whether that was all."""
    started = time.monotonic()
    ready: list[index.Prepared] = []
    last_id = after
    for stored in said.after(log, chat, after):
        last_id = stored.id
        line = project(stored)
        if line is not None:
            ready.append(index.prepare(line, spans))
        if len(ready) >= INDEX_DRAIN_MESSAGES or time.monotonic() - started > INDEX_DRAIN_SECONDS:
            return ready, last_id, False
    return ready, last_id, True


def write(
    conn: db.Connection,
    summary: ChatSummary,
    entry: index.ChatEntry | None,
    ready: list[index.Prepared],
    last_id: int,
    store_uuid: str,
    places: Places | None = None,
) -> tuple[index.ChatEntry, list[index.Prepared], Counter[str]]:
    """Add lines to a chat; answers its new entry, the lines that weren't there yet, and their words."""
    with _transaction(conn):
        if entry is None:
            entry = index.ChatEntry(index.next_no(conn), summary.id, store_uuid=store_uuid)
        else:
            no = entry.no
            ready = [p for p in ready if index.position(conn, no, p.line.anchor) is None]
        grown = index.ChatEntry(entry.no, summary.id, last_id, entry.store_uuid, entry.lines, entry.words)
        grown.private, grown.folder = summary.private, summary.folder
        ready = index_build.unlike(ready)
        # an id is never given twice: what was found under it before would be looked up as another line
        first = max(index.next_id(conn), places.end if places else 0)
        index.write(conn, ((grown, p) for p in ready), first, places)
        counted = index.count_terms(conn, ready)
        index.save_entry(conn, grown)
    return grown, ready, counted


def forget(conn: db.Connection, entry: index.ChatEntry) -> int:
    """Take a chat out; answers how many lines it had."""
    with _transaction(conn):
        return index.remove_chat(conn, entry)


@contextlib.contextmanager
def _transaction(conn: db.Connection) -> Iterator[None]:
    conn.execute("BEGIN IMMEDIATE")
    try:
        yield
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise
