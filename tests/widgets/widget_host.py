"""A tiny app around widgets, and what it drew."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from textual.app import App
from textual.message import Message
from textual.widget import Widget

from store import events as ev
from store.rows import LookRow, PermissionRow, SaidRow

NOW = 1_790_000_000_000
HOUR, DAY = 3_600_000, 86_400_000
CORPUS = Path(__file__).parents[1] / "corpora" / "injection-dev.jsonl"


class Host(App[None]):
    """Shows widgets one under the other and keeps the messages they send. No net: each widget must be clean alone."""

    def __init__(self, *widgets: Widget, css: str = "", theme: str = "textual-dark") -> None:
        super().__init__()
        self.shown = widgets
        self.messages: list[Message] = []
        self.CSS = css
        self.look = theme

    def compose(self) -> Any:
        yield from self.shown

    def on_mount(self) -> None:
        self.theme = self.look

    def sent(self, kind: type[Message]) -> list[Any]:
        return [message for message in self.messages if isinstance(message, kind)]

    async def _dispatch_message(self, message: Message) -> None:
        if type(message).__module__.startswith("widgets"):
            self.messages.append(message)
        await super()._dispatch_message(message)


def drawn(widget: Widget) -> list[str]:
    """The lines of a widget as they are drawn."""
    region = widget.size.region
    return ["".join(segment.text for segment in strip) for strip in widget.render_lines(region)]


def screen_text(app: App[Any]) -> str:
    """Everything on screen."""
    rows = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in row) for row in rows)


def corpus(*checks: str) -> list[tuple[str, str]]:
    """Lines of the injection corpus that have one of `checks`, as (id, text)."""
    out = []
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if set(checks) & set(row["checks"]):
            text = base64.b64decode(row["text_b64"]).decode("utf-8", "surrogatepass")
            out.append((row["id"], text.replace("{HOST}", "Shoal").replace("{host}", "shoal")))
    return out


def said(key: str, text: str, seq: int = 0, who: str = "you", **more: Any) -> SaidRow:
    return SaidRow(key, NOW, seq, who, text, **more)  # type: ignore[arg-type]


def look(text: str = "The Barn is free", title: str = "Venue research", query: str = "venue", **more: Any) -> LookRow:
    lines = (
        ev.LookLine(message="m1", who="them", name="Ana", text=text, marks=((4, 8),)),
        ev.LookLine(message="m2", who="you", text="ok, the Barn", marks=((8, 12),)),
    )
    chat = ev.LookChat(id="c5", title=title, archived=True, from_="Telegram", last_active=NOW - 6 * DAY, lines=lines)
    return LookRow("look", NOW, 3, "search", query, chats=(chat,), **more)


def ask(summary: str = "Run git log", detail: str = "in ~/web", **more: Any) -> PermissionRow:
    more.setdefault("lasting", True)
    request = ev.PermissionRequested(permission_id="p1", tool_name="shell", summary=summary, detail=detail, **more)
    return PermissionRow("p1", NOW, 9, request)
