"""The net under every view: a line filter that drops what a terminal obeys, should a view have forgotten to clean."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.filter import LineFilter

if TYPE_CHECKING:
    from textual.color import Color

# Controls, surrogates, direction and tag characters, and what shows nothing (ZWJ and VS15/16 join emoji and stay).
UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e0fff"
    + "".join(chr(plane + 0xFFFE) + chr(plane + 0xFFFF) for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)
PLAIN_LINK: Final = re.compile(r"https?://[!-~]+")


@lru_cache(4096)
def _clean(text: str) -> str:
    kept = UNSEEN.sub("", text)
    return kept + " " * max(0, cell_len(text) - cell_len(kept))


class Net(LineFilter):
    """Drops control and invisible characters, keeping each segment's width, and links that aren't plain http(s)."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments, harmless; the same list when there was nothing to drop."""
        out: list[Segment] | None = None
        for index, (text, style, control) in enumerate(segments):
            link = style.link if style is not None else None
            bad_link = link is not None and not PLAIN_LINK.fullmatch(link)
            if (text.isascii() and text.isprintable() and not bad_link) or control:
                continue
            cleaned = _clean(text)
            if cleaned != text or bad_link:
                out = out or list(segments)
                out[index] = Segment(cleaned, style.update_link(None) if style and bad_link else style, control)
        return segments if out is None else out


NET: Final = Net()  # one instance, since strips keep what a filter made of them
