"""What was retrieved becomes an answer: chats that may be seen, filtered texts, snippets, what is missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from store import grouping, index, query, snippets
from store.limits import (
    LINES_ONE_CHAT,
    LINES_PER_CHAT,
    PREVIEW_HIT_CHARS,
    PREVIEW_NEAR_CHARS,
    SEARCH_LIMIT_MAX,
)
from store.models import ChatHits, ChatSummary, Hit, Line, Preview, SearchAnswer, SearchQuery, Slice, Span
from store.retrieve import Core, Filters
from store.retrieved import Retrieved


@dataclass(frozen=True, slots=True)
class Views:
    """How a chat and a text may be seen: summaries from the log, texts through the filters."""

    summary: Callable[[str], ChatSummary | None]
    spans: Callable[[str], Sequence[Span]]
    redact: Callable[[str], str]

    def clean(self, text: str) -> str:
        """A text whose secrets weren't worked out at indexing."""
        return snippets.filtered(text, self.spans(text), self.redact)

    def stored(self, line: index.Texts) -> str:
        """A stored line as it may be seen."""
        return snippets.filtered(line.text, line.spans, self.redact)

    def chat(self, chat: str) -> ChatSummary | None:
        """A chat's summary with filtered words; None when it was deleted."""
        found = self.summary(chat)
        if found is None:
            return None
        return replace(
            found,
            title=self.clean(found.title),
            preview=self.clean(found.preview),
            others=tuple(self.clean(o) for o in found.others),
        )


def filters_of(asked: SearchQuery, entries: Mapping[str, index.ChatEntry], private: Collection[str]) -> Filters:
    """The query's filters in chat numbers of the file."""
    only: frozenset[int] | None = None
    if asked.chat is not None:
        entry = entries.get(asked.chat)
        there = entry is not None and (asked.project is None or entry.folder == asked.project)
        only = frozenset([entry.no]) if entry is not None and there else frozenset()
    elif asked.project is not None:
        only = frozenset(e.no for e in list(entries.values()) if e.folder == asked.project)
    if asked.among:
        named = frozenset(entries[c].no for c in asked.among if c in entries)
        only = named if only is None else only & named
    left_out = asked.without if asked.private else asked.without.union(list(private))
    without = frozenset(entries[c].no for c in left_out if c in entries)
    return Filters(asked.after, asked.before, asked.who, only, without)


def answer(core: Core, asked: SearchQuery, parsed: query.Parsed, found: Retrieved, views: Views) -> SearchAnswer:
    """The best chats that may be seen, up to the limit, with their lines as snippets."""
    limit = max(1, min(asked.limit, SEARCH_LIMIT_MAX))
    shown: list[tuple[grouping.FoundChat, ChatSummary]] = []
    unseen = 0
    for i, chat in enumerate(found.chats):
        if len(shown) >= limit:
            break
        entry = core.by_no.get(chat.no)
        summary = views.chat(entry.chat) if entry else None
        if summary is None or (summary.private and not asked.private):
            unseen += 1
            continue
        shown.append((found.chats[i], summary))
    most = LINES_ONE_CHAT if asked.chat is not None else LINES_PER_CHAT
    lines = found.lines
    picked = [grouping.pick(c, lines, found.idfs, most, core.weights) for c, _ in shown] if lines else []
    texts = index.lines_by_id(core.conn, [lines.docids[r] for rows in picked for r in rows]) if lines else {}
    marks = marks_of(found.groups)
    groups = tuple(
        ChatHits(
            summary,
            len(chat.rows),
            tuple(_hit(t, lines.scores[r], marks, views) for r in rows if (t := texts.get(lines.docids[r]))),
            chat.score,
        )
        for (chat, summary), rows in zip(shown, picked, strict=False)
        if lines
    )
    secret = bool(views.spans(parsed.text)) or views.redact(parsed.text) != parsed.text
    return SearchAnswer(
        query=views.clean(parsed.text),
        match=found.match if groups else "none",
        groups=groups,
        total=found.total,
        hidden=max(len(found.chats) - len(shown) - unseen, 0),
        capped=found.capped,
        missing=() if secret else _missing(found, [r for rows in picked for r in rows]),
        read_as=() if secret else tuple(found.read_as),
        cut=parsed.cut,
    )


def _hit(line: index.Texts, score: float, marks: snippets.Marks, views: Views) -> Hit:
    text = views.stored(line)
    cut, ranges = snippets.snippet(text, snippets.ranges(text, marks))
    return Hit(line.anchor, line.who, line.at, cut, ranges, views.clean(line.name) if line.name else None, score)


def marks_of(groups: Iterable[query.Group]) -> snippets.Marks:
    """What to mark in a text for these groups."""
    whole: set[str] = set()
    starts: set[str] = set()
    inside: set[str] = set()
    for g in groups:
        if g.unspaced:
            inside.add(g.typed)
            continue
        for form in g.forms:
            if form.prefix:
                starts.add(form.terms[-1])
            whole.update(form.terms)
    return snippets.Marks(frozenset(whole), tuple(starts), tuple(inside))


def _missing(found: Retrieved, rows: Sequence[int]) -> tuple[str, ...]:
    """The words of the query that no shown line has."""
    if found.lines is None or not rows:
        return ()
    columns = found.lines.finds.columns
    lacking = [g.typed for g, c in zip(found.groups, columns, strict=False) if not any(c[r] for r in rows)]
    return tuple(dict.fromkeys([*lacking, *found.missing]))


def slice_of(
    core: Core, chat: ChatSummary, no: int, message: str | None, direction: str, count: int, views: Views
) -> Slice:
    """`count` lines of a chat, oldest first (conch-behaviour §3.3)."""
    total = core.by_no[no].lines
    place = index.position(core.conn, no, message) if message else None
    lost = message is not None and place is None
    if place is None:
        low = 0 if direction == "after" and not lost else total - count
    elif direction == "before":
        low = place - count
    elif direction == "after":
        low = place + 1
    else:
        low = min(place - (count - 1) // 2, total - count)
    high = min(low + count, total) if not (place is not None and direction == "before") else place
    low = max(low, 0)
    if direction == "around" or place is None:
        high = min(max(high, low + count), total)
    lines = index.lines_between(core.conn, no, low, high)
    shown = tuple(line_of(t, views) for t in lines)
    return Slice(chat, shown, earlier=low > 0, later=high < total, found=not lost)


def line_of(line: index.Texts, views: Views, limit: int | None = None) -> Line:
    """A whole line, filtered."""
    text = views.stored(line)
    if limit is not None:
        text = snippets.cut(text, limit)
    return Line(line.anchor, line.who, line.at, text, views.clean(line.name) if line.name else None)


def preview_of(
    core: Core, chat: ChatSummary, no: int, anchor: str | None, groups: Sequence[query.Group], views: Views
) -> Preview:
    """A line with two before and two after it; without one, the last four."""
    total = core.by_no[no].lines
    place = index.position(core.conn, no, anchor) if anchor else None
    low, high = (total - 4, total) if place is None else (place - 2, place + 3)
    texts = index.lines_between(core.conn, no, max(low, 0), high)
    focus = next((i for i, t in enumerate(texts) if t.pos == place), -1)
    lines: list[Line] = []
    ranges: tuple[Span, ...] = ()
    for i, text in enumerate(texts):
        if i == focus:
            full = line_of(text, views)
            cut, ranges = snippets.snippet(full.text, snippets.ranges(full.text, marks_of(groups)), PREVIEW_HIT_CHARS)
            lines.append(replace(full, text=cut))
        else:
            lines.append(line_of(text, views, PREVIEW_NEAR_CHARS))
    return Preview(chat, tuple(lines), focus, ranges, chat.messages)
