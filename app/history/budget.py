"""How an answer is made to fit, exactly as the issue says; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from app.history.answers import Found, FoundChat, FoundLine, cut
from app.tools.base import compact
from store.limits import (
    READ_ANSWER_CHARS,
    READ_FOCUS_CHARS,
    READ_LINE_CHARS,
    SEARCH_ANSWER_CHARS,
    SHORTEST_LINE_CHARS,
)


def fit_search(found: Found, most: int = SEARCH_ANSWER_CHARS) -> Found:
    """The answer within `most` characters of JSON.

    The last line of the lowest-ranked chat goes first, until it has one; then that chat, counted in `hidden`. The best
    chat's best line never goes; it is shortened instead, to 80 characters at least.
    """
    while len(compact(found.to_json())) > most:
        chats, last = found.chats[:-1], found.chats[-1] if found.chats else None
        if last is None:
            break
        if len(last.lines) > 1:
            found = replace(found, chats=(*chats, replace(last, lines=last.lines[:-1])))
        elif chats:
            found = replace(found, chats=chats, hidden=found.hidden + 1)
        else:
            over = len(compact(found.to_json())) - most
            return replace(found, chats=(_shortened(last, over),))
    return found


def _shortened(chat: FoundChat, over: int) -> FoundChat:
    if not chat.lines:
        return chat
    line = chat.lines[0]
    text = cut(line.text, max(SHORTEST_LINE_CHARS, len(line.text) - over))
    marks = tuple((a, min(b, len(text) - 1)) for a, b in line.marks if a < len(text) - 1)
    return replace(chat, lines=(replace(line, text=text, marks=marks),))


def fit_lines(lines: Sequence[FoundLine], focus: int | None) -> tuple[FoundLine, ...]:
    """Each line at most 1,200 characters, the one asked for 4,000."""
    return tuple(
        replace(line, text=cut(line.text, READ_FOCUS_CHARS if at == focus else READ_LINE_CHARS))
        for at, line in enumerate(lines)
    )


def fit_read(
    lines: Sequence[FoundLine],
    write: Callable[[Sequence[FoundLine], bool, bool], str],
    *,
    focus: int | None,
    keep_start: bool,
    flags: tuple[bool, bool],
    most: int = READ_ANSWER_CHARS,
) -> tuple[tuple[FoundLine, ...], bool, bool]:
    """The lines that fit, with `earlier` and `later`.

    `write` makes the whole answer of lines and flags. What is farthest from the line asked for goes first; without one,
    the front goes, or the end when `keep_start`. A last line that is still too long (escapes in JSON) is shortened.
    """
    kept, (earlier, later) = list(lines), flags
    while len(kept) > 1 and len(write(kept, earlier, later)) > most:
        centre = focus if focus is not None else 0 if keep_start else len(kept) - 1
        if centre >= len(kept) - 1 - centre:
            kept.pop(0)
            earlier = True
            focus = focus - 1 if focus is not None else None
        else:
            kept.pop()
            later = True
    while kept and len(text := kept[0].text) > SHORTEST_LINE_CHARS and len(write(kept, earlier, later)) > most:
        kept[0] = replace(kept[0], text=cut(text, max(SHORTEST_LINE_CHARS, len(text) * 3 // 4)))
    return tuple(kept), earlier, later
