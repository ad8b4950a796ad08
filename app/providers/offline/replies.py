"""The offline assistant's own sentences, and answers put together from quotes; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from app.providers.offline.intent import Intent
from app.providers.offline.quoting import Quote, Said, attribution, data_of, day, listed, quotes, speaker, unnamed

QUOTES_MOST = 5
_BLOCK_LINES, _BLOCK_CHARS = 24, 1_500
_END_LINES, _END_CHARS = 6, 300
_RELAYED_CHARS = 1_200

NOT_OFFERED = {
    "search_chats": "Looking through earlier chats isn't available in this chat.",
    "read_chat": "Reading an earlier chat isn't available in this chat.",
    "list_chats": "I can't see what your other chats are doing: that isn't available in this chat, or not there yet.",
    "message_chat": "I can't send words to another chat: that isn't available in this chat, or not there yet.",
    "wait_for": "I can't wait for that: waiting isn't available in this chat, or not there yet.",
    "stop_chat": "I can't stop another chat: that isn't available in this chat, or not there yet.",
    "remember": "I can't remember things for you: that isn't available in this chat, or not there yet.",
    "recall": "I can't look at what is remembered: that isn't available in this chat.",
    "start_background_task": "I can't work in the background: that isn't available in this chat, or not there yet.",
}
WAITS = "I'm waiting for it, and say so here when it is over. You can keep chatting."
WHAT_I_AM = (
    "I'm Shoal's offline assistant: no language model, no network, no key. I look things up and quote them word for "
    "word; I never make anything up."
)
CONNECT = (
    "To write freely, connect a model: F7 or `/model` chooses one. Keys are read from OPENAI_API_KEY, "
    "ANTHROPIC_API_KEY and GEMINI_API_KEY; a local server works with `/model openai:NAME` and OPENAI_BASE_URL."
)
CAN = {
    "search_chats": "find what was said before: “what did we decide about the venue?”, “which hotel did we pick?”",
    "read_chat": "read an earlier chat: “how did the Lisbon chat end?”",
    "list_chats": "say what your other chats are doing",
    "message_chat": "pass words on: “tell Release notes that we ship on Thursday”",
    "wait_for": "wait for a chat, or for a time",
    "stop_chat": "stop another chat's reply",
    "remember": "remember something: “remember that I'm vegetarian”",
    "recall": "say what is remembered: “what do you remember about me?”",
    "start_background_task": "start work in the background",
}
SEARCH_KEY = "Ctrl+K searches every chat as you type, whatever model answers."
COMMANDS = (
    "That is Shoal's own: type `/` in the message box (`/new`, `/rename`, `/archive`, `/delete`, `/export`, "
    "`/settings`), or press Ctrl+K and say what to do."
)
NO_WRITING = "I can't write or work that out: I'm the offline assistant and only look things up in your chats."
NOT_THE_PERSON = "Something came in from outside this conversation. Without a model I can't act on it; it stays above."
GREETING = "Hello. Ask me about anything from your earlier chats, or say “help” to see what I can do."
THANKS = "You're welcome."
MANNERS = (
    "I'm the offline assistant and only look things up, so there is nothing for me to do with that. Say “help” to see "
    "what I can do."
)
REMEMBERED = "I'll remember that. It shows above, with undo."
UNREADABLE = "I looked, but what came back can't be read, so I won't guess."
NOTHING_SAID = "There is nothing to quote from it."


def help_text(offered: Collection[str], found: Sequence[str]) -> str:
    """What it can do in this chat, and how to connect a model, with what was found on this computer."""
    can = [words for name, words in CAN.items() if name in offered]
    parts = [WHAT_I_AM]
    if can:
        parts.append("In this chat I can:\n" + "\n".join(f"- {words}" for words in can))
    parts += [SEARCH_KEY, connect_text(found)]
    return "\n\n".join(parts)


def connect_text(found: Sequence[str]) -> str:
    """How to connect a model."""
    if not found:
        return CONNECT
    return CONNECT + "\n\nFound on this computer:\n" + "\n".join(f"- {line}" for line in found)


def without_tool(intent: Intent, offered: Collection[str], found: Sequence[str], titles: Sequence[str]) -> str:
    """The answer where no tool is called."""
    match intent.kind:
        case "help":
            return help_text(offered, found)
        case "connect":
            return connect_text(found)
        case "commands":
            return COMMANDS
        case "greeting":
            return GREETING
        case "thanks":
            return THANKS
        case "write":
            return f"{NO_WRITING}\n\n{connect_text(found)}"
        case "unknown-chat":
            named = ", ".join(f"“{title}”" for title in titles[:QUOTES_MOST])
            return "None of your chats is called that." + (f" Your newest ones: {named}." if named else "")
        case _:
            return MANNERS


_MEMORY = re.compile(r"\S+ · \w+ · (\S.*)")


def remembered(text: str) -> str:
    """The memories `recall` listed, as the person said them; its own sentence where there is none."""
    found = [match.group(1) for line in text.splitlines() if (match := _MEMORY.fullmatch(line))]
    if not found:
        return text
    return "I remember:\n\n" + "\n".join(f"- {words}" for words in found)


def relayed(text: str, *, error: bool) -> str:
    """What another tool answered, in its own words."""
    data = data_of(text)
    if data is not None and isinstance(data.get("chats"), list):
        return _chat_states(data)
    words = " ".join(text.split())[:_RELAYED_CHARS]
    if error:
        return f"That wasn't done: {words}"
    return words or "Done."


def _chat_states(data: dict[str, Any]) -> str:
    lines = []
    for chat in listed(data["chats"]):
        said = [str(chat[key]) for key in ("state", "doing") if isinstance(chat.get(key), str) and chat[key]]
        lines.append(f"- “{chat.get('title') or 'Untitled'}”: {', '.join(said) or 'idle'}")
    return "\n".join(lines) or "None of your other chats is doing anything."


def past_answer(intent: Intent, found: Sequence[Said], read: Sequence[Said], notes: str, asked: str, query: str) -> str:
    """Quotes of what was found: lines that decide first, newest first, each with who, chat and day."""
    every = quotes(found, read, query, asked, decision=intent.decision)
    if intent.context and (block := _block(read)):
        others = [q for q in every if q.said.message != block[1].message][: QUOTES_MOST - 2]
        more = f"\n\nAlso:\n{_bullets(others)}" if others else ""
        return f"{block[0]}{more}{_tail(notes)}"
    if not every:
        return nothing(query, notes)
    deciding = [quote for quote in every if quote.decides]
    shown = every[:QUOTES_MOST]
    about = f" about “{_shown(query)}”" if query else ""
    if not intent.decision:
        head = f"This is what was said{about}:"
    elif len(deciding) > 1:
        head = f"More than one line seems to decide{about}; the newest first:"
    elif deciding:
        head = f"This is what I found{about}; the first line seems to decide it:"
    else:
        head = f"I found no line that plainly decides it; these are the lines{about}:"
    return f"{head}\n{_bullets(shown)}{_tail(notes)}"


def recent_answer(data: dict[str, Any], notes: str) -> str:
    """The chats of a time, with a line each."""
    lines = []
    for chat in listed(data.get("chats")):
        said = [line["text"] for line in listed(chat.get("lines")) if isinstance(line.get("text"), str)]
        last = f": “{said[-1]}”" if said else ""
        lines.append(f"- “{chat.get('title') or 'Untitled'}”, last active {day(str(chat.get('last_active')))}{last}")
    return "These chats are from then:\n" + "\n".join(lines) + _tail(notes) if lines else nothing("", notes)


def read_answer(read: Sequence[Said], notes: str) -> str:
    """How a chat ended, its last lines in order."""
    if not read:
        return NOTHING_SAID + _tail(notes)
    last = read[-_END_LINES:]
    title, when = last[-1].title, day(last[-1].when)
    head = f"“{title}” ended" + (f" on {when}" if when else "") + " with:"
    lines = []
    for said in last:
        first = next((line.strip() for line in unnamed(said).split("\n") if line.strip()), "")
        lines.append(f"- {speaker(said)}: “{_whole_words(first, _END_CHARS)}”")
    return f"{head}\n" + "\n".join(lines) + _tail(notes)


def nothing(query: str, notes: str) -> str:
    """Plainly that nothing was found."""
    about = f" for “{_shown(query)}”" if query else ""
    return f"I looked through your chats{about} and found nothing. Try a word that was probably said.{_tail(notes)}"


def _block(read: Sequence[Said]) -> tuple[str, Said] | None:
    """The line that was read around, whole where it's short: a plan or a list keeps its lines."""
    centre = next((said for said in read if said.distance == 0), None)
    if centre is None or "\n" not in centre.text.strip():
        return None
    lines: list[str] = []
    size = 0
    for line in centre.text.strip().split("\n"):
        if len(lines) == _BLOCK_LINES or size + len(line) > _BLOCK_CHARS:
            break
        lines.append(f"> {line}".rstrip())
        size += len(line)
    return (f"From {attribution(centre)}:\n\n" + "\n".join(lines), centre) if lines else None


def _bullets(shown: Sequence[Quote]) -> str:
    return "\n".join(f"- “{quote.text}” — {attribution(quote.said)}" for quote in shown)


def _shown(query: str) -> str:
    return query.replace('"', "")


def _whole_words(text: str, most: int) -> str:
    """The text's beginning, at most `most` characters, never a piece of a word where that can be helped."""
    if len(text) <= most:
        return text
    cut = text[:most]
    return cut.rsplit(" ", 1)[0] if " " in cut[most // 2 :] else cut


def _tail(notes: str) -> str:
    return f"\n\n{notes}" if notes else ""
