"""What the card says, and what a refusal says to the model: whole sentences, from fixed templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from store.events import TaintKind, TaintSource

SOURCES_NAMED: Final = 3
_BY_KIND: Final[tuple[tuple[TaintKind, str], ...]] = (
    ("web", "read {}"),
    ("download", "downloaded {}"),
    ("app", "read things in {}"),
    ("person", "got a message from {}"),
)

PLAN: Final = "This chat is in Read only, so nothing is changed. Say what you would do, and let the person decide."
OWN: Final = (
    "Shoal's own files and commands are out of reach of every tool, in every mode. Don't try it another way; the "
    "person can do it themselves."
)
NO_FACTS: Final = "Shoal couldn't tell what this call would do, so it wasn't run. Try another way."


def read(taints: Sequence[TaintSource] | None) -> str:
    """What the chat read, in words by kind: at most three sources, then "and N more"; "" when it read nothing."""
    if taints is None:
        return "It can't be told what this chat has read"
    left, said = SOURCES_NAMED, []
    for kind, words in _BY_KIND:
        labels = list(dict.fromkeys(t.label for t in taints if t.kind == kind))[:left]
        if labels:
            said.append(words.format(_joined(labels)))
            left -= len(labels)
    more = len({(t.kind, t.label) for t in taints}) - (SOURCES_NAMED - left)
    if not said:
        return ""
    sentence = f"This chat {_joined(said)}"
    return f"{sentence}, and {more} more" if more > 0 else sentence


def caution(taints: Sequence[TaintSource] | None, about_to: str) -> str:
    """The card's one sentence after reading from outside."""
    what = read(taints)
    return f"{what}, which could be trying to steer the assistant; it is about to {about_to}." if what else ""


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
