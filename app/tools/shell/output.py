"""What a command writes, held in constant memory: the beginning and the end, or the newest part with positions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from app.guard.quoting import defused, host_line
from store.limits import COMMAND_HEAD_BYTES, COMMAND_MARGIN_BYTES, COMMAND_TAIL_BYTES, PROCESS_KEPT_BYTES
from store.text import safe_text

Clean = Callable[[str], str]

_EDGE = COMMAND_MARGIN_BYTES // 4  # never shown beside a cut, whatever the filter shortened
_LAST_LINE_BYTES = 2_000 + 2 * _EDGE
_LAST_LINE_CHARS = 200


class Tail:
    """The newest bytes, and how many came in all."""

    def __init__(self, most: int) -> None:
        self._parts: deque[bytes] = deque()
        self._held = 0
        self._most = most
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take more; memory stays under twice the size."""
        self.total += len(data)
        data = data[-self._most :]
        self._parts.append(data)
        self._held += len(data)
        while self._held - len(self._parts[0]) >= self._most:
            self._held -= len(self._parts.popleft())
        if len(self._parts) > 256:  # many small pieces
            self._parts = deque([b"".join(self._parts)[-self._most :]])
            self._held = len(self._parts[0])

    def bytes(self) -> bytes:
        """The newest bytes, at most the size."""
        return b"".join(self._parts)[-self._most :]


class HeadTail:
    """The beginning and the end of an output of any size."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = Tail(COMMAND_TAIL_BYTES + COMMAND_MARGIN_BYTES)

    @property
    def total(self) -> int:
        """Bytes that came."""
        return self._tail.total

    def feed(self, data: bytes) -> None:
        """Take more."""
        room = COMMAND_HEAD_BYTES + COMMAND_MARGIN_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
        self._tail.feed(data)

    def last_line(self, clean: Clean) -> str:
        """The newest line with something in it, filtered and then cut."""
        return _newest(self._tail.bytes(), clean)

    def text(self, clean: Clean) -> str:
        """What is shown: filtered first, then cut, with a line of Shoal's where something is left out."""
        whole = COMMAND_HEAD_BYTES + COMMAND_TAIL_BYTES
        if self.total <= whole:
            data = bytes(self._head)
            if self.total > len(data):
                data += self._tail.bytes()[-(self.total - len(data)) :]
            return defused(clean(decoded(data)))
        head, tail = clean(decoded(bytes(self._head))), clean(decoded(self._tail.bytes()))
        head = head[: min(COMMAND_HEAD_BYTES, max(0, len(head) - _EDGE))]
        tail = tail[-min(COMMAND_TAIL_BYTES, max(1, len(tail) - _EDGE)) :]
        left_out = host_line(
            f"{self.total:,} bytes came out; the first {COMMAND_HEAD_BYTES:,} and the last {COMMAND_TAIL_BYTES:,} "
            "are shown, the middle isn't"
        )
        return f"{defused(head)}\n{left_out}\n{defused(tail)}"


class Ring:
    """A background process's output: the newest part, read on from a position."""

    def __init__(self) -> None:
        self._tail = Tail(PROCESS_KEPT_BYTES)

    @property
    def total(self) -> int:
        """Bytes that came, which is the position after the last."""
        return self._tail.total

    def feed(self, data: bytes) -> None:
        """Take more."""
        self._tail.feed(data)

    def last_line(self, clean: Clean) -> str:
        """The newest line with something in it, filtered and then cut."""
        return _newest(self._tail.bytes(), clean)

    def since(self, position: int, clean: Clean) -> tuple[str, int]:
        """What came after `position`, filtered and cut to the newest part, and how many bytes before it are gone."""
        data = self._tail.bytes()
        first = self.total - len(data)
        at = min(max(position, 0), self.total)
        begin = max(at, first, self.total - COMMAND_TAIL_BYTES)
        margin = max(first, begin - COMMAND_MARGIN_BYTES)  # filtered with what stood before it, then cut
        before = clean(decoded(data[margin - first : begin - first]))
        whole = clean(decoded(data[margin - first :]))
        text = whole[len(before) :] if whole.startswith(before) else whole[_shared(before, whole) :]
        return defused(text), begin - at


def _newest(data: bytes, clean: Clean) -> str:
    lines = clean(decoded(data[-_LAST_LINE_BYTES:])).strip().splitlines()
    line = lines[-1].strip() if lines else ""
    if len(lines) == 1 and len(data) > _LAST_LINE_BYTES:
        line = line[_EDGE:]  # it may begin in the middle of a secret
    return line[:_LAST_LINE_CHARS]


def _shared(one: str, other: str) -> int:
    """How many first characters are the same (a secret that spans the position is hidden whole)."""
    at = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        at += 1
    return at


def decoded(data: bytes) -> str:
    """The text, with what isn't UTF-8 replaced and nothing in it that a terminal obeys."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return safe_text(text, limit=len(text) + 1)
