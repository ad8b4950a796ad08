"""What keys do with the list and the columns."""

from __future__ import annotations

from app.screens.deck_chats import DeckChats
from widgets.chat_sections import folds, sections_of


class DeckMoves(DeckChats):
    """The focus, the list, and where columns stand."""

    def action_toggle_list(self) -> None:
        """F2."""
        self.list_open = not self.list_open
        if not self.has_class("-narrow"):  # a drawer's opening says nothing about the list of a wide window
            self.memory.keep("", "list", self.list_open)
        self.lay_out()
        self.refresh_list()
        self.refresh_words()
        if self.list_open and self.has_class("-narrow"):
            self.query_one("#chats").focus()
        elif not self.list_open:
            self.action_focus_composer()

    def action_focus_list(self) -> None:
        """Leader b."""
        if not self.list_open:
            self.action_toggle_list()
        self.query_one("#chats").focus()

    def action_go_to_column(self, number: int) -> None:
        """Leader 1 to 9."""
        if number <= len(self.deck.chats):
            self.set_deck(self.deck.go(number - 1))
        else:
            there = len(self.deck.chats)
            self.say("There is only one column." if there == 1 else f"There are only {there} columns.", "warning")

    def action_column_left(self) -> None:
        """The column to the left."""
        self.set_deck(self.deck.go(self.deck.focus - 1))

    def action_column_right(self) -> None:
        """The column to the right."""
        self.set_deck(self.deck.go(self.deck.focus + 1))

    def action_move_column(self, by: int) -> None:
        """Move the focused column."""
        self.set_deck(self.deck.move(by))

    def action_close_column(self) -> None:
        """Close the column; its chat stays, and goes on."""
        if self.deck.focused is None:
            return
        column = self.column
        if column is not None:
            self.memory.keep(column.chat, "draft", column.composer.draft() or None)
        closed = self.deck.close(self.deck.focused)
        if not closed.chats:
            if self.summary is not None and not self.summary.messages:
                return
            self.new_chat()
            return
        self.set_deck(closed)

    def _in_list_order(self) -> list[str]:
        sections = sections_of(self.listed(), self.clock.now_ms())
        return [c.id for name, chats in sections if not folds(name) for c in chats]

    def _step_chat(self, by: int) -> None:
        order = self._in_list_order()
        if order:
            at = order.index(self.deck.focused) if self.deck.focused in order else -1
            self.show_chat(order[(at + by) % len(order)])

    def action_previous_chat(self) -> None:
        """The chat above in the list."""
        self._step_chat(-1)

    def action_next_chat(self) -> None:
        """The chat below in the list."""
        self._step_chat(1)

    def action_next_needs_you(self) -> None:
        """F4: the next chat that waits for the person, at its question."""
        waiting = [c.id for c in self.chats.values() if c.status == "awaiting-permission"]
        waiting += [c.id for c in self.chats.values() if c.id in self.unread and c.id not in waiting]
        if not waiting:
            self.say("Nothing needs you.")
            return
        at = waiting.index(self.deck.focused) if self.deck.focused in waiting else -1
        column = self.show_chat(waiting[(at + 1) % len(waiting)])
        if column is not None:
            self.call_after_refresh(self.call_later, column.focus_ask)
