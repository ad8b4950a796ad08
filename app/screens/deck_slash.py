"""The `/` commands on the deck."""

from __future__ import annotations

from collections.abc import Callable

from app import commands as cmd
from app.screens import slash
from app.screens.deck_actions import DeckActions
from app.screens.deck_column import DeckColumn
from store.events import MODES
from store.limits import TITLE_CHARS


class DeckSlash(DeckActions):
    """Runs a command of `slash.SLASHES` in a column."""

    def run_slash(self, column: DeckColumn, name: str, argument: str, typed: str) -> None:
        """Carry out `/name argument`; what can't be taken goes back into the box."""
        from app.screens.files import export_chat, import_file

        chat = column.chat
        runs: dict[str, Callable[[], object]] = {
            "new": lambda: self._titled(column, argument, typed, self.new_chat),
            "find": lambda: column.open_find(argument),
            "search": lambda: self.action_search(argument),
            "forward": lambda: self._forward(column, argument, typed),
            "private": self.action_private,
            "rename": lambda: self._rename(column, argument, typed),
            "pin": lambda: self.action_pin(chat),
            "archive": lambda: self.action_archive(chat),
            "delete": lambda: self.action_delete(chat),
            "fork": self.action_fork,
            "model": lambda: self.set_model(argument) if argument else self.action_choose_model(),
            "mode": lambda: self._mode(column, argument, typed),
            "inbound": lambda: self._inbound(column, argument, typed),
            "clear": lambda: self.posting.post(cmd.Clear(chat=chat)),
            "stop": self.action_stop_chat,
            "retry": self.action_retry,
            "queue": self.action_edit_queue,
            "copy": self.action_copy_answer,
            "export": lambda: self.run_later(export_chat(self, chat, argument)),
            "import": lambda: self.run_later(import_file(self, argument)),
            "memory": self.action_memories,
            "passwords": self.action_passwords,
            "close": self.action_close_column,
            "theme": lambda: self._theme(argument),
            "settings": self.action_settings,
            "help": self.action_help,
            "quit": self.app.action_quit_asking,
        }
        self.memory.keep(chat, "draft", None)
        runs[name]()

    def _titled(self, column: DeckColumn, title: str, typed: str, give: Callable[[str], object]) -> None:
        if len(title) > TITLE_CHARS:
            self._back(column, typed, f"A title has at most {TITLE_CHARS} characters; this has {len(title):,}")
        else:
            give(title)

    def _rename(self, column: DeckColumn, title: str, typed: str) -> None:
        if title:
            self._titled(column, title, typed, lambda new: self.rename(column.chat, new))
        else:
            self.action_rename(column.chat)

    def _mode(self, column: DeckColumn, argument: str, typed: str) -> None:
        if not argument:
            self.choose_mode()
        elif argument.lower() in MODES:
            self.set_mode(argument.lower())
        else:
            self._back(column, typed, f"/mode takes {', '.join(MODES)}")

    def _inbound(self, column: DeckColumn, argument: str, typed: str) -> None:
        if argument in ("accept", "hold", "refuse"):
            made = cmd.SetOptions.model_validate({"chat": column.chat, "inbound": argument})
            words = {"accept": "let in", "hold": "held for you", "refuse": "turned away"}[argument]
            self.posting.post(made, lambda _: self.say(f"Messages from other chats are {words}"))
        else:
            self._back(column, typed, "/inbound takes accept, hold or refuse")

    def _theme(self, argument: str) -> None:
        if not argument:
            self.action_settings()
            return
        problem = self.app.use_theme(argument)
        if problem:
            self.say(problem, "warning")

    def _back(self, column: DeckColumn, typed: str, sentence: str) -> None:
        self.say(sentence, "warning")
        column.composer.set_draft(typed)

    def _forward(self, column: DeckColumn, argument: str, typed: str) -> None:
        both = slash.forwarded(argument)
        if both is not None:
            self._post_forward(column, *both)
            return
        name = argument.strip().rstrip(":")
        if not name:
            self._back(column, typed, "/forward needs a name, such as /forward Ana: her words")
            return
        from app.screens.ask_text import AskText

        box = AskText(f"{name}'s words", hint="they are never taken for yours", many=True)
        self.app.push_screen(box, lambda words: self._post_forward(column, name, words) if words else None)

    def _post_forward(self, column: DeckColumn, name: str, words: str) -> None:
        made = self.checked(lambda: cmd.Forward(chat=column.chat, name=name[:120], text=words))
        if made is not None:
            self.posting.post(made, failed=lambda _: column.composer.set_draft(f"/forward {name}\n{words}"))
