"""ChatMessageCard: a message between two chats, on a card in each, as it is now."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len

from store.rows import AnyRow, MessageRow
from store.text import safe_text
from widgets.line import Line, Piece, spread, wrap
from widgets.marks import BAR, NEEDS_YOU
from widgets.names import title_of
from widgets.rows.acting_row import ActingRow, Deed

STATES: Final = {"waiting": "waiting", "read": "read", "held": "held for you", "dismissed": "dismissed"}


class ChatMessageCard(ActingRow):
    """`p` passes a held one on, `x` dismisses it, `o` opens the other chat, `i` says what becomes of such messages."""

    spaced = True
    kind = MessageRow

    def __init__(self, model: MessageRow) -> None:
        super().__init__(model.key)
        self.model = model

    def show(self, model: AnyRow) -> None:
        """Take the message as it is now; one that is held now doesn't take a letter that was on its way."""
        if isinstance(model, MessageRow) and model != self.model:
            before, self.model = self.model.message, model
            if model.message and before and model.message.state != before.state:
                self.hears_late()
            self.changed()

    def make(self, width: int) -> list[Line]:
        """Whose it is, its state, its words, and what can be done."""
        card = self.model.message
        if card is None:
            return []
        name = f"“{title_of(card.other.title, 'Untitled')}”"
        who = ""
        if card.direction == "to":
            head: list[Piece] = [("Stopped " if card.stop else "To ", "muted"), (name, "link")]
        else:
            who = "stopped this reply" if card.stop else "another chat, not you"
            head = [("From ", "muted"), (name, "link")]
        held = card.state == "held"
        state: Piece = (f"{NEEDS_YOU} {STATES['held']}", "warn") if held else (STATES.get(card.state, ""), "muted")
        if who and sum(cell_len(text) for text, _ in (*head, state)) + len(who) + 4 <= width:
            head, who = [*head, (f" · {who}", "muted")], ""
        line = spread(head, [state] if card.state != "refused" else [], width)
        out = [Line(line.pieces, "open")]
        if who:  # never cut short: it says that these aren't the person's words
            out += wrap([(who, "muted")], width)
        if card.state == "refused":
            why = safe_text(card.why or "", one_line=True, limit=200)
            out += wrap([(f"not delivered{f': {why}' if why else ''}", "warn")], width)
        style = "muted" if card.state in ("dismissed", "refused") else ""
        out += wrap(
            [(safe_text(card.text).strip(), style)], width, first=(f"{BAR} ", "muted"), rest=(f"{BAR} ", "muted")
        )
        foot = self.foot(width)
        return [*out, foot] if foot else out

    def deeds(self) -> list[Deed]:
        """Only a held one that came to this chat is decided here."""
        card = self.model.message
        if card is None:
            return []
        deeds: list[Deed] = []
        if card.direction == "from" and card.state == "held":
            deeds += [("p", "pass-on", "Pass it on"), ("x", "dismiss", "Dismiss")]
        deeds.append(("o", "open", "Open"))
        if card.direction == "from":
            deeds.append(("i", "inbound", "⋯"))
        return deeds

    def loud(self) -> bool:
        """A held one waits for the person."""
        return self.model.message is not None and self.model.message.state == "held"

    def choose(self, target: str) -> None:
        """The name is a link to the other chat."""
        self.post_message(self.Acted(self, target))
