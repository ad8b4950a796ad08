"""Markdown that grows: finished blocks are kept, only the open tail is parsed and laid out again."""

from __future__ import annotations

import re
from typing import Final

from store.text import safe_text
from widgets.line import BLANK, Line
from widgets.markdown import lay_out, open_fence, parse

_GOES_ON: Final = re.compile(r"[ \t]|[-*+>|]|\d{1,9}[.)]|\[[^\]]*\]:")  # may belong to the block before
TAIL_CHARS: Final = 4_000  # a longer open tail is closed at a line, so that a frame stays cheap


class Growing:
    """The lines of a text so far; asks only for the tail's work when the text grew at its end."""

    def __init__(self) -> None:
        self._width = 0
        self._done = ""  # what is laid out for good
        self._kept: list[Line] = []
        self._fence = ""  # the line that opened the fence `_done` ends in

    def lines(self, text: str, width: int) -> list[Line]:
        """The text's lines at `width`."""
        if width != self._width or not text.startswith(self._done):
            self._width, self._done, self._kept, self._fence = width, "", [], ""
        self._close(text)
        tail = self._laid(text[len(self._done) :])
        if self._kept and tail and not self._fence:
            return [*self._kept, BLANK, *tail]
        return [*self._kept, *tail]

    def _laid(self, part: str) -> list[Line]:
        if not part.strip():
            return []
        return lay_out(parse(safe_text(f"{self._fence}\n{part}" if self._fence else part)), self._width)

    def _close(self, text: str) -> None:
        """Move `_done` to the last place where a block surely ended."""
        start = len(self._done)
        tail = text[start:]
        if self._fence:
            self._close_fence(tail)
            return
        cut = tail.rfind("\n\n")
        while cut > 0:
            head, after = tail[: cut + 2], tail[cut + 2 :]
            if after and not _GOES_ON.match(after) and not open_fence(head):
                self._keep(head)
                return
            cut = tail.rfind("\n\n", 0, cut)
        if len(tail) > TAIL_CHARS and (fence := open_fence(tail)):
            cut = tail.rfind("\n", 0, len(tail) - 1)
            if cut > 0 and open_fence(tail[: cut + 1]) == fence:
                self._keep(tail[: cut + 1])
                self._fence = fence

    def _close_fence(self, tail: str) -> None:
        """Inside a long fence every whole line is done."""
        cut = tail.rfind("\n", 0, max(0, len(tail) - 1))
        if cut > TAIL_CHARS and open_fence(f"{self._fence}\n{tail[: cut + 1]}"):
            fence = self._fence
            self._keep(tail[: cut + 1])
            self._fence = fence

    def _keep(self, head: str) -> None:
        more = self._laid(head)
        if self._kept and more and not self._fence:
            self._kept.append(BLANK)
        self._kept.extend(more)
        self._done += head


def cut_text(text: str, most: int) -> str:
    """The beginning of a long text, cut at a line where one ends near."""
    if len(text) <= most:
        return text
    cut = text.rfind("\n", most // 2, most)
    return text[: cut if cut > 0 else most]
