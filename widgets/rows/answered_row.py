"""A question that was answered: one neutral line."""

from __future__ import annotations

from typing import Final

from store.rows import AnyRow, PermissionRow
from store.text import safe_text
from widgets.line import Line, wrap
from widgets.row import Row

SAID: Final = {
    "allow": "Allowed",
    "allow-always": "Always allowed",
    "deny": "You said no",
    "expired": "Not answered",
}


class Answered(Row):
    """What was asked and what the person said; "no" is never red."""

    kind = PermissionRow

    def __init__(self, model: PermissionRow) -> None:
        super().__init__(model.key)
        self.model = model
        self.can_focus = False

    def show(self, model: AnyRow) -> None:
        """Take the answer."""
        if isinstance(model, PermissionRow) and model != self.model:
            self.model = model
            self.changed()

    def make(self, width: int) -> list[Line]:
        """One line; while it waits it says that the question is below. Of a call that ran, the call's row tells."""
        request = self.model.request
        if self.model.decision == "allow" and request is not None and request.call_id:
            return []
        words = safe_text(request.summary if request else "", one_line=True, limit=300)
        said = SAID.get(self.model.decision or "", "Asks you below")
        return wrap([(f"{said}", "muted"), (f" · {words}" if words else "", "muted")], width, first=("· ", "muted"))
