"""OtherChatsLook: the assistant checked on the other chats; opened, each leads to its chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from textual.message import Message

from store.events import OtherChat
from store.rows import AnyRow, OtherChatsRow
from store.text import safe_text
from widgets.line import Line, Piece, wrap
from widgets.marks import FOLDED, IDLE, NEEDS_YOU, OPEN, STOPPED, WORKING, ago, lasted
from widgets.names import person, title_of
from widgets.row import Row

MARKS: Final = {"working": WORKING, "needs-you": NEEDS_YOU, "idle": IDLE, "stopped": STOPPED}
STYLES: Final = {"working": "accent", "needs-you": "warn", "idle": "muted", "stopped": "muted"}


class OtherChatsLook(Row):
    """One quiet row; with no chats it has nothing to open."""

    @dataclass
    class OpenChat(Message):
        """Open the chat."""

        chat: str

    kind = OtherChatsRow

    def __init__(self, model: OtherChatsRow) -> None:
        super().__init__(model.key)
        self.model = model
        self.opened = False
        self.can_focus = bool(model.chats)

    def show(self, model: AnyRow) -> None:
        """Take the look as it is now."""
        if isinstance(model, OtherChatsRow) and model != self.model:
            self.model = model
            self.can_focus = bool(model.chats)
            self.changed()

    def make(self, width: int) -> list[Line]:
        """The row's sentence, and below it a line a chat."""
        model = self.model
        mark = "  " if not model.chats else f"{OPEN} " if self.opened else f"{FOLDED} "
        counts = [f"{model.working} working"] if model.working else []
        counts += [f"{model.needs_you} needs you" if model.needs_you == 1 else f"{model.needs_you} need you"] * bool(
            model.needs_you
        )
        words = " · ".join(counts or ["none working" if model.chats else "there are no others"])
        out = wrap([("Checked on your other chats", "muted"), (f" · {words}", "muted")], width, first=(mark, "muted"))
        if self.opened:
            for n, chat in enumerate(model.chats):
                head, *said = self._chat(chat)
                out += wrap(said, width, first=head, rest=(" " * cell_len(head[0]), ""), target=str(n))
        return out

    def _chat(self, chat: OtherChat) -> list[Piece]:
        at = self.model.at
        words = {"needs-you": "needs you", "idle": "idle", "stopped": "stopped"}.get(
            chat.state, chat.doing or "working"
        )
        meta = [safe_text(words, one_line=True, limit=60)]
        if chat.state == "working" and chat.doing_since:
            meta.append(lasted(max(0, at - chat.doing_since)))
        if chat.state == "working" and chat.same_folder and chat.files:
            more = len(chat.files) - 1 + chat.more_files
            name = safe_text(chat.files[0], one_line=True, limit=80).rsplit("/", 1)[-1]
            meta.append(f"Changing {name}" + (f" +{more}" if more else ""))
        elif chat.same_folder:
            meta.append("same folder")
        if chat.folder and not chat.same_folder:
            meta.append(safe_text(chat.folder, one_line=True, limit=40))
        if chat.tasks:
            meta.append(f"{chat.tasks} task{'' if chat.tasks == 1 else 's'}")
        meta.append(person(chat.from_, 60))
        if chat.state in ("idle", "stopped"):
            meta.append(ago(chat.last_active, at))
        if chat.archived:
            meta.append("archived")
        mark: Piece = (f"    {MARKS[chat.state]} ", STYLES[chat.state])
        pieces: list[Piece] = [mark, (title_of(chat.title, "Untitled"), "strong")]
        return [*pieces, *((f" · {word}", "muted") for word in meta if word)]

    def press(self) -> None:
        """Open or fold."""
        if self.model.chats:
            self.opened = not self.opened
            self.changed()
            self.post_message(self.Resized(self))

    def choose(self, target: str) -> None:
        """The chat of the line."""
        self.post_message(self.OpenChat(self.model.chats[int(target)].id))
