"""What is found on this computer, and that looking sends nothing."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.guard.redactor import Redactor
from app.ports import WireError
from app.providers import catalogue as cat
from app.providers.catalogue import Catalogue, Found
from app.providers.wires import WireFinder
from tests.servers.fake import SILENT, FakeServer, plain

NOWHERE = {
    f"{name}_BASE_URL": "http://127.0.0.1:9/v1" for name in ("OLLAMA", "LLAMACPP", "LMSTUDIO", "VLLM")
}  # the discard port: nothing listens


opened: list[WireFinder] = []


def around(**env: str) -> Catalogue:
    """A catalogue over an environment of its own."""
    environ = NOWHERE | env
    wires = WireFinder(None, Redactor(), environ=environ)
    opened.append(wires)
    return Catalogue(wires, None, environ)


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    """Close what a test opened."""
    yield
    while opened:
        await opened.pop().close()


async def test_an_empty_computer_has_nothing() -> None:
    assert await around().look() == ()


async def test_keys_are_found_by_name_and_never_shown() -> None:
    found = await around(
        OPENAI_API_KEY="sk-aaaa1111bbbb2222", GOOGLE_API_KEY="AIza-cccc3333", ANTHROPIC_API_KEY=" "
    ).look()
    assert [(f.kind, f.name) for f in found] == [("key", "openai"), ("key", "google")]
    assert "OPENAI_API_KEY" in found[0].words
    assert not any("aaaa1111" in f.words or "cccc3333" in f.words for f in found)


async def test_another_address_is_told_without_its_password() -> None:
    found = await around(OPENAI_BASE_URL="http://me:hunter22@box:1234/v1").look()
    assert found == (Found("key", "openai", "OPENAI_BASE_URL points to box:1234."),)


async def test_an_open_port_is_found_and_not_a_byte_is_sent() -> None:
    async with FakeServer() as server:
        found = await around(OLLAMA_BASE_URL=f"{server.url}/v1").look()
        assert [(f.kind, f.name) for f in found] == [("server", "ollama")]
        assert server.requests == []


async def test_an_address_elsewhere_is_never_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any) -> Any:
        raise AssertionError("connected")

    monkeypatch.setattr("asyncio.open_connection", forbidden)
    away = dict.fromkeys(NOWHERE, "http://192.0.2.1:11434/v1")
    assert await around(**away).look() == ()


async def test_programs_on_path_are_found(tmp_path: Path) -> None:
    for name in ("claude", "codex", "other"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "gemini").write_text("not executable")
    found = await around(PATH=str(tmp_path)).look()
    assert [(f.kind, f.name) for f in found] == [("program", "claude"), ("program", "codex")]


async def test_looking_is_quick_even_when_nothing_answers() -> None:
    start = time.monotonic()
    await around(OLLAMA_BASE_URL="http://127.255.255.254:81/v1").look()
    assert time.monotonic() - start < cat.PROBE_SECONDS + 0.7


LISTS = {
    "ollama": (
        "OLLAMA_BASE_URL",
        "/v1",
        {"data": [{"id": "qwen3:8b"}, {"id": "nomic-embed-text"}]},
        ["ollama:qwen3:8b"],
    ),
    "openai": (
        "OPENAI_BASE_URL",
        "/v1",
        {"data": [{"id": "gpt-5"}, {"id": "whisper-1"}, {"id": 3}, 4]},
        ["openai:gpt-5"],
    ),
    "anthropic": ("ANTHROPIC_BASE_URL", "", {"data": [{"id": "claude-x"}]}, ["anthropic:claude-x"]),
    "google": (
        "GOOGLE_BASE_URL",
        "",
        {
            "models": [
                {"name": "models/gemini-x", "supportedGenerationMethods": ["generateContent"]},
                {"name": "models/aqa", "supportedGenerationMethods": ["generateAnswer"]},
            ]
        },
        ["google:gemini-x"],
    ),
}


@pytest.mark.parametrize("name", list(LISTS))
async def test_models_are_listed_when_asked(name: str) -> None:
    env, path, answer, expected = LISTS[name]
    async with FakeServer() as server:
        server.say(plain(200, answer))
        keys = {"OPENAI_API_KEY": "sk-aaaa1111bbbb", "ANTHROPIC_API_KEY": "k-aaaa1111", "GEMINI_API_KEY": "g-aaaa1111"}
        here = around(**{env: server.url + path} | keys)
        found = next(f for f in await here.look() if f.name == name)
        assert found.model_names == ()
        assert list((await here.models(found)).model_names) == expected
        assert "models" in server.requests[0].path
        assert ("aaaa1111" in str(server.requests[0].headers)) == (name != "ollama")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (plain(401, {"error": {"message": "bad sk-aaaa1111bbbb"}}), "auth"),
        (plain(200, "<html>", kind="text/html"), "malformed"),
        (plain(200, {}), "model"),
        (plain(200, {"data": "x"}), "model"),
        (plain(200, "null"), "model"),
        (plain(200, {"data": [{"id": "a\u001b[31mb"}]}), "model"),
        (SILENT, "timeout"),
    ],
)
async def test_a_list_that_cannot_be_had_is_told_in_words(
    answer: Any, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cat, "LIST_SECONDS", 0.5)
    async with FakeServer() as server:
        server.say(answer)
        here = around(OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY="sk-aaaa1111bbbb")
        await here._wires.warm("openai:-")
        here._wires.wire("openai:-")
        with pytest.raises(WireError) as raised:
            await here.models((await here.look())[0])
        assert raised.value.code == code
        assert "aaaa1111" not in raised.value.sentence
        assert raised.value.sentence.count("\n") == 0
