"""Watches one reply for calls made over and over: pointed out first, then the reply is paused. Pure (ADR 0085)."""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from typing import Final

from app.ports import ToolCall
from store.limits import REPEATS_PAUSE, REPEATS_TOLD, REPEATS_WITHIN
from store.text import safe_name

# A command reads as much as it writes: tests that now fail elsewhere are no repetition. A write of another kind
# answers with an id or a count, which says nothing new, so there the call alone counts.
_ANSWER_COUNTS: Final = frozenset(("run_command",))
_MEANT_TO_REPEAT: Final = frozenset(("wait_for",))  # it takes its time, and is told when it is asked twice
_SECONDS = re.compile(r" after \d+(?:\.\d+)? s\b")  # a command's own line says how long it took

POINTED_OUT: Final = (
    "{name} was called {count} times with the same input{result}. Calling it again won't bring anything new: try "
    "another way, or say what is missing"
)
SAME_RESULT: Final = " and gave the same result"
PAUSED: Final = "Paused: {name} was called {count} times with the same input{result}. Carry on if it should go on."


class TurnWatch:
    """The calls of one turn, the newest `REPEATS_WITHIN` of them."""

    def __init__(self) -> None:
        self._calls: deque[tuple[str, str]] = deque(maxlen=REPEATS_WITHIN)
        self._told: set[str] = set()

    def saw(self, call: ToolCall, result: str, *, reads: bool) -> None:
        """A call has its result. `reads`: the tool only reads, so that another answer makes it another call."""
        if call.name in _MEANT_TO_REPEAT:
            return
        of_answer = reads or call.name in _ANSWER_COUNTS
        self._calls.append((call.name, key_of(call, result if of_answer else None)))
        self._told &= {key for _, key in self._calls if self._count(key) >= REPEATS_TOLD}

    def note(self) -> str | None:
        """What is to be pointed out to the model now, each repetition once; None: nothing."""
        lines = []
        for name, key in dict.fromkeys(self._calls):
            if self._count(key) >= REPEATS_TOLD and key not in self._told:
                self._told.add(key)
                lines.append(POINTED_OUT.format(**self._words(name, key)))
        return "; ".join(lines) or None

    def paused(self) -> str | None:
        """The sentence with which the turn pauses; None: it goes on."""
        for name, key in self._calls:
            if self._count(key) >= REPEATS_PAUSE:
                return PAUSED.format(**self._words(name, key))
        return None

    def _count(self, key: str) -> int:
        return sum(key == other for _, other in self._calls)

    def _words(self, name: str, key: str) -> dict[str, str]:
        result = SAME_RESULT if key.startswith("=") else ""
        return {"name": safe_name(name), "count": str(self._count(key)), "result": result}


def key_of(call: ToolCall, result: str | None) -> str:
    """What makes two calls the same: the name, the input whatever its spelling, and the result where it is given."""
    told = None if result is None else _SECONDS.sub("", result)
    words = json.dumps([call.name, canonical(call.args), told])
    return ("" if result is None else "=") + hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def canonical(args: str) -> str:
    """The input as one JSON text: keys in order, no spaces; what isn't JSON stays as it is."""
    try:
        return json.dumps(json.loads(args.strip() or "{}"), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return args
