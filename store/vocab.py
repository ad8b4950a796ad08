"""The vocabulary: every term of the index with how many lines hold it, and its stem."""

from __future__ import annotations

from collections.abc import Mapping

from store import db, words

TABLE = """
CREATE TABLE IF NOT EXISTS vocab(term TEXT PRIMARY KEY, df INTEGER NOT NULL, stem TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS vocab_stem ON vocab(stem);
"""
FORMS = 8  # word forms of one query word, the most frequent first


def rebuild(conn: db.Connection) -> None:
    """Count everything anew from the full-text table (seconds at a million lines; worker only)."""
    conn.execute("DROP TABLE IF EXISTS temp.aux")
    conn.execute("CREATE VIRTUAL TABLE temp.aux USING fts4aux(main, f)")
    counted = conn.execute("SELECT term, max(documents) FROM temp.aux WHERE col='*' GROUP BY term")
    conn.execute("DELETE FROM vocab")
    conn.execute("BEGIN")
    conn.executemany(
        "INSERT INTO vocab(term, df, stem) VALUES (?,?,?)", ((t, df, words.stem(t)) for t, df in counted.fetchall())
    )
    conn.execute("COMMIT")
    conn.execute("DROP TABLE temp.aux")


def add(conn: db.Connection, counted: Mapping[str, int]) -> None:
    """Add to the counts, inside the caller's transaction."""
    conn.executemany(
        "INSERT INTO vocab(term, df, stem) VALUES (?,?,?) ON CONFLICT(term) DO UPDATE SET df=df+excluded.df",
        [(t, n, words.stem(t)) for t, n in counted.items()],
    )


def remove(conn: db.Connection, counted: Mapping[str, int]) -> None:
    """Take from the counts; a term nobody holds any more is forgotten."""
    conn.executemany("UPDATE vocab SET df=df-? WHERE term=?", [(n, t) for t, n in counted.items()])
    conn.executemany("DELETE FROM vocab WHERE term=? AND df<=0", [(t,) for t in counted])


def df(conn: db.Connection, term: str) -> int:
    """In how many lines a term is."""
    row = conn.execute("SELECT df FROM vocab WHERE term=?", (term,)).fetchone()
    return int(row[0]) if row else 0


def forms(conn: db.Connection, term: str) -> list[tuple[str, int]]:
    """The other terms with the same stem, most frequent first, with their counts."""
    rows = conn.execute(
        "SELECT term, df FROM vocab WHERE stem=? AND term<>? ORDER BY df DESC LIMIT ?", (words.stem(term), term, FORMS)
    )
    return [(t, n) for t, n in rows.fetchall()]


def prefix_df(conn: db.Connection, prefix: str) -> int:
    """About how many lines hold a word that starts so (lines with two such words count twice)."""
    row = conn.execute("SELECT sum(df) FROM vocab WHERE term>=? AND term<?", (prefix, prefix + "\U0010ffff")).fetchone()
    return int(row[0] or 0)
