"""What of an event is searchable: one pure function with a version (a higher one re-indexes)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from store import events as ev
from store.limits import TOOL_INPUT_CHARS
from store.models import Who

PROJECTION_VERSION: Final = 1

SAID_TYPES: Final = ("user.message", "forwarded.message", "assistant.done", "tool.started")
INPUT_FIELDS: Final = ("command", "file_path", "path", "notebook_path", "pattern", "url", "query", "description")
# calls that look back, speak between chats, wait, remember or hold passwords (decisions 9)
NOT_INDEXED: Final = frozenset(
    {"search_chats", "read_chat", "explore_chat_history"}
    | {"list_chats", "message_chat", "stop_chat", "wait_for"}
    | {"delegate", "start_background_task", "task_status", "task_control", "report_result"}
    | {"remember", "recall", "forget", "use_password"}
)
NOT_INDEXED_FAMILIES: Final = frozenset({"history", "together", "task", "memory", "password"})


@dataclass(frozen=True, slots=True)
class SaidLine:
    """One searchable line of a chat; `anchor` is the message or call id, `text` what a reader sees."""

    anchor: str
    who: Who
    name: str | None
    at: int
    seq: int
    text: str


def project(stored: ev.Stored) -> SaidLine | None:
    """The searchable line of an event, or None."""
    match stored.event:
        case ev.UserMessage() as e:
            who: Who = "them" if e.them else "you"
            return _line(stored, e.message_id, who, e.author, flatten(e.text) + _photos(e))
        case ev.ForwardedMessage() as e:
            return _line(stored, e.message_id, "them", e.name, flatten(e.text))
        case ev.AssistantDone() as e:
            return _line(stored, e.message_id, "assistant", None, flatten(e.text))
        case ev.ToolStarted() as e if e.name not in NOT_INDEXED and e.family not in NOT_INDEXED_FAMILIES:
            return _line(stored, e.call_id, "step", None, _call(e))
    return None


def _line(stored: ev.Stored, anchor: str, who: Who, name: str | None, text: str) -> SaidLine | None:
    text = _clean(text)
    if not text or text.isspace():
        return None
    name = _clean(name) if name else None
    return SaidLine(anchor, who, name, stored.at, stored.seq, f"{name}: {text}" if name else text)


def _photos(event: ev.UserMessage) -> str:
    return "".join(f" [{a.kind}: {a.caption}]" for a in event.attachments if a.caption)


def _call(event: ev.ToolStarted) -> str:
    said = next((str(event.input[f]) for f in INPUT_FIELDS if event.input.get(f)), "")
    return f"{event.name} {said}".strip()[:TOOL_INPUT_CHARS]


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def _clean(text: str) -> str:
    return _UNSTORABLE.sub("", text) if not text.isascii() or "\0" in text else text


_MARKS: Final = "*_`#>[|~<"
_LINE_STARTS = re.compile(r"^[ \t]*(?:[-+]|\d+[.)])[ \t]|^[ \t]*(?:[-=]{3,}|\* ?\* ?\*)[ \t]*$", re.M)
_FENCE = re.compile(r"^[ \t]{0,3}(```+|~~~+)[^\n`]*\n(.*?)(?:^[ \t]{0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_LINE_MARKS = re.compile(
    r"^[ \t]*(?:>[ \t]?)*[ \t]*(?:#{1,6}[ \t]+|(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?", re.M
)
_HEAD_END = re.compile(r"(?<=[^ \t#])[ \t]+#+[ \t]*$", re.M)
_RULES = re.compile(
    r"^[ \t]*(?:(?:[-*_][ \t]*){3,}|=+|(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*(?::?-+:?[ \t]*)?)+)[ \t]*$\n?", re.M
)
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:[ \t]+\"[^\"]*\")?\)")
_AUTO_LINK = re.compile(r"<((?:https?://|mailto:)[^<>\s]+)>")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*(?:[ \t][^<>\n]*)?/?>")
_STRONG: Final = ("**", "__", "~~")
_STAR = re.compile(r"(?<![*\w])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![*\w])")
_UNDER = re.compile(r"(?<![_\w])_(?=[^\s_])([^_\n]+?)(?<=[^\s_])_(?![_\w])")
_CODE = re.compile(r"(`+)([^`\n](?:[^`\n]|(?!\1)`)*?)\1(?!`)")
_CELLS = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.M)


def flatten(text: str) -> str:
    """Markdown as a reader sees it: marks gone, words and code kept, outer space trimmed."""
    if not _has_marks(text):
        return text.strip()
    out: list[str] = []
    end = 0
    if "```" in text or "~~~" in text:
        for m in _FENCE.finditer(text):
            out += [_prose(text[end : m.start()]), m[2]]
            end = m.end()
    out.append(_prose(text[end:]))
    return "".join(out).strip()


def _has_marks(text: str) -> bool:
    if any(mark in text for mark in _MARKS):
        return True
    first = _LINE_STARTS.match(text) is not None
    return first or ("\n" in text and _LINE_STARTS.search(text) is not None)


def _without_pairs(text: str, mark: str) -> str:
    """Bold or strike marks that open and close within a paragraph are taken out; one pass, whatever the text."""
    pieces = text.split(mark)
    keep = [True] * (len(pieces) - 1)  # whether the mark after piece i stays
    opened: int | None = None
    for i in range(len(keep)):
        before, after = pieces[i][-1:], pieces[i + 1][:1]
        if opened is not None and "\n\n" in pieces[i]:
            opened = None
        if opened is not None and before.strip() and not (mark == "__" and after.isalnum()):
            keep[opened] = keep[i] = False
            opened = None
        elif opened is None and after.strip() and not (mark == "__" and before.isalnum()):
            opened = i
    return "".join(p + (mark if i < len(keep) and keep[i] else "") for i, p in enumerate(pieces))


def _prose(text: str) -> str:
    """Marks removed outside fences; inline code is set aside so that nothing inside it changes."""
    if not _has_marks(text):
        return text
    kept: list[str] = []

    def keep(m: re.Match[str]) -> str:
        kept.append(m[2].strip() or m[2])
        return f"\x00{len(kept) - 1}\x00"

    text = text.replace("\x00", "")
    text = _LINE_MARKS.sub("", _RULES.sub("", text))
    if "#" in text:
        text = _HEAD_END.sub("", text)
    if "`" in text:
        text = _CODE.sub(keep, text)
    if "|" in text:
        text = _CELLS.sub(lambda m: " ".join(c.strip() for c in m[1].split("|")), text)
    if "](" in text:
        text = _IMAGE_OR_LINK.sub(r"\1", _IMAGE_OR_LINK.sub(r"\1", text))
    if "<" in text:
        text = _TAG.sub("", _AUTO_LINK.sub(r"\1", text))
    if "*" in text or "_" in text or "~" in text:
        for mark in _STRONG:
            if mark in text:
                text = _without_pairs(text, mark)
        text = _UNDER.sub(r"\1", _STAR.sub(r"\1", text))
    return re.sub(r"\x00(\d+)\x00", lambda m: kept[int(m[1])], text) if kept else text
