"""Chat summaries: their table, and the copy in memory that lists are drawn from."""

from __future__ import annotations

import bisect
import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from store import db
from store.events import Origin, TaintSource, Usage
from store.models import ChatSummary

Query = Callable[..., list[Any]]  # (sql, arguments) -> rows, on the calling thread's connection

_DEFAULTS = {f.name: f.default for f in fields(ChatSummary)}


def encode(summary: ChatSummary) -> str:
    """The summary as JSON, without what has its default."""
    out: dict[str, Any] = {}
    for name, default in _DEFAULTS.items():
        value = getattr(summary, name)
        if value == default:
            continue
        if name == "usage":
            if used := value.model_dump(exclude_none=True):
                out[name] = used
        elif name == "taints":
            out[name] = [t.model_dump() for t in value]
        elif isinstance(value, Origin):
            out[name] = value.model_dump(exclude_none=True)
        else:
            out[name] = value
    return json.dumps(out, ensure_ascii=False)


def decode(body: str) -> ChatSummary:
    """The summary of `encode`; fields of a newer Shoal are left out. Raises ValueError or TypeError for anything else.

    By hand and not by pydantic, since a list of 20,000 chats is decoded at once.
    """
    raw = {k: v for k, v in json.loads(body).items() if k in _DEFAULTS}
    for name in ("origin", "recorded_origin"):
        if name in raw:
            raw[name] = Origin.model_validate(raw[name])
    if "taints" in raw:
        raw["taints"] = tuple(TaintSource.model_validate(t) for t in raw["taints"])
    if "usage" in raw:
        raw["usage"] = Usage.model_validate(raw["usage"])
    for name in ("others", "tools"):
        if name in raw:
            raw[name] = tuple(raw[name])
    return ChatSummary(**raw)


def is_working(summary: ChatSummary) -> bool:
    """Whether a turn runs, or waits for the person."""
    return summary.turn_id is not None or summary.status in ("running", "awaiting-permission")


def write(conn: db.Connection, summary: ChatSummary) -> None:
    """Put the summary in its table."""
    conn.execute(
        "INSERT INTO chat(id, last_active, last_id, archived, working, body) VALUES (?,?,?,?,?,?) "
        "ON CONFLICT(id) DO UPDATE SET last_active=excluded.last_active, last_id=excluded.last_id, "
        "archived=excluded.archived, working=excluded.working, body=excluded.body",
        (
            summary.id,
            summary.last_active,
            summary.last_id,
            summary.archived_at is not None,
            is_working(summary),
            encode(summary),
        ),
    )


def read(conn: db.Connection, chat: str) -> ChatSummary | None:
    """The summary as its table has it."""
    found = conn.execute("SELECT body FROM chat WHERE id=?", (chat,)).fetchone()
    return decode(found[0]) if found else None


def _place(summary: ChatSummary) -> tuple[int, str]:
    return (-summary.last_active, summary.id)


class Summaries:
    """Answers from memory what the `chat` table says.

    The writer thread calls `put` and `drop` after each commit; what it put is never replaced by an older reading.
    With `kept=False` (another process writes) every answer is read from the table.
    """

    def __init__(self, query: Query, *, kept: bool) -> None:
        self._query = query
        self._kept = kept
        self._lock = threading.Lock()
        self._known: dict[str, ChatSummary] = {}
        self._gone: set[str] = set()
        self._order: list[tuple[int, str]] | None = None  # of all chats, once all were read
        self._working: dict[str, ChatSummary] | None = None

    def one(self, chat: str) -> ChatSummary | None:
        """One chat's summary."""
        known = self._known.get(chat)
        if known is not None or self._order is not None:
            return known
        found = self._query("SELECT body FROM chat WHERE id=?", (chat,))
        return self._remember(decode(found[0][0])) if found else None

    def peek(self, chat: str) -> ChatSummary | None:
        """One chat's summary if it is in memory."""
        return self._known.get(chat)

    def all(self) -> list[ChatSummary]:
        """Every chat, newest first."""
        if self._order is None:
            read_now = self._read("SELECT body FROM chat ORDER BY last_active DESC, id")
            if not self._kept:
                return read_now
            with self._lock:
                for summary in read_now:
                    if summary.id not in self._gone:
                        self._known.setdefault(summary.id, summary)
                self._order = sorted(_place(s) for s in self._known.values())
        with self._lock:
            return [self._known[chat] for _, chat in self._order]

    def recent(self, limit: int, *, archived: bool) -> list[ChatSummary]:
        """The newest `limit` chats that are (or aren't) archived."""
        if self._order is None:
            return self._read(
                "SELECT body FROM chat WHERE archived=? ORDER BY last_active DESC, id LIMIT ?", (archived, limit)
            )
        out: list[ChatSummary] = []
        with self._lock:
            for _, chat in self._order:
                if len(out) >= limit:
                    break
                if (self._known[chat].archived_at is not None) == archived:
                    out.append(self._known[chat])
        return out

    def working(self) -> list[ChatSummary]:
        """The chats whose turn runs or waits for the person, newest first."""
        if self._working is None:
            read_now = self._read("SELECT body FROM chat WHERE working ORDER BY last_active DESC, id")
            if not self._kept:
                return read_now
            with self._lock:
                now = {s.id: self._known.get(s.id, s) for s in read_now if s.id not in self._gone}
                now |= self._known
                self._working = {k: s for k, s in now.items() if is_working(s)}
        with self._lock:
            return sorted(self._working.values(), key=_place)

    def put(self, summaries: Iterable[ChatSummary]) -> None:
        """What a commit made of the chats it wrote to."""
        with self._lock:
            for summary in summaries:
                old = self._known.get(summary.id)
                self._known[summary.id] = summary
                if self._order is not None and (old is None or _place(old) != _place(summary)):
                    if old is not None:
                        del self._order[bisect.bisect_left(self._order, _place(old))]
                    bisect.insort(self._order, _place(summary))
                if self._working is not None:
                    if is_working(summary):
                        self._working[summary.id] = summary
                    else:
                        self._working.pop(summary.id, None)

    def drop(self, chat: str) -> None:
        """A deleted chat."""
        with self._lock:
            self._gone.add(chat)
            old = self._known.pop(chat, None)
            if self._order is not None and old is not None:
                del self._order[bisect.bisect_left(self._order, _place(old))]
            if self._working is not None:
                self._working.pop(chat, None)

    def forget(self) -> None:
        """Read everything anew (after a rebuild)."""
        with self._lock:
            self._known, self._order, self._working = {}, None, None

    def _read(self, sql: str, args: tuple[Any, ...] = ()) -> list[ChatSummary]:
        found = [decode(r[0]) for r in self._query(sql, args)]
        return [self._known.get(s.id, s) for s in found if s.id not in self._gone]

    def _remember(self, summary: ChatSummary) -> ChatSummary:
        if not self._kept:
            return summary
        with self._lock:
            if summary.id in self._gone:
                return summary
            return self._known.setdefault(summary.id, summary)
