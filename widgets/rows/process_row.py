"""A background process: what runs and for how long, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from store.clock import Clock, SystemClock
from store.rows import AnyRow, ProcessRow
from store.text import safe_text
from widgets.line import Line, Piece, fit_pieces, spread
from widgets.marks import IDLE, WORKING, lasted
from widgets.row import Row

ENDS: Final = {"exited": "ended", "stopped": "stopped", "limit": "stopped at its limit", "closed": "ended with Shoal"}


SYSTEM: Final = SystemClock()


class Process(Row):
    """One line, or two where it is narrow; `s` stops it while it runs. Its time counts while it is seen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "stop", "Stop", id="row.stop", show=False)]
    kind = ProcessRow

    @dataclass
    class Stop(Message):
        """Stop the process."""

        key: str

    def __init__(self, model: ProcessRow) -> None:
        super().__init__(model.key)
        self.model = model
        self._timer: Timer | None = None
        self._told = ""  # the time that is drawn

    def on_mount(self) -> None:
        """Count on."""
        if self.model.ended is None:
            self._timer = self.set_interval(1, self._count)

    def _count(self) -> None:
        if self.model.ended is not None:
            if self._timer is not None:
                self._timer.stop()
        elif self.is_on_screen and self._ran() != self._told:
            self.changed()

    def _ran(self) -> str:
        """How long it runs or ran; "" where nobody saw its end."""
        clock: Clock = getattr(self.app, "clock", SYSTEM) if self.is_attached else SYSTEM
        end = self.model.ended_at if self.model.ended is not None else clock.now_ms()
        return lasted(max(0, end - self.model.at)) if end is not None else ""

    def show(self, model: AnyRow) -> None:
        """Take the process as it is now."""
        if isinstance(model, ProcessRow) and model != self.model:
            self.model = model
            self.changed()

    def make(self, width: int) -> list[Line]:
        """The command, whether it runs, and for how long."""
        model = self.model
        self._told = self._ran()
        command = safe_text(model.command, one_line=True, mark_bidi=True, limit=400)
        mark: Piece = (f"{WORKING} ", "accent") if model.ended is None else (f"{IDLE} ", "muted")
        left = [mark, ("In the background  ", "muted"), (command, "")]
        right: list[Piece] = [(f"running · {self._told} · ", "muted"), ("[s] ", "key"), ("stop", "link")]
        if model.ended is not None:
            failed = model.exit_code not in (None, 0)
            words = ENDS.get(model.ended, "ended") + (f" · code {model.exit_code}" if failed else "")
            right = [(words, "bad" if failed and model.ended == "exited" else "muted")]
            right += [(f" · {self._told}", "muted")] if self._told else []
        if Line((*left, *right)).cells < width:
            return [spread(left, right, width)]
        return [Line(fit_pieces(left, width)), Line(fit_pieces([("  ", ""), *right], width))]

    def press(self) -> None:
        """Nothing to open."""

    def action_stop(self) -> None:
        """Stop it."""
        if self.model.ended is None:
            self.post_message(self.Stop(self.key))
