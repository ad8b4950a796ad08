"""The index file: schema, what goes in, what is taken out. Derived from the log, so it may be deleted at any time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from store import db, vocab, words
from store.models import Span, Who
from store.places import Places
from store.projection import PROJECTION_VERSION, SaidLine

SCHEMA_VERSION: Final = 1
WHO: Final[tuple[Who, ...]] = ("you", "assistant", "them", "step")
WHO_CODE: Final = {who: code for code, who in enumerate(WHO)}
Spans = Callable[[str], Sequence[Span]]

TABLES = f"""
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS indexed(no INTEGER PRIMARY KEY, chat TEXT NOT NULL UNIQUE, last_id INTEGER NOT NULL,
  store_uuid TEXT NOT NULL, lines INTEGER NOT NULL, words INTEGER NOT NULL,
  private INTEGER NOT NULL DEFAULT 0, folder TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS msg(id INTEGER PRIMARY KEY, chat INTEGER NOT NULL, pos INTEGER NOT NULL,
  who INTEGER NOT NULL, len INTEGER NOT NULL, at INTEGER NOT NULL, anchor TEXT NOT NULL, name TEXT);
CREATE TABLE IF NOT EXISTS aside(id INTEGER PRIMARY KEY, spans TEXT, shown TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS f USING fts4(text, extra,
  tokenize=unicode61 "remove_diacritics=2", prefix="2,3", order=DESC);
{vocab.TABLE}
"""
INDEXES = """
CREATE UNIQUE INDEX IF NOT EXISTS msg_place ON msg(chat, pos);
CREATE INDEX IF NOT EXISTS msg_anchor ON msg(chat, anchor);
CREATE INDEX IF NOT EXISTS msg_name ON msg(name) WHERE name IS NOT NULL;
"""


@dataclass(slots=True)
class ChatEntry:
    """What the index knows of a chat: its number in the file, how far it is indexed, its size, and who may find it."""

    no: int
    chat: str
    last_id: int = 0
    store_uuid: str = ""
    lines: int = 0
    words: int = 0
    private: bool = False
    folder: str = ""


class Sizes:
    """How long chats are, for the chat scores: the writer's own entries, read by every search."""

    def __init__(self, by_no: Mapping[int, ChatEntry]) -> None:
        self._by_no = by_no
        self._counted = (-1, 1.0)

    def of(self, no: int) -> tuple[int, int]:
        """(lines, words) of a chat."""
        entry = self._by_no.get(no)
        return (entry.lines, entry.words) if entry else (0, 0)

    def average(self) -> float:
        """Words of an average chat; taken anew when the number of chats has changed."""
        count = len(self._by_no)
        if self._counted[0] != count:
            total = sum(e.words for e in list(self._by_no.values()))
            self._counted = (count, max(total / max(count, 1), 1.0))
        return self._counted[1]


@dataclass(slots=True)
class Prepared:
    """A line ready to be written; `shown` is None when the text column holds the text as shown."""

    line: SaidLine
    text: str
    extra: str
    spans: str | None
    shown: str | None


def prepare(line: SaidLine, spans: Spans) -> Prepared:
    """Everything that is worked out from a line's text."""
    text = line.text
    indexed = words.indexable(text)
    secret = spans(text)
    return Prepared(
        line,
        indexed,
        words.extra(text),
        json.dumps([[s, e] for s, e in secret]) if secret else None,
        None if indexed is text or indexed == text else text,
    )


def wanted_meta(spans_version: int, store_uuid: str) -> dict[str, str]:
    """What `meta` must say for a file to be used; any difference means a rebuild."""
    return {
        "schema": str(SCHEMA_VERSION),
        "projection": str(PROJECTION_VERSION),
        "spans": str(spans_version),
        "store": store_uuid,
    }


def connect(path: Path) -> db.Connection:
    """The writer's connection to an index file; a deleted chat's words don't stay in its free pages."""
    conn = db.connect(path, full_sync=False)
    conn.execute("PRAGMA secure_delete=ON")
    return conn


def create(path: Path, *, bulk: bool = False) -> db.Connection:
    """A new, empty index file; `bulk` leaves its secondary indexes for `finish_bulk`, and does without syncs."""
    conn = db.connect(path, full_sync=False) if bulk else connect(path)
    if bulk:
        conn.execute("PRAGMA secure_delete=OFF")  # nothing a person deleted is in it; merged segments are no secrets
        conn.execute("PRAGMA journal_mode=OFF")
        conn.execute("PRAGMA synchronous=OFF")
        conn.execute("PRAGMA cache_size=-65536")
    conn.executescript(TABLES)
    if not bulk:
        conn.executescript(INDEXES)
    return conn


def finish_bulk(conn: db.Connection, meta: dict[str, str]) -> None:
    """Optimise, count the words, make the secondary indexes, say what the file is: it is whole from here on."""
    conn.execute("INSERT INTO f(f) VALUES('optimize')")
    conn.executescript(INDEXES)
    vocab.rebuild(conn)
    write_meta(conn, meta)
    conn.execute("PRAGMA synchronous=FULL")
    conn.execute("PRAGMA journal_mode=WAL")


def write_meta(conn: db.Connection, meta: dict[str, str]) -> None:
    """Set values of `meta`."""
    conn.executemany("INSERT OR REPLACE INTO meta(key, value) VALUES (?,?)", list(meta.items()))


def has_enhanced_syntax() -> bool:
    """Whether this SQLite reads AND and parentheses in MATCH; python.org's build for Windows doesn't."""
    conn = db.connect_nothing()
    try:
        conn.execute("CREATE VIRTUAL TABLE probe USING fts4(t)")
        conn.execute("INSERT INTO probe VALUES ('a b')")
        return bool(conn.execute("SELECT count(*) FROM probe WHERE probe MATCH 'a AND b'").fetchone()[0])
    finally:
        conn.close()


def read_meta(conn: db.Connection) -> dict[str, str]:
    """All of `meta`."""
    return dict(conn.execute("SELECT key, value FROM meta").fetchall())


def entries(conn: db.Connection) -> dict[str, ChatEntry]:
    """Every indexed chat."""
    rows = conn.execute("SELECT no, chat, last_id, store_uuid, lines, words, private, folder FROM indexed")
    return {r[1]: ChatEntry(r[0], r[1], r[2], r[3], r[4], r[5], bool(r[6]), r[7]) for r in rows}


def speakers(conn: db.Connection) -> set[str]:
    """The folded words of the names of everyone who wrote."""
    rows = conn.execute("SELECT DISTINCT name FROM msg WHERE name IS NOT NULL")
    return {w for (name,) in rows for w in words.tokens(name)}


def save_entry(conn: db.Connection, entry: ChatEntry) -> None:
    """Write a chat's entry, in the same transaction as its lines."""
    conn.execute(
        "INSERT OR REPLACE INTO indexed(no, chat, last_id, store_uuid, lines, words, private, folder) "
        "VALUES (?,?,?,?,?,?,?,?)",
        (
            entry.no,
            entry.chat,
            entry.last_id,
            entry.store_uuid,
            entry.lines,
            entry.words,
            int(entry.private),
            entry.folder,
        ),
    )


def write(
    conn: db.Connection, items: Iterable[tuple[ChatEntry, Prepared]], first: int, places: Places | None = None
) -> int:
    """Write lines under ids from `first` on, counting them into their entries; answers the next free id.

    A line whose anchor the chat already has is left out (an event can't come twice, a rebuilt part may).
    """
    rows: list[tuple[int, int, int, int, int, int, str, str | None]] = []
    full: list[tuple[int, str, str]] = []
    aside: list[tuple[int, str | None, str | None]] = []
    for entry, p in items:
        line = p.line
        length = len(p.text.split()) + (len(p.extra.split()) if p.extra else 0)
        rows.append((first, entry.no, entry.lines, WHO_CODE[line.who], length, line.at, line.anchor, line.name))
        full.append((first, p.text, p.extra))
        if p.spans or p.shown is not None:
            aside.append((first, p.spans, p.shown))
        entry.lines += 1
        entry.words += length
        first += 1
    if places is not None and places.whole:
        for row, (_, text, more) in zip(rows, full, strict=True):
            places.add(row[0], row[1:5], words.terms(text, more))
    conn.executemany("INSERT INTO msg(id, chat, pos, who, len, at, anchor, name) VALUES (?,?,?,?,?,?,?,?)", rows)
    conn.executemany("INSERT INTO f(docid, text, extra) VALUES (?,?,?)", full)
    conn.executemany("INSERT INTO aside(id, spans, shown) VALUES (?,?,?)", aside)
    return first


def count_terms(conn: db.Connection, items: Iterable[Prepared]) -> Counter[str]:
    """Add the terms of newly written lines to the vocabulary (a bulk build counts them all at once instead)."""
    counted: Counter[str] = Counter()
    for p in items:
        counted.update(words.terms(p.text, p.extra))
    vocab.add(conn, counted)
    return counted


def remove_chat(conn: db.Connection, entry: ChatEntry) -> int:
    """Take a chat's lines out; answers how many there were."""
    ids = [r[0] for r in conn.execute("SELECT id FROM msg WHERE chat=?", (entry.no,))]
    gone: Counter[str] = Counter()
    for docid in ids:
        row = conn.execute("SELECT text, extra FROM f WHERE docid=?", (docid,)).fetchone()
        if row:
            gone.update(words.terms(row[0], row[1]))
    conn.executemany("DELETE FROM f WHERE docid=?", [(i,) for i in ids])
    conn.executemany("DELETE FROM aside WHERE id=?", [(i,) for i in ids])
    conn.execute("DELETE FROM msg WHERE chat=?", (entry.no,))
    conn.execute("DELETE FROM indexed WHERE no=?", (entry.no,))
    vocab.remove(conn, gone)
    return len(ids)


def next_id(conn: db.Connection) -> int:
    """The id after the newest line's; a higher id is a newer line."""
    return int(conn.execute("SELECT coalesce(max(id), 0) + 1 FROM msg").fetchone()[0])


def next_no(conn: db.Connection) -> int:
    """The number of the next new chat."""
    return int(conn.execute("SELECT coalesce(max(no), 0) + 1 FROM indexed").fetchone()[0])


@dataclass(slots=True)
class Texts:
    """A line as stored: raw text, its secret spans, and where it is."""

    docid: int
    chat: int
    pos: int
    who: Who
    at: int
    anchor: str
    name: str | None
    text: str
    spans: list[Span] = field(default_factory=list)


_TEXTS = (
    "SELECT m.id, m.chat, m.pos, m.who, m.at, m.anchor, m.name, coalesce(a.shown, c.c0text), a.spans "
    "FROM msg m JOIN f_content c ON c.docid = m.id LEFT JOIN aside a ON a.id = m.id WHERE "
)


def lines_by_id(conn: db.Connection, ids: Sequence[int]) -> dict[int, Texts]:
    """Lines with their texts."""
    found: dict[int, Texts] = {}
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        for row in conn.execute(f"{_TEXTS} m.id IN ({','.join('?' * len(part))})", part):
            found[row[0]] = _texts(row)
    return found


def texts_by_id(conn: db.Connection, ids: Sequence[int]) -> dict[int, str]:
    """The texts as they are indexed, secrets and all: to look at, never to show. At most a few hundred ids."""
    marks = ",".join("?" * len(ids))
    return dict(conn.execute(f"SELECT docid, c0text FROM f_content WHERE docid IN ({marks})", tuple(ids)).fetchall())


def lines_between(conn: db.Connection, no: int, low: int, high: int) -> list[Texts]:
    """The lines of a chat at positions low ≤ pos < high, in order."""
    return [
        _texts(r) for r in conn.execute(f"{_TEXTS} m.chat=? AND m.pos>=? AND m.pos<? ORDER BY m.pos", (no, low, high))
    ]


def position(conn: db.Connection, no: int, anchor: str) -> int | None:
    """Where an anchor is in its chat, counted from 0."""
    row = conn.execute("SELECT pos FROM msg WHERE chat=? AND anchor=? LIMIT 1", (no, anchor)).fetchone()
    return int(row[0]) if row else None


def _texts(row: tuple) -> Texts:  # type: ignore[type-arg]
    docid, chat, pos, who, at, anchor, name, text, spans = row
    return Texts(
        docid, chat, pos, WHO[who], at, anchor, name, text, [(s, e) for s, e in json.loads(spans)] if spans else []
    )
