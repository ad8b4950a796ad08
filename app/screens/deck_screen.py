"""The deck: chats side by side, drawn from the log's events."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.timer import Timer

from app import commands as cmd
from app.screens import show, slash
from app.screens.bindings import bindings
from app.screens.deck import Deck
from app.screens.deck_column import DeckColumn
from app.screens.deck_together import DeckTogether
from app.screens.frames import Frame, Frames
from app.screens.welcome import Welcome
from store import events as ev
from widgets.bar import Bar
from widgets.chat_list import ChatList
from widgets.column import Column
from widgets.row import Row
from widgets.rows.memory_row import Memory
from widgets.rows.past_chats_look import PastChatsLook
from widgets.rows.process_row import Process
from widgets.rows.said import Said
from widgets.strip import ChatStrip

if TYPE_CHECKING:
    from app.services import Services

FEW_CHATS = 500  # up to so many the list follows every frame; with more, twice a second
LIST_PAUSE = 0.5


class DeckScreen(DeckTogether):
    """Header, chat list, columns."""

    BINDINGS = bindings("deck", priority=True)
    _list_timer: Timer | None = None

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.frames = Frames(self.session.bus, self.draw, self.session.live_text, covered=self._is_covered)

    def _is_covered(self) -> bool:
        """Another screen has the keys (`is_current` also holds for one that shows through it)."""
        return self.app.screen is not self

    def compose(self) -> ComposeResult:
        """From top to bottom, left to right."""
        yield Bar(id="header")
        yield ChatStrip(id="strip")
        with Horizontal(id="deck"):
            yield ChatList(id="chats")
            yield Horizontal(id="columns")

    async def on_mount(self) -> None:
        """Read the chats, restore the deck, then follow the log."""
        self.tasks.spawn(self.frames.run(), "frames")
        self._listen_to_store()
        self.chats = {s.id: s for s in await self.store.read(self.store.summaries)}
        kept = self.memory.read("", "deck")
        self.unread = {c for c in self.memory.read("", "unread") or () if c in self.chats}
        self.list_open = bool(self.memory.read("", "list") is not False) and self.size.width >= 100
        self.notice = "read only" if self.readonly else ""
        for words in getattr(self.store, "notices", ()):
            self.say(words, "warning")
        deck = Deck.from_json(kept, frozenset(self.chats))
        if deck.chats:
            self.set_deck(deck)
        else:
            self.set_deck(Deck())
            self._begin()
        self.set_interval(1.0, self._each_second)

    def _begin(self) -> None:
        """Nothing was open: the newest chat, or a new one."""
        if self.readonly:
            newest = max(self.chats.values(), key=lambda c: c.last_active, default=None)
            if newest is not None:
                self.show_chat(newest.id)
            return
        self.new_chat()

    def _listen_to_store(self) -> None:
        loop = asyncio.get_running_loop()

        def tell(what: Any, *args: Any) -> None:
            try:
                loop.call_soon_threadsafe(what, *args)
            except RuntimeError:
                return  # the loop is gone; so is the screen

        self.store.listen_deleted(lambda chat: tell(self._gone, chat))
        self.store.on_trouble = lambda words: tell(self._trouble, words)

    def _trouble(self, words: str | None) -> None:
        """The store waits for something, or waits no more."""
        self.notice = words or ("read only" if self.readonly else "")
        if self.is_attached:
            self.refresh_words()

    def _gone(self, chat: str) -> None:
        if not self.is_attached:
            return
        self.chats.pop(chat, None)
        self.unread.discard(chat)
        self.memory.forget(chat)
        if chat in self.deck.chats:
            self.set_deck(self.deck.close(chat))
            if not self.deck.chats:
                self._begin()
        else:
            self.refresh_list()
            self.refresh_words()

    # -- following the log

    def draw(self, frame: Frame) -> None:
        """Everything that happened since the last frame, for all columns at once."""
        if not self.is_attached:
            return
        with self.app.batch_update():
            self._draw(frame)

    def _draw(self, frame: Frame) -> None:
        if frame.lagged is not None:
            self.run_later(self.reload(self.columns.values()))
        changed: set[str] = set()
        for stored in frame.events:
            changed.add(stored.chat)
            column = self.columns.get(stored.chat)
            if column is not None:
                column.take(stored)
            if isinstance(stored.event, ev.TurnCompleted | ev.PermissionRequested):
                self._ended_or_asks(stored)
            elif isinstance(stored.event, ev.Wait):
                self.tell_wait(stored.event.wait)
        now = self.clock.now_ms()
        for stream in frame.streams.values():
            column = self.columns.get(stream.chat)
            if column is not None:
                column.stream(stream, now)
                self.doing.pop(stream.chat, None)
        for signal in frame.signals:
            self._signal(signal)
        for chat in changed:
            self.known(chat)
            column = self.columns.get(chat)
            if column is not None:
                column.settle(self.chats[chat])
                if column.query(Welcome) and self.chats[chat].messages:
                    column.query(Welcome).remove()
        if changed or frame.signals:
            self.refresh_words()
        if changed:
            self.refresh_strip()
            self._list_soon()

    def _list_soon(self) -> None:
        if len(self.chats) <= FEW_CHATS:
            self.refresh_list()
        elif self._list_timer is None:
            self._list_timer = self.set_timer(LIST_PAUSE, self._list_now)

    def _list_now(self) -> None:
        self._list_timer = None
        self.refresh_list()

    def _ended_or_asks(self, stored: ev.Stored) -> None:
        chat = stored.chat
        if isinstance(stored.event, ev.TurnCompleted):
            self.doing.pop(chat, None)
            column = self.columns.get(chat)
            if column is None or not column.display:
                self.unread.add(chat)
                self.memory.keep("", "unread", sorted(self.unread))
            if column is not None:
                self.refresh_recall(column)
            if self.app.app_focus:
                return
        self.app.bell()

    def _signal(self, signal: Any) -> None:
        data = signal.data
        match signal.kind:
            case "retry":
                until = self.clock.now_ms() + round(data.get("seconds", 0) * 1000)
                self.doing[signal.chat] = show.Again(str(data.get("why") or "Waiting"), until)
            case "progress":
                self.doing[signal.chat] = words = str(data.get("text") or "")
                self.tell_card(signal.chat, str(data.get("call_id") or ""), words)
            case "queue":
                if column := self.columns.get(signal.chat):
                    column.composer.set_queue(list(data.get("texts") or ()))
            case "trouble":
                self.say(str(data.get("text") or "Something went wrong."), "error")
            case _:
                pass

    def on_screen_resume(self) -> None:
        """Another screen closed."""
        self.frames.catch_up()

    def _each_second(self) -> None:
        """Times move on."""
        if self.is_current and any(c.turn_id for c in (self.chats.get(i) for i in self.columns) if c):
            self.refresh_words()

    # -- what the parts of the screen say

    def on_resize(self) -> None:
        """Another window size."""
        narrow = self.has_class("-narrow")
        if self.size.width < 100 and self.list_open and not narrow:
            self.list_open = False
        elif self.size.width >= 100 and narrow:  # hidden by the window, not by the person
            self.list_open = self.memory.read("", "list") is not False
        self.lay_out()
        self.refresh_words()

    @on(DeckColumn.Said)
    def _said(self, event: DeckColumn.Said) -> None:
        event.stop()
        typed = slash.read(event.text)
        match typed.kind:
            case "mistake":
                self.say(typed.text, "warning")
                event.column.composer.set_draft(event.text)
            case "command":
                self.run_slash(event.column, typed.name, typed.text, event.text)
            case _:
                self.send(event.column, typed.text)

    def send(self, column: DeckColumn, text: str) -> None:
        """Send the person's words; what is refused goes back into the box."""
        made = self.checked(lambda: cmd.Send(chat=column.chat, text=text))
        if self.readonly or made is None:
            if self.readonly:
                self.say("Nothing can be saved here, so nothing was sent; what you typed is still there.", "error")
            column.composer.set_draft(text)
            return

        def back(_: str) -> None:
            self.called.pop(column.chat, None)
            if column.is_attached and not column.composer.draft():
                column.composer.set_draft(text)

        if column.chat in self.chats and not self.chats[column.chat].title:
            from app.assistant.titles import from_words

            self.called[column.chat] = from_words(text)
        self.sent.insert(0, text)
        column.transcript.action_last()
        self.memory.keep(column.chat, "draft", None)
        self.posting.post(made, failed=back)

    @on(DeckColumn.Drafted)
    def _drafted(self, event: DeckColumn.Drafted) -> None:
        event.stop()
        self.memory.keep(event.chat, "draft", event.text or None)

    @on(DeckColumn.Queued)
    def _queued(self, event: DeckColumn.Queued) -> None:
        event.stop()
        self.posting.post(cmd.SetQueue(chat=event.chat, texts=list(event.texts), go=event.go))

    @on(DeckColumn.Decided)
    def _decided(self, event: DeckColumn.Decided) -> None:
        event.stop()
        self.posting.post(cmd.Answer(chat=event.chat, permission=event.key, decision=event.choice))

    @on(DeckColumn.Again)
    def _again(self, event: DeckColumn.Again) -> None:
        event.stop()
        self.posting.post(cmd.Retry(chat=event.chat))

    @on(DeckColumn.Undone)
    def _undone(self, event: DeckColumn.Undone) -> None:
        event.stop()
        make = cmd.RedoChange if event.redo else cmd.UndoChange
        self.posting.post(make(chat=event.chat, change=event.key))

    @on(Memory.Decided)
    def _decided_memory(self, event: Memory.Decided) -> None:
        event.stop()
        self.posting.post(cmd.DecideMemory(memory=event.key, action=event.action))

    @on(Process.Stop)
    def _stop_process(self, event: Process.Stop) -> None:
        event.stop()
        self.posting.post(cmd.StopProcess(process=event.key))

    @on(DeckColumn.Wanted)
    def _wanted(self, event: DeckColumn.Wanted) -> None:
        event.stop()
        self.run_later(self.bring(event.column, event.kind, event.key))

    @on(DeckColumn.Busy)
    def _busy(self, event: DeckColumn.Busy) -> None:
        event.stop()
        for column in self.columns.values():
            column.typed(event.pasted)

    @on(Column.Focused)
    def _focused(self, event: Column.Focused) -> None:
        event.stop()
        chat = event.column.chat
        if chat in self.deck.chats and chat != self.deck.focused:
            self.set_deck(self.deck.go(self.deck.chats.index(chat)), focus=False)

    @on(Column.AskShown)
    def _ask_shown(self, event: Column.AskShown) -> None:
        event.stop()
        self.refresh_words()

    @on(ChatList.Open)
    def _open_listed(self, event: ChatList.Open) -> None:
        event.stop()
        if self.has_class("-narrow"):
            self.list_open = False
        self.show_chat(event.chat)

    @on(ChatList.Menu)
    def _menu(self, event: ChatList.Menu) -> None:
        event.stop()
        self.chat_menu(event.chat, event.act)

    @on(ChatStrip.Pick)
    def _picked(self, event: ChatStrip.Pick) -> None:
        event.stop()
        self.show_chat(event.chat)

    @on(PastChatsLook.OpenAt)
    def _open_found(self, event: PastChatsLook.OpenAt) -> None:
        event.stop()
        self.open_at(event.chat, event.message, beside=event.chat not in self.deck.chats)

    @on(Said.Links)
    def _offer_links(self, event: Said.Links) -> None:
        from app.screens.opening import offer

        event.stop()
        offer(self, event.addresses)

    @on(Row.Copied)
    def _copied(self, event: Row.Copied) -> None:
        event.stop()
        self.app.action_copy(event.text)
