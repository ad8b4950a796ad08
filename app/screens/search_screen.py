"""Ctrl+K: one box over everything said; results as you type, the best one selected until you move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input

from app.keys import show
from app.screens import filters
from app.screens.bindings import bindings
from app.screens.finder import Finder, Found, sentence
from app.screens.host import Host
from app.screens.watched import WatchedTasks
from store.limits import QUERY_CHARS
from store.models import ChatSummary, SearchAnswer
from store.models import Preview as Around
from store.text import fold
from widgets.bar import Bar
from widgets.line_list import LineList
from widgets.names import without_name
from widgets.preview import Preview
from widgets.results import (
    Results,
    Section,
    Target,
    action_results,
    chat_results,
    message_results,
    this_chat,
)

if TYPE_CHECKING:
    from app.services import Services

APART_SECONDS = 0.05  # between two searches while keys arrive; the first key after a pause is looked for at once
ANSWER_SECONDS = 0.06  # an answer that comes within this is painted once, with the titles
SETTLED_SECONDS = 0.25  # without a key: the search a tool would make
PREVIEW_FROM = 100  # columns
PREVIEW_SECONDS = 0.06
TIPS = (
    "Every line of every chat, archived and private ones too.",
    "Words may be in any order; typos are repaired where exact finds are few.",
    "“in quotes” keeps words together.",
    "Tab adds filters: after:2026-09, before:yesterday, who:you, chat:wedding, in:~/web",
)


@dataclass(frozen=True, slots=True)
class Picked:
    """What was chosen, and whether it opens in a column of its own."""

    target: Target
    column: bool = False


class SearchScreen(ModalScreen[Picked | None]):
    """Latest wins: an answer to older words is never shown over newer ones."""

    app: Host

    BINDINGS = [
        *bindings("search"),  # none has priority: keys are taken in the order they were typed, after the letters
        Binding("escape", "leave", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
    ]

    def __init__(
        self, services: Services, chats: Callable[[], Sequence[ChatSummary]], here: str | None, words: str = ""
    ) -> None:
        super().__init__()
        self._services, self._here, self._words = services, here, words
        self._sorted: Sequence[ChatSummary] = ()
        self._all = chats
        self._finder = Finder(services.search, lambda: self._sorted, services.clock)
        self._found = self._finder.at_once("")
        self._tasks = WatchedTasks(lambda error: self.app.fault(error))
        self._looked = 0.0  # when the index was asked last
        self._asked = 0  # the number of the newest question
        self._lines: SearchAnswer | None = None  # the lines that are shown
        self._pending = False  # newer words are being looked for
        self._choose_when: bool | None = None  # Enter (in a new column or not) came before the answer
        self._pause: Timer | None = None
        self._settled: Timer | None = None
        self._titles: Timer | None = None
        self._previewing: Timer | None = None

    def compose(self) -> ComposeResult:
        """Box and status, results and preview, keys."""
        with Vertical(id="search"):
            with Horizontal(id="asked"):
                yield Input(self._words, placeholder="Search every chat", id="words", compact=True)
            yield Bar(id="status")
            with Horizontal(id="found"):
                yield Results(id="results")
                yield Preview(id="preview")
            yield Bar(id="keys")

    def on_mount(self) -> None:
        """Recent chats first."""
        self.query_one("#search").border_title = Content("Search")
        self._sorted = sorted(self._all(), key=lambda c: -c.last_active)
        results = self.query_one(Results)
        results.can_focus = False
        results.lively = True
        self.query_one(Input).focus()
        self._say_keys()
        self._fit()
        if self._words:
            self._changed_to(self._words)
        else:
            self._show(self._finder.at_once(""))

    def on_resize(self) -> None:
        """The preview goes in a narrow window."""
        self._fit()

    def _fit(self) -> None:
        wide = self.app.size.width >= PREVIEW_FROM
        self.query_one(Preview).display = wide
        if wide:
            self._preview_soon()

    def _say_keys(self) -> None:
        key = self.app.keymap.get
        words = [
            ("↑↓", "move"),
            ("⏎", "open at the line"),
            (show(key("search.column", "ctrl+o")), "in a new column"),
            (show(key("search.filters", "tab")), "filters"),
            ("Esc", "close"),
        ]
        self.query_one("#keys", Bar).say([p for k, w in words for p in ((f" {k}", "key"), (f" {w}  ", "muted"))])

    # -- as you type

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._changed_to(event.value)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._choose(column=False)

    def _changed_to(self, typed: str) -> None:
        self._asked += 1
        self.query_one(Results).restart()
        now = self._finder.at_once(typed[: QUERY_CHARS + 1])
        for timer in (self._pause, self._settled, self._titles):
            if timer is not None:
                timer.stop()
        if not now.words and not now.filtered.any:
            self._pending = False
            self._lines = None
            self._show(now)
            return
        self._pending = True
        self._found = now
        number = self._asked
        self._titles = self.set_timer(ANSWER_SECONDS, lambda: self._show_titles(now, number))
        wait = self._looked + APART_SECONDS - monotonic()
        if wait <= 0:
            self._look(now, number, typing=True)
        else:
            self._pause = self.set_timer(wait, lambda: self._look(now, number, typing=True))
        self._settled = self.set_timer(SETTLED_SECONDS, lambda: self._look(now, number, typing=False))

    def _show_titles(self, found: Found, number: int) -> None:
        """The lines take long: titles and actions are shown before them."""
        if self._pending and number == self._asked:
            self._show(found)

    def _look(self, found: Found, number: int, *, typing: bool) -> None:
        if number == self._asked:
            self._looked = monotonic()
            self._tasks.spawn(self._ask(found, number, typing), "search")

    async def _ask(self, found: Found, number: int, typing: bool) -> None:
        whole = await self._finder.look(found, typing=typing)
        answer = whole.answer
        if number != self._asked or not self.is_attached or answer is None or answer.superseded:
            return
        if typing and not self._pending:
            return  # the answer of the pause is there already
        self._pending = False
        self._lines = answer
        self._show(whole)
        if answer.catching_up:
            self._settled = self.set_timer(1.0, lambda: self._look(found, number, typing=False))
        if self._choose_when is not None:
            self._choose(column=self._choose_when)

    def _show(self, found: Found) -> None:
        """Draw it. While its lines are being looked for, those of the words before stay where they are."""
        self._found = found
        now = self._services.clock.now_ms()
        sections = [
            Section("RECENT", chat_results([(c, ()) for c in found.recent], now)),
            Section("CHATS", chat_results([(h.chat, h.ranges) for h in found.titles], now)),
        ]
        answer = self._lines
        if answer is not None and answer.groups:
            name = "CLOSE MATCHES" if answer.match == "close" else "MESSAGES"
            sections.append(Section(name, message_results(answer, now)))
        if found.words and self._here is not None:
            sections.append(Section("THIS CHAT", this_chat(found.words, self._here)))
        keymap = self.app.keymap
        acts = [(k.id, k.words, _key_words(k.where, keymap.get(k.id, k.keys))) for k in found.actions]
        sections.append(Section("ACTIONS", action_results(acts)))
        self.query_one(Results).show(sections)
        said_in = sum(1 for c in self._sorted if c.messages)
        self.query_one("#status", Bar).say([(" ", ""), (sentence(found, keymap, said_in), "muted")])

    # -- moving and choosing

    def action_move(self, by: int) -> None:
        """Another result."""
        self.query_one(Results).action_move(by)

    def action_page(self, by: int) -> None:
        """A screenful of results."""
        self.query_one(Results).action_page(by)

    @on(LineList.Moved)
    def _moved(self, event: LineList.Moved) -> None:
        event.stop()
        self._preview_soon()

    def action_choose(self) -> None:
        """Open what is selected."""
        self._choose(column=False)

    def action_column(self) -> None:
        """Open it in a column of its own."""
        self._choose(column=True)

    def _choose(self, *, column: bool) -> None:
        results = self.query_one(Results)
        if self._pending and not results.moved:
            self._choose_when = column  # the fingers were quicker than the answer
            return
        if results.target is not None:
            self.dismiss(Picked(self._filled(results.target), column))

    @on(Results.Chosen)
    def _clicked(self, event: Results.Chosen) -> None:
        event.stop()
        self.dismiss(Picked(self._filled(event.target), event.column))

    def _filled(self, target: Target) -> Target:
        """With the words find can look for: the query where the line has it as it stands, else what matched."""
        answer = self._lines
        if not target.message or answer is None:
            return target
        hit = next(
            (h for g in answer.groups if g.chat.id == target.chat for h in g.hits if h.anchor == target.message), None
        )
        if hit is None or fold(self._found.words) in fold(hit.snippet):
            return replace(target, find=self._found.words)
        longest = max((hit.snippet[a:b] for a, b in hit.ranges), key=len, default="")
        return replace(target, find=longest)

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)

    def action_filters(self) -> None:
        """Tab: the next filter."""
        box = self.query_one(Input)
        text, cursor = filters.with_next(box.value)
        box.value = text
        box.cursor_position = cursor

    def action_repair(self) -> None:
        """Build the index anew, where search said it is broken."""
        if self._found.answer is None or not self._found.answer.broken:
            return
        self.query_one("#status", Bar).say([(" Repairing…", "muted")])
        self._tasks.spawn(self._repair(), "repair")

    async def _repair(self) -> None:
        await self._services.search.repair()
        if self.is_attached:
            self._changed_to(self.query_one(Input).value)

    # -- preview

    def _preview_soon(self) -> None:
        if self._previewing is not None:
            self._previewing.stop()
        self._previewing = self.set_timer(PREVIEW_SECONDS, self._preview_now)

    def _preview_now(self) -> None:
        preview = self.query_one(Preview)
        if not preview.display:
            return
        target = self.query_one(Results).target
        if target is None or not target.chat or target.action:
            preview.show(None, self._services.clock.now_ms(), TIPS)
            return
        self._tasks.spawn(self._preview(target), "preview")

    async def _preview(self, target: Target) -> None:
        words = self._matched_words(target) or self._found.words
        model = await self._services.search.preview(target.chat, target.message or None, words)
        if self.is_attached and self.query_one(Results).target == target:
            self.query_one(Preview).show(without_names(model), self._services.clock.now_ms(), TIPS)

    def _matched_words(self, target: Target) -> str:
        """For a close match the words that matched, which aren't those typed; else ""."""
        answer = self._lines
        if answer is None or answer.match != "close":
            return ""
        hits = (h for g in answer.groups if g.chat.id == target.chat for h in g.hits if h.anchor == target.message)
        hit = next(hits, None)
        return " ".join(dict.fromkeys(hit.snippet[a:b] for a, b in hit.ranges)) if hit else ""

    async def on_unmount(self) -> None:
        """Nothing goes on after it."""
        await self._tasks.close()


def _key_words(where: str, keys: str) -> str:
    return f"F8 {show(keys)}" if where == "leader" else show(keys)


def without_names(model: Around) -> Around:
    """Others' lines are kept as `name: words`; the preview shows the name before them already."""
    lines, ranges = [], model.ranges
    for at, line in enumerate(model.lines):
        text, kept = without_name(line.text, ranges if at == model.focus else (), line.name)
        if at == model.focus:
            ranges = kept
        line = replace(line, text=text)
        lines.append(line)
    return replace(model, lines=tuple(lines), ranges=ranges)
