"""What the tests of the wires share: quick limits, an environment that points at a fake server, one answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from app.guard.redactor import Redactor
from app.ports import (
    CallReady,
    Message,
    ModelRequest,
    PersonMessage,
    RetryWait,
    StepDone,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolSpec,
    WireError,
)
from app.providers.tap import Times
from app.providers.wires import Retrying, WireFinder
from tests.servers import anthropic, gemini, openai, responses
from tests.servers.fake import FakeServer

KEYS = {
    "OPENAI_API_KEY": "sk-test-aaaa1111bbbb2222",
    "ANTHROPIC_API_KEY": "sk-ant-test-cccc3333dddd",
    "GEMINI_API_KEY": "AIza-test-eeee4444ffff5555",
}
TIMES = Times(connect=0.6, first=0.5, between=0.3, quiet=0.8, after=0.3)
RETRYING = Retrying(times=2, base=0.02, most=0.1, hint_most=2.0)
WIRES: list[tuple[str, ModuleType]] = [
    ("openai:m", openai),
    ("openai-responses:m", responses),
    ("anthropic:m", anthropic),
    ("google:m", gemini),
]
NAMES = [name.partition(":")[0] for name, _ in WIRES]
SEARCH = ToolSpec(
    "search_chats",
    "Search earlier chats.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)


def environment(url: str) -> dict[str, str]:
    """Every provider at one address."""
    return KEYS | {"OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url, "GOOGLE_BASE_URL": url}


def finder(url: str, *, times: Times = TIMES, retrying: Retrying = RETRYING, **more: Any) -> WireFinder:
    """A finder with quick limits."""
    return WireFinder(
        None, Redactor(), environ=environment(url) | more.pop("env", {}), times=times, retrying=retrying, **more
    )


@dataclass
class Got:
    """Everything one request gave."""

    pieces: list[str] = field(default_factory=list)
    thinking: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    waits: list[RetryWait] = field(default_factory=list)
    done: StepDone | None = None
    error: WireError | None = None

    @property
    def text(self) -> str:
        """The words."""
        return "".join(self.pieces)

    @property
    def code(self) -> str:
        """The error's code, or ""."""
        return self.error.code if self.error else ""

    @property
    def sentence(self) -> str:
        """The error's sentence, or ""."""
        return self.error.sentence if self.error else ""


def request(model: str, *messages: Message, tools: tuple[ToolSpec, ...] = (SEARCH,), **more: Any) -> ModelRequest:
    """A request with some words."""
    return ModelRequest(
        model, "Be kind.", messages or (PersonMessage("What did we decide about the venue?"),), tools, **more
    )


async def ask(found: WireFinder, asked: ModelRequest) -> Got:
    """Run one request to its end."""
    got = Got()
    try:
        async for event in found.wire(asked.model).stream(asked):
            match event:
                case TextDelta(text):
                    got.pieces.append(text)
                case ThinkingDelta(text):
                    got.thinking += text
                case CallReady(call):
                    got.calls.append(call)
                case RetryWait():
                    got.waits.append(event)
                case StepDone():
                    got.done = event
    except WireError as error:
        got.error = error
    finally:
        await found.close()
    return got


async def say(model: str, *answers: Any, messages: tuple[Message, ...] = (), **more: Any) -> tuple[Got, FakeServer]:
    """One request against a server that says `answers`."""
    async with FakeServer() as server:
        server.say(*answers)
        got = await ask(finder(server.url, **more), request(model, *messages))
    return got, server
