"""What every key of the table does on the deck."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from app import commands as cmd
from app.keys import BY_ID, show
from app.screens.deck_base import DeckBase
from app.screens.posting import checked
from store.limits import ESC_TWICE_SECONDS
from store.models import ChatSummary
from store.text import safe_name
from widgets.chat_list import ChatList, sections_of

if TYPE_CHECKING:
    from app.screens.search_screen import Picked
    from app.settings import Settings

# Screens are imported when their key is pressed: none is needed for the first paint.

MODES = ("plan", "ask", "auto", "full")
MODE_WORDS = {
    "plan": "plan: it may only read",
    "ask": "ask: every change asks first",
    "auto": "auto: asks where it is risky",
    "full": "full: it asks almost nothing",
}


def title_of(chat: ChatSummary | None) -> str:
    """A chat's title for a sentence."""
    return safe_name(chat.title if chat else "") or "New chat"


class DeckActions(DeckBase):
    """Actions named by verb."""

    def __init__(self, services: Any) -> None:
        super().__init__(services)
        self._escaped = -ESC_TWICE_SECONDS  # when Esc was pressed last
        self._archived: str | None = None  # the last one, for undo

    def checked(self, make: Callable[[], cmd.AnyCommand]) -> cmd.AnyCommand | None:
        """A command of what was typed; a wrong one is said."""
        made = checked(make)
        if isinstance(made, str):
            self.say(made, "warning")
            return None
        return made

    # -- screens

    def action_search(self, words: str = "") -> None:
        """Ctrl+K."""
        from app.screens.search_screen import SearchScreen

        if isinstance(self.app.screen, SearchScreen):
            return
        screen = SearchScreen(self.services, lambda: list(self.chats.values()), self.deck.focused, words)
        self.app.push_screen(screen, self._found)

    def _found(self, picked: Picked | None) -> None:
        if picked is None:
            return
        target = picked.target
        if target.action == "find":
            self.action_find(target.find)
        elif target.action:
            self.run_later(self.run_action(BY_ID[target.action].action))
        else:
            self.open_at(target.chat, target.message, target.find, beside=picked.column)

    def action_help(self) -> None:
        """F1."""
        from app.screens.help_screen import HelpScreen

        self.app.push_screen(HelpScreen(self.app.keymap))

    def action_settings(self) -> None:
        """F10."""
        from app.screens.settings_screen import SettingsScreen

        self.app.push_screen(SettingsScreen(self.services.home, self.app.settings, self._settings_changed))

    def _settings_changed(self, settings: Settings, key: str) -> None:
        self.app.settings = settings
        if key == "theme":
            self.app.use_theme(settings.theme)
        elif key == "mouse":
            self.app.use_mouse(settings.mouse)
        elif key.startswith("keys."):
            self.app.use_keys(settings.keys)
            self.refresh_words()

    def action_leader(self) -> None:
        """F8."""
        from app.screens.leader import Leader

        self.app.push_screen(Leader(self.app.keymap), self._led)

    def _led(self, action: str | None) -> None:
        if action:
            self.run_later(self.run_action(action))

    def action_toggle_mouse(self) -> None:
        """F9: without it, the terminal itself selects."""
        on = self.app.use_mouse(not self.app.mouse_on)
        words = "The mouse works again" if on else "The mouse is off: select with the terminal"
        self.say(f"{words} · {show(self.app.keymap.get('mouse.toggle', 'f9'))} switches it")

    def action_close(self) -> None:
        """Esc: close what is open; twice in a second stops the reply."""
        column, now = self.column, self.clock.steady()
        twice, self._escaped = now - self._escaped < ESC_TWICE_SECONDS, now
        chats = self.query_one("#chats", ChatList)
        if self.has_class("-narrow") and self.list_open:
            self.action_toggle_list()
        elif column is not None and column.find_bar.display:
            column.close_find()
        elif chats.has_focus or (column is not None and not column.composer.box.has_focus):
            self.action_focus_composer()
        elif twice and (summary := self.summary) is not None and summary.turn_id:
            self.action_stop_chat()
        elif self.summary is not None and self.summary.turn_id:
            self.say("Esc once more stops the reply")

    # -- list and columns

    def action_toggle_list(self) -> None:
        """F2."""
        self.list_open = not self.list_open
        self.memory.keep("", "list", self.list_open)
        self.lay_out()
        self.refresh_list()
        self.refresh_words()
        if self.list_open and self.has_class("-narrow"):
            self.query_one("#chats").focus()
        elif not self.list_open:
            self.action_focus_composer()

    def action_focus_list(self) -> None:
        """Leader b."""
        if not self.list_open:
            self.action_toggle_list()
        self.query_one("#chats").focus()

    def action_focus_composer(self) -> None:
        """Leader i."""
        if self.column is not None:
            self.column.composer.focus()

    def action_go_to_column(self, number: int) -> None:
        """Leader 1 to 9."""
        if number <= len(self.deck.chats):
            self.set_deck(self.deck.go(number - 1))
        else:
            self.say(f"There are {len(self.deck.chats)} columns.", "warning")

    def action_column_left(self) -> None:
        """The column to the left."""
        self.set_deck(self.deck.go(self.deck.focus - 1))

    def action_column_right(self) -> None:
        """The column to the right."""
        self.set_deck(self.deck.go(self.deck.focus + 1))

    def action_move_column(self, by: int) -> None:
        """Move the focused column."""
        self.set_deck(self.deck.move(by))

    def action_close_column(self) -> None:
        """Close the column; its chat stays, and goes on."""
        if self.deck.focused is None:
            return
        column = self.column
        if column is not None:
            self.memory.keep(column.chat, "draft", column.composer.draft() or None)
        closed = self.deck.close(self.deck.focused)
        if not closed.chats:
            if self.summary is not None and not self.summary.messages:
                return
            self.new_chat()
            return
        self.set_deck(closed)

    def _in_list_order(self) -> list[str]:
        sections = sections_of(self.listed(), self.clock.now_ms())
        return [c.id for name, chats in sections if name not in ("ARCHIVED", "IMPORTED") for c in chats]

    def _step_chat(self, by: int) -> None:
        order = self._in_list_order()
        if order:
            at = order.index(self.deck.focused) if self.deck.focused in order else -1
            self.show_chat(order[(at + by) % len(order)])

    def action_previous_chat(self) -> None:
        """The chat above in the list."""
        self._step_chat(-1)

    def action_next_chat(self) -> None:
        """The chat below in the list."""
        self._step_chat(1)

    def action_next_needs_you(self) -> None:
        """F4: the next chat that waits for the person, at its question."""
        waiting = [c.id for c in self.chats.values() if c.status == "awaiting-permission"]
        waiting += [c.id for c in self.chats.values() if c.id in self.unread and c.id not in waiting]
        if not waiting:
            self.say("Nothing needs you.")
            return
        at = waiting.index(self.deck.focused) if self.deck.focused in waiting else -1
        column = self.show_chat(waiting[(at + 1) % len(waiting)])
        if column is not None:
            self.call_after_refresh(self.call_later, column.focus_ask)

    # -- chats

    def new_chat(self, title: str = "", *, beside: bool = False) -> None:
        """A new chat; an empty one that isn't open is taken again."""
        if self.readonly:
            self.say("Nothing can be saved here, so there are no new chats.", "warning")
            return
        settings = self.app.settings
        focused = self.summary
        if not title and focused is not None and not focused.messages and not focused.origin and not beside:
            self.action_focus_composer()
            return
        empty = [c for c in self.chats.values() if not c.messages and not c.title and not c.private and not c.origin]
        spare = next((c for c in empty if c.id not in self.deck.chats and not c.archived_at), None)
        if spare is not None and not title and (spare.model, spare.mode) == (settings.model, settings.mode):
            self.show_chat(spare.id, beside=beside)
            return
        made = self.checked(
            lambda: cmd.NewChat(title=title, model=settings.model, mode=settings.mode, folder=settings.folder or None)
        )
        if made is not None:
            self.posting.post(made, lambda answer: self._show_new(answer["chat"], beside))

    def _show_new(self, chat: str, beside: bool) -> None:
        if self.is_attached:
            self.show_chat(chat, beside=beside)

    def action_new_chat(self) -> None:
        """A new chat in this column."""
        self.new_chat()

    def action_new_column(self) -> None:
        """A new chat in a column of its own."""
        self.new_chat(beside=True)

    def action_open_in_column(self) -> None:
        """Pick a chat for a new column."""
        from app.screens.picker import Choice, Picker

        chats = sorted(self.listed(), key=lambda c: -c.last_active)
        choices = [
            Choice(c.id, title_of(c), "archived" if c.archived_at else show_folder(c))
            for c in chats
            if c.id not in self.deck.chats
        ]
        picker = Picker("Open in a new column", choices, empty="No other chat")
        self.app.push_screen(picker, self._show_beside)

    def _show_beside(self, chat: str | None) -> None:
        if chat:
            self.show_chat(chat, beside=True)

    def action_find(self, words: str = "") -> None:
        """Find in this chat."""
        if self.column is not None:
            self.column.open_find(words)

    def action_stop_chat(self) -> None:
        """Stop the reply."""
        summary = self.summary
        if summary is None or not summary.turn_id:
            self.say("Nothing is being written here.")
            return
        self.posting.post(cmd.Stop(chat=summary.id))

    def action_retry(self) -> None:
        """Try the last reply again."""
        if self.deck.focused:
            self.posting.post(cmd.Retry(chat=self.deck.focused))

    def action_rename(self, chat: str | None = None) -> None:
        """Ask for a title."""
        from app.screens.ask_text import AskText

        chat = chat or self.deck.focused
        if chat is None:
            return
        old = self.chats[chat].title if chat in self.chats else ""
        self.app.push_screen(AskText("Rename", old), lambda title: self.rename(chat, title) if title else None)

    def rename(self, chat: str, title: str) -> None:
        """Give a chat a title."""
        made = self.checked(lambda: cmd.Rename(chat=chat, title=title.strip()))
        if made is not None:
            self.posting.post(made)

    def action_pin(self, chat: str | None = None) -> None:
        """Pin or unpin."""
        chat = chat or self.deck.focused
        if chat is not None and chat in self.chats:
            self.posting.post(cmd.Pin(chat=chat, pinned=not self.chats[chat].pinned))

    def action_archive(self, chat: str | None = None) -> None:
        """Archive (undo follows), or bring back."""
        chat = chat or self.deck.focused
        if chat is None or chat not in self.chats:
            return
        summary = self.chats[chat]
        if summary.archived_at:
            self.posting.post(cmd.Archive(chat=chat, archived=False))
            return
        if not summary.messages:
            self.say("There is nothing in this chat yet.")
            return
        self.posting.post(cmd.Archive(chat=chat), lambda _: self._after_archive(chat))

    def _after_archive(self, chat: str) -> None:
        self._archived = chat
        undo = show(self.app.keymap.get("chat.undo-archive", "u"))
        self.say(f"Archived “{title_of(self.chats.get(chat))}” · F8 {undo} undoes it")
        if chat in self.deck.chats:
            closed = self.deck.close(chat)
            if closed.chats:
                self.set_deck(closed)
            else:
                self.new_chat()

    def action_undo_archive(self) -> None:
        """Bring back what was archived last."""
        chat, self._archived = self._archived, None
        if chat is None or chat not in self.chats:
            self.say("Nothing was archived just now.")
            return
        self.posting.post(cmd.Archive(chat=chat, archived=False), lambda _: self._show_new(chat, True))

    def action_delete(self, chat: str | None = None) -> None:
        """Ask, then delete for ever."""
        from app.screens.confirm import Confirm

        chat = chat or self.deck.focused
        if chat is None or chat not in self.chats:
            return
        summary = self.chats[chat]
        many = f"{summary.messages:,} message{'' if summary.messages == 1 else 's'}"
        question = Confirm(
            f"Delete “{title_of(summary)}” for ever?",
            f"{many} go; this can't be undone, and search won't find them. Archiving keeps them out of the way.",
            yes="Delete",
            danger=True,
        )
        self.app.push_screen(question, lambda yes: self.posting.post(cmd.Delete(chat=chat)) if yes else None)

    def action_fork(self) -> None:
        """Go on in a new chat, which stands beside this one."""
        if self.deck.focused:
            command = cmd.Fork(chat=self.deck.focused)
            self.posting.post(command, lambda answer: self._show_new(answer["chat"], True))

    def action_private(self) -> None:
        """Private, only while empty."""
        summary = self.summary
        if summary is None:
            return
        if summary.messages:
            self.say("A chat can be made private only while nothing was said in it.", "warning")
            return
        turn_on = not summary.private
        self.posting.post(cmd.SetOptions(chat=summary.id, private=turn_on), lambda _: self._said_private(turn_on))

    def _said_private(self, private: bool) -> None:
        on = "Private: your own search finds this chat; assistants never do"
        self.say(on if private else "No longer private")

    def action_cycle_mode(self) -> None:
        """F5: the next mode."""
        if self.summary is not None:
            at = MODES.index(self.summary.mode) if self.summary.mode in MODES else 1
            self.set_mode(MODES[(at + 1) % len(MODES)])

    def set_mode(self, mode: str) -> None:
        """Set the focused chat's mode; holds from its next step."""
        if self.deck.focused is None:
            return
        chat = self.deck.focused
        made = self.checked(lambda: cmd.SetOptions.model_validate({"chat": chat, "mode": mode}))
        if made is not None:
            self.posting.post(made, lambda _: self.say(MODE_WORDS.get(mode, mode)))

    def action_edit_queue(self) -> None:
        """To what waits above the box."""
        column = self.column
        if column is None or not column.composer.queue.texts:
            self.say("Nothing waits to be sent.")
            return
        column.composer.queue.focus()

    def action_copy_answer(self) -> None:
        """Copy the newest answer."""
        words = self.column.feed.last_answer() if self.column is not None else ""
        if words:
            self.app.action_copy(words)
        else:
            self.say("There is no answer here to copy.")

    def action_choose_model(self) -> None:
        """F7."""
        from app.screens.models import choose_model

        choose_model(self)

    def set_model(self, model: str) -> None:
        """Set the focused chat's model."""
        from app.settings import Settings

        chat = self.deck.focused
        if chat is None:
            return
        try:
            Settings.model_validate({"model": model})
        except ValidationError:
            self.say(f"“{model[:60]}” isn't a model's name: write offline, openai:NAME or anthropic:NAME", "warning")
            return
        words = f"This chat now answers with {model}"
        self.posting.post(cmd.SetOptions(chat=chat, model=model), lambda _: self.say(words))

    def chat_menu(self, chat: str, act: str) -> None:
        """What the list's keys and its menu do with a chat."""
        from app.screens.picker import Choice, Picker

        acts: dict[str, Callable[[], Any]] = {
            "column": lambda: self.show_chat(chat, beside=True),
            "pin": lambda: self.action_pin(chat),
            "archive": lambda: self.action_archive(chat),
            "rename": lambda: self.action_rename(chat),
            "delete": lambda: self.action_delete(chat),
        }
        if act in acts:
            acts[act]()
            return
        summary = self.chats.get(chat)
        words = [
            Choice("column", "Open in a new column", "o"),
            Choice("pin", "Unpin" if summary and summary.pinned else "Pin", "p"),
            Choice("rename", "Rename", "r"),
            Choice("archive", "Bring back" if summary and summary.archived_at else "Archive", "e"),
            Choice("delete", "Delete for ever", "Del"),
        ]
        self.app.push_screen(Picker(title_of(summary), words), lambda picked: acts[picked]() if picked else None)


def show_folder(chat: ChatSummary) -> str:
    """A chat's folder in short."""
    from app.screens.show import short_folder

    return short_folder(chat.folder)
