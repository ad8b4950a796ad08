"""The offline assistant: a Wire like the others, deterministic, that looks up and quotes and never invents.

Each request is answered from its own messages: what the person last said, and the results that came since. The same
request gives the same answer.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from app.ports import (
    AssistantMessage,
    CallReady,
    ModelRequest,
    PersonMessage,
    StepDone,
    StepEvent,
    TextDelta,
    ToolCall,
    ToolReturn,
)
from app.providers.offline import replies
from app.providers.offline.intent import Intent
from app.providers.offline.quoting import Said, data_of, decides, found_lines, listed, read_lines
from app.providers.offline.recognise import CHATS, recognise
from store.clock import Clock, SystemClock, iso
from store.ids import CALL, new_id

CONTEXT_TOKENS = 1_000_000  # nothing is sent anywhere; only the last message and its results are read
LOOKS_MOST = 4  # calls for one message of the person
_DELTA = re.compile(r"(?:\S+\s*){1,3}|\s+")
_TOLD = re.compile(
    r"(?:No line here has: [^.]*\.|Read as: [^.]*\.|Earlier chats are still being indexed [^.]*\."
    r"|Nothing matched exactly; these are close matches\.|\d[\d,]* more chats? matched\."
    r"|The words are too short[^.]*\.|That message isn't in this chat; this is how the chat ended\.)"
)

Titles = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Done:
    """One call of this turn and what it gave."""

    name: str
    args: dict[str, Any]
    text: str
    error: bool

    @property
    def data(self) -> dict[str, Any] | None:
        return None if self.error else data_of(self.text)


@dataclass(frozen=True, slots=True)
class _Turn:
    """What the person last said, and what was done about it since; `asked` is None when it isn't the person's turn."""

    asked: str | None
    done: tuple[_Done, ...] = ()


class OfflineWire:
    """`ports.Wire` without a model.

    `titles`: the person's chats (id, title), newest first, without private ones; asked for only where the tools that
    look are offered. `found`: what was found on this computer that could be connected, a line each.
    """

    def __init__(
        self,
        titles: Callable[[], Titles] | None = None,
        found: Callable[[], Sequence[str]] | None = None,
        clock: Clock | None = None,
        ids: Callable[[], str] | None = None,
    ) -> None:
        self._titles = titles or (lambda: ())
        self._found = found or (lambda: ())
        self._clock = clock or SystemClock()
        self._ids = ids or (lambda: new_id(CALL))

    def context_tokens(self, model: str) -> int:
        """So many that nothing is ever summarised for its sake."""
        return CONTEXT_TOKENS

    async def stream(self, request: ModelRequest) -> AsyncIterator[StepEvent]:
        """One step: a tool call, or the answer in small pieces."""
        step = self.step(request)
        if isinstance(step, ToolCall):
            yield CallReady(step)
            yield StepDone("tool-calls")
            return
        for match in _DELTA.finditer(step):
            yield TextDelta(match.group())
            await asyncio.sleep(0)
        yield StepDone("stop")

    def step(self, request: ModelRequest) -> ToolCall | str:
        """What comes next: a call, or the whole answer."""
        turn = _turn_of(request)
        if turn.asked is None:
            return replies.NOT_THE_PERSON
        schemas = {tool.name: tool.schema for tool in request.tools}
        titles: list[tuple[str, str]] = []
        if {"search_chats", "list_chats"} & schemas.keys():  # else a title would show through what is recognised
            titles = [(chat, title) for chat, title in self._titles() if chat != request.chat]
        intent = recognise(turn.asked, titles, date.fromisoformat(iso(self._clock.now_ms())[:10]))
        if intent.tool is None:
            return replies.without_tool(intent, schemas, self._found(), [title for _, title in titles])
        plan = _next(intent, turn, frozenset(schemas))
        if isinstance(plan, str):
            return plan
        name, args = plan
        return ToolCall(self._ids(), name, json.dumps(_fitting(args, schemas[name]), ensure_ascii=False))


def _turn_of(request: ModelRequest) -> _Turn:
    """The person's newest words with the results after them; words of others that came later aren't answered."""
    start = next(
        (at for at in range(len(request.messages) - 1, -1, -1) if _words(request.messages[at])),
        None,
    )
    if start is None:
        return _Turn(None)
    done: list[_Done] = []
    calls: dict[str, ToolCall] = {}
    answered = False
    for message in request.messages[start + 1 :]:
        if isinstance(message, AssistantMessage):
            calls |= {call.id: call for call in message.calls}
            answered = not message.calls
        elif isinstance(message, ToolReturn) and message.id in calls:
            call = calls[message.id]
            done.append(_Done(call.name, data_of(call.args) or {}, message.text, message.error))
        elif isinstance(message, PersonMessage) and answered:
            return _Turn(None)
    return _Turn(_words(request.messages[start]), tuple(done))


def _words(message: object) -> str:
    """The person's own words of a message; "" for what only others said."""
    if not isinstance(message, PersonMessage):
        return ""
    return message.words.strip()


def _fitting(args: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments the tool's schema knows; a lone text goes to its first required field when that is named else."""
    known = schema.get("properties")
    if not isinstance(known, Mapping) or not known:
        return dict(args)
    out = {name: value for name, value in args.items() if name in known}
    missing = [name for name in schema.get("required") or () if name not in out]
    spare = [value for name, value in args.items() if name not in known and isinstance(value, str)]
    return out | dict(zip(missing, spare, strict=False))


def _next(intent: Intent, turn: _Turn, offered: frozenset[str]) -> tuple[str, dict[str, Any]] | str:
    """The next call, or the answer."""
    tool = intent.tool or ""
    if not turn.done:
        return (tool, intent.args) if tool in offered else replies.NOT_OFFERED[tool]
    last = turn.done[-1]
    if last.name == "remember" and last.text.startswith("Remembered as "):  # said to the person, not to a model
        return replies.REMEMBERED
    if last.name == "recall" and not last.error:
        return replies.remembered(last.text)
    if last.name == "wait_for" and last.text.startswith("Waiting for "):
        return replies.WAITS
    if last.name not in ("search_chats", "read_chat"):
        return replies.relayed(last.text, error=last.error)
    if last.data is None and not any(done.data for done in turn.done):
        return replies.relayed(last.text, error=False)  # the tools answer in words that can be passed on
    if len(turn.done) < LOOKS_MOST and (more := _look_again(intent, turn.done, offered)):
        return more
    return _answer(intent, turn)


def _look_again(intent: Intent, done: Sequence[_Done], offered: frozenset[str]) -> tuple[str, dict[str, Any]] | None:
    """A wider search when nothing was found; a read around the best line when its neighbours may answer."""
    last = done[-1]
    if last.name != "search_chats" or last.data is None:
        return None
    if not listed(last.data.get("chats")):
        if "search_chats" not in offered or not last.args.get("query"):
            return None
        if last.args.get("chat") and intent.named is not None:
            query = f"{intent.named.title} {intent.args['query']}"[:200]
            return "search_chats", {"query": query, "limit": CHATS}
        if last.args.get("after") or last.args.get("before"):
            return "search_chats", {"query": last.args["query"], "limit": CHATS}
        return None
    if "read_chat" not in offered or not last.args.get("query"):
        return None
    lines = found_lines(last.data)
    wanted = intent.context or (intent.decision and not any(decides(line.text) for line in lines))
    if not wanted or not lines:
        return None
    return "read_chat", {"chat": lines[0].chat, "message": lines[0].message}


def _answer(intent: Intent, turn: _Turn) -> str:
    found: list[Said] = []
    read: list[Said] = []
    notes: list[str] = []
    searched: dict[str, Any] | None = None
    query = intent.about
    for done in turn.done:
        data = done.data
        if data is None:
            continue
        if done.name == "search_chats":
            searched, found = data, found_lines(data)
            notes = _TOLD.findall(data["note"]) if isinstance(data.get("note"), str) else []
            query = intent.about or str(done.args.get("query") or "")
        else:
            read = read_lines(data, done.args.get("message"))
            if isinstance(data.get("note"), str) and searched is None:
                notes = _TOLD.findall(data["note"])
    tail = " ".join(notes)
    if searched is None:
        return replies.read_answer(read, tail)
    if not query:
        return replies.recent_answer(searched, tail)
    return replies.past_answer(intent, found, read, tail, turn.asked or "", query)
