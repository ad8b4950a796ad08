"""What a reply changed in files: one quiet line, undone by one key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from store.events import FileChange
from store.rows import AnyRow, ChangeRow
from store.text import safe_text
from widgets.line import Line, Piece, spread, wrap
from widgets.marks import FOLDED, OPEN, count
from widgets.row import Row

WORDS: Final = {"created": "Made", "changed": "Edited", "deleted": "Deleted"}


class Change(Row):
    """Opened, each file with its lines; `u` undoes or does it again."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("u", "undo", "Undo", id="row.undo", show=False)]
    kind = ChangeRow

    @dataclass
    class Undo(Message):
        """Undo the change set, or do it again (`redo`)."""

        key: str
        redo: bool

    def __init__(self, model: ChangeRow) -> None:
        super().__init__(model.key)
        self.model = model
        self.opened = False

    def show(self, model: AnyRow) -> None:
        """Take the change as it is now."""
        if isinstance(model, ChangeRow) and model != self.model:
            self.model = model
            self.changed()

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
            for item in model.files:
                path = safe_text(item.path, one_line=True, mark_bidi=True)
                pieces: list[Piece] = [(f"{WORDS[item.change].lower()} ", "muted"), (path, "")]
                out.extend(wrap([*pieces, *self._sizes((item,))], width, first=("    ", "")))
        if self.opened and self.can_undo:
            word = "Do it again" if model.undone else "Undo"
            out.append(Line((("    ", ""), ("[u] ", "key"), (word, "link")), "undo", quiet=True))
        if model.shared and self.opened:
            out.extend(wrap([("Another reply wrote there meanwhile, so it isn't undone by one press", "muted")], width))
        if model.left:
            names = safe_text(", ".join(model.left), one_line=True, limit=400)
            out.extend(wrap([(f"Left as they are, changed since: {names}", "warn")], width, first=("    ", "")))
        return out

    def _words(self) -> str:
        files = self.model.files
        if self.model.label:
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
        self.changed()
        self.post_message(self.Resized(self))

    def choose(self, target: str) -> None:
        """Undo or redo."""
        self.action_undo()

    def action_undo(self) -> None:
        """Undo the change, or do it again."""
        if self.can_undo:
            self.post_message(self.Undo(self.key, self.model.undone))
