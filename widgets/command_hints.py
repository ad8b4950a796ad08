"""The slash commands that fit what was typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .line import Line, fit_pieces
from .row import Row

HINTS_MOST: Final = 6


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command the box can hint at: its name without the slash, and what it does in a few words."""

    name: str
    words: str


class CommandHints(Row):
    """The commands that begin with what was typed after the slash."""

    DEFAULT_CSS = "CommandHints { display: none; } CommandHints.-some { display: block; }"

    def __init__(self) -> None:
        super().__init__("-commands")
        self.can_focus = False
        self.commands: list[SlashCommand] = []

    def say(self, commands: list[SlashCommand]) -> None:
        """Show these; none hides it."""
        if commands != self.commands:
            self.commands = commands[:HINTS_MOST]
            self.set_class(bool(commands), "-some")
            self.changed()

    def make(self, width: int) -> list[Line]:
        """A line a command; Tab takes the first."""
        wide = max((len(command.name) for command in self.commands), default=0)
        return [
            Line(fit_pieces([(f"/{item.name:{wide}}", "" if at else "key"), (f"  {item.words}", "muted")], width))
            for at, item in enumerate(self.commands)
        ]
