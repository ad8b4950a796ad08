"""F3: what was done in every chat, newest first by day; each line opens its chat at that moment."""

from __future__ import annotations

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
from app.screens.host import Host
from app.screens.watched import WatchedTasks
from app.session.activity import KINDS, Activity, ActivityKind, Entry
from store.errors import StoreError
from store.limits import QUERY_CHARS
from widgets.bar import Bar
from widgets.doings import Doing, Doings

if TYPE_CHECKING:
    from app.services import Services

PAUSE_SECONDS = 0.12  # between the last key and the look
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
        self._clock = services.clock
        redact = services.redactor.clean
        self._activity = Activity(services.store, lambda text: secrets.clean(redact(text)))
        self._tasks = WatchedTasks(lambda error: self.app.fault(error))
        self._entries: dict[int, Entry] = {}
        self._kind: ActivityKind | None = None
        self._before: int | None = None
        self._asked = 0  # the number of the newest question
        self._reading = False
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

    def _say(self) -> None:
        kinds = self.query_one("#kinds", Bar)
        pieces = []
        for choice in CHOICES:
            here = choice == self._kind
            pieces.append((f" {choice or 'all'} ", "title under" if here else "muted"))
        kinds.say(pieces)
        words = [
            ("↑↓", "move"),
            (self._key("activity.choose"), "open there"),
            (self._key("activity.column"), "in a new column"),
            (self._key("activity.kind"), "kind"),
            ("Esc", "close"),
        ]
        self.query_one("#keys", Bar).say([p for k, w in words for p in ((f" {k}", "key"), (f" {w}  ", "muted"))])

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
        doings = [
            Doing(e.id, e.at, e.words, e.title or "New chat", e.note, e.waits, e.private)
            for e in self._entries.values()
        ]
        self.query_one(Doings).show(doings, end)

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
