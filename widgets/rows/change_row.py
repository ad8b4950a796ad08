"""What a reply changed in files: one quiet line, undone by one key; opened, the lines that changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from store.events import FileChange
from store.limits import DIFF_FILES, DIFF_LINE_CHARS
from store.models import FileDiff
from store.rows import AnyRow, ChangeRow
from store.text import safe_text
from widgets.line import Line, Piece, line, spread, wrap
from widgets.marks import FOLDED, OPEN, count
from widgets.row import Row

WORDS: Final = {"created": "Made", "changed": "Edited", "deleted": "Deleted"}


DIFF_STYLES: Final = {"+": "good", "-": "bad"}
SHOWN_LINES: Final = 60  # of the diff before "more"
READING, UNREAD = "Reading what changed…", "What changed can't be read now"
UNDONE = "Undone: the files don't have these lines now"


class Change(Row):
    """Opened, it asks for the diff (`WantDiff`) and shows it; `u` undoes or does it again."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("u", "undo", "Undo", id="row.undo", show=False)]
    kind = ChangeRow

    @dataclass
    class Undo(Message):
        """Undo the change set, or do it again (`redo`)."""

        key: str
        redo: bool

    @dataclass
    class WantDiff(Message):
        """The row was opened: what changed is to be shown (`set_diffs`)."""

        key: str

    def __init__(self, model: ChangeRow) -> None:
        super().__init__(model.key)
        self.model = model
        self.opened = False
        self.diffs: dict[str, FileDiff] | None = None  # by path; None: not read yet
        self._trouble = False
        self._share = 1

    def show(self, model: AnyRow) -> None:
        """Take the change as it is now."""
        if isinstance(model, ChangeRow) and model != self.model:
            self.model = model
            self.changed()

    def set_diffs(self, diffs: Iterable[FileDiff] | None) -> None:
        """What changed in each file; None: it couldn't be read."""
        self._trouble = diffs is None
        if diffs is not None:
            self.diffs = {diff.path: diff for diff in diffs}
        self.changed()
        self.post_message(self.Resized(self))

    @property
    def can_undo(self) -> bool:
        """Whether one press may undo it: nothing else wrote there meanwhile, and what was before is kept."""
        return self.model.undoable and not self.model.shared

    def make(self, width: int) -> list[Line]:
        """What changed and how much; opened, a line a file."""
        model = self.model
        mark = OPEN if self.opened else FOLDED
        left: list[Piece] = [(f"{mark} ", "muted"), (self._words(), "muted"), *self._sizes(model.files)]
        right: list[Piece] = []
        if model.undone:
            right.append(("undone · redo", "link") if self.can_undo else ("undone", "muted"))
        elif self.can_undo:
            right.append(("undo", "link"))
        elif model.shared:
            right.append(("shared", "muted"))
        out = [spread(left, right, width)]
        if self.opened:
            if model.undone:
                out.extend(wrap([(UNDONE, "muted")], width, first=("    ", "")))
            out.extend(self._files(width))
        if self.opened and self.can_undo:
            word = "Do it again" if model.undone else "Undo"
            out.append(Line((("    ", ""), ("[u] ", "key"), (word, "link")), "undo", quiet=True))
        if model.shared and self.opened:
            out.extend(wrap([("Another reply wrote there meanwhile, so it isn't undone by one press", "muted")], width))
        if model.left:
            names = safe_text(", ".join(model.left), one_line=True, limit=400)
            out.extend(wrap([(f"Left as they are, changed since: {names}", "warn")], width, first=("    ", "")))
        return out

    def _files(self, width: int) -> list[Line]:
        """Each file with its lines, as many as are shown at once."""
        out: list[Line] = []
        hidden, room = 0, SHOWN_LINES * self._share
        for item in self.model.files[:DIFF_FILES]:
            path = safe_text(item.path, one_line=True, mark_bidi=True)
            pieces: list[Piece] = [(f"{WORDS[item.change].lower()} ", "muted"), (path, "")]
            head = wrap([*pieces, *self._sizes((item,))], width, first=("    ", ""))
            diff = self.diffs.get(item.path) if self.diffs is not None else None
            here = diff.lines[: max(0, room)] if diff is not None else ()
            left = len(diff.lines) - len(here) if diff is not None else 0
            hidden += left
            room -= len(here)
            out.extend(head)
            out.extend(_lines(here, width))
            if diff is not None and diff.note and not left:
                out.extend(wrap([(safe_text(diff.note, one_line=True), "muted")], width, first=("      ", "")))
        if self._trouble:
            out.append(line(f"    {UNREAD}", "warn"))
        elif self.diffs is None:
            out.append(line(f"    {READING}", "muted"))
        if hidden:
            out.append(line(f"    … {count(hidden, 'more line')} · Enter shows more", "accent", "more"))
        if len(self.model.files) > DIFF_FILES:
            out.append(line(f"    … and {count(len(self.model.files) - DIFF_FILES, 'more file')}", "muted"))
        return out

    def _words(self) -> str:
        files = self.model.files
        if self.model.label and (self.model.shared or not files):  # else the call's own row says it, just above
            return safe_text(self.model.label, one_line=True, limit=200)
        if len(files) == 1:
            return f"{WORDS[files[0].change]} {safe_text(files[0].path, one_line=True, mark_bidi=True)}"
        return f"Changed {count(len(files), 'file')}"

    def _sizes(self, files: tuple[FileChange, ...]) -> list[Piece]:
        added, removed = sum(item.added or 0 for item in files), sum(item.removed or 0 for item in files)
        out: list[Piece] = []
        if added:
            out.append((f"  +{added}", "good"))
        if removed:
            out.append((f"{' ' if added else '  '}−{removed}", "bad"))
        return out

    def press(self) -> None:
        """Open or fold."""
        self.opened = not self.opened
        self._share = 1
        self.changed()
        self.post_message(self.Resized(self))
        if self.opened:
            self.post_message(self.WantDiff(self.key))  # each time: a file may be another now

    def choose(self, target: str) -> None:
        """More of it, or undo and redo."""
        if target == "more":
            self._share *= 8
            self.changed()
            self.post_message(self.Resized(self))
        else:
            self.action_undo()

    def action_undo(self) -> None:
        """Undo the change, or do it again."""
        if self.can_undo:
            self.post_message(self.Undo(self.key, self.model.undone))


def _lines(diff: Iterable[str], width: int) -> list[Line]:
    """Lines of a diff; what was added and removed reads without colour too."""
    out: list[Line] = []
    for text in diff:
        mark, rest = text[:1], text[1:] if text[:1] != "@" else text
        style = DIFF_STYLES.get(mark, "muted")
        words = safe_text(rest, limit=DIFF_LINE_CHARS, mark_bidi=True)
        shown = "−" if mark == "-" else " " if mark == "@" else mark
        out.extend(wrap([(words, style)], width, first=(f"    {shown} ", style), rest=("      ", "")))
    return out
