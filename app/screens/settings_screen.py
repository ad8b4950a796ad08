"""F10: every setting with its words, changed in place and written to settings.toml with the person's comments kept."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from app.keys import KEYS, Key, keymap
from app.paths import Home
from app.screens.ask_text import AskText
from app.screens.picker import Choice, Picker
from app.screens.say import say
from app.settings import ConsentSettings, Settings, SettingsError, load, means, save
from store.text import safe_text

_HIDDEN = frozenset({"version", "keys"})
_CONSENTS = {f"explorer.consent.{tool}" for tool in ConsentSettings.model_fields}
_NOW = frozenset({"theme", "mouse", "model", "mode", "folder"} | _CONSENTS)  # at once; the others at the next start


def entries(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any, Any, str]]:
    """(dotted key, its kind, its value now, its words) of every setting that can be changed here."""
    for name, info in type(model).model_fields.items():
        value = getattr(model, name)
        key = prefix + name
        if key in _HIDDEN:
            continue
        if isinstance(value, BaseModel):
            yield from entries(value, f"{key}.")
        else:
            yield key, info.annotation, value, info.description or ""


def key_entries(settings: Settings) -> Iterator[tuple[str, Any, Any, str]]:
    """The same for every key of the table."""
    for key in KEYS:
        yield f"keys.{key.id}", Key, settings.keys.get(key.id, key.keys), f"{key.section}: {key.words}"


class SettingsScreen(ModalScreen[None]):
    """A list of settings; letters narrow it, Enter changes one."""

    BINDINGS = [
        Binding("escape,f10", "leave", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "move(8)", show=False, priority=True),
        Binding("pageup", "move(-8)", show=False, priority=True),
    ]

    def __init__(self, home: Home, settings: Settings, changed: Callable[[Settings, str], None]) -> None:
        super().__init__()
        self._home, self._settings, self._changed = home, settings, changed

    def compose(self) -> ComposeResult:
        """A line to narrow the list, the list, and where it is kept."""
        with Vertical(id="box"):
            yield Input(placeholder="Find a setting", id="narrow", compact=True)
            yield OptionList(id="settings", markup=False, compact=True)
            yield Static(id="foot")

    def on_mount(self) -> None:
        """Fill the list."""
        self.query_one("#box").border_title = Content("Settings")
        self.query_one("#settings", OptionList).can_focus = False
        self.query_one("#narrow").focus()
        self._fill()

    def _fill(self, keep: str | None = None) -> None:
        listing = self.query_one("#settings", OptionList)
        words = self.query_one("#narrow", Input).value.casefold().split()
        listing.clear_options()
        place = 0
        for key, _, value, doc in self._entries():
            if not all(w in f"{key} {doc}".casefold() for w in words):
                continue
            if key == keep:
                place = listing.option_count
            listing.add_option(Option(_prompt(key, _shown(value), doc), id=key))
        if listing.option_count:
            listing.highlighted = place
        self.query_one("#foot", Static).update(
            Content(f"⏎ change   Esc close   {safe_text(str(self._home.settings), one_line=True)}")
        )

    def _entries(self) -> list[tuple[str, Any, Any, str]]:
        engine = self._settings.explorer.engine
        told = [(key, kind, value, means(doc, engine)) for key, kind, value, doc in entries(self._settings)]
        return [*told, *key_entries(self._settings)]

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow."""
        event.stop()
        self._fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter changes the highlighted one."""
        event.stop()
        listing = self.query_one("#settings", OptionList)
        if listing.highlighted is not None:
            self._change(str(listing.get_option_at_index(listing.highlighted).id))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click does too."""
        event.stop()
        self._change(str(event.option.id))

    def action_move(self, by: int) -> None:
        """Move the highlight; it stops at the ends."""
        listing = self.query_one("#settings", OptionList)
        if listing.option_count:
            listing.highlighted = max(0, min((listing.highlighted or 0) + by, listing.option_count - 1))

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)

    def _change(self, key: str) -> None:
        _, kind, value, doc = next(e for e in self._entries() if e[0] == key)
        if kind is bool:
            self._save(key, not value)
            return
        options = sorted(self.app.available_themes) if key == "theme" else _choices(kind)
        if options:
            chosen = [Choice(o, o, "now" if o == value else "") for o in options]
            self.app.push_screen(Picker(key, chosen), lambda picked: self._save(key, picked) if picked else None)
            return
        shown = "" if isinstance(value, SecretStr) or value is None else _shown(value, empty="")
        self.app.push_screen(AskText(key, shown, hint=doc), lambda text: self._typed(key, kind, text))

    def _typed(self, key: str, kind: Any, text: str | None) -> None:
        if text is None:
            return
        if kind is Key:
            self._save_key(key.removeprefix("keys."), text)
        elif get_origin(kind) is tuple:
            self._save(key, [w.strip() for w in text.split(",") if w.strip()])
        else:
            self._save(key, text.strip() or (None if _optional(kind) else ""))

    def _save_key(self, name: str, text: str) -> None:
        wanted = text.strip()
        _, problems = keymap({**self._settings.keys, name: wanted} if wanted else {})
        mine = [p for p in problems if name in p or wanted in p]
        if mine:
            say(self.app, mine[0], "error")
            return
        self._save(f"keys.{name}", wanted or None, f'keys."{name}"')

    def _save(self, key: str, value: Any, path: str = "") -> None:
        try:
            save(self._home, {path or key: value})
            settings, _ = load(self._home)
        except SettingsError as error:
            say(self.app, str(error), "error")
            return
        self._settings = settings
        self._changed(settings, key)
        self._fill(keep=key)
        when = "" if key in _NOW or path else "; it holds from the next start"
        say(self.app, f"{key} is now {_shown(next(e for e in self._entries() if e[0] == key)[2])}{when}")


def _prompt(key: str, value: str, doc: str) -> Content:
    return Content.assemble(
        (f"{key:<30} ", "bold"),
        (safe_text(value, one_line=True), "$text-accent"),
        "\n",
        (f"  {doc}", "$foreground-muted"),
    )


def _shown(value: Any, empty: str = "—") -> str:
    if isinstance(value, SecretStr):
        return "set (not shown)"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or empty
    return empty if value in (None, "") else str(value)


def _choices(kind: Any) -> list[str]:
    return [str(a) for a in get_args(kind)] if get_origin(kind) is Literal else []


def _optional(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind)
