"""What the other keys of the table do: the screens over the deck, Esc, the mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual import on

from app.keys import BY_ID, show
from app.screens.deck_moves import DeckMoves
from store.events import VAULT_LOCKED
from store.limits import ESC_TWICE_SECONDS
from widgets.chat_list import ChatList
from widgets.rows.notice_row import Notice

if TYPE_CHECKING:
    from app.screens.activity_screen import Went
    from app.screens.search_screen import Picked
    from app.settings import Settings


class DeckActions(DeckMoves):
    """Opens screens, and closes what is open."""

    def __init__(self, services: Any) -> None:
        super().__init__(services)
        self._escaped = -ESC_TWICE_SECONDS  # when Esc was pressed last

    def action_search(self, words: str = "") -> None:
        """Ctrl+K."""
        from app.screens.search_screen import SearchScreen

        if isinstance(self.app.screen, SearchScreen):
            return
        screen = SearchScreen(self.services, lambda: list(self.chats.values()), self.deck.focused, words)
        self.app.push_screen(screen, self._found)

    def _found(self, picked: Picked | None) -> None:
        if picked is None:
            return
        target = picked.target
        if target.action == "find":
            self.action_find(target.find)
        elif target.action:
            self.run_later(self.run_action(BY_ID[target.action].action))
        else:
            self.open_at(target.chat, target.message, target.find, beside=picked.column)

    def action_activity(self) -> None:
        """F3."""
        from app.screens.activity_screen import ActivityScreen

        if not isinstance(self.app.screen, ActivityScreen):
            self.app.push_screen(ActivityScreen(self.services), self._went)

    def _went(self, went: Went | None) -> None:
        if went is not None:
            self.open_at(went.chat, went.row, beside=went.column)

    def action_memories(self) -> None:
        """Leader m, `/memory`."""
        from app.screens.memories_screen import MemoriesScreen

        if not isinstance(self.app.screen, MemoriesScreen):
            self.app.push_screen(MemoriesScreen(self.services), self._went)

    def action_passwords(self, *, unlock: bool = False) -> None:
        """Leader w, `/passwords`."""
        from app.screens.passwords_screen import PasswordsScreen

        if not isinstance(self.app.screen, PasswordsScreen):
            self.app.push_screen(PasswordsScreen(self.services, unlock=unlock))

    @on(Notice.Opened)
    def _open_noticed(self, event: Notice.Opened) -> None:
        event.stop()
        if event.code == VAULT_LOCKED:
            self.action_passwords(unlock=True)

    def action_help(self) -> None:
        """F1."""
        from app.screens.help_screen import HelpScreen

        self.app.push_screen(HelpScreen(self.app.keymap))

    def action_settings(self) -> None:
        """F10."""
        from app.screens.settings_screen import SettingsScreen

        self.app.push_screen(SettingsScreen(self.services.home, self.app.settings, self._settings_changed))

    def _settings_changed(self, settings: Settings, key: str) -> None:
        self.app.settings = settings
        if key == "theme":
            self.app.use_theme(settings.theme)
        elif key == "mouse":
            self.app.use_mouse(settings.mouse)
        elif key.startswith("keys."):
            self.app.use_keys(settings.keys)
            self.refresh_words()
        elif key.startswith("explorer.consent."):  # holds at once, also for a reply that is being written
            from app.commands import SetConsent

            tool, value = key.removeprefix("explorer.consent."), getattr(settings.explorer.consent, key.split(".")[-1])
            self.posting.post(SetConsent(tool=tool, value=value))

    def action_leader(self) -> None:
        """F8."""
        from app.screens.leader import Leader

        self.app.push_screen(Leader(self.app.keymap), self._led)

    def _led(self, action: str | None) -> None:
        if action:
            self.run_later(self.run_action(action))

    def action_toggle_mouse(self) -> None:
        """F9: without it, the terminal itself selects."""
        on = self.app.use_mouse(not self.app.mouse_on)
        words = "The mouse works again" if on else "The mouse is off: select with the terminal"
        self.say(f"{words} · {show(self.app.keymap.get('mouse.toggle', 'f9'))} switches it")

    def action_close(self) -> None:
        """Esc: close what is open; twice in a second stops the reply."""
        column, now = self.column, self.clock.steady()
        twice, self._escaped = now - self._escaped < ESC_TWICE_SECONDS, now
        chats = self.query_one("#chats", ChatList)
        if self.has_class("-narrow") and self.list_open:
            self.action_toggle_list()
        elif column is not None and column.find_bar.display:
            column.close_find()
        elif chats.has_focus or (column is not None and not column.composer.box.has_focus):
            self.action_focus_composer()
        elif twice and (summary := self.summary) is not None and summary.turn_id:
            self.action_stop_chat()
        elif self.summary is not None and self.summary.turn_id:
            self.say("Esc once more stops the reply")
