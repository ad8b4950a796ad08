"""The only module that touches pydantic-ai and the SDKs under it. Import it in a thread: it takes 1 to 3 seconds."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import Any, cast

import httpx2
from pydantic_ai import messages as pm
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from app.ports import CallReady, ModelRequest, StepEvent, TextDelta, ThinkingDelta, ToolCall, ToolReturn, ToolSpec
from app.providers.convert import NOTHING, Asked, Round, rounds, tool_name, whole_text
from app.providers.endpoints import Endpoint, Protocol

logging.getLogger("google_genai").setLevel(logging.ERROR)  # it writes advice to stderr, over the screen

NO_KEY = "none"  # SDKs insist on a key; the tap takes it out again


def load(protocol: Protocol) -> None:
    """Import what one protocol needs; run in a thread before the first request."""
    match protocol:
        case "chat" | "responses":
            import pydantic_ai.models.openai
        case "anthropic":
            import pydantic_ai.models.anthropic
        case "google":
            import pydantic_ai.models.google  # noqa: F401


def transport(proxy: str | None) -> httpx2.AsyncHTTPTransport:
    """A pool of connections; making it reads the certificates of this computer, so do it in a thread."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60)
    return httpx2.AsyncHTTPTransport(proxy=proxy, limits=limits, trust_env=True)


def model(at: Endpoint, client: httpx2.AsyncClient) -> Model[Any]:
    """pydantic-ai's model of an endpoint, with the SDK's own retries off."""
    key = at.key or NO_KEY
    match at.protocol:
        case "chat" | "responses":
            from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
            from pydantic_ai.providers.openai import OpenAIProvider
            from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

            provider: Any
            if at.official and at.preset.name.startswith("openai"):
                provider = OpenAIProvider(base_url=at.base_url, api_key=key, http_client=client)
            else:
                provider = OpenAICompatibleProvider(
                    at.preset.name, base_url=at.base_url, api_key=key, http_client=client
                )
            if at.protocol == "chat":
                return OpenAIChatModel(at.model, provider=provider)
            return OpenAIResponsesModel(at.model, provider=provider)
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            return AnthropicModel(
                at.model, provider=AnthropicProvider(api_key=key, base_url=at.base_url, http_client=client)
            )
        case "google":
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google import GoogleProvider

            return GoogleModel(at.model, provider=GoogleProvider(api_key=key, base_url=at.base_url, http_client=client))


async def stream(at: Endpoint, client: httpx2.AsyncClient, request: ModelRequest) -> AsyncGenerator[StepEvent, None]:
    """One request: words as they come, then the whole calls; closes the connection when it is closed."""
    tools = [definition(tool) for tool in request.tools]
    params = ModelRequestParameters(function_tools=tools, allow_text_output=not (request.must_call and tools))
    history = [converted(one) for one in rounds(request.messages)]
    if request.system.strip():
        for message in history:
            if isinstance(message, pm.ModelRequest):
                message.instructions = whole_text(request.system)
    async with model_request_stream(
        model(at, client), history, model_settings=settings(at, request), model_request_parameters=params
    ) as answer:
        async for event in answer:
            if isinstance(event, pm.PartStartEvent):
                said: Any = event.part
                words: str | None = said.content if isinstance(said, pm.TextPart | pm.ThinkingPart) else ""
            elif isinstance(event, pm.PartDeltaEvent):
                said = event.delta
                words = said.content_delta if isinstance(said, pm.TextPartDelta | pm.ThinkingPartDelta) else ""
            else:
                continue
            if words:
                thought = isinstance(said, pm.ThinkingPart | pm.ThinkingPartDelta)
                yield ThinkingDelta(words) if thought else TextDelta(words)
        for part in answer.get().parts:
            if isinstance(part, pm.ToolCallPart):
                args = part.args if isinstance(part.args, str) else part.args_as_json_str()
                yield CallReady(ToolCall(part.tool_call_id, part.tool_name, (args.strip() and args) or "{}"))


def settings(at: Endpoint, request: ModelRequest) -> ModelSettings:
    """What is asked for besides the messages."""
    out: dict[str, Any] = {"max_retries": 0}
    if request.max_tokens:
        out["max_tokens"] = request.max_tokens
    if at.protocol == "anthropic" and at.official:
        out["anthropic_cache"] = True  # the same system text and history are read again at each step
    if at.protocol == "responses":
        out["openai_store"] = False
    return cast(ModelSettings, out)


def definition(tool: ToolSpec) -> ToolDefinition:
    """A tool as pydantic-ai takes it; the schema goes as it is."""
    return ToolDefinition(
        name=tool_name(tool.name),
        description=tool.description,
        parameters_json_schema=dict(tool.schema) or {"type": "object", "properties": {}},
        strict=False,
    )


def converted(one: Round) -> pm.ModelMessage:
    """A round of the history as pydantic-ai takes it."""
    if isinstance(one, Asked):
        parts: list[pm.ModelRequestPart] = [returned(r) for r in one.returns]
        parts += [pm.UserPromptPart(content=whole_text(text)) for text in one.texts]
        return pm.ModelRequest(parts=parts)
    answer: list[pm.ModelResponsePart] = [pm.TextPart(content=whole_text(one.text))] if one.text else []
    answer += [pm.ToolCallPart(tool_name=c.name, args=c.args, tool_call_id=c.id) for c in one.calls]
    return pm.ModelResponse(parts=answer or [pm.TextPart(content=NOTHING)])


def returned(result: ToolReturn) -> pm.ToolReturnPart:
    """A tool's result as pydantic-ai takes it."""
    return pm.ToolReturnPart(
        tool_name=result.name,
        content=whole_text(result.text),
        tool_call_id=result.id,
        outcome="failed" if result.error else "success",
    )
