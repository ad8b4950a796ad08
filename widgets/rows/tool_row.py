"""A tool call as one quiet line that opens."""

from __future__ import annotations

import json
from typing import Final

from store.rows import AnyRow, ToolRow
from store.text import safe_text
from widgets.line import Line, Piece, line, spread, wrap
from widgets.marks import FOLDED, OPEN, WORKING, lasted
from widgets.row import Row

OUTPUT_LINES: Final = 60
INPUT_CHARS: Final = 2_000
ENDS: Final = {"error": ("failed", "bad"), "unknown": ("may have run", "warn"), "pending": ("waiting", "muted")}


class ToolCall(Row):
    """What ran and how it ended; opened, what went in and what came out."""

    kind = ToolRow

    def __init__(self, model: ToolRow) -> None:
        super().__init__(model.key)
        self.model = model
        self.opened = False
        self._share = 1

    def show(self, model: AnyRow) -> None:
        """Take the call as it is now."""
        if isinstance(model, ToolRow) and model != self.model:
            self.model = model
            self.changed()

    def make(self, width: int) -> list[Line]:
        """One line, and the detail when it is open."""
        model = self.model
        running = model.status in ("running", "pending")
        mark = WORKING if model.status == "running" else OPEN if self.opened else FOLDED
        words = safe_text(model.label or model.name or "a tool", one_line=True, limit=400)
        left: list[Piece] = [(f"{mark} ", "accent" if model.status == "running" else "muted"), (words, "muted")]
        right: list[Piece] = []
        if not running and model.duration_ms >= 1000:
            right.append((lasted(model.duration_ms), "muted"))
        ending = ENDS.get(model.status)
        if ending:
            right.append((f"{' · ' if right else ''}{ending[0]}", ending[1]))
        out = [spread(left, right, width)]
        if self.opened:
            out.extend(self._detail(width))
        return out

    def _detail(self, width: int) -> list[Line]:
        out: list[Line] = []
        if self.model.input:
            given = json.dumps(self.model.input, ensure_ascii=False, indent=1, default=str)[:INPUT_CHARS]
            out.extend(wrap([(safe_text(given, mark_bidi=True), "muted")], width, first=("  ", "")))
        text = safe_text(self.model.output, mark_bidi=True).rstrip()
        bar = ("  │ ", "rule")
        lines = wrap([(text or "nothing came out", "" if text else "muted")], width, first=bar, rest=bar)
        most = OUTPUT_LINES * self._share
        out.extend(lines[:most])
        if len(lines) > most:
            out.append(line(f"  … {len(lines) - most:,} more lines · Enter shows more", "accent", "more"))
        return out

    def source(self) -> str:
        """The output."""
        return safe_text(self.model.output or self.model.label)

    def press(self) -> None:
        """Open or fold."""
        self.opened = not self.opened
        self.changed()
        self.post_message(self.Resized(self))

    def choose(self, target: str) -> None:
        """Show more of a long output."""
        self._share *= 8
        self.changed()
        self.post_message(self.Resized(self))
