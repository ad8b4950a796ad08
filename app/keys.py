"""The one table of keys: id, key, words. Bindings, the help page, Ctrl+K's actions and the keymap all come from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Where = Literal[
    "app",
    "deck",
    "leader",
    "composer",
    "queue",
    "list",
    "transcript",
    "row",
    "card",
    "search",
    "activity",
    "memories",
    "passwords",
]


@dataclass(frozen=True, slots=True)
class Key:
    """One thing a key does. `keys` are Textual's names, joined by commas; `action` is the deck's, "" for a widget's."""

    id: str
    keys: str
    words: str
    section: str
    where: Where
    action: str = ""

    @property
    def first(self) -> str:
        """The key that is shown."""
        return self.keys.split(",")[0]


_EVERYWHERE, _CHATS, _LEADER, _WRITE, _LIST, _READ, _CARD, _SEARCH, _ACTIVITY, _MEMORIES, _PASSWORDS = (
    "Everywhere",
    "Chats and columns",
    "After F8",
    "Writing",
    "The chat list",
    "Rows",
    "Questions and cards",
    "Search",
    "Activity",
    "Memories",
    "Passwords",
)

KEYS: Final[tuple[Key, ...]] = (
    Key("search.open", "ctrl+k,super+k,ctrl+p", "Search, and do anything", _EVERYWHERE, "deck", "search"),
    Key("help.open", "f1", "Every key on one page", _EVERYWHERE, "deck", "help"),
    Key("activity.open", "f3", "Activity: what was done in every chat", _EVERYWHERE, "deck", "activity"),
    Key("settings.open", "f10", "Settings", _EVERYWHERE, "deck", "settings"),
    Key("mouse.toggle", "f9", "Mouse on or off", _EVERYWHERE, "deck", "toggle_mouse"),
    Key("app.close", "escape", "Close what is open; twice: stop the reply", _EVERYWHERE, "deck", "close"),
    Key("app.quit", "ctrl+q", "Quit; nothing is lost", _EVERYWHERE, "app", "quit_asking"),
    Key("list.toggle", "f2", "Show or hide the chat list", _CHATS, "deck", "toggle_list"),
    Key("chat.needs-you", "f4", "Next chat that needs you", _CHATS, "deck", "next_needs_you"),
    Key("chat.mode", "f5", "Mode: plan, ask, auto, full", _CHATS, "deck", "cycle_mode"),
    Key("chat.model", "f7", "Choose the model", _CHATS, "deck", "choose_model"),
    Key("leader", "f8", "Leader: then a key below", _CHATS, "deck", "leader"),
    Key("chat.previous", "alt+up", "Chat above in the list", _CHATS, "deck", "previous_chat"),
    Key("chat.next", "alt+down", "Chat below in the list", _CHATS, "deck", "next_chat"),
    Key("column.left", "alt+left", "Column to the left", _CHATS, "deck", "column_left"),
    Key("column.right", "alt+right", "Column to the right", _CHATS, "deck", "column_right"),
    *(Key(f"column.{n}", str(n), f"Go to column {n}", _LEADER, "leader", f"go_to_column({n})") for n in range(1, 10)),
    Key("chat.new", "n", "New chat here", _LEADER, "leader", "new_chat"),
    Key("chat.new-column", "N", "New chat in a new column", _LEADER, "leader", "new_column"),
    Key("column.open", "o", "Open a chat in a new column", _LEADER, "leader", "open_in_column"),
    Key("column.close", "x", "Close this column (the chat stays)", _LEADER, "leader", "close_column"),
    Key("column.move-left", "h,left", "Move this column left", _LEADER, "leader", "move_column(-1)"),
    Key("column.move-right", "l,right", "Move this column right", _LEADER, "leader", "move_column(1)"),
    Key("find.open", "f", "Find in this chat", _LEADER, "leader", "find"),
    Key("chat.stop", "s", "Stop this reply, and the whole chain it belongs to", _LEADER, "leader", "stop_chain"),
    Key("chat.retry", "t", "Try the last reply again", _LEADER, "leader", "retry"),
    Key("chat.rename", "r", "Rename", _LEADER, "leader", "rename"),
    Key("chat.pin", "p", "Pin or unpin", _LEADER, "leader", "pin"),
    Key("chat.archive", "a", "Archive, or bring back", _LEADER, "leader", "archive"),
    Key("chat.undo-archive", "u", "Undo the last archive", _LEADER, "leader", "undo_archive"),
    Key("chat.fork", "k", "Go on from here in a new chat", _LEADER, "leader", "fork"),
    Key("chat.private", "v", "Make it private (while empty)", _LEADER, "leader", "private"),
    Key("chat.delete", "d", "Delete for ever (asks first)", _LEADER, "leader", "delete"),
    Key("chat.queue", "e", "Edit what waits to be sent", _LEADER, "leader", "edit_queue"),
    Key("chat.copy", "c", "Copy the last answer", _LEADER, "leader", "copy_answer"),
    Key("memories.open", "m", "Memories: what is remembered", _LEADER, "leader", "memories"),
    Key("passwords.open", "w", "Passwords: their names", _LEADER, "leader", "passwords"),
    Key("list.focus", "b", "Go to the chat list", _LEADER, "leader", "focus_list"),
    Key("composer.focus", "i", "Go to the message box", _LEADER, "leader", "focus_composer"),
    Key("composer.send", "enter", "Send; while a reply is written, queue", _WRITE, "composer"),
    Key("composer.newline", "ctrl+j,shift+enter", "New line", _WRITE, "composer"),
    Key("composer.recall", "up", "In an empty box: what you sent before", _WRITE, "composer"),
    Key("composer.complete", "tab", "Complete a command, else to the rows", _WRITE, "composer"),
    Key("queue.edit", "e", "Waiting: edit", _WRITE, "queue"),
    Key("queue.sooner", "shift+up,K", "Waiting: sooner", _WRITE, "queue"),
    Key("queue.later", "shift+down,J", "Waiting: later", _WRITE, "queue"),
    Key("queue.drop", "x,delete", "Waiting: drop", _WRITE, "queue"),
    Key("list.column", "o", "Open in a new column", _LIST, "list"),
    Key("list.menu", "m", "All that can be done", _LIST, "list"),
    Key("list.pin", "p", "Pin or unpin", _LIST, "list"),
    Key("list.archive", "e", "Archive, or bring back", _LIST, "list"),
    Key("list.rename", "r", "Rename", _LIST, "list"),
    Key("list.tasks", "t", "Show or hide its tasks", _LIST, "list"),
    Key("list.delete", "delete", "Delete (asks first)", _LIST, "list"),
    Key("transcript.up", "up,k", "Row above", _READ, "transcript"),
    Key("transcript.down", "down,j", "Row below", _READ, "transcript"),
    Key("transcript.first", "home,g", "Beginning", _READ, "transcript"),
    Key("transcript.last", "end,G", "End, and follow it", _READ, "transcript"),
    Key("transcript.next", "n", "Next find", _READ, "transcript"),
    Key("transcript.previous", "N", "The find before", _READ, "transcript"),
    Key("transcript.leave", "tab,escape", "Back to the message box", _READ, "transcript"),
    Key("row.open", "enter,space", "Open or fold the row", _READ, "row"),
    Key("row.links", "o", "Open an address in a message (asks first)", _READ, "row"),
    Key("row.copy", "y", "Copy the row's words", _READ, "row"),
    Key("row.retry", "r", "Try the reply again", _READ, "row"),
    Key("row.stop", "s", "Stop it", _READ, "row"),
    Key("row.undo", "u", "Undo or redo", _READ, "row"),
    Key("row.pass-on", "p", "Pass a held message on", _READ, "row"),
    Key("row.dismiss", "x", "Dismiss a held message", _READ, "row"),
    Key("row.goto", "o", "Open what a card is about", _READ, "row"),
    Key("row.inbound", "i", "Messages from other chats: let in, hold, turn away", _READ, "row"),
    Key("row.check", "c", "Look now at what is waited for", _READ, "row"),
    Key("row.start-now", "g", "Start a task now", _READ, "row"),
    Key("row.allow", "a", "Allow what a task asks", _READ, "row"),
    Key("row.deny", "d", "Say no to what a task asks", _READ, "row"),
    Key("row.keep", "k", "Keep a memory", _READ, "row"),
    Key("row.forget", "f", "Forget a memory", _READ, "row"),
    Key("card.allow", "a", "Allow, once", _CARD, "card"),
    Key("card.always", "w", "Always allow this exact thing here", _CARD, "card"),
    Key("card.deny", "d", "Deny", _CARD, "card"),
    Key("search.down", "down", "Next result", _SEARCH, "search", "move(1)"),
    Key("search.up", "up", "Result above", _SEARCH, "search", "move(-1)"),
    Key("search.choose", "enter", "Open at the line", _SEARCH, "search", "choose"),
    Key("search.column", "ctrl+o", "Open in a new column", _SEARCH, "search", "column"),
    Key("search.filters", "tab", "Filters: after: before: who: chat: in:", _SEARCH, "search", "filters"),
    Key("search.repair", "f6", "Repair a broken search", _SEARCH, "search", "repair"),
    Key("activity.down", "down", "Entry below", _ACTIVITY, "activity", "move(1)"),
    Key("activity.up", "up", "Entry above", _ACTIVITY, "activity", "move(-1)"),
    Key("activity.choose", "enter", "Open its chat at that moment", _ACTIVITY, "activity", "choose"),
    Key("activity.column", "ctrl+o", "Open it in a new column", _ACTIVITY, "activity", "column"),
    Key("activity.kind", "tab", "Next kind", _ACTIVITY, "activity", "kind(1)"),
    Key("activity.kind-before", "shift+tab", "Kind before", _ACTIVITY, "activity", "kind(-1)"),
    Key("memories.choose", "enter", "Read it alone", _MEMORIES, "memories", "choose"),
    Key("memories.keep", "k", "Keep one that waits", _MEMORIES, "memories", "keep"),
    Key("memories.forget", "f,delete", "Forget it (asks first)", _MEMORIES, "memories", "forget"),
    Key("memories.undo", "u", "Bring back what was forgotten last", _MEMORIES, "memories", "undo"),
    Key("memories.chat", "o", "Open the chat it came from", _MEMORIES, "memories", "chat"),
    Key("memories.words", "tab,slash", "Words to look for, and back", _MEMORIES, "memories", "words"),
    Key("passwords.add", "a", "Add one", _PASSWORDS, "passwords", "add"),
    Key("passwords.remove", "x,delete", "Remove it (asks first)", _PASSWORDS, "passwords", "remove"),
    Key("passwords.unlock", "u", "Unlock them", _PASSWORDS, "passwords", "unlock"),
    Key("passwords.passphrase", "p", "A passphrase, or another", _PASSWORDS, "passwords", "passphrase"),
    Key("passwords.lock", "l", "Lock them", _PASSWORDS, "passwords", "lock"),
)

BY_ID: Final[Mapping[str, Key]] = {key.id: key for key in KEYS}

# Which places hear a key at the same moment: within one of these sets a key may mean one thing only.
_TOGETHER: Final[tuple[frozenset[Where], ...]] = (
    frozenset({"app", "deck", "composer"}),
    frozenset({"app", "deck", "transcript"}),
    frozenset({"app", "deck", "row"}),
    frozenset({"app", "deck", "list"}),
    frozenset({"app", "deck", "queue"}),
    frozenset({"app", "deck", "card"}),
    frozenset({"app", "search"}),
    frozenset({"app", "activity"}),
    frozenset({"app", "memories"}),
    frozenset({"app", "passwords"}),
    frozenset({"leader"}),
)
_TYPED: Final = frozenset({"app", "deck", "composer", "search", "activity"})  # where letters are needed for writing
_LEGAL = re.compile(r"(?:(?:ctrl|alt|shift|super|meta|hyper)\+)*(?:[A-Za-z0-9]|[a-z][a-z0-9_]+)\Z")
_NAMES: Final[Mapping[str, str]] = {
    "escape": "Esc",
    "enter": "⏎",
    "space": "Space",
    "tab": "Tab",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "delete": "Del",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}


def at(*where: Where) -> Iterator[Key]:
    """The keys of these places, in the table's order."""
    return (key for key in KEYS if key.where in where)


def keymap(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What `App.set_keymap` takes of the person's `[keys]`, and a sentence for each that can't be had."""
    good: dict[str, str] = {}
    problems: list[str] = []
    for id_, keys in wanted.items():
        problem = _problem(id_, keys)
        if problem is None:
            good[id_] = ",".join(k.strip() for k in keys.split(","))
        else:
            problems.append(problem)
    problems.extend(clashes(good))
    return good, problems


def _problem(id_: str, keys: str) -> str | None:
    known = BY_ID.get(id_)
    if known is None:
        return f"Settings, keys: there is no “{id_[:60]}”; F1 lists every name"
    for key in (k.strip() for k in keys.split(",")):
        if not _LEGAL.match(key):
            return f"Settings, keys: “{key[:40]}” isn't a key; write it like ctrl+t or f6"
        if known.where in _TYPED and len(key) == 1:
            return f"Settings, keys: “{key}” is needed for writing, so it can't be {id_}"
    return None


def clashes(changed: Mapping[str, str]) -> list[str]:
    """A sentence for each key that two things want at the same moment; the later one in the table gets it."""
    changed = {id_: keys for id_, keys in changed.items() if keys != BY_ID[id_].keys}
    said: dict[tuple[str, str, str], str] = {}
    for together in _TOGETHER:
        taken: dict[str, Key] = {}
        for entry in at(*together):
            for key in (changed.get(entry.id) or entry.keys).split(","):
                other = taken.get(key)
                if other and (other.id in changed or entry.id in changed):
                    words = f"Settings, keys: {show(key)} is both {other.id} and {entry.id}; give one another key"
                    said[(key, other.id, entry.id)] = words
                taken[key] = entry
    return list(said.values())


def show(keys: str) -> str:
    """A key as people write it: `ctrl+k,super+k` → `^K`, `shift+f3` → `Shift+F3`."""
    key = keys.split(",")[0]
    *held, last = key.split("+")
    name = _NAMES.get(last) or (last.upper() if re.fullmatch(r"f\d+", last) else last)
    if held == ["ctrl"] and len(name) == 1:
        return f"^{name.upper()}"
    return "+".join([*(h.title() for h in held), name])
