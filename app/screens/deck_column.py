"""A column of the deck: the widget with its feed, its find bar, and messages that name the chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual import on
from textual.app import ComposeResult
from textual.message import Message

from app.screens.column_feed import ColumnFeed
from app.screens.find_bar import FindBar
from app.screens.frames import Streaming
from store import events as ev
from store.models import ChatSummary
from store.rows import AnyRow, SaidRow
from widgets.column import Column
from widgets.composer import Composer
from widgets.rows.change_row import Change
from widgets.rows.notice_row import Notice
from widgets.rows.permission_card import PermissionCard
from widgets.transcript import Transcript


class DeckColumn(Column):
    """Draws what its feed folded; what the person does goes up as messages of this class."""

    @dataclass
    class Said(Message):
        """Enter in the box: words or a command."""

        column: DeckColumn
        text: str

    @dataclass
    class Drafted(Message):
        """The box's text."""

        chat: str
        text: str

    @dataclass
    class Queued(Message):
        """What waits, as the person left it; `go`: its first is to be sent now."""

        chat: str
        texts: tuple[str, ...]
        go: bool = False

    @dataclass
    class Wanted(Message):
        """What isn't loaded: the rows before `key`, the row itself, or what its change set did to the files."""

        column: DeckColumn
        kind: Literal["before", "row", "diff"]
        key: str

    @dataclass
    class Decided(Message):
        """A question was answered."""

        chat: str
        key: str
        choice: Literal["allow", "allow-always", "deny"]

    @dataclass
    class Again(Message):
        """Try the last reply again."""

        chat: str

    @dataclass
    class Undone(Message):
        """Undo what a reply changed in files, or do it again (`redo`)."""

        chat: str
        key: str
        redo: bool

    @dataclass
    class Busy(Message):
        """A key or a paste arrived in some box: questions everywhere hold back."""

        pasted: bool

    def __init__(self, chat: str, feed: ColumnFeed, now_ms: int) -> None:
        super().__init__(chat, now_ms=now_ms)
        self.feed = feed
        self.find_bar = FindBar()
        self._opening: tuple[str, str] | None = None  # a row to go to, and words to find there, once it is loaded

    def compose(self) -> ComposeResult:
        """As the column, with find under the title."""
        for part in super().compose():
            yield part
            if part is self.title_bar:
                yield self.find_bar

    def on_mount(self) -> None:
        """Find shows when it is asked for."""
        self.find_bar.display = False

    # rows

    def show_rows(self, rows: list[AnyRow], live: SaidRow | None) -> None:
        """Begin anew with these."""
        self.transcript.show_page(rows, self.feed.earlier)
        if live is not None:
            self.transcript.put(live)
        self.show_asks(self.feed.asks)

    def take(self, stored: ev.Stored) -> None:
        """One event of this chat."""
        row = self.feed.take(stored)
        if row is not None:
            self.transcript.put(row)
        elif isinstance(stored.event, ev.AssistantDone):
            self.transcript.drop(stored.event.message_id)
        if isinstance(stored.event, ev.PermissionRequested | ev.PermissionResolved):
            self.show_asks(self.feed.asks)

    def stream(self, streaming: Streaming, now_ms: int) -> None:
        """The text so far of what is being written."""
        if self.feed.loaded:
            self.transcript.stream(streaming.message_id, streaming.text, streaming.thinking, now_ms)

    def settle(self, summary: ChatSummary) -> None:
        """A reply ended: no live row may stay behind."""
        if summary.turn_id is None:
            for row in list(self.transcript.loaded.rows.values()):
                if isinstance(row, SaidRow) and row.live and row.key not in self.feed.rows:
                    self.transcript.drop(row.key)

    # going to a line, and find

    def open_at(self, key: str, words: str = "") -> None:
        """Show the row `key`, lit, with find filled; loads what is needed first."""
        self._opening = (key, words)
        if self.feed.loaded:
            self.try_opening()

    def try_opening(self) -> bool:
        """Go where `open_at` said, when the row is there."""
        if self._opening is None:
            return False
        key, words = self._opening
        here = not key or key in self.transcript.loaded.rows
        if here and words:
            self.transcript.find(words)  # first, so that `go_to` makes the find in that row the current one
        if key and not self.transcript.go_to(key):
            return False  # WantRow goes up
        self._opening = None
        if words:
            self.find_bar.display = True
            self.find_bar.fill(words)
            self.find_bar.query_one("Input").focus()
        elif key and (row := self.transcript.row_widget(key)) is not None:
            row.focus(scroll_visible=False)
        return True

    def give_up_opening(self) -> None:
        """The row isn't in the chat any more."""
        self._opening = None

    def open_find(self, words: str = "") -> None:
        """The find bar, with words when given."""
        self.find_bar.display = True
        if words:
            self.find_bar.fill(words)
            self.transcript.find(words)
        self.find_bar.query_one("Input").focus()

    def close_find(self) -> bool:
        """Marks and bar go; False when it wasn't open."""
        if not self.find_bar.display:
            return False
        self.find_bar.display = False
        self.transcript.find("")
        self.composer.focus()
        return True

    @on(FindBar.Words)
    def _look_for(self, event: FindBar.Words) -> None:
        event.stop()
        self.transcript.find(event.words)

    @on(FindBar.Step)
    def _step(self, event: FindBar.Step) -> None:
        event.stop()
        self.transcript.action_find(event.by)

    @on(FindBar.Left)
    def _left_find(self, event: FindBar.Left) -> None:
        event.stop()
        if event.rows:
            self.transcript.focus()
        else:
            self.close_find()

    @on(Transcript.FindState)
    def _find_state(self, event: Transcript.FindState) -> None:
        event.stop()
        self.find_bar.stands(event.current, event.total, self.feed.earlier > 0)

    # what goes up

    @on(Composer.Sent)
    def _sent(self, event: Composer.Sent) -> None:
        event.stop()
        self.post_message(self.Said(self, event.text))

    @on(Composer.DraftChanged)
    def _drafted(self, event: Composer.DraftChanged) -> None:
        event.stop()
        self.post_message(self.Drafted(self.chat, event.text))

    @on(Composer.QueueChanged)
    def _queued(self, event: Composer.QueueChanged) -> None:
        event.stop()
        self.post_message(self.Queued(self.chat, event.texts))

    @on(Composer.Go)
    def _go(self, event: Composer.Go) -> None:
        event.stop()
        self.post_message(self.Queued(self.chat, event.texts, go=True))

    @on(Composer.Typed)
    def _typing(self, event: Composer.Typed) -> None:
        event.stop()
        self.post_message(self.Busy(event.pasted))

    @on(Transcript.WantEarlier)
    def _want_earlier(self, event: Transcript.WantEarlier) -> None:
        event.stop()
        self.post_message(self.Wanted(self, "before", event.before))

    @on(Transcript.WantRow)
    def _want_row(self, event: Transcript.WantRow) -> None:
        event.stop()
        self.post_message(self.Wanted(self, "row", event.key))

    @on(PermissionCard.Answered)
    def _answered(self, event: PermissionCard.Answered) -> None:
        event.stop()
        self.post_message(self.Decided(self.chat, event.key, event.choice))

    @on(Change.Undo)
    def _undo(self, event: Change.Undo) -> None:
        event.stop()
        self.post_message(self.Undone(self.chat, event.key, event.redo))

    @on(Change.WantDiff)
    def _want_diff(self, event: Change.WantDiff) -> None:
        event.stop()
        self.post_message(self.Wanted(self, "diff", event.key))

    @on(Notice.Retry)
    def _retry(self, event: Notice.Retry) -> None:
        event.stop()
        self.post_message(self.Again(self.chat))
