"""The task card: what a background task does, asks, and gave."""

from __future__ import annotations

from typing import Final

from textual.timer import Timer

from store.clock import Clock, SystemClock
from store.rows import AnyRow, TaskRow
from store.text import safe_text
from widgets.line import Line, Piece, spread, wrap
from widgets.marks import FOLDED, IDLE, NEEDS_YOU, OPEN, STOPPED, WORKING, clock_time, lasted
from widgets.names import title_of
from widgets.rows.acting_row import ActingRow, Deed

WORDS: Final = {
    "queued": "Waiting for room",
    "running": "Working",
    "needs-you": "Needs your OK",
    "done": "Done",
    "unverified": "Needs a look",
    "failed": "Didn't finish",
    "stopped": "Stopped",
    "interrupted": "Interrupted by a restart",
}
MARKS: Final = {
    "queued": (IDLE, "muted"),
    "running": (WORKING, "accent"),
    "needs-you": (NEEDS_YOU, "warn"),
    "done": ("✓", "good"),
    "unverified": (NEEDS_YOU, "warn"),
    "failed": (STOPPED, "bad"),
    "stopped": (STOPPED, "muted"),
    "interrupted": (STOPPED, "warn"),
}
GOING: Final = ("queued", "running", "needs-you")
GUESSED_MS: Final = 30_000
SYSTEM: Final = SystemClock()


class TaskCard(ActingRow):
    """Enter shows its last steps; `o` opens its chat, `s` stops, `r` resumes or tries again, `g` starts it now."""

    spaced = True
    kind = TaskRow

    def __init__(self, model: TaskRow) -> None:
        super().__init__(model.key)
        self.model = model
        self.opened = False
        self._timer: Timer | None = None
        self._told = ""

    def on_mount(self) -> None:
        """Count on while it waits."""
        super().on_mount()
        self._watch()

    def _watch(self) -> None:
        task = self.model.task
        counts = (
            task is not None and task.waiting is not None and bool(task.waiting.retry_at or task.waiting.expected_at)
        )
        if counts and self._timer is None and self.is_attached:
            self._timer = self.set_interval(1, self._count)
        elif not counts and self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _count(self) -> None:
        if self.is_on_screen and self._when() != self._told:
            self.changed()

    def _when(self) -> str:
        """When it begins, as far as that is known; a guess only where it is half a minute away or more."""
        task = self.model.task
        if task is None or task.state != "queued" or task.waiting is None:
            return ""
        clock: Clock = getattr(self.app, "clock", SYSTEM) if self.is_attached else SYSTEM
        now, why = clock.now_ms(), task.waiting
        if why.retry_at is not None and why.retry_at > now:
            return f"trying again in {lasted(max(1_000, why.retry_at - now))}"
        if why.expected_at is not None and why.expected_at - now >= GUESSED_MS:
            return f"likely in about {lasted(why.expected_at - now)}"
        return ""

    def show(self, model: AnyRow) -> None:
        """Take the task as it is now."""
        if isinstance(model, TaskRow) and model != self.model:
            before, self.model = self.model.task, model
            if model.task and model.task.asking and not (before and before.asking == model.task.asking):
                self.hears_late()
            self._watch()
            self.changed()

    def make(self, width: int) -> list[Line]:
        """Its title and state, what it asks or gave, and what can be done."""
        task = self.model.task
        if task is None:
            return []
        mark, style = MARKS[task.state]
        fold = OPEN if self.opened else FOLDED
        left: list[Piece] = [(f"{fold} ", "muted"), ("Task  ", "muted"), (title_of(task.title, "A task"), "strong")]
        took = lasted(task.ended_at - task.started_at) if task.ended_at and task.started_at else ""
        state = WORDS[task.state] + (f" · {took}" if took else "")
        out = [spread(left, [(f"{mark} ", style), (state, style if style != "accent" else "")], width)]
        out += self._said(width)
        if self.opened:
            for step in task.steps:
                label = safe_text(step.label, one_line=True, limit=200)
                out += wrap(
                    [(label, "muted")], width, first=(f"    {clock_time(step.at)}  ", "muted"), rest=(" " * 11, "")
                )
            if task.by:
                out += self._line(f"by {safe_text(task.by, one_line=True, limit=80)}", width)
            if task.worktree:
                tree = f"in its own worktree on {task.worktree.branch}, {task.worktree.changed} files changed"
                out += self._line(safe_text(tree, one_line=True, limit=200), width)
        foot = self.foot(width)
        return [*out, foot] if foot else out

    def _said(self, width: int) -> list[Line]:
        task = self.model.task
        assert task is not None
        if task.asking is not None:
            out = wrap(
                [(safe_text(task.asking.summary, limit=1_000).strip(), "strong")],
                width,
                first=("  ", ""),
                rest=("  ", ""),
            )
            if task.asking.preview:
                out += self._line(safe_text(task.asking.preview, limit=2_000), width)
            return out
        if task.state == "queued" and task.waiting is not None:
            self._told = self._when()
            words = safe_text(task.waiting.words, one_line=True, limit=300)
            return self._line(words + (f" · {self._told}" if self._told else ""), width)
        if task.state in GOING:
            return self._line(safe_text(task.current, one_line=True, limit=240), width) if task.current else []
        text = task.summary or task.error or task.note
        return self._line(safe_text(text, limit=1_000).strip(), width) if text else []

    def _line(self, text: str, width: int) -> list[Line]:
        return wrap([(text, "muted")], width, first=("  ", ""), rest=("  ", ""))

    def press(self) -> None:
        """Show or hide its steps."""
        self.opened = not self.opened
        self.changed()
        self.post_message(self.Resized(self))

    def loud(self) -> bool:
        """While it goes on, or waits for a press."""
        task = self.model.task
        return task is not None and task.state in (*GOING, "interrupted")

    def deeds(self) -> list[Deed]:
        """Only what applies."""
        task = self.model.task
        if task is None:
            return []
        deeds: list[Deed] = []
        if task.asking is not None:
            deeds += [("d", "deny", "Deny"), ("a", "allow", "Allow")] if task.asking.here else []
        deeds.append(("o", "open", "See what it's asking" if task.asking and not task.asking.here else "Open"))
        if task.state == "queued" and (task.waiting is None or task.waiting.can_start_now):
            deeds.append(("g", "start-now", "Start now"))
        if task.state in GOING:
            deeds.append(("s", "stop", "Stop"))
        elif task.state in ("interrupted", "stopped", "failed"):
            deeds.append(("r", "resume", "Resume" if task.state != "failed" else "Try again"))
        return deeds
