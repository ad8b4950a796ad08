"""A fake model server by hand: `python -m tests.servers --port 8123`, then talk to it in any protocol.

It answers every request with the person's last words; a message that begins with `call NAME ARGS` calls that tool.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from typing import Any

from tests.servers import anthropic, gemini, openai, responses
from tests.servers.fake import FakeServer, Reply, Seen, plain


def last_words(body: Any) -> str:
    """The newest words in a request of any protocol."""
    newest = (body.get("messages") or body.get("contents") or body.get("input"))[-1]
    content = newest.get("content") or newest.get("parts") or newest.get("output") or ""
    if isinstance(content, list):
        content = " ".join(str(p.get("text") or p.get("content") or p.get("functionResponse") or "") for p in content)
    return str(content)


def echo(seen: Seen) -> Reply:
    """The answer to one request, in the protocol of its path."""
    if seen.method == "GET":
        return plain(200, {"data": [{"id": "fake"}], "models": [{"name": "models/fake"}]})
    words = last_words(seen.body)
    asked = re.search(r"(?:^|\n)call (\w+)(?: (\{.*))?\Z", words)  # after what Shoal joined in front of it
    name, args = (asked[1], asked[2] or "{}") if asked else ("", "{}")
    said = [f"{word} " for word in f"You said: {words}".split()]
    if "generateContent" in seen.path or "streamGenerateContent" in seen.path:
        return gemini.calls((name, args)) if asked else gemini.text(*said)
    speak = anthropic if seen.path.endswith("/messages") else responses if "responses" in seen.path else openai
    return speak.calls(("call_1", name, args)) if asked else speak.text(*said)


async def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    server = FakeServer(answers=[echo], port=parser.parse_args().port)
    async with server:
        print(f"{server.url}  (OPENAI_BASE_URL={server.url}/v1  ANTHROPIC_BASE_URL and GOOGLE_BASE_URL={server.url})")
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
