"""Chat completions, as OpenAI and many servers speak them."""

from __future__ import annotations

import json
from typing import Any

from app.providers.ears.base import BaseEar, Json, TextSlot, listed, part, table, tokens
from app.providers.endpoints import Endpoint
from app.providers.failures import from_stream
from store import ids
from store.events import Usage


class ThinkTags:
    """Words between `<think>` and `</think>` at the very start of an answer are thinking, however they are cut."""

    OPEN, CLOSE = "<think>", "</think>"

    def __init__(self) -> None:
        self._state = "start"  # start, inside, after
        self._held = ""

    def feed(self, text: str) -> tuple[str, str]:
        """(thinking, answer) that can be told apart so far."""
        if self._state == "after":
            return "", text
        text = self._held + text
        self._held = ""
        if self._state == "start":
            bare = text.lstrip()
            if bare.startswith(self.OPEN):
                self._state, text = "inside", bare[len(self.OPEN) :]
            elif self.OPEN.startswith(bare):
                self._held = text
                return "", ""
            else:
                self._state = "after"
                return "", text
        inside, mark, after = text.partition(self.CLOSE)
        if mark:
            self._state = "after"
            return inside, after.lstrip("\n")
        keep = next((n for n in range(len(self.CLOSE) - 1, 0, -1) if inside.endswith(self.CLOSE[:n])), 0)
        self._held = inside[len(inside) - keep :]
        return inside[: len(inside) - keep], ""

    def end(self) -> tuple[str, str]:
        """What was held back when the answer ends."""
        held, self._held = self._held, ""
        return (held, "") if self._state == "inside" else ("", held)


class ChatEar(BaseEar):
    """OpenAI's chat completions and the many servers that speak them."""

    FINISH = {
        "stop": "stop",
        "eos": "stop",
        "end_turn": "stop",
        "tool_calls": "tool-calls",
        "function_call": "tool-calls",
        "length": "length",
        "max_tokens": "length",
        "content_filter": "filter",
    }
    SAID = {"stop": "stop", "tool-calls": "tool_calls", "length": "length", "filter": "content_filter"}

    def __init__(self, at: Endpoint) -> None:
        super().__init__(at)
        self._ids: dict[int, str] = {}  # call index: the id given to the SDK
        self._raw: dict[int, str] = {}  # call index: the id the server gave
        self._now: dict[int, int] = {}  # the server's index: ours, when it uses one for two calls
        self._think = ThinkTags()

    def hear(self, name: str, data: Any) -> Json | None:
        """Take one chunk."""
        if data == "[DONE]":
            self.ended = True
            return None
        if not isinstance(data, dict) or (data.get("error") and not data.get("choices")) or name == "error":
            error = data.get("error", data) if isinstance(data, dict) else data
            self.failure = from_stream(self.at, error)
            return None
        self._count(data)
        choice = next((c for c in listed(data.get("choices")) if isinstance(c, dict)), None)
        if choice is None:
            return None  # only usage, or nothing the SDK needs
        raw = choice.get("finish_reason")
        if raw:
            found = self.FINISH.get(str(raw), "unknown")
            self.finish = "filter" if self.finish == "filter" else found
            choice["finish_reason"] = self.SAID.get(found, "stop")
        delta = choice.get("delta")
        choice["delta"] = self._delta(delta if isinstance(delta, dict) else {}, bool(raw))
        choice["index"] = 0
        out = {"id": data.get("id") or "x", "object": "chat.completion.chunk", "created": 0, "model": self.at.model}
        return out | {"choices": [choice]}

    def slot(self, event: Json) -> TextSlot | None:
        """The content of a chunk that has only content."""
        choice = event["choices"][0]
        if choice.get("finish_reason") is None and len(choice["delta"]) == 1:
            key = next(iter(choice["delta"]))
            if key in ("content", "reasoning_content"):
                return key, choice["delta"], key
        return None

    def _delta(self, delta: Json, last: bool) -> Json:
        """The delta with its words as two plain texts and its calls in order."""
        out: Json = {}
        content = delta.get("content")
        if isinstance(content, list):
            content = "".join(p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:  # its words are shown like any others
            content, self.finish = refusal, "filter"
        thought = next((delta[k] for k in ("reasoning", "reasoning_content") if isinstance(delta.get(k), str)), "")
        calls = [c for c in listed(delta.get("tool_calls")) if isinstance(c, dict)]
        thinking, answer = self._think.feed(content) if isinstance(content, str) and content else ("", "")
        if last or calls:
            more = self._think.end()
            thinking, answer = thinking + more[0], answer + more[1]
        if thought := self._whole("thinking", thought + thinking):
            out["reasoning_content"] = thought
        if answer := self._whole("text", answer):
            out["content"] = answer
        if calls:
            out["tool_calls"] = [self._call(call) for call in calls]
        self.began = self.began or bool(out)
        return out

    def _call(self, call: Json) -> Json:
        """A piece of a call with an index and an id of its own, and its arguments as text."""
        function = table(call.get("function"))
        given, name = call.get("id") or "", function.get("name") or ""
        index = call.get("index")
        if not isinstance(index, int):
            index = next((i for i, known in self._raw.items() if given and known == given), None)
            index = index if index is not None else (len(self._ids) if name or not self._ids else max(self._ids))
        ours = self._now.get(index, index)
        if ours in self._ids and given and given != self._raw[ours] and name:
            ours = self._now[index] = max(self._ids) + 1  # another call under the same index
        args = function.get("arguments")
        args = json.dumps(args) if isinstance(args, (dict, list)) else args if isinstance(args, str) else ""
        out: Json = {"index": ours, "type": "function", "function": {"arguments": args}}
        if ours not in self._ids:
            self._raw[ours] = str(given)
            fresh = not given or str(given) in self._ids.values()
            self._ids[ours] = ids.new_id(ids.CALL) if fresh else str(given)
            out["id"] = self._ids[ours]
            out["function"]["name"] = str(name) or "unnamed"
        return out

    def _count(self, data: Json) -> None:
        """Keep the usage of a chunk, where it is one."""
        given = data.get("usage")
        if isinstance(given, dict):
            self.usage = Usage(
                input_tokens=tokens(given.get("prompt_tokens")),
                output_tokens=tokens(given.get("completion_tokens")),
                cached_tokens=tokens(part(given, "prompt_tokens_details", "cached_tokens")),
            )
