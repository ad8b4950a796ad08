"""What keys and commands do with chats: new, rename, archive, delete, fork, mode, model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app import commands as cmd
from app.keys import show
from app.screens.deck_base import DeckBase
from app.screens.posting import checked
from app.screens.show import short_folder
from store.events import MODES
from store.models import ChatSummary
from store.text import safe_name

# Screens are imported when their key is pressed: none is needed for the first paint.

MODE_WORDS = {
    "plan": "plan: it may only read",
    "ask": "ask: every change asks first",
    "auto": "auto: asks where it is risky",
    "full": "full: it asks almost nothing",
}


def title_of(chat: ChatSummary | None) -> str:
    """A chat's title for a sentence."""
    return safe_name(chat.title) if chat is not None and chat.title.strip() else "New chat"


def _is_new(chat: ChatSummary) -> bool:
    """Whether nothing was done with it yet: nothing said, no title given, not pinned."""
    return not (chat.messages or chat.title or chat.pinned or chat.origin)


INBOUND = (
    ("accept", "Let them in", "messages from other chats are read"),
    ("hold", "Hold them for me", "each waits on its card for Pass it on or Dismiss"),
    ("refuse", "Turn them away", "the chat that wrote is told"),
)
INBOUND_SAID = {"accept": "let in", "hold": "held for you", "refuse": "turned away"}


class DeckChats(DeckBase):
    """Actions on a chat, most of them the focused one."""

    def __init__(self, services: Any) -> None:
        super().__init__(services)
        self._archived: str | None = None  # the last one, for undo

    def checked(self, make: Callable[[], cmd.AnyCommand]) -> cmd.AnyCommand | None:
        """A command of what was typed; a wrong one is said."""
        made = checked(make)
        if isinstance(made, str):
            self.say(made, "warning")
            return None
        return made

    def new_chat(self, title: str = "", *, beside: bool = False) -> None:
        """A new chat; an empty one that isn't open is taken again."""
        if self.readonly:
            self.say("Nothing can be saved here, so there are no new chats.", "warning")
            return
        settings = self.app.settings
        focused = self.summary
        if not title and focused is not None and _is_new(focused) and not beside:
            self.action_focus_composer()
            return
        empty = [c for c in self.chats.values() if _is_new(c) and not c.private]
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
            Choice(c.id, title_of(c), "archived" if c.archived_at else short_folder(c.folder))
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
        here = self.summary
        empty = here is not None and not here.messages  # the new chat that took its place makes room again
        self.posting.post(cmd.Archive(chat=chat, archived=False), lambda _: self._show_new(chat, not empty))

    def action_delete(self, chat: str | None = None) -> None:
        """Ask, then delete for ever."""
        from app.screens.confirm import Confirm

        chat = chat or self.deck.focused
        if chat is None or chat not in self.chats:
            return
        summary = self.chats[chat]
        one = summary.messages == 1
        what = "Its one message goes" if one else f"{summary.messages:,} messages go"
        lost = f"{what}; this can't be undone, and search won't find {'it' if one else 'them'}."
        tasks = sum(c.origin is not None and c.origin.chat == chat for c in self.chats.values())
        if tasks:
            lost = f"{lost} {'Its task goes' if tasks == 1 else f'Its {tasks} tasks go'} with it."
        if summary.turn_id is not None:
            lost = f"It is still working, and stops. {lost}"
        question = Confirm(
            f"Delete “{title_of(summary)}” for ever?",
            f"{lost} Archiving keeps a chat out of the way." if summary.messages else "Nothing was said in it.",
            yes="Delete",
            danger=True,
        )
        self.app.push_screen(question, lambda yes: self.posting.post(cmd.Delete(chat=chat)) if yes else None)

    def action_fork(self) -> None:
        """Go on in a new chat, which stands beside this one."""
        if self.summary is not None and not self.summary.messages:
            self.say("There is nothing in this chat to go on from.")
        elif self.deck.focused:
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
        """F5: the next mode; a task's go no further than its chat's."""
        if self.summary is None:
            return
        origin = self.summary.origin
        parent = self.chats.get(origin.chat or "") if origin is not None and origin.kind == "task" else None
        modes = MODES[: MODES.index(parent.mode) + 1] if parent is not None else MODES
        at = modes.index(self.summary.mode) if self.summary.mode in modes else -1
        self.set_mode(modes[(at + 1) % len(modes)])

    def set_mode(self, mode: str) -> None:
        """Set the focused chat's mode; holds from its next step."""
        if self.deck.focused is None:
            return
        chat = self.deck.focused
        made = self.checked(lambda: cmd.SetOptions.model_validate({"chat": chat, "mode": mode}))
        if made is not None:
            self.posting.post(made, lambda _: self.say(MODE_WORDS.get(mode, mode)))

    def choose_mode(self) -> None:
        """`/mode` alone: say what each does and which holds, and change nothing unasked."""
        from app.screens.picker import Choice, Picker

        now = self.summary.mode if self.summary is not None else ""
        notes = {mode: MODE_WORDS[mode].partition(": ")[2] for mode in MODES}
        choices = [Choice(m, m, f"{notes[m]} · now" if m == now else notes[m]) for m in MODES]
        self.app.push_screen(Picker("Mode of this chat", choices), lambda mode: self.set_mode(mode) if mode else None)

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
        from app.settings import model_problem

        chat, model = self.deck.focused, model.strip()
        if chat is None:
            return
        if problem := model_problem(model):
            self.say(problem, "warning")
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
            "inbound": lambda: self.choose_inbound(chat),
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
            Choice("inbound", "Messages from other chats", ""),
            Choice("delete", "Delete for ever", "Del"),
        ]
        self.app.push_screen(Picker(title_of(summary), words), lambda picked: acts[picked]() if picked else None)

    def choose_inbound(self, chat: str) -> None:
        """What becomes of messages that other chats write to this one."""
        from app.screens.picker import Choice, Picker

        def chosen(picked: str | None) -> None:
            if picked is not None:
                made = cmd.SetOptions.model_validate({"chat": chat, "inbound": picked})
                self.posting.post(made, lambda _: self.say(f"Messages from other chats are {INBOUND_SAID[picked]}"))

        summary = self.chats.get(chat)
        now = summary.inbound if summary else "accept"
        choices = [Choice(v, label, f"{note} · now" if v == now else note) for v, label, note in INBOUND]
        self.app.push_screen(Picker("Messages from other chats", choices), chosen)
