"""A store with what was said in it, and a search service on it, in a folder of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from store import events as ev
from store.clock import ManualClock
from store.log import Batch, Store
from store.search import SearchService


def no_spans(text: str) -> list[tuple[int, int]]:
    return []


class Home:
    """A store, its clock, and quick ways to say things."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.store = open_store(folder, self.clock)
        self.index = folder / "index"
        self.count = 0
        self.services: list[SearchService] = []

    def chat(self, chat: str, *lines: str, title: str = "", private: bool = False, folder: str = "") -> None:
        """A chat in which the person says each line."""
        self.store.commit_sync(Batch.of(chat, ev.ChatCreated(title=title, private=private, folder=folder)))
        for line in lines:
            self.say(chat, line)

    def say(self, chat: str, text: str, **more: object) -> str:
        self.count += 1
        self.clock.tick(60)
        self.store.commit_sync(Batch.of(chat, ev.UserMessage(message_id=f"m{self.count}", text=text, **more)))
        return f"m{self.count}"

    def answer(self, chat: str, text: str) -> str:
        self.count += 1
        self.clock.tick(60)
        self.store.commit_sync(Batch.of(chat, ev.AssistantDone(message_id=f"m{self.count}", text=text)))
        return f"m{self.count}"

    def commit(self, chat: str, *events: ev.Event) -> None:
        self.store.commit_sync(Batch.of(chat, *events))

    def service(self, **more: object) -> SearchService:
        options: dict = {"spans": no_spans, "spans_version": 1} | more
        made = SearchService(self.store, self.index, **options)
        made.start_sync()
        assert made._indexer.wait(20)
        self.services.append(made)
        return made

    def close(self) -> None:
        for service in self.services:
            service.close_sync()
        self.store.close()


def open_store(folder: Path, clock: ManualClock) -> Store:
    folder.mkdir(parents=True, exist_ok=True)
    return Store(folder / "store.db", clock)


@pytest.fixture
def home(tmp_path: Path) -> AsyncIterator[Home]:
    made = Home(tmp_path)
    yield made
    made.close()


@pytest.fixture
def finds(home: Home) -> Callable[..., list[str]]:
    """Search, and answer the ids of the chats found."""
    from store.models import SearchQuery

    def find(text: str, **more: object) -> list[str]:
        service = home.services[-1] if home.services else home.service()
        assert service._indexer.wait(20)
        return [g.chat.id for g in service.search_sync(SearchQuery(text, **more)).groups]

    return find
