"""One chat on the deck: title line, transcript, questions, message box, foot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.timer import Timer

from store.limits import CARD_QUIET_SECONDS
from store.models import ChatSummary
from store.rows import PermissionRow
from store.text import safe_text

from .bar import Bar
from .chat_list import mark_of
from .composer import Composer
from .line import Piece
from .marks import WORKING, tokens
from .names import title_of
from .rows.permission_card import PermissionCard
from .transcript import Transcript

LOW_UNDER: Final = 12


class Column(Vertical):
    """Made of plain values; what the person does comes out as messages of its parts."""

    DEFAULT_CSS = """
    Column { width: 1fr; min-width: 20; height: 100%; border-left: vkey $border-blurred; }
    Column > .column--title { background: $surface; }
    Column:focus-within > .column--title { background: $accent 25%; }
    Column:ansi > .column--title { text-style: none; background: ansi_default; }
    Column:focus-within:ansi > .column--title { text-style: bold reverse; }
    Column > .column--asks { height: auto; max-height: 45%; }
    Column > .column--status { display: none; }
    Column > .column--status.-on { display: block; }
    Column.-low > .column--foot, Column.-low > .column--status.-on { display: none; }
    Column.-low QueueView.-some, Column.-low CommandHints.-some { display: none; }
    Column.-low > Composer { border-top: none; max-height: 2; }
    """

    @dataclass
    class Focused(Message):
        """The focus came into this column."""

        column: Column

    @dataclass
    class AskShown(Message):
        """A question became visible (a bell may ring)."""

        chat: str
        key: str

    def __init__(self, chat: str, *, id: str | None = None, now_ms: int = 0) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.chat = chat
        self.title_bar = Bar(classes="column--title")
        self.transcript = Transcript(now_ms=now_ms)
        self.status = Bar(classes="column--status")
        self.asks = Vertical(classes="column--asks")
        self.composer = Composer()
        self.foot = Bar(classes="column--foot")
        self.summary: ChatSummary | None = None
        self._wanted: dict[str, PermissionRow] = {}
        self._quiet = True  # nothing was typed for a while
        self._quiet_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield self.title_bar
        yield self.transcript
        yield self.asks
        yield self.status
        yield self.composer
        yield self.foot

    def on_resize(self, event: events.Resize) -> None:
        """In a low column only the title, the rows, a question and the box stand."""
        self.set_class(event.size.height < LOW_UNDER, "-low")

    # what the screen calls

    def show_summary(
        self, chat: ChatSummary, unread: bool = False, folder: str = "", queued: int = 0, chain: str = ""
    ) -> None:
        """Title, mark, folder, mode, and the foot; `folder` is the short form to show, `chain` what it came to."""
        self.summary = chat
        mark, style = mark_of(chat, unread)
        title = title_of(chat.title)
        left: list[Piece] = [(f" {mark} ", style)]
        if chat.private:  # before the title, which may be longer than the line
            left.append(("private · ", "muted"))
        left.append((title, "strong"))
        place = safe_text(folder or chat.folder, one_line=True, limit=60)
        words = " · ".join(word for word in (place, chat.mode) if word)
        self.title_bar.say(left, [(f"{words} ", "muted")])
        self.foot.say([(f" {chain}", "accent")] if chain else [], [(f"{self._foot_words(chat, queued)} ", "muted")])

    def _foot_words(self, chat: ChatSummary, queued: int) -> str:
        used = (chat.usage.input_tokens or 0) + (chat.usage.output_tokens or 0)
        cost = chat.usage.cost_usd
        parts = [
            safe_text(chat.model, one_line=True, limit=60),
            tokens(used) if used else "",
            f"${cost:.2f}" if cost else "",
            f"{queued} queued" if queued else "",
        ]
        return " · ".join(part for part in parts if part)

    def show_doing(self, words: str, hint: str = "esc esc stops") -> None:
        """The line of what the reply is doing now ("" hides it)."""
        self.status.set_class(bool(words), "-on")
        if words:
            left: list[Piece] = [(f" {WORKING} ", "accent"), (safe_text(words, one_line=True, limit=200), "")]
            self.status.say(left, [(f"{safe_text(hint, one_line=True, limit=40)} ", "muted")])

    def show_asks(self, rows: Sequence[PermissionRow]) -> None:
        """The open questions; a new one waits until nothing was typed for a second."""
        self._wanted = {row.key: row for row in rows if row.decision is None}
        for card in self.asks.query(PermissionCard):
            if card.key not in self._wanted:
                if card.has_focus:
                    self.screen.set_focus(self.composer.box)
                card.remove()
        self._show_cards()

    def _show_cards(self) -> None:
        if not self._quiet:
            return
        shown = {card.key for card in self.asks.query(PermissionCard)}
        for key, row in self._wanted.items():
            if key not in shown:
                self.asks.mount(PermissionCard(row))
                self.post_message(self.AskShown(self.chat, key))

    def typed(self, pasted: bool = False) -> None:
        """A key arrived somewhere in the program: questions hold back, and after a paste cards are deaf."""
        self._quiet = False
        if self._quiet_timer is not None:
            self._quiet_timer.stop()
        self._quiet_timer = self.set_timer(CARD_QUIET_SECONDS, self._now_quiet)
        if pasted:
            for card in self.asks.query(PermissionCard):
                card.be_deaf()

    def _now_quiet(self) -> None:
        self._quiet = True
        self._show_cards()

    def focus_ask(self) -> bool:
        """The focus goes to the first question; False when there is none."""
        card = next(iter(self.asks.query(PermissionCard)), None)
        if card is not None:
            card.focus()
        return card is not None

    # between its parts

    @on(Composer.Typed)
    def _typed(self, event: Composer.Typed) -> None:
        self.typed(event.pasted)

    @on(Transcript.Leave)
    def _to_box(self, event: Transcript.Leave) -> None:
        event.stop()
        self.composer.focus()

    @on(Composer.Leave)
    def _to_rows(self, event: Composer.Leave) -> None:
        event.stop()
        if not self.focus_ask():  # Tab: an open question comes before the rows
            self.transcript.focus()

    @on(PermissionCard.Leave)
    def _from_card(self, event: PermissionCard.Leave) -> None:
        event.stop()
        self.transcript.focus()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Tell the deck."""
        self.post_message(self.Focused(self))
