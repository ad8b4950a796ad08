"""A chat written out: its event lines (which import reads back), Markdown, or one HTML page. All of it filtered."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from markdown_it import MarkdownIt

from store.clock import iso
from store.events import Stored
from store.models import ChatSummary
from store.rows import AnyRow, LookRow, NoticeRow, PermissionRow, Rows, SaidRow, ToolRow, fold
from store.text import safe_name, safe_text

Clean = Callable[[str], str]
ExportFormat = Literal["md", "json", "html"]
_KEPT = frozenset({"id", "chat", "seq", "at", "type", "v", "from_chat"})  # what names things isn't words
_WHO = {"you": "You", "them": "Someone else", "assistant": "Assistant", "forwarded": "Forwarded from someone else"}
_HTML_START = re.compile(r"<(?=[A-Za-z/!?])")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~])")


def exported(summary: ChatSummary, events: Iterable[Stored], form: ExportFormat, clean: Clean) -> Iterator[str]:
    """The lines of the export, each with its end. `clean` hides secrets; it runs before anything is cut."""
    if form == "json":
        return _event_lines(events, clean)
    rows: Rows = {}
    for stored in events:
        fold(rows, stored)
    pages = _markdown if form == "md" else _html
    return pages(summary, sorted(rows.values(), key=lambda row: row.seq), clean)


def _event_lines(events: Iterable[Stored], clean: Clean) -> Iterator[str]:
    for stored in events:
        if stored.event.type.startswith("memory."):
            continue  # memories are files of their own; one that waits for a yes or was forgotten goes nowhere
        told = _without_memories(stored.to_json())
        body = {k: v if k in _KEPT else _cleaned(v, clean, k) for k, v in told.items()}
        yield json.dumps(body, ensure_ascii=False, separators=(",", ":")) + "\n"


def _without_memories(body: dict[str, Any]) -> dict[str, Any]:
    """A call of `remember` without what it said."""
    if body.get("name") == "remember" and body["type"] == "tool.started":
        return body | {"input": {}, "label": "Remember something"}
    if body["type"] == "assistant.done" and body.get("calls"):
        calls = [c | {"input": "{}"} if c.get("name") == "remember" else c for c in body["calls"]]
        return body | {"calls": calls}
    return body


def _cleaned(value: Any, clean: Clean, name: str = "") -> Any:
    if isinstance(value, str):
        return value if name.endswith("_id") or name in ("id", "message") else clean(value)
    if isinstance(value, dict):
        return {k: _cleaned(v, clean, k) for k, v in value.items()}
    if isinstance(value, list):
        return [_cleaned(v, clean) for v in value]
    return value


# -- what both pages say


def _title(summary: ChatSummary, clean: Clean) -> str:
    return safe_name(clean(summary.title)) or "Untitled"


def _facts(summary: ChatSummary, clean: Clean) -> list[str]:
    facts = [f"{summary.messages} messages"]
    if summary.created_at:
        facts.insert(0, iso(summary.created_at))
    for origin in (summary.origin, summary.recorded_origin):
        if origin and origin.name:
            facts.append(f"from {safe_name(clean(origin.name))}")
    return facts


def _row_words(row: AnyRow, clean: Clean) -> tuple[str, str] | None:
    """A row as (head, text), harmless; None for what an export leaves out."""
    match row:
        case SaidRow():
            name = safe_name(clean(row.name), 80) if row.name else ""
            who = f"{_WHO['forwarded'].removesuffix('someone else')}{name}" if row.who == "forwarded" and name else ""
            who = who or name or _WHO[row.who]
            text = safe_text(clean(row.text), limit=len(row.text) + 1_000)
            photos = [f"[photo: {safe_text(clean(a.caption), one_line=True)}]" for a in row.attachments]
            return who + (" (unfinished)" if row.unfinished else ""), "\n".join([text, *photos]).strip()
        case ToolRow():
            return "", f"{safe_text(clean(row.label or row.name), one_line=True, limit=300)} · {row.status}"
        case LookRow():
            what = f" · “{safe_text(clean(row.query), one_line=True, limit=200)}”" if row.query else ""
            return "", f"Looked through earlier chats{what} · {len(row.chats)} found"
        case PermissionRow(request=request) if request is not None:
            words = safe_text(clean(request.summary), one_line=True, limit=300)
            return "", f"Asked: {words} · {row.decision or 'not answered'}"
        case NoticeRow():
            return "", safe_text(clean(row.text), one_line=True, limit=300)
    return None


# -- Markdown


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)


def _markdown(summary: ChatSummary, rows: list[AnyRow], clean: Clean) -> Iterator[str]:
    yield f"# {_escaped(_title(summary, clean))}\n\n{' · '.join(map(_escaped, _facts(summary, clean)))}\n"
    for row in rows:
        if (words := _row_words(row, clean)) is None:
            continue
        head, text = words
        if not head:
            yield f"\n*{_escaped(text)}*\n"
            continue
        when = f" · {iso(row.at)}" if row.at else ""
        yield f"\n## {_escaped(head)}{when}\n\n{_quoted(text)}\n"


def _quoted(text: str) -> str:
    """Words as a quote: their own Markdown stays, but they can't end the quote, hold live HTML or load a picture."""
    code: set[int] = set()
    for token in MarkdownIt("commonmark").parse(text):
        if token.type in ("fence", "code_block") and token.map:
            code.update(range(*token.map))
    lines = (
        line if number in code else _HTML_START.sub("&lt;", line).replace("![", "!\\[")
        for number, line in enumerate(text.split("\n"))
    )
    return "\n".join(f"> {line}".rstrip() for line in lines)


# -- HTML

_STYLE = (
    "body{max-width:50rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:.2rem 0 1rem}"
    "h2{font-size:1rem;margin:1rem 0 0}time,p{color:#667;font-weight:normal}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}"
)


def _html(summary: ChatSummary, rows: list[AnyRow], clean: Clean) -> Iterator[str]:
    title = html.escape(_title(summary, clean))
    yield (
        '<!doctype html>\n<html><head><meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{_STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n"
        f"<p>{html.escape(' · '.join(_facts(summary, clean)))}</p>\n"
    )
    for row in rows:
        if (words := _row_words(row, clean)) is None:
            continue
        head, text = (html.escape(part) for part in words)
        if not head:
            yield f"<p>{text}</p>\n"
            continue
        when = f" <time>{html.escape(iso(row.at))}</time>" if row.at else ""
        yield f"<h2>{head}{when}</h2>\n<pre>{text}</pre>\n"
    yield "</body></html>\n"
