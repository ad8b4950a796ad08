"""What the screens ask of the program they run in; `tui.py` is it."""

from __future__ import annotations

from abc import abstractmethod

from textual.app import App

from app.settings import Settings


class Host(App[int]):
    """The App as the screens see it."""

    settings: Settings
    keymap: dict[str, str]  # what the person changed of the table of keys
    mouse_on: bool

    @abstractmethod
    def header_keys(self) -> list[tuple[str, str]]:
        """The right of the header, as pieces."""

    @abstractmethod
    def use_mouse(self, on: bool) -> bool:
        """Take mouse reports, or leave the mouse to the terminal."""

    @abstractmethod
    def use_theme(self, name: str) -> str | None:
        """Take a theme; a sentence when there is none of that name."""

    @abstractmethod
    def use_keys(self, wanted: dict[str, str]) -> None:
        """Take the person's keymap."""

    @abstractmethod
    def fault(self, error: BaseException) -> None:
        """A fault of ours in a task."""

    @abstractmethod
    def action_copy(self, text: str) -> None:
        """Put text on the clipboard."""

    @abstractmethod
    def action_quit_asking(self) -> None:
        """Quit; asks when something still works."""
