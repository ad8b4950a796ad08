"""A model by HTTP that does what the person's message says, and a driver of one headless process around it.

A message `CALL search_chats {"query": "x"}` makes the model call that tool; more such lines are calls of the same
step. After results it says "done."; to all else "ok.". Requests for titles are answered with "A title".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from tests.e2e.headless_client import Client
from tests.servers import anthropic, openai
from tests.servers.fake import FakeServer, Reply, Seen

KEY = "made-up-" + "key-for-tests-7733"
CALL = re.compile(r"^CALL (\w+) (.*)$", re.M)


@dataclass(frozen=True)
class Dialect:
    """How one kind of server is reached and understood."""

    model: str
    name: str
    path: str
    speak: ModuleType

    def env(self, server: FakeServer) -> dict[str, str]:
        """The environment that points Shoal at the server."""
        return {
            "SHOAL_MODEL": self.model,
            f"{self.name}_BASE_URL": server.url + self.path,
            f"{self.name}_API_KEY": KEY,
        }


OPENAI = Dialect("openai:m", "OPENAI", "/v1", openai)
ANTHROPIC = Dialect("anthropic:m", "ANTHROPIC", "", anthropic)


def tools_of(seen: Seen) -> list[str]:
    """The names of the tools in a request."""
    return [t.get("name") or t["function"]["name"] for t in seen.body.get("tools") or ()]


def system_of(seen: Seen) -> str:
    """The system text of a request."""
    body = seen.body
    if "system" in body:
        return json.dumps(body["system"])
    return json.dumps([m["content"] for m in body["messages"] if m["role"] in ("system", "developer")])


def results_of(seen: Seen) -> list[str]:
    """The tool results at the end of a request, in order."""
    out: list[str] = []
    for message in reversed(seen.body["messages"]):
        if message["role"] == "tool":
            out.insert(0, message["content"])
        elif message["role"] == "user" and isinstance(message["content"], list):
            got = [b["content"] for b in message["content"] if b["type"] == "tool_result"]
            if not got:
                break
            out = [c if isinstance(c, str) else "".join(p["text"] for p in c) for c in got] + out
        else:
            break
    return out


def words_of(result: str) -> str:
    """A result's words: where there is no flag for errors, they come as {"error": …}."""
    if result.startswith('{"error":'):
        words = json.loads(result)
        assert list(words) == ["error"]
        return str(words["error"])
    return result


def said_of(seen: Seen) -> str:
    """The newest words of the person's side."""
    content = [m for m in seen.body["messages"] if m["role"] == "user"][-1]["content"]
    return content if isinstance(content, str) else "".join(b.get("text", "") for b in content)


@dataclass
class Model:
    """Answers requests in one dialect. `calls` numbers the call ids."""

    speak: ModuleType
    calls: int = 0

    def __call__(self, seen: Seen) -> Reply:
        """The reply to one request."""
        return cast(Reply, self._answer(seen))

    def _answer(self, seen: Seen) -> Any:
        if results_of(seen):
            return self.speak.text("do", "ne.")
        wanted = CALL.findall(said_of(seen))
        if not tools_of(seen) and "CALL" not in said_of(seen):
            return self.speak.text("A title" if "title" in system_of(seen).lower() else "ok.")
        made = []
        for name, args in wanted:
            self.calls += 1
            made.append((f"call_{self.calls:024d}", name, args))
        return self.speak.calls(*made) if made else self.speak.text("o", "k.")


class Box:
    """A headless process and the model's server."""

    def __init__(self, client: Client, server: FakeServer, home: Path) -> None:
        self.client, self.server, self.home = client, server, home

    def new(self, *said: str, **fields: Any) -> str:
        """A chat in which the person said these things."""
        chat: str = self.client.do("new", **fields)["chat"]
        for text in said:
            self.say(chat, text)
        return chat

    def say(self, chat: str, text: str) -> list[dict[str, Any]]:
        """Say something and wait until all is settled; the chat's stored events since then."""
        at = len(self.client.lines)
        self.client.do("send", chat=chat, text=text)
        assert self.client.do("settle") == {"waiting": []}
        return [x for x in self.client.lines[at:] if "seq" in x and x["chat"] == chat]

    def call(self, asking: str, name: str, args: Any) -> tuple[str, list[dict[str, Any]], Seen]:
        """Let the model call a tool: what it got back, the events, and the request that carried it."""
        at = len(self.server.requests)
        raw = args if isinstance(args, str) else json.dumps(args)
        events = self.say(asking, f"CALL {name} {raw}")
        for seen in self.server.requests[at:]:
            if got := results_of(seen):
                return words_of(got[0]), events, seen
        raise AssertionError("no result went to the model")

    def search(self, asking: str, /, **args: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """`search_chats` as the model gets it, and the events."""
        text, events, _ = self.call(asking, "search_chats", args)
        found: dict[str, Any] = json.loads(text)
        assert len(text) <= 8_000
        return found, events

    def read(self, asking: str, /, **args: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """`read_chat` as the model gets it, and the events."""
        text, events, _ = self.call(asking, "read_chat", args)
        assert len(text) <= 12_000
        found: dict[str, Any] = json.loads(text)
        return found, events

    def requests(self) -> str:
        """Everything that was sent to the model."""
        return "\n".join(json.dumps(s.body, ensure_ascii=False) for s in self.server.requests)

    def told(self) -> str:
        """Every line of standard output."""
        return "\n".join(json.dumps(line, ensure_ascii=False) for line in self.client.lines)


@contextmanager
def box(home: Path, dialect: Dialect = OPENAI, env: Mapping[str, str] | None = None, *words: str) -> Iterator[Box]:
    """A headless Shoal on `home` whose model is the one above."""
    with (
        FakeServer.in_thread(Model(dialect.speak)) as server,
        Client(home, *words, env=dialect.env(server) | dict(env or {})) as client,
    ):
        yield Box(client, server, home)


def imported(path: Path, chats: int = 1, word: str = "ferry", messages: int = 4, long: int = 0) -> Path:
    """A file in the bench's shape: chats of two people about `word`, `messages` lines each."""
    lines: list[dict[str, Any]] = []
    for c in range(chats):
        key = f"conv-1/s{c:02d}"
        lines.append({"type": "chat", "id": key, "number": c + 1, "started": "2023-05-08T13:56:00"})
        lines[-1] |= {"conversation": "conv-1", "people": ["Ana", "Ben"]}
        for n in range(messages):
            who = ("you", "Ana") if n % 2 == 0 else ("them", "Ben")
            text = f"{word} number {n} of chat {c}" + " lorem ipsum" * (long // 12)
            lines.append({"type": "message", "id": f"conv-1/D{c}:{n}", "chat": key, "seq": n, "role": who[0]})
            lines[-1] |= {"name": who[1], "at": f"2023-05-08T14:{n % 60:02d}:00", "text": text}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
