"""An event that a newer Shoal wrote."""

from __future__ import annotations

from store.rows import UnknownRow
from store.text import safe_text
from widgets.line import Line, wrap
from widgets.row import Row


class Unknown(Row):
    """One quiet row; nothing to open."""

    kind = UnknownRow

    def __init__(self, model: UnknownRow) -> None:
        super().__init__(model.key)
        self.model = model
        self.can_focus = False

    def make(self, width: int) -> list[Line]:
        """What kind it is."""
        kind = safe_text(self.model.type, one_line=True, limit=60) or "something"
        return wrap([(f"· A newer Shoal wrote something here ({kind})", "muted")], width)
