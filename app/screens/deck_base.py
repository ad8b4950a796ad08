"""The deck's state and its columns: what is open, what it shows, and how both follow the log."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.containers import Horizontal
from textual.screen import Screen
from textual.widget import AwaitMount

from app.screens import show
from app.screens.column_feed import ColumnFeed
from app.screens.deck import Deck, Layout, layout
from app.screens.deck_column import DeckColumn
from app.screens.host import Host
from app.screens.memory import Memory
from app.screens.models import catalogue_of
from app.screens.posting import Posting
from app.screens.say import say
from app.screens.slash import SLASHES
from app.screens.watched import WatchedTasks
from app.screens.welcome import Welcome
from store.errors import StoreError
from store.models import ChatSummary, FileDiff
from store.together import Chain
from widgets.bar import Bar
from widgets.chat_list import ChatList
from widgets.composer import SlashCommand
from widgets.rows.change_row import Change
from widgets.strip import ChatStrip

if TYPE_CHECKING:
    from app.services import Services

_COMMANDS = tuple(SlashCommand(s.name, f"{s.words}" + (f" · {s.hint}" if s.hint else "")) for s in SLASHES)
RECALL_MOST = 100
FIRST_PAINT_SECONDS = 1.0


class DeckBase(Screen[None]):
    """Columns over chats. Everything that changes a chat is posted to the session; events bring it back."""

    app: Host
    AUTO_FOCUS = ""  # the message box takes it once its column is there

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.services = services
        self.store, self.session, self.clock = services.store, services.session, services.clock
        self.tasks = WatchedTasks(lambda error: self.app.fault(error))
        self.memory = Memory(self.store, self.tasks, lambda words: self.say(words, "error"))
        self.posting = Posting(self.session, self.tasks, lambda words: self.say(words, "error"))
        self._after_paint = asyncio.Event()  # the focused column is on screen
        self._turn = asyncio.Lock()  # one of the other columns at a time
        self.deck = Deck()
        self.chats: dict[str, ChatSummary] = {}
        self.columns: dict[str, DeckColumn] = {}
        self.unread: set[str] = set()
        self.doing: dict[str, str | show.Again] = {}  # live words of what a reply does now
        self.list_open = True
        self.first_shown = 0  # the leftmost column that is on screen
        self.notice = ""
        self.called: dict[str, str] = {}  # by its first words, a chat whose title comes when its first reply is there
        self.sent: list[str] = []  # the person's words in this run, newest first

    # -- small helps

    def say(self, words: str, level: str = "information") -> None:
        """A toast."""
        say(self.app, words, "error" if level == "error" else "warning" if level == "warning" else "information")

    @property
    def readonly(self) -> bool:
        """Whether nothing can be saved."""
        return bool(self.store.readonly)

    @property
    def column(self) -> DeckColumn | None:
        """The focused column."""
        return self.columns.get(self.deck.focused or "")

    @property
    def summary(self) -> ChatSummary | None:
        """The focused chat."""
        return self.chats.get(self.deck.focused or "")

    def known(self, chat: str) -> ChatSummary | None:
        """A chat's summary, the newest there is."""
        summary = self.store.summary(chat)
        if summary is not None:
            if summary.title:
                self.called.pop(chat, None)
            elif chat in self.called:
                summary = replace(summary, title=self.called[chat])
            self.chats[chat] = summary
        return summary

    def listed(self) -> list[ChatSummary]:
        """The chats the list shows: not empty ones that aren't open, and tasks with the chat they came from."""
        shown = {c.id: c for c in self.chats.values() if c.id in self.deck.chats or _has_place(c)}
        tasks = (c for c in self.chats.values() if c.origin is not None and c.origin.kind == "task")
        return [*shown.values(), *(t for t in tasks if t.id not in shown and t.origin and t.origin.chat in shown)]

    def action_focus_composer(self) -> None:
        """Leader i: the focus goes to the message box."""
        if self.column is not None:
            self.column.composer.focus()

    # -- which columns there are

    def set_deck(self, deck: Deck, *, focus: bool = True) -> None:
        """Open, close and order the columns as `deck` says; the focus goes to its chat's message box."""
        self.deck = deck
        holder = self.query_one("#columns", Horizontal)
        for chat in [c for c in self.columns if c not in deck.chats]:
            self.columns.pop(chat).remove()
        for place, chat in enumerate(deck.chats):
            column = self.columns.get(chat)
            if column is None:
                column = self._make_column(chat)
                following = next((self.columns[c] for c in deck.chats[place + 1 :] if c in self.columns), None)
                self.columns[chat] = column
                mounted = holder.mount(column) if following is None else holder.mount(column, before=following)
                self.tasks.spawn(self._load_when(mounted, column), "load")
        self._order(holder)
        for chat, column in self.columns.items():
            column.set_class(chat == deck.focused, "-here")
        if deck.focused in self.unread:
            self.unread.discard(deck.focused or "")
            self.memory.keep("", "unread", sorted(self.unread))
        self.memory.keep("", "deck", deck.to_json())
        self.lay_out()
        self.refresh_words()
        self.refresh_list()
        if focus and (column := self.column) is not None:
            self.call_after_refresh(self._focus_box, column)

    def _focus_box(self, column: DeckColumn) -> None:
        if column.is_attached and column is self.column and column.display and not column.find_bar.has_focus_within:
            column.composer.focus()

    def _order(self, holder: Horizontal) -> None:
        for before, after in zip(self.deck.chats, self.deck.chats[1:], strict=False):
            one, two = self.columns[before], self.columns[after]
            children = list(holder.children)
            if one in children and two in children and children.index(two) != children.index(one) + 1:
                holder.move_child(two, after=one)

    def _make_column(self, chat: str) -> DeckColumn:
        column = DeckColumn(chat, ColumnFeed(self.store, chat), self.clock.now_ms())
        column.composer.set_commands(_COMMANDS)
        return column

    async def _load_when(self, mounted: AwaitMount, column: DeckColumn) -> None:
        """The focused column is read and painted first; the others follow one by one."""
        await mounted
        if column.chat == self.deck.focused and self.focused is None:
            self._focus_box(column)  # it wasn't there yet when `set_deck` asked
        if column.chat != self.deck.focused:
            with contextlib.suppress(TimeoutError):  # the focused one may have been closed meanwhile
                await asyncio.wait_for(self._after_paint.wait(), FIRST_PAINT_SECONDS)
            async with self._turn:
                await self.load(column)
                await asyncio.sleep(0)
            return
        await self.load(column)
        self.call_after_refresh(self._after_paint.set)

    async def load(self, column: DeckColumn) -> None:
        """Read the last page, and go to the line that was asked for."""
        try:
            rows = await column.feed.load()
            draft = self.memory.read(column.chat, "draft")
        except StoreError as error:
            self.say(str(error), "error")
            return
        if not column.is_attached:
            return
        column.show_rows(rows, self.session.live_text(column.chat))
        if isinstance(draft, str) and draft and not column.composer.draft():
            column.composer.set_draft(draft)
        column.composer.set_queue(self.session.queue(column.chat))
        self.refresh_recall(column)
        self.refresh_words()
        self.welcome(column)
        column.try_opening()

    def welcome(self, column: DeckColumn) -> None:
        """In the very first chat: what Shoal is, and what was found on this computer."""
        if any(c.messages for c in self.chats.values()) or column.query(Welcome) or self.readonly:
            return
        words = Welcome(self.app.keymap)
        column.mount(words, before=column.transcript)
        self.tasks.spawn(self._look_around(words), "look")

    async def _look_around(self, words: Welcome) -> None:
        catalogue = catalogue_of(self.services)
        found = await catalogue.look() if catalogue is not None else ()
        imports = await self.store.read(_waiting_files, self.services.home.imports)
        if words.is_attached:
            words.set_found(found, imports)

    def refresh_recall(self, column: DeckColumn) -> None:
        """What Up brings back: this chat's words, then the others'."""
        own = column.feed.said()
        others = [text for text in self.sent if text not in own]
        column.composer.set_recall((own + others)[:RECALL_MOST])

    async def reload(self, columns: Iterable[DeckColumn]) -> None:
        """Read everything again: the screen fell behind."""
        self.chats = {s.id: s for s in await self.store.read(self.store.summaries)}
        for column in list(columns):
            await self.load(column)
        self.refresh_list()

    # -- how they fit

    def lay_out(self) -> None:
        """Widths, the drawer, the strip, and which columns are on screen."""
        width = self.size.width
        if not width:
            return
        plan = layout(width, len(self.deck.chats), self.list_open)
        self.set_class(plan.drawer, "-narrow")
        chats = self.query_one("#chats", ChatList)
        chats.display = self.list_open
        self._place_columns(plan)
        strip = self.query_one("#strip", ChatStrip)
        strip.display = plan.strip and self.size.height > 7
        self.set_class(self.size.height < 12, "-low")
        self.call_after_refresh(self.refresh_strip)

    def _place_columns(self, plan: Layout) -> None:
        focus, count = self.deck.focus, len(self.deck.chats)
        first = min(max(self.first_shown, focus - plan.shown + 1), focus)
        self.first_shown = max(0, min(first, count - plan.shown))
        on_screen = self.deck.chats[self.first_shown : self.first_shown + plan.shown]
        for chat, column in self.columns.items():
            column.display = chat in on_screen

    @property
    def off_screen(self) -> tuple[int, int]:
        """How many columns are off to the left and to the right."""
        shown = sum(1 for c in self.columns.values() if c.display)
        return self.first_shown, max(0, len(self.deck.chats) - self.first_shown - shown)

    # -- words

    def refresh_words(self) -> None:
        """Header, title lines, status lines, hints."""
        now = self.clock.now_ms()
        working, needs = show.counts(self.chats.values())
        left = show.header(working, needs, self.notice)
        before, after = self.off_screen
        if (before or after) and not self.query_one("#strip").display:
            sides = [f"‹ {before} more" if before else "", f"{after} more ›" if after else ""]
            left += [("   ", ""), ("  ".join(w for w in sides if w), "muted")]
        self.query_one("#header", Bar).say(left, self.app.header_keys())
        for chat, column in self.columns.items():
            summary = self.chats.get(chat)
            if summary is None:
                continue
            queued = self.session.queue(chat)
            chain = show.chain(self.chain_of(summary))
            folder = show.short_folder(summary.folder)
            column.show_summary(summary, chat in self.unread, folder, len(queued), chain)
            stops = "esc esc stops" if chat == self.deck.focused else ""
            column.show_doing(show.doing(summary, now, self.doing.get(chat, "")), stops)
            words = show.hint(summary, self.readonly, len(column.feed.asks), column.feed.waiting, len(queued))
            column.composer.set_hint(words)

    def chain_of(self, summary: ChatSummary) -> Chain | None:
        """What the running reply's chain came to, once a message went in it."""
        if summary.turn_id is None or summary.chain is None:
            return None
        found = self.services.store.kept(Chain, "id=?", summary.chain)
        return found[0] if found and found[0].messages else None

    def refresh_list(self) -> None:
        """The chat list."""
        chats = self.query_one("#chats", ChatList)
        if chats.display:
            chats.set_chats(self.listed(), self.clock.now_ms(), self.unread, self.deck.focused)

    def refresh_strip(self) -> None:
        """The strip of a narrow window."""
        strip = self.query_one("#strip", ChatStrip)
        if strip.display:
            here = [self.chats[c] for c in self.deck.chats if c in self.chats]
            strip.show(here, self.deck.focused, frozenset(self.unread))

    # -- opening chats

    def show_chat(self, chat: str, *, beside: bool = False, focus: bool = True) -> DeckColumn | None:
        """Show a chat in the focused column or a new one; where it is open, go there."""
        if self.known(chat) is None:
            self.say("That chat is gone.", "warning")
            return None
        self.set_deck(self.deck.beside(chat) if beside else self.deck.show(chat), focus=focus)
        return self.columns.get(chat)

    def open_at(self, chat: str, message: str = "", words: str = "", *, beside: bool = False) -> None:
        """Show a chat at a line of it, lit, with find filled."""
        there = self.columns.get(chat)
        at_once = bool(message) and there is not None and message in there.transcript.loaded.rows
        column = self.show_chat(chat, beside=beside, focus=not at_once)  # else the box would take it from the line
        if column is not None and (message or words):
            column.open_at(message, words)

    async def bring(self, column: DeckColumn, kind: str, key: str) -> None:
        """Load what a transcript asked for."""
        if kind == "diff":
            await self._bring_diff(column, key)
            return
        try:
            if kind == "before":
                rows = await column.feed.older(key)
                column.transcript.prepend(rows, column.feed.earlier)
                return
            found = await column.feed.reach(key)
        except StoreError as error:
            self.say(str(error), "error")
            return
        if found is None:
            column.give_up_opening()
            self.say("That line isn't in the chat any more.", "warning")
            return
        column.transcript.prepend(found, column.feed.earlier)
        column.try_opening()

    async def _bring_diff(self, column: DeckColumn, key: str) -> None:
        """What an opened change set did to the files; a row that went out of sight meanwhile isn't told."""
        diffs: list[FileDiff] | None = None
        try:
            diffs = await self.session.diffs(column.chat, key)
        except StoreError as error:
            self.say(str(error), "error")
        row = column.transcript.row_widget(key) if column.is_attached else None
        if isinstance(row, Change):
            row.set_diffs(diffs)

    async def put_away(self) -> None:
        """Keep what was typed and which columns stand where, before the program ends."""
        for chat, column in self.columns.items():
            self.memory.keep(chat, "draft", column.composer.draft() or None)
        try:
            await asyncio.wait_for(self.memory.flush(), 3)
        except TimeoutError:
            return
        finally:
            await self.tasks.close()

    def run_later(self, coro: Any) -> None:
        """Start something that isn't waited for."""
        self.tasks.spawn(coro)


def _waiting_files(folder: Path) -> int:
    """How many files lie in the import folder."""
    try:
        return sum(1 for entry in os.scandir(folder) if entry.is_file() and not entry.name.startswith("."))
    except OSError:
        return 0


def _has_place(chat: ChatSummary) -> bool:
    """Not an empty chat, nor by itself a task, which stands under the chat it came from, unless it needs the person."""
    if chat.origin is not None and chat.origin.kind == "task":
        return chat.status == "awaiting-permission"
    if chat.origin is not None and chat.origin.kind == "routine":
        return True
    return bool(chat.messages or chat.pinned or chat.archived_at)
