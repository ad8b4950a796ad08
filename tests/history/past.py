"""A home with chats in it, and the two tools on it, as `services` puts them together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.guard import secrets
from app.guard.redactor import Redactor
from app.history.read_chat import ReadChat
from app.history.search_chats import SearchChats
from app.history.surface import SurfaceGate
from app.ports import ToolOutcome, TurnContext
from app.tools.toolbox import parse_args
from store import events as ev
from store.clock import ManualClock
from store.ids import new_id
from store.log import Batch, Store
from store.search import SearchService

WEB = ev.TaintSource(kind="web", label="example.org")
PERSON = ev.TaintSource(kind="person", label="Ana on Telegram")


class Past:
    """Chats said by hand; `ask` is the chat that looks back."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.store = Store.open(folder, self.clock)
        self.redactor = Redactor()
        self.search = SearchService(
            self.store,
            folder / "index",
            spans=secrets.spans,
            spans_version=secrets.SHAPES_VERSION,
            redact=self.redactor.clean,
            clock=self.clock,
        )
        self.search.start_sync()
        self.ask = self.chat("The one that asks")

    def clean(self, text: str) -> str:
        return secrets.clean(self.redactor.clean(text))

    def chat(self, title: str, *said: str, **created: Any) -> str:
        """A new chat in which the person says each line."""
        chat = new_id("c")
        self.clock.tick(60)
        self.commit(chat, ev.ChatCreated(title=title, **created))
        for text in said:
            self.say(chat, text)
        return chat

    def say(self, chat: str, text: str, **more: Any) -> str:
        message = new_id("m")
        self.clock.tick(60)
        self.commit(chat, ev.UserMessage(message_id=message, text=text, **more))
        return message

    def answer(self, chat: str, text: str) -> str:
        message = new_id("m")
        self.clock.tick(60)
        self.commit(chat, ev.AssistantDone(message_id=message, text=text))
        return message

    def ran(self, chat: str, command: str) -> str:
        call = new_id("t")
        self.clock.tick(60)
        self.commit(chat, ev.ToolStarted(call_id=call, name="run_command", input={"command": command}))
        return call

    def taint(self, chat: str, source: ev.TaintSource = WEB) -> None:
        self.commit(chat, ev.Taint(source=source))

    def commit(self, chat: str, *events: ev.Event) -> None:
        self.store.commit_sync(Batch.of(chat, *events))

    def context(self, **more: Any) -> TurnContext:
        base: dict[str, Any] = {"mode": "auto", "origin": None, "taints": ()}
        return TurnContext(self.ask, "r_turn", **(base | more))

    def tool(self, name: str, gate: SurfaceGate | None = None) -> SearchChats | ReadChat:
        made = SearchChats if name == "search_chats" else ReadChat
        return made(self.store, self.search, self.clean, gate)

    async def call(
        self, name: str, ctx: TurnContext | None = None, gate: SurfaceGate | None = None, **args: Any
    ) -> ToolOutcome:
        """One call by the toolbox's own way of reading arguments; a refused one is an outcome that isn't ok."""
        assert await self.search.caught_up(10)
        tool = self.tool(name, gate)
        parsed = parse_args(tool, json.dumps(args))
        if isinstance(parsed, str):
            return ToolOutcome(parsed, ok=False)
        return await tool.run(parsed, ctx or self.context(), "t_call")

    async def find(self, query: str, **more: Any) -> dict[str, Any]:
        return json.loads((await self.call("search_chats", query=query, **more)).text)

    async def read(self, chat: str, **more: Any) -> dict[str, Any]:
        return json.loads((await self.call("read_chat", chat=chat, **more)).text)

    async def close(self) -> None:
        await self.search.close()
        self.store.close()
