"""The program on screen: themes, the net, signals, and a way out that always leaves the terminal right."""

from __future__ import annotations

import asyncio
import difflib
import gc
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from textual.binding import Binding
from textual.driver import Driver
from textual.filter import LineFilter

from app import keys
from app.screens.bindings import bindings
from app.screens.host import Host
from app.screens.say import say
from app.screens.terminal_gone import forgiving, has_terminal
from app.screens.themes import THEMES
from app.screens.watched import WatchedTasks
from store.clock import Clock, SystemClock
from store.errors import StoreError
from store.limits import COMPLETE_SECONDS, TERMINAL_LOOK_SECONDS
from widgets.net import NET

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from app.paths import Home
    from app.services import Services
    from app.settings import Settings

EXIT_CODES = {"broken": 3, "held": 4, "read-only": 3}
Build = Callable[[], Awaitable["Services"]]


class ShoalApp(Host):
    """Builds the services, shows the deck, and closes both whatever happens."""

    TITLE = "Shoal"
    CSS_PATH = "shoal.tcss"
    ENABLE_COMMAND_PALETTE = False
    PAUSE_GC_ON_SCROLL = True
    BINDINGS = [*bindings("app", priority=True), Binding("ctrl+c", "interrupt", show=False)]

    def __init__(self, build: Build, settings: Settings, problems: Sequence[str] = (), crash_dir: Any = None) -> None:
        super().__init__()
        self._build = build
        self.settings = settings
        self.problems = list(problems)
        self.crash_dir = crash_dir
        self.services: Services | None = None
        self.failure: str | None = None  # one sentence for the error stream after the screen is gone
        self.tasks = WatchedTasks(self.fault)
        self.mouse_on = True
        self.keymap: dict[str, str] = {}
        self._leaving = False
        self._clashes: set[str] = set()
        for theme in THEMES:
            self.register_theme(theme)

    # -- start

    async def on_mount(self) -> None:
        """Colours and keys first, so that the first paint is right; then the services; then the deck."""
        if problem := self.use_theme(self.settings.theme):
            self.use_theme("")
            self.problems.append(f"Settings, theme, so Shoal's own is used: {problem[:1].lower()}{problem[1:]}")
        self.use_keys(self.settings.keys)
        self._watch_signals()
        if has_terminal():  # its end is told by a signal, but not where another program (make) stands between
            self.set_interval(TERMINAL_LOOK_SECONDS, self._watch_terminal)
        self.tasks.spawn(self._start(), "start")

    async def _start(self) -> None:
        from app.screens.deck_screen import DeckScreen

        try:
            self.services = await self._build()
        except StoreError as error:
            self.leave(EXIT_CODES.get(error.code, 1), str(error))
            return
        await self.push_screen(DeckScreen(self.services))
        if not self.settings.mouse:
            self.use_mouse(False)
        for problem in self.problems:
            say(self, problem, "warning")
        self.call_after_refresh(_collect_again)
        self.set_timer(COMPLETE_SECONDS, lambda: self.tasks.spawn(self._complete(), "rest"))

    async def _complete(self) -> None:
        """Once the columns are painted: the rest is imported beside the screen and joins; what was left begins."""
        await asyncio.to_thread(importlib.import_module, "app.extending")
        if self.services is not None and not self._leaving:
            self.services.complete()
            self.services.session.ready()

    @property
    def clock(self) -> Clock:
        """The one clock, also for what counts on screen."""
        return self.services.clock if self.services is not None else SystemClock()

    def header_keys(self) -> list[tuple[str, str]]:
        """The right of the header: the keys that lead to all others."""
        out: list[tuple[str, str]] = []
        for name, words in (("search.open", "search"), ("list.toggle", "chats"), ("help.open", "help")):
            out += [(keys.show(self.keymap.get(name, keys.BY_ID[name].keys)), "key"), (f" {words}   ", "muted")]
        return out if self.size.width >= 64 else []

    def use_mouse(self, on: bool) -> bool:
        """Take mouse reports or leave the mouse to the terminal; answers what holds now."""
        self.mouse_on = on
        driver = self._driver
        switch = getattr(driver, "_enable_mouse_support" if on else "_disable_mouse_support", None)
        if switch is not None:
            switch()
        return on

    def use_theme(self, name: str) -> str | None:
        """Take a theme by name; a sentence when there is none."""
        if name in ("", "auto"):
            name = "shoal"
        if name not in self.available_themes:
            near = difflib.get_close_matches(name, self.available_themes, 1)
            return f"There is no theme “{name[:40]}”; " + (f"did you mean {near[0]}?" if near else "F10 lists them")
        self.theme = name
        return None

    def use_keys(self, wanted: dict[str, str]) -> None:
        """Take the person's keymap; what can't be had is said once the deck is there."""
        good, problems = keys.keymap(wanted)
        self.keymap = good
        self.set_keymap({key.id: key.keys for key in keys.KEYS if key.where not in ("leader",)} | good)
        self.problems.extend(problems)

    def handle_bindings_clash(self, clashed_bindings: set[Binding], node: DOMNode) -> None:
        """Two things want one key: say so once."""
        names = " and ".join(sorted(b.id or b.action for b in clashed_bindings))
        if names not in self._clashes:
            self._clashes.add(names)
            say(
                self, f"A key is taken twice: {names} lost theirs; give one another in settings.toml, [keys]", "warning"
            )

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters, and the net last."""
        return [*super().get_line_filters(), NET]

    def tell(self, words: str) -> None:
        """A notice of the index or the store, from any thread."""
        self.problems.append(words)
        if self.services is not None:
            self.call_later(say, self, words, "warning")

    # -- leaving

    def get_driver_class(self) -> type[Driver]:
        """Textual's driver for this system, for a terminal that may go away."""
        return forgiving(super().get_driver_class())

    def _watch_terminal(self) -> None:
        if not has_terminal():
            self.leave(129, None)

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for name, code in (("SIGTERM", 143), ("SIGHUP", 129)):
            number = getattr(signal, name, None)
            if number is None:
                continue
            try:
                loop.add_signal_handler(number, self.leave, code, None)
            except (NotImplementedError, RuntimeError, ValueError):
                return  # not the main thread (tests), or a system without signals

    def action_interrupt(self) -> None:
        """^C copies where something is selected, and never ends the program by surprise."""
        selected = self.screen.get_selected_text()
        if selected:
            self.action_copy(selected)
            return
        quit_key = keys.show(self.keymap.get("app.quit", keys.BY_ID["app.quit"].keys))
        say(self, f"{quit_key} quits. To copy, select with the mouse or press y on a row")

    def action_copy(self, text: str) -> None:
        """Put text on the clipboard; a terminal takes only so much at once."""
        from store.limits import CLIPBOARD_CHARS
        from store.text import safe_text

        clean = safe_text(text, limit=CLIPBOARD_CHARS)
        self.copy_to_clipboard(clean)
        cut = " (the first part: a terminal takes no more)" if len(text) > CLIPBOARD_CHARS else ""
        say(self, f"Copied {len(clean):,} characters{cut}")

    def action_quit_asking(self) -> None:
        """Quit; when something is still working, say what, and ask."""
        running = self.services.session.running() if self.services else []
        if not running:
            self.leave(0)
            return
        from app.screens.confirm import Confirm

        if isinstance(self.screen, Confirm):
            self.leave(0)  # ^Q once more
            return
        names = [self._title(chat) for chat in running]
        listed = "\n".join(f"● {name}" for name in names[:8]) + (f"\n… {len(names) - 8} more" if len(names) > 8 else "")
        one = len(names) == 1
        question = "One chat is still working." if one else f"{len(names)} chats are still working."
        detail = f"{listed}\n\nQuitting stops {'it' if one else 'them'} where {'it is' if one else 'they are'}."
        confirm = Confirm(question, f"{detail} What came so far is kept.", yes="Quit", no="Stay")
        self.push_screen(confirm, lambda yes: self.leave(0) if yes else None)

    def _title(self, chat: str) -> str:
        from app.screens.deck_screen import DeckScreen
        from store.text import safe_text

        decks = (screen for screen in self.screen_stack if isinstance(screen, DeckScreen))
        summary = next((deck.known(chat) for deck in decks), None)
        return safe_text(summary.title if summary else "", one_line=True) or "New chat"

    def leave(self, code: int = 0, failure: str | None = None) -> None:
        """Close the services (stops what runs, keeps what was typed), then the screen."""
        if self._leaving:
            return
        self._leaving = True
        self.failure = failure
        self.tasks.spawn(self._leave(code), "leave")

    async def _leave(self, code: int) -> None:
        from app.screens.deck_screen import DeckScreen

        try:
            for screen in self.screen_stack:
                if isinstance(screen, DeckScreen):
                    await screen.put_away()
            if self.services:
                await self.services.close()
        finally:
            self.services = None
            self.exit(code, return_code=code)

    def fault(self, error: BaseException) -> None:
        """A fault of ours in a task: nothing said is lost, so Shoal goes on where there is a deck to go on with."""
        if self.is_headless or self.services is None or not self.screen_stack or len(self.screen_stack) < 2:
            try:
                raise error
            except Exception as fault:  # noqa: BLE001 - Textual's own way out wants it raised
                self._handle_exception(fault)
            return
        say(self, _write_report(self.crash_dir, error, "Shoal met a fault of its own and goes on"), "error")

    def _fatal_error(self) -> None:
        """A fault of ours: the report goes to a file, the person gets one sentence after the screen is gone."""
        if self.crash_dir is None or self.is_headless:
            super()._fatal_error()
            return
        self.failure = _write_report(self.crash_dir, self._exception)
        self.bell()
        self._close_messages_no_wait()


def _write_report(
    folder: Any, error: BaseException | None, what: str = "Shoal met a fault of its own and had to stop"
) -> str:
    report = folder / "crash.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        words = "".join(traceback.format_exception(error)) if error else "no details"
        report.write_text(words, encoding="utf-8", errors="backslashreplace")
        report.chmod(0o600)
    except OSError as problem:
        return f"{what} ({problem.strerror}); everything said is kept"
    return f"{what}; everything said is kept. Details: {report}"


def why_no_screen() -> str | None:
    """One sentence when there is no terminal to draw on, else None."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return "shoal needs a terminal to draw on; for scripts there are shoal ask, shoal search and shoal headless"
    if os.environ.get("TERM", "") in ("dumb", "unknown"):
        return f"shoal can't draw on TERM={os.environ['TERM']}; set TERM (xterm-256color fits most), or use shoal ask"
    return None


def run(home: Home, settings: Settings, problems: Sequence[str] = ()) -> int:
    """Show Shoal until the person leaves; answers the exit code."""
    sentence = why_no_screen()
    if sentence is not None:
        print(sentence, file=sys.stderr)  # noqa: T201 - the error stream is the only place left to say it
        return 2

    async def build() -> Services:
        from app.services import build as build_services

        return await build_services(home, settings, on_notice=lambda words: app.tell(words), late=True)

    app = ShoalApp(build, settings, problems, crash_dir=home.logs)
    code = app.run()  # (collecting begins with the first paint, `_collect_again`)
    gc.enable()
    if app.services is not None and app.failure:
        asyncio.run(_close(app.services))
    if app.failure:
        print(app.failure, file=sys.stderr)  # noqa: T201 - the screen is gone
    return app.return_code or 0 if code is None else code


def _collect_again() -> None:
    """After the first paint; what lives as long as the program isn't looked at again by every collection."""
    gc.collect(0)
    gc.freeze()
    gc.enable()


async def _close(services: Services) -> None:
    """After a crash: what still runs is stopped, and the store closed, as far as that goes."""
    try:
        await services.close()
    except (RuntimeError, OSError, StoreError):
        return
