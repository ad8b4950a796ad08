"""What no mode lifts once there is too much of it: deletes, one change over and over, messages (CB §2.11). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from app.guard.commands import Part, parse
from store.events import Event, FilesChanged, ToolFinished, ToolStarted
from store.limits import (
    COMMANDS_KEPT_PARSED,
    DELETES_ASK,
    MESSAGES_ASK,
    MESSAGES_REFUSED,
    SAME_CHANGE_ASKS,
)

_DELETERS: Final = frozenset("rm unlink shred rmdir srm trash trash-put rimraf del".split())  # noqa: SIM905 - a list
_DELETING_TOOLS: Final = frozenset(("forget",))
MESSAGE_TOOL: Final = "message_chat"

TOO_MANY: Final = (
    f"This chat sent {MESSAGES_REFUSED - 1} messages to other chats within a day, which is all that any chat may. "
    "Nothing was sent; tell the person instead."
)


@dataclass(frozen=True, slots=True)
class Counts:
    """What a call adds to. `deleted`, `same`, `sent`: before it, in this turn (the last: of the chat, within a day)."""

    deleted: int = 0
    deletes: int = 0  # by the call itself
    same: int = 0
    sends: bool = False
    sent: int = 0

    def refusal(self) -> str | None:
        """The sentence that no card lifts, or None."""
        return TOO_MANY if self.sends and self.sent + 1 >= MESSAGES_REFUSED else None

    def question(self) -> str | None:
        """What is asked in every mode, in words for the card; None: nothing.

        Asked at every fiftieth delete, tenth same change and hundredth message, not at each one after the first: a yes
        holds for the next so many. That `message_chat` never asks (decisions 16) is about what the chat read; this
        is about how much it sends, which the list of what no mode lifts names apart.
        """
        if _crosses(self.deleted, self.deletes, DELETES_ASK):
            return f"With it, this reply has deleted {self.deleted + self.deletes} files or more."
        if _crosses(self.same, 1, SAME_CHANGE_ASKS):
            return f"It makes the same change for the {self.same + 1}th time in this reply."
        if self.sends and _crosses(self.sent, 1, MESSAGES_ASK):
            return f"It is the chat's {self.sent + 1}th message to other chats within a day."
        return None


def _crosses(before: int, more: int, each: int) -> bool:
    """Whether a multiple of `each` is reached by `more`."""
    return more > 0 and (before + more) // each > before // each


def of_turn(events: Sequence[Event], name: str, given: Mapping[str, Any], command: str | None, sent: int = 0) -> Counts:
    """The counts for a call that may write, from its turn's events so far; `given`: its input as the log keeps it."""
    deletes = _deletes(name, command)
    ran = [e for e in events if isinstance(e, ToolStarted) and e.effect == "write"]
    changed: dict[str, int] = {}  # files that calls deleted, of those that changed any
    for event in events:
        if isinstance(event, FilesChanged) and event.call_id is not None:
            gone = sum(file.change == "deleted" for file in event.files)
            changed[event.call_id] = changed.get(event.call_id, 0) + gone
    deleted = sum(max(_deletes(e.name, _command(e)), changed.get(e.call_id, 0)) for e in ran) if deletes else 0
    well = {e.call_id for e in events if isinstance(e, ToolFinished) and e.status == "success"}
    same = sum(
        # a command that changed no file here made no change that can be known, such as tests run again
        e.call_id in (changed if e.family == "command" else well)
        for e in ran
        if e.name == name and e.input == given
    )
    return Counts(deleted, deletes, same, name == MESSAGE_TOOL, sent)


def _command(started: ToolStarted) -> str | None:
    said = started.input.get("command")
    return said if started.family == "command" and isinstance(said, str) else None


def _deletes(name: str, command: str | None) -> int:
    return deletes_of(command) if command is not None else int(name in _DELETING_TOOLS)


@lru_cache(maxsize=COMMANDS_KEPT_PARSED)
def deletes_of(command: str) -> int:
    """How many files a command names to be deleted; at least one for each part that deletes what it doesn't name."""
    return sum(_deleted_by(part) for part in parse(command).parts)


def _deleted_by(part: Part) -> int:
    words = [word for word in part.argv[1:] if not word.startswith("-")]
    if part.name in _DELETERS:
        return max(1, len(words))
    if part.name == "find" and "-delete" in part.argv:
        return 1
    return max(1, len(words) - 1) if part.name == "git" and words[:1] == ["rm"] else 0
