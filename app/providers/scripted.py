"""The scripted test model: says what its steps say, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from app.ports import (
    CallReady,
    ModelRequest,
    PersonMessage,
    RetryWait,
    StepDone,
    StepEvent,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Wire,
    WireError,
)
from store.events import Usage
from store.ids import CALL, new_id
from store.limits import CONTEXT_DEFAULT_TOKENS

Item = StepEvent | WireError | BaseException | float | str  # float: seconds to wait; str: text
Step = Sequence[Item] | Callable[[ModelRequest], Sequence[Item]]


def call(name: str, args: Any = None, call_id: str = "") -> CallReady:
    """A tool call for a script; `args` is turned into JSON unless it is text already."""
    raw = args if isinstance(args, str) else json.dumps({} if args is None else args)
    return CallReady(ToolCall(call_id, name, raw))


class ScriptedWire:
    """A Wire with the steps given, one a request; a step may be a function of the request.

    `rules` are looked at first: the step of the first one whose words are in the newest message (of the person's
    message, in their own words). Without steps
    left it says "Done." `per_chat` starts every chat at the first step.
    """

    def __init__(
        self,
        steps: Iterable[Step] = (),
        *,
        rules: Sequence[tuple[str, Step]] = (),
        per_chat: bool = False,
        tokens: int = CONTEXT_DEFAULT_TOKENS,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self._steps = list(steps)
        self._rules = rules
        self._per_chat = per_chat
        self._next: dict[str, int] = {}
        self._tokens = tokens
        self.closed = 0  # streams that ended, by themselves or not

    def add(self, *steps: Step) -> None:
        """More steps."""
        self._steps.extend(steps)

    def context_tokens(self, model: str) -> int:
        """The window the test gave."""
        return self._tokens

    async def stream(self, request: ModelRequest) -> AsyncIterator[StepEvent]:
        """Run the next step."""
        self.requests.append(request)
        step = self._take(request)
        items = step(request) if callable(step) else step
        done = calls = False
        try:
            for item in items:
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, int | float):
                    await asyncio.sleep(item)
                    continue
                event = TextDelta(item) if isinstance(item, str) else item
                done, calls = isinstance(event, StepDone), calls or isinstance(event, CallReady)
                yield event
            if not done:
                yield StepDone("tool-calls" if calls else "stop")
        finally:
            self.closed += 1

    def _take(self, request: ModelRequest) -> Step:
        newest = request.messages[-1] if request.messages else PersonMessage("")
        said = newest.words or newest.text if isinstance(newest, PersonMessage) else newest.text
        for words, step in self._rules:
            if words in said:
                return step
        key = request.chat if self._per_chat else ""
        at = self._next.get(key, 0)
        self._next[key] = at + 1
        return self._steps[at] if at < len(self._steps) else ["Done."]


def scripted_from(path: Path) -> ScriptedWire:
    """The wire of a JSON file: `{"steps": [[ITEM, …], …], "rules": [{"when": TEXT, "do": [ITEM, …]}], "tokens"?}`.

    An ITEM is text, `{"text"}`, `{"thinking"}`, `{"call": {"id"?, "name", "args"}}`, `{"delay": seconds}`,
    `{"retry": {"seconds", "why"}}`, `{"error": {"sentence", "code"}}` or `{"done": reason, "usage"?}`. Every chat
    starts at the first step. Raises `WireError` (setup) in words when the file isn't that.
    """
    try:
        body = json.loads(path.read_text("utf-8"))
        body = {"steps": body} if isinstance(body, list) else body
        steps = [[_item(item) for item in step] for step in body.get("steps", [])]
        rules = [(str(rule["when"]), [_item(item) for item in rule["do"]]) for rule in body.get("rules", [])]
        return ScriptedWire(steps, rules=rules, per_chat=True, tokens=int(body.get("tokens", CONTEXT_DEFAULT_TOKENS)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise WireError(f"The script of the test model ({path.name}) can't be read as steps.", "setup") from None


def _item(item: Any) -> Item:
    if isinstance(item, str):
        return TextDelta(item)
    match item:
        case {"text": str(text)}:
            return TextDelta(text)
        case {"thinking": str(text)}:
            return ThinkingDelta(text)
        case {"call": {"name": str(name)} as made}:
            return call(name, made.get("args"), str(made["id"]) if "id" in made else new_id(CALL))
        case {"delay": seconds}:
            return float(seconds)
        case {"retry": {"seconds": seconds, "why": why}}:
            return RetryWait(float(seconds), str(why))
        case {"error": {"sentence": sentence, "code": code}}:
            return WireError(str(sentence), str(code))
        case {"done": str(reason)}:
            return StepDone(reason, Usage.model_validate(item.get("usage", {})))
    raise ValueError(f"not a step item: {item!r}")


class ScriptedWires:
    """Wires of scripts: the ones given by model name, and `scripted:PATH` read from its file once."""

    def __init__(self, wires: dict[str, Wire] | None = None) -> None:
        self._wires = dict(wires or {})

    def wire(self, model: str) -> Wire:
        """The wire; raises WireError (setup) for any other model."""
        kind, _, name = model.partition(":")
        if model not in self._wires:
            if kind != "scripted" or not name:
                raise WireError(f"The model “{model[:60]}” can't be used here.", "setup")
            self._wires[model] = scripted_from(Path(name))
        return self._wires[model]
