"""The waiting row: what a chat waits for, how it stands, and how it ended."""

from __future__ import annotations

from typing import Final

from textual.timer import Timer

from store.clock import Clock, SystemClock
from store.limits import WAIT_CLOCKED
from store.rows import AnyRow, WaitRow
from store.text import safe_text
from widgets.line import Line, Piece, spread, wrap
from widgets.marks import clock_time, count, lasted
from widgets.rows.acting_row import ActingRow, Deed

HEADS: Final = {
    "watching": "Waiting for",
    "done": "Waited for",
    "timed-out": "Gave up waiting for",
    "stopped": "Stopped waiting for",
    "failed": "Couldn't watch",
}
PARTS: Final = {"waiting": "·", "running": "●", "passed": "✓", "failed": "✗", "skipped": "–"}
PART_STYLES: Final = {"waiting": "muted", "running": "accent", "passed": "good", "failed": "bad", "skipped": "muted"}
TONES: Final = {"good": "good", "bad": "bad", "neutral": "muted", None: "muted"}
SYSTEM: Final = SystemClock()


class WaitingRow(ActingRow):
    """`o` opens what it waits for, `c` looks now, `s` stops waiting. Its time counts once a second while it is seen."""

    kind = WaitRow
    indent = "   "

    def __init__(self, model: WaitRow) -> None:
        super().__init__(model.key)
        self.model = model
        self._timer: Timer | None = None
        self._told = ("", "")

    def on_mount(self) -> None:
        """Count on."""
        super().on_mount()
        self._timer = self.set_interval(1, self._count)

    def _count(self) -> None:
        wait = self.model.wait
        if wait is None or wait.state != "watching":
            if self._timer is not None:
                self._timer.stop()
            return
        if self.is_on_screen and (self._elapsed(), self._looks()) != self._told:
            self.changed()

    def show(self, model: AnyRow) -> None:
        """Take the wait as it is now."""
        if isinstance(model, WaitRow) and model != self.model:
            self.model = model
            self.changed()

    def _elapsed(self) -> str:
        wait = self.model.wait
        if wait is None or not wait.started_at:
            return ""
        return lasted(max(0, (wait.ended_at or self._now()) - wait.started_at))

    def make(self, width: int) -> list[Line]:
        """The headline, the parts, the status, and the foot."""
        wait = self.model.wait
        if wait is None:
            return []
        watching = wait.state == "watching"
        self._told = (self._elapsed(), self._looks())
        title = safe_text(wait.title, one_line=True, limit=160)
        head = f"{HEADS[wait.state]} {title}"
        if wait.headline and not watching:
            head = safe_text(wait.headline, one_line=True, limit=300)
        if wait.kind == "time" and watching and wait.deadline:
            head = f"Waiting until {clock_time(wait.deadline - 60_000)}"
        mark: Piece = ("⏳ ", "accent") if watching else ("   ", "")
        out = [spread([mark, (head, "")], [(self._told[0], "muted")], width)]
        if wait.parts:
            dots: list[Piece] = [(f"{PARTS[p.state]}", PART_STYLES[p.state]) for p in wait.parts]
            bad = sum(p.state == "failed" for p in wait.parts)
            words = count(len(wait.parts), "check") + (f", {bad} failed" if bad else "")
            out += wrap([*dots, (f"  {words}", "muted")], width, first=("   ", ""), rest=("   ", ""))
        if wait.status and (watching or wait.status not in (wait.headline or "")):
            status = safe_text(wait.status, one_line=True, limit=300)
            out += wrap([(status, TONES[wait.tone])], width, first=("   ", ""), rest=("   ", ""))
        if watching:
            foot = [self._looks()]
            foot += ["you can keep chatting"] * wait.wakes + ["you'll be told"] * wait.tell
            out += wrap([(" · ".join(w for w in foot if w), "muted")], width, first=("   ", ""), rest=("   ", ""))
        line = self.foot(width)
        return [*out, line] if line else out

    def _looks(self) -> str:
        """When it is looked at next."""
        wait = self.model.wait
        if wait is None or wait.kind not in WAIT_CLOCKED:
            return "" if wait is None or wait.kind == "time" else "watching live"
        if wait.next_check_at is None:
            return "looks now and then"
        left = wait.next_check_at - self._now()
        return f"next look in {lasted(left)}" if left >= 1_000 else "looking now"

    def _now(self) -> int:
        clock: Clock = getattr(self.app, "clock", SYSTEM) if self.is_attached else SYSTEM
        return clock.now_ms()

    def deeds(self) -> list[Deed]:
        """Only what applies."""
        wait = self.model.wait
        if wait is None:
            return []
        deeds: list[Deed] = [("o", "open", "Open")] if wait.chat or wait.url else []
        if wait.state == "watching":
            deeds += [("c", "check", "Check now")] if wait.kind in WAIT_CLOCKED else []
            deeds.append(("s", "stop", "Stop"))
        return deeds

    def loud(self) -> bool:
        """While it goes on."""
        return self.model.wait is not None and self.model.wait.state == "watching"
