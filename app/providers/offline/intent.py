"""What a reading of the person's words is, and the patterns that more than one reading uses; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from app.providers.offline.dates import Days
from app.providers.offline.titles import Named

Kind = Literal[
    "search",
    "read",
    "list",
    "message",
    "wait",
    "stop",
    "remember",
    "recall",
    "task",
    "help",
    "connect",
    "commands",
    "thanks",
    "greeting",
    "manners",
    "write",
    "unknown-chat",
]


@dataclass(frozen=True, slots=True)
class Intent:
    """One reading of the person's words: the tool to call with its arguments, or none and what to say."""

    kind: Kind
    tool: str | None = None
    args: dict[str, Any] = field(default_factory=dict)
    about: str = ""  # what was looked for, for the answer
    decision: bool = False  # asked what was decided
    context: bool = False  # the lines around the best one are wanted too (a plan, a list, steps)
    named: Named | None = None
    days: Days | None = None


def word_set(words: str) -> frozenset[str]:
    """The words of a list that is easier read as text."""
    return frozenset(words.split())


PAST = re.compile(
    r"\b(?:did (?:i|we|you)|(?:i|we|you)(?:'ve| have| had)? (?:said|told|talked|discussed|decided|agreed|mentioned|"
    r"gave|made|picked|chose|saw|used|did)|have (?:i|we|you)|were (?:i|we)|where (?:i|we) (?:left|stopped)|earlier|"
    r"last time|previous(?:ly)?|remember|remind me|my (?:other |old |earlier )?chats?|before\b|again\b|conversations?)",
    re.IGNORECASE,
)
