"""F3: what was done in every chat, newest first by day; each line opens its chat at that moment."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input

from app.guard import secrets
from app.keys import BY_ID, show
from app.screens.bindings import bindings
from app.screens.following import Following
from app.screens.host import Host
from app.screens.watched import WatchedTasks
from app.session.activity import ENDINGS, KINDS, Activity, ActivityKind, Entry
from store.errors import StoreError
from store.limits import QUERY_CHARS
from widgets.bar import Bar
from widgets.doings import Doing, Doings

if TYPE_CHECKING:
    from app.services import Services

PAUSE_SECONDS = 0.12  # between the last key and the look
FOLLOWED = frozenset(ENDINGS).union(*KINDS.values())  # what changes the list while it is open
FOLLOWED_PAGES = 10  # are looked at anew; what lies further back is as it was
CHOICES: tuple[ActivityKind | None, ...] = (None, *KINDS)
LOOKING, NOTHING, NO_SUCH = "Looking…", "Nothing was done yet", "Nothing like that was done"
BEGINNING, MORE = "That is the beginning", "…"


@dataclass(frozen=True, slots=True)
class Went:
    """Where to go: a chat and a row of it, perhaps in a column of its own."""

    chat: str
    row: str
    column: bool = False


class ActivityScreen(ModalScreen[Went | None]):
    """A box for words, kinds by Tab, and the list, read page by page."""

    app: Host

    BINDINGS = [
        *bindings("activity"),
        Binding("escape,f3", "leave", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
    ]

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._clock, self._bus = services.clock, services.session.bus
        redact = services.redactor.clean
        self._activity = Activity(services.store, lambda text: secrets.clean(redact(text)))
        self._tasks = WatchedTasks(lambda error: self.app.fault(error))
        self._entries: dict[int, Entry] = {}
        self._kind: ActivityKind | None = None
        self._before: int | None = None
        self._asked = 0  # the number of the newest question
        self._reading = False
        self._end = ""  # the list's last line
        self._turn = asyncio.Lock()  # one look at a time
        self._pause: Timer | None = None

    def compose(self) -> ComposeResult:
        """Box, kinds, list, keys."""
        with Vertical(id="activity"):
            with Horizontal(id="asked"):
                yield Input(placeholder="Words in it", id="words", compact=True)
            yield Bar(id="kinds")
            yield Doings(self._clock.now_ms(), id="doings")
            yield Bar(id="keys")

    def on_mount(self) -> None:
        """The newest first."""
        self.query_one("#activity").border_title = Content("Activity")
        doings = self.query_one(Doings)
        doings.can_focus = False
        doings.lively = True
        self.query_one(Input).focus()
        self._say()
        self._begin()
        self._tasks.spawn(Following(self._bus, FOLLOWED, self._changed).run(), "following")

    def _say(self) -> None:
        self._say_kinds()
        words = [
            ("↑↓", "move"),
            (self._key("activity.choose"), "open there"),
            (self._key("activity.column"), "in a new column"),
            (self._key("activity.kind"), "kind"),
            ("Esc", "close"),
        ]
        self.query_one("#keys", Bar).say([p for k, w in words for p in ((f" {k}", "key"), (f" {w}  ", "muted"))])

    def _say_kinds(self) -> None:
        """The kinds in their order; where they don't fit, from the first on that lets the chosen one be seen."""
        bar = self.query_one("#kinds", Bar)
        words = [f" {choice or 'all'} " for choice in CHOICES]
        chosen, first, width = CHOICES.index(self._kind), 0, bar.size.width or sum(map(len, words))
        while first < chosen and sum(map(len, words[first : chosen + 1])) + (2 if first else 0) > width:
            first += 1
        pieces = [("‹ ", "muted")] if first else []
        pieces += [(w, "title under" if n == chosen else "muted") for n, w in enumerate(words) if n >= first]
        bar.say(pieces)

    def on_resize(self) -> None:
        """Other kinds may fit."""
        self.call_after_refresh(self._say_kinds)

    def _key(self, id_: str) -> str:
        return show(self.app.keymap.get(id_, BY_ID[id_].keys))

    # -- reading

    def _begin(self) -> None:
        """Anew, for the words and the kind as they are now."""
        self._asked += 1
        self._entries, self._before, self._reading = {}, None, False
        self.query_one(Doings).moved = False
        self._show(LOOKING)
        self._more()

    def _more(self) -> None:
        if not self._reading:
            self._reading = True
            self._tasks.spawn(self._read(self._asked), "activity")

    async def _read(self, number: int) -> None:
        """Pages, until the view is filled or there is no more."""
        async with self._turn:
            await self._read_on(number)

    async def _read_on(self, number: int) -> None:
        wanted = len(self._entries) + self.size.height
        while number == self._asked:
            try:
                words = self.query_one(Input).value[:QUERY_CHARS]
                page = await self._activity.page(self._before, self._kind, words)
            except StoreError as error:
                if number == self._asked and self.is_attached:
                    self._show(str(error))
                return
            if number != self._asked or not self.is_attached:
                return
            self._before = page.before
            self._entries |= {entry.id: entry for entry in page.entries}
            if page.before is None:
                empty = NOTHING if self._kind is None and not words.strip() else NO_SUCH
                self._show(BEGINNING if self._entries else empty)
                return  # `_reading` stays: there is nothing earlier
            self._show(MORE if len(self._entries) >= wanted else LOOKING)
            if len(self._entries) >= wanted:
                self._reading = False
                return

    def _show(self, end: str) -> None:
        self._end = end
        self.query_one(Doings).show(self._doings(), end)

    def _doings(self) -> list[Doing]:
        return [
            Doing(e.id, e.at, e.words, e.title or "New chat", e.note, e.waits, e.private, e.bad)
            for e in self._entries.values()
        ]

    # -- following

    def _changed(self) -> None:
        """Something was done meanwhile."""
        self._tasks.spawn(self._read_anew(self._asked), "activity")

    async def _read_anew(self, number: int) -> None:
        """What is loaded, as it is now, with what is new; nothing moves under the cursor."""
        async with self._turn:
            oldest = min(self._entries, default=None)
            fresh: dict[int, Entry] = {}
            before: int | None = None
            for _ in range(FOLLOWED_PAGES):
                try:
                    page = await self._activity.page(before, self._kind, self.query_one(Input).value[:QUERY_CHARS])
                except StoreError:
                    return  # the next look says it
                if number != self._asked or not self.is_attached:
                    return
                fresh |= {entry.id: entry for entry in page.entries}
                before = page.before
                if before is None or oldest is None or before <= oldest:
                    break
            if before is None:
                self._entries, self._before = fresh, None
            else:
                looked = before
                self._entries = fresh | {id_: e for id_, e in self._entries.items() if id_ < looked}
                self._before = looked if self._before is not None and looked < self._before else self._before
            if fresh and self._end in (NOTHING, NO_SUCH):
                self._end = BEGINNING
            self.query_one(Doings).follow(self._doings(), self._end, self._clock.now_ms())

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE_SECONDS, self._begin)

    @on(Doings.WantEarlier)
    def _earlier(self, event: Doings.WantEarlier) -> None:
        event.stop()
        self._more()

    # -- keys

    def action_kind(self, by: int) -> None:
        """The next kind, or the one before."""
        self._kind = CHOICES[(CHOICES.index(self._kind) + by) % len(CHOICES)]
        self._say()
        self._begin()

    def action_move(self, by: int) -> None:
        """Another entry."""
        self.query_one(Doings).action_move(by)

    def action_page(self, by: int) -> None:
        """A screenful."""
        self.query_one(Doings).action_page(by)

    def action_choose(self) -> None:
        """Open the chat there."""
        self._go(column=False)

    def action_column(self) -> None:
        """Open it in a column of its own."""
        self._go(column=True)

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._go(column=False)

    @on(Doings.Chosen)
    def _clicked(self, event: Doings.Chosen) -> None:
        event.stop()
        self._go(column=False)

    def _go(self, *, column: bool) -> None:
        selected = self.query_one(Doings).selected
        entry = self._entries.get(selected) if isinstance(selected, int) else None
        if entry is not None:
            self.dismiss(Went(entry.chat, entry.row, column))

    async def on_unmount(self) -> None:
        """Nothing goes on after it."""
        await self._tasks.close()
