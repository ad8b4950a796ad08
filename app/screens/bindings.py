"""From the table of keys to Textual's bindings."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from app.keys import Where, at


def bindings(*where: Where, priority: bool = False) -> list[BindingType]:
    """The bindings of these places; each has its table id, so that the keymap can move it."""
    return [
        Binding(key.keys, key.action, key.words, show=False, priority=priority and key.first != "escape", id=key.id)
        for key in at(*where)
        if key.action
    ]
