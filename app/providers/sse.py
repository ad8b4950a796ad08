"""Server-sent events cut out of a byte stream, however the network split it; linear in what comes."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
EVENT_BYTES_MOST = 16 * 1024 * 1024  # one line or event longer than this is no answer of a model


class EventTooLong(ValueError):
    """A line or an event has no end."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name ("" when the server gave none) and its data lines joined."""

    name: str
    data: bytes


class EventSplitter:
    """Feed it bytes, take whole events; half lines, and lines split inside a character, wait for the rest.

    `lines` counts the whole lines seen, comments and blank ones too: a sign of life that a dripped byte isn't.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # pieces of the line that has no end yet
        self._rest_bytes = 0
        self._name = ""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._first = True
        self.lines = 0

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that `chunk` completes; raises EventTooLong."""
        if b"\n" not in chunk and b"\r" not in chunk and not (self._rest and self._rest[-1].endswith(b"\r")):
            self._keep(chunk)
            return []
        whole = b"".join(self._rest) + chunk
        self._rest, self._rest_bytes = [], 0
        if self._first:
            whole = whole.removeprefix(b"\xef\xbb\xbf")
            self._first = False
        lines = _LINE_END.split(whole)
        self._keep(lines.pop())
        return [event for line in lines if (event := self._line(line)) is not None]

    def end(self) -> list[ServerEvent]:
        """What is left when the stream ends: an event whose blank line the server forgot."""
        line = b"".join(self._rest).rstrip(b"\r")
        self._rest = []
        out = [self._line(line)] if line else []
        out.append(self._line(b""))
        return [event for event in out if event is not None]

    @property
    def left(self) -> bytes:
        """The line that has no end yet."""
        return b"".join(self._rest)

    def _keep(self, piece: bytes) -> None:
        """Hold a half line."""
        if piece:
            self._rest.append(piece)
            self._rest_bytes += len(piece)
        if self._rest_bytes + self._data_bytes > EVENT_BYTES_MOST:
            raise EventTooLong

    def _line(self, line: bytes) -> ServerEvent | None:
        """Take one line; the event it ends, if it does."""
        self.lines += 1
        if not line:
            if not self._data:
                self._name = ""
                return None
            event = ServerEvent(self._name, b"\n".join(self._data))
            self._name, self._data, self._data_bytes = "", [], 0
            return event
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value)
            if self._data_bytes > EVENT_BYTES_MOST:
                raise EventTooLong
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None  # comments, ids, retry hints and unknown fields
