"""What chats share beside their logs: messages, chains, waits, tasks and when routines last ran, a table each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

from store import db
from store.decode import whole
from store.events.together import MessageState, TaskKind, TaskState
from store.summaries import Query

SCHEMA = """
CREATE TABLE message(id TEXT PRIMARY KEY, sender TEXT NOT NULL, receiver TEXT NOT NULL, state TEXT NOT NULL,
  chain TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX message_open ON message(receiver) WHERE state IN ('waiting', 'held');
CREATE INDEX message_sender ON message(sender, at);
CREATE INDEX message_chain ON message(chain);
CREATE TABLE chain(id TEXT PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE wait(id TEXT PRIMARY KEY, chat TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX wait_chat ON wait(chat);
CREATE TABLE task(id TEXT PRIMARY KEY, parent TEXT NOT NULL, chat TEXT NOT NULL, state TEXT NOT NULL,
  body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX task_parent ON task(parent);
CREATE INDEX task_chat ON task(chat);
CREATE TABLE routine(id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message between two chats (decisions 23–25). `at` is epoch ms; `outside`: its sender had read such things."""

    id: str
    sender: str
    receiver: str
    text: str
    state: MessageState
    chain: str
    at: int
    start_reply: bool = False
    outside: bool = False
    stop: bool = False  # the reason of a `stop_chat`
    why: str | None = None
    words: str = ""  # white-space-folded, for the repeat rule
    passed: bool = False  # held, and let in by the person: it isn't held again


@dataclass(frozen=True, slots=True)
class Chain:
    """What one message of the person's led to. `replies` are those that messages started."""

    id: str
    at: int
    root: str = ""  # the chat whose person began it
    messages: int = 0
    replies: int = 0
    stopped: int = 0  # by the person: nothing more of it is sent or started
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class KeptWait:
    """A wait that lives on without its turn. `state`: watching, or ended and not yet heard, else it is gone."""

    id: str
    chat: str
    state: str  # "watching", "ended"
    spec: dict[str, Any] = field(default_factory=dict)
    started_at: int = 0
    deadline: int = 0
    tell: bool = False
    heard: dict[str, Any] = field(default_factory=dict)  # of an ended one: what the waking turn reads


@dataclass(frozen=True, slots=True)
class KeptTask:
    """A task's record. `chat` is its own; `parent` the one it came from."""

    id: str
    parent: str
    chat: str
    state: TaskState
    kind: TaskKind = "background"
    title: str = ""
    prompt: str = ""
    created_at: int = 0
    rev: int = 0
    body: dict[str, Any] = field(default_factory=dict)  # all else (room, result, worktree, steps): the task room's own


@dataclass(frozen=True, slots=True)
class KeptRoutine:
    """What is known of a routine's runs; the routine itself is in the settings."""

    id: str
    body: dict[str, Any] = field(default_factory=dict)


Row = SentMessage | Chain | KeptWait | KeptTask | KeptRoutine
T = TypeVar("T", bound=Row)

_TABLES: dict[type[Any], tuple[str, tuple[str, ...]]] = {  # the table, and the fields that have a column
    SentMessage: ("message", ("id", "sender", "receiver", "state", "chain", "at")),
    Chain: ("chain", ("id", "at")),
    KeptWait: ("wait", ("id", "chat", "state")),
    KeptTask: ("task", ("id", "parent", "chat", "state")),
    KeptRoutine: ("routine", ("id",)),
}


@dataclass(frozen=True, slots=True)
class Put:
    """Write a row, new or changed, in the batch of what it belongs to."""

    row: Row

    def apply(self, conn: db.Connection) -> None:
        """Inside the batch."""
        table, columns = _TABLES[type(self.row)]
        rest = {k: v for k, v in asdict(self.row).items() if k not in columns}
        values = [whole(v) if isinstance(v := getattr(self.row, c), str) else v for c in columns]
        marks = ",".join("?" * (len(columns) + 1))
        conn.execute(
            f"INSERT OR REPLACE INTO {table}({', '.join(columns)}, body) VALUES ({marks})",
            (*values, json.dumps(rest)),
        )


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove a row."""

    kind: type[Row]
    id: str

    def apply(self, conn: db.Connection) -> None:
        """Inside the batch."""
        conn.execute(f"DELETE FROM {_TABLES[self.kind][0]} WHERE id=?", (self.id,))


@dataclass(frozen=True, slots=True)
class ChainGrew:
    """Add to what a chain counts; a chain that is gone stays gone."""

    chain: str
    messages: int = 0
    replies: int = 0
    stopped: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def apply(self, conn: db.Connection) -> None:
        """Inside the batch."""
        names = [f.name for f in fields(self) if f.name != "chain" and getattr(self, f.name)]
        if names:
            sums = ", ".join(f"'$.{n}', coalesce(json_extract(body, '$.{n}'), 0) + ?" for n in names)
            args = (*(getattr(self, n) for n in names), self.chain)
            conn.execute(f"UPDATE chain SET body=json_set(body, {sums}) WHERE id=?", args)


def read(query: Query, kind: type[T], where: str = "1", args: Sequence[Any] = ()) -> list[T]:
    """The rows of a table that match, in the order of their ids; fields of a newer Shoal are left out."""
    table, columns = _TABLES[kind]
    known = {f.name for f in fields(kind)}
    out: list[T] = []
    for *values, body in query(
        f"SELECT {', '.join(columns)}, body FROM {table} WHERE {where} ORDER BY id", tuple(args)
    ):
        rest = {k: v for k, v in json.loads(body).items() if k in known}
        out.append(kind(**dict(zip(columns, values, strict=True)), **rest))
    return out


def forget_chat(conn: db.Connection, chat: str) -> None:
    """A deleted chat's messages, waits and tasks go with it."""
    conn.execute("DELETE FROM message WHERE sender=? OR receiver=?", (chat, chat))
    conn.execute("DELETE FROM wait WHERE chat=?", (chat,))
    conn.execute("DELETE FROM task WHERE parent=? OR chat=?", (chat, chat))
