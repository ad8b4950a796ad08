"""One way from words to a query and from the core's answer to a line, for `search` and `headless`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.guard.secrets import clean
from app.history.answers import answer_json
from app.history.dates import parse_range
from store.limits import QUERY_CHARS
from store.models import SearchAnswer, SearchQuery, Who


def asked_of(
    text: str,
    limit: int,
    after: str | None,
    before: str | None,
    who: Who | None,
    *,
    chat: str | None = None,
    project: str | None = None,
) -> SearchQuery:
    """The query; `project` is a folder. Raises ValueError with one sentence for a date that isn't one."""
    start, end = parse_range(after, before)
    resolved = str(Path(project).expanduser().resolve()) if project else None
    return SearchQuery(text, limit, start, end, who, chat, resolved)


def answer_line(answer: SearchAnswer, filtered: Callable[[str], str] = clean) -> dict[str, Any]:
    """The shape of `search_chats`, uncut; the person's own private chats are marked."""
    out = answer_json(answer, filtered, query_most=QUERY_CHARS)
    for group, found in zip(answer.groups, out["chats"], strict=True):
        if group.chat.private:
            found["private"] = True
    return out
