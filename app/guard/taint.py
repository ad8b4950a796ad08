"""What a chat read from outside, and what follows (ADR 0028, decisions.md 10)."""

from __future__ import annotations

from collections.abc import Iterable

from app.guard import secrets
from store.events import TaintSource
from store.limits import TAINT_LABEL_CHARS
from store.text import safe_name


def source(kind: str, label: str) -> TaintSource:
    """A source with its label filtered, made harmless and cut to 120 characters."""
    return TaintSource.model_validate({"kind": kind, "label": safe_name(secrets.clean(label), TAINT_LABEL_CHARS)})


def looked_at(title: str) -> TaintSource:
    """The mark a look brings from a tainted chat: `app`, never `person` (ADR 0059 §3)."""
    room = TAINT_LABEL_CHARS - len("your chat “”")
    return TaintSource(kind="app", label=f"your chat “{safe_name(secrets.clean(title), room)}”")


def has_person(taints: Iterable[TaintSource]) -> bool:
    """Whether someone else's words are in the chat."""
    return any(t.kind == "person" for t in taints)


def new_sources(had: Iterable[TaintSource], found: Iterable[TaintSource]) -> tuple[TaintSource, ...]:
    """Those of `found` that the chat doesn't carry yet, once each, in order."""
    known = {(t.kind, t.label) for t in had}
    fresh: list[TaintSource] = []
    for taint in found:
        if (key := (taint.kind, taint.label)) not in known:
            known.add(key)
            fresh.append(taint)
    return tuple(fresh)
