"""The `/` commands: one table, and what a typed line means."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Slash:
    """A command. `hint` shows what may follow; `needs` says that something must."""

    name: str
    words: str
    hint: str = ""
    needs: bool = False


SLASHES: Final[tuple[Slash, ...]] = (
    Slash("new", "A new chat here", "TITLE"),
    Slash("find", "Find in this chat", "WORDS"),
    Slash("search", "Search all chats", "WORDS"),
    Slash("forward", "Put someone else's words here", "NAME: WORDS"),
    Slash("private", "Only your own search finds it"),
    Slash("rename", "A title", "TITLE"),
    Slash("pin", "Pin or unpin"),
    Slash("archive", "Out of the list, or back"),
    Slash("delete", "Delete for ever; asks first"),
    Slash("fork", "Go on in a new chat"),
    Slash("model", "Which model answers", "NAME"),
    Slash("mode", "What needs no question", "plan ask auto full"),
    Slash("inbound", "From other chats", "accept hold refuse"),
    Slash("clear", "The assistant starts afresh"),
    Slash("stop", "Stop the reply"),
    Slash("retry", "Try the last reply again"),
    Slash("queue", "What waits to be sent"),
    Slash("copy", "Copy the last answer"),
    Slash("export", "Write to a file", "md json html, FILE"),
    Slash("import", "Take chats in", "FILE", needs=True),
    Slash("memory", "What is remembered"),
    Slash("passwords", "Their names; add, remove"),
    Slash("close", "Close this column"),
    Slash("theme", "The colours", "NAME"),
    Slash("settings", "Settings"),
    Slash("help", "Every key on one page"),
    Slash("quit", "Quit; nothing is lost"),
)
_BY_NAME: Final = {s.name: s for s in SLASHES}
_COMMAND = re.compile(r"/([A-Za-z]+)(?:\s+(.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Typed:
    """What a line in the message box is: words for the assistant, a command, or a mistake in one sentence."""

    kind: Literal["words", "command", "mistake"]
    text: str  # the words, the command's argument, or the sentence
    name: str = ""


def read(line: str) -> Typed:
    """`/name argument` is a command; `//…` sends the words with one slash; a path such as /etc/hosts is words."""
    if not line.startswith("/"):
        return Typed("words", line)
    if line.startswith("//"):
        return Typed("words", line[1:])
    match = _COMMAND.match(line.rstrip())
    if match is None:
        return Typed("words", line)
    name, argument = match[1].lower(), (match[2] or "").strip()
    command = _BY_NAME.get(name)
    if command is None:
        near = difflib.get_close_matches(name, _BY_NAME, 1)
        advice = f"did you mean /{near[0]}?" if near else "type / to see them all; // sends the words as they are"
        return Typed("mistake", f"There is no /{name[:40]}: {advice}", name)
    if command.needs and not argument:
        return Typed("mistake", f"/{name} needs {command.hint}", name)
    return Typed("command", argument, name)


def matching(start: str) -> list[Slash]:
    """The commands that begin with what was typed after the slash."""
    return [s for s in SLASHES if s.name.startswith(start.lower())]


def forwarded(argument: str) -> tuple[str, str] | None:
    """(name, words) of `/forward Ana: words`, or of a name, a new line and the words; None when either is missing."""
    first, newline, rest = argument.partition("\n")
    if not (newline and rest.strip()) or ":" in first:
        first, _, rest = argument.partition(":")
    name, words = first.strip(), rest.strip()
    return (name[:120], words) if name and words else None
