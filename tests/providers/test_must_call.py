"""A request that has to end in a call says so in each provider's own way, and only then."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from tests.providers.kit import WIRES, ask, finder, request
from tests.servers import gemini
from tests.servers.fake import FakeServer

FORCED: dict[str, tuple[str, Any]] = {
    "openai:m": ("tool_choice", "required"),
    "openai-responses:m": ("tool_choice", "required"),
    "anthropic:m": ("tool_choice", {"type": "any"}),
    "google:m": ("toolConfig", "ANY"),
}


@pytest.mark.parametrize(("model", "speak"), WIRES)
async def test_a_call_is_forced_where_the_request_says_so(model: str, speak: ModuleType) -> None:
    made = ("search_chats", json.dumps({"query": "x"}))
    reply = speak.calls(made) if speak is gemini else speak.calls(("k1", *made))
    key, wanted = FORCED[model]
    for must in (True, False):
        async with FakeServer(answers=[reply]) as server:
            got = await ask(finder(server.url), request(model, must_call=must))
            told = server.requests[0].body.get(key)
        assert [c.name for c in got.calls] == ["search_chats"] and not got.error
        if key == "toolConfig":
            told = (told or {}).get("functionCallingConfig", {}).get("mode")
        else:
            told = {"type": told.get("type")} if isinstance(told, dict) else told
        assert (told == wanted) is must, told


@pytest.mark.parametrize(("model", "speak"), WIRES)
async def test_without_tools_nothing_can_be_forced(model: str, speak: ModuleType) -> None:
    async with FakeServer(answers=[speak.text("ok")]) as server:
        got = await ask(finder(server.url), request(model, tools=(), must_call=True))
    assert got.text == "ok" and not got.error
