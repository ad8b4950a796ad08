"""Headless `explore` and `consent` from outside: the same runner, all its checks, and what it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.headless_client import Client, script

SAID = "For the login we decided on server sessions (HERON-9)."


def settings(tmp_path: Path, **more: str) -> list[str]:
    """The explorer surface with the offline engine and a scripted main model."""
    main = script(tmp_path / "main.json", ["Noted."], ["Noted."], ["Noted."])
    told = {"plan": "pro", "explorer.engine": "offline", "history.surface": "explorer", "model": main} | more
    return [word for key, value in told.items() for word in ("--set", f'{key}="{value}"')]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Client(tmp_path / "home", *settings(tmp_path)) as made:
        yield made


def chats(client: Client, tmp_path: Path) -> tuple[str, str]:
    """An earlier chat of the project that has the fact, and one that asks."""
    work = tmp_path / "work"
    work.mkdir()
    past = client.do("new", title="Auth", folder=str(work))["chat"]
    client.do("send", chat=past, text=SAID)
    client.until(lambda x: x.get("type") == "turn.completed" and x.get("chat") == past)
    return past, client.do("new", title="Now", folder=str(work))["chat"]


def test_explore_answers_with_the_report_and_leaves_its_card(client: Client, tmp_path: Path) -> None:
    past, chat = chats(client, tmp_path)
    report: dict[str, Any] = client.do("explore", chat=chat, query="What did we decide on for the login?")
    assert report["outcome"] == "complete" and report["archival_content"] is True
    evidence = report["findings"][0]["evidence"][0]
    assert evidence["chat_id"] == past and "HERON-9" in evidence["excerpt"]
    client.until(lambda x: x.get("type") == "history.explored" and x["state"] == "complete")
    assert [e["state"] for e in client.events("history.explored") if e["chat"] == chat] == ["pending", "complete"]


def test_a_consent_holds_at_once_and_is_kept(client: Client, tmp_path: Path) -> None:
    _, chat = chats(client, tmp_path)
    assert client.do("consent", tool="explore_chat_history", value="never") == {}
    assert client.refused("explore", chat=chat, query="And the login?") == "not-allowed"
    assert 'explore_chat_history = "never"' in (tmp_path / "home" / "settings.toml").read_text()
    assert client.do("consent", tool="read_chat", value="never") == {}  # a key of its own
    assert client.do("consent", tool="explore_chat_history", value="always") == {}
    assert client.do("explore", chat=chat, query="And the login?")["findings"]
    assert client.refused("consent", tool="search_chats", value="always") == "bad-command"
    assert client.refused("consent", tool="read_chat", value="perhaps") == "bad-command"


@pytest.mark.parametrize(("changed", "why"), [({"plan": "free"}, "plan"), ({"history.surface": "direct"}, "surface")])
def test_what_the_chat_may_not_headless_may_not(tmp_path: Path, changed: dict[str, str], why: str) -> None:
    with Client(tmp_path / "home", *settings(tmp_path, **changed)) as client:
        _, chat = chats(client, tmp_path)
        assert client.refused("explore", chat=chat, query="And the login?") == "not-allowed", why
        assert not client.events("history.explored")
