"""The leader: F8, then one key. Every key it takes is on screen while it waits."""

from __future__ import annotations

from collections.abc import Mapping

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from app.keys import Key, at, show
from store.limits import LEADER_SECONDS

_FOLDED = tuple(f"column.{n}" for n in range(1, 10))


class Leader(ModalScreen[str | None]):
    """Waits for one key and answers the action it stands for; None for another key, or after three seconds."""

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._actions: dict[str, str] = {}
        for key in at("leader"):
            for name in keymap.get(key.id, key.keys).split(","):
                self._actions[name] = key.action
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        """The keys in three columns at the foot."""
        with VerticalScroll(id="leader"):
            yield Static(id="keys")

    def on_mount(self) -> None:
        """Start the three seconds."""
        self.set_timer(LEADER_SECONDS, lambda: self.dismiss(None) if self.is_current else None)
        self._draw()

    def on_resize(self) -> None:
        """Lay the keys out anew."""
        self._draw()

    def _draw(self) -> None:
        cells = [("1–9", "Go to column")]
        cells += [(show(self._shown(k)), k.words) for k in at("leader") if k.id not in _FOLDED]
        across = max(1, min(3, self.size.width // 38))
        down = -(-len(cells) // across)
        width = max(10, (self.size.width - 4) // across)
        lines = [self._line([cells[i] for i in range(row, len(cells), down)], width) for row in range(down)]
        self.query_one("#keys", Static).update(Content("\n").join(lines))

    def _shown(self, key: Key) -> str:
        return self._keymap.get(key.id, key.keys)

    @staticmethod
    def _line(cells: list[tuple[str, str]], width: int) -> Content:
        parts: list[tuple[str, str] | str] = []
        for key, words in cells:
            room = width - 6
            short = words if len(words) <= room else words[: max(1, room - 1)] + "…"
            parts += [(f" {key:<4}", "bold $text-accent"), short.ljust(room + 1)]
        return Content.assemble(*parts)

    def on_key(self, event: events.Key) -> None:
        """One key, whatever it is, ends the wait."""
        event.stop()
        event.prevent_default()
        name = event.character if event.character and event.character.isprintable() else event.key
        self.dismiss(self._actions.get(name) or self._actions.get(event.key))

    def on_click(self) -> None:
        """A click ends it too."""
        self.dismiss(None)
