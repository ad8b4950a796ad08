"""Marks that commands laid down, judged again by today's rule when they are read (ADR 0028)."""

from __future__ import annotations

from collections.abc import Sequence

from app.guard.downloads import still_holds
from store.events import ProcessStarted, Stored, Taint, TaintSource, ToolStarted
from store.limits import MARKS_READ
from store.log import Store


class Marks:
    """A chat's marks as they count now; made anew for each turn, which keeps what it found to hold."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hold: set[tuple[str, str]] = set()  # (chat, label) of downloads

    def of(self, chat: str, marks: tuple[TaintSource, ...] | None) -> tuple[TaintSource, ...] | None:
        """Those that count. Only a `download` can fall away, and only when every command that left it is known.

        May read the chat's log: where it has such marks, once a turn.
        """
        if marks is None or all(self._counts(chat, mark) for mark in marks):
            return marks
        laid = self._laid(chat)
        for mark in marks:
            commands = laid.get((mark.kind, mark.label), [None])
            if any(command is None or still_holds(mark, command) for command in commands):
                self._hold.add((chat, mark.label))
        return tuple(mark for mark in marks if self._counts(chat, mark))

    def _counts(self, chat: str, mark: TaintSource) -> bool:
        return mark.kind != "download" or (chat, mark.label) in self._hold

    def _laid(self, chat: str) -> dict[tuple[str, str], list[str | None]]:
        """The commands that left each mark, as its events name their calls.

        None: no command of this chat's (a fork, an import and a task begin with such marks), so the mark stays.
        """
        out: dict[tuple[str, str], list[str | None]] = {}
        for stored in self._store.events_of_types(("taint",), limit=MARKS_READ, chat=chat):
            if isinstance(event := stored.event, Taint) and event.source.kind == "download":
                command = self._command(chat, event.call_id)
                out.setdefault((event.source.kind, event.source.label), []).append(command)
        return out

    def _command(self, chat: str, call_id: str | None) -> str | None:
        return None if call_id is None else self._command_of(chat, self._store.events_of_row(chat, call_id))

    def _command_of(self, chat: str, events: Sequence[Stored]) -> str | None:
        """The command of a call: its own, or that of the process whose output it read."""
        for stored in events:
            match stored.event:
                case ToolStarted(input={"command": str(command)}) | ProcessStarted(command=str(command)):
                    return command
                case ToolStarted(input={"process": str(process)}) | ToolStarted(input={"process_id": str(process)}):
                    return self._command_of(chat, self._store.events_of_row(chat, process))
        return None
