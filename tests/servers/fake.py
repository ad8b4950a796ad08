"""A real HTTP server on loopback that says what a test scripted, byte for byte.

    async with FakeServer() as server:
        server.say(openai.text("Hello"), openai.text("Second reply"))
        ...  # point a wire at server.url
        assert server.requests[0].body["model"] == "m"

Each request takes the next scripted reply; the last one repeats. `server.gone` counts clients that hung up before
their reply ended. From a test that drives another process: `with FakeServer.in_thread() as server:`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Wait:
    """A pause of `seconds` inside a reply."""

    seconds: float


@dataclass(frozen=True)
class Hang:
    """Nothing more until the client goes."""


@dataclass(frozen=True)
class Cut:
    """The connection ends here: `reset` sends RST, else a FIN without the last chunk."""

    reset: bool = False


Piece = bytes | Wait | Hang | Cut


@dataclass(frozen=True)
class Reply:
    """What the server answers: status, headers, then the pieces, each written and flushed by itself."""

    pieces: tuple[Piece, ...] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/event-stream"),)
    head: bool = True  # False: not even a status line

    def split(self, size: int) -> Reply:
        """The same bytes in pieces of `size`."""
        out: list[Piece] = []
        for piece in self.pieces:
            out += [piece[i : i + size] for i in range(0, len(piece), size)] if isinstance(piece, bytes) else [piece]
        return Reply(tuple(out), self.status, self.headers, self.head)

    def then(self, *pieces: Piece) -> Reply:
        """The same with more pieces."""
        return Reply((*self.pieces, *pieces), self.status, self.headers, self.head)

    def first(self, count: int) -> Reply:
        """Only the first `count` pieces."""
        return Reply(self.pieces[:count], self.status, self.headers, self.head)


def plain(
    status: int, body: Any = "", headers: Sequence[tuple[str, str]] = (), kind: str = "application/json"
) -> Reply:
    """A reply in one piece: text, or anything JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return Reply((text.encode(),), status, (("Content-Type", kind), *headers))


HANG_UP = Reply((Cut(),), head=False)
RESET = Reply((Cut(reset=True),), head=False)
SILENT = Reply((Hang(),), head=False)


@dataclass
class Seen:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON body."""
        return json.loads(self.raw)


Answer = Reply | Callable[[Seen], Reply]


@dataclass
class FakeServer:
    """The server; `url` once entered. An answer is a Reply or a function of the request."""

    tls: ssl.SSLContext | None = None
    answers: list[Answer] = field(default_factory=list)
    requests: list[Seen] = field(default_factory=list)
    gone: int = 0
    open: int = 0
    port: int = 0

    def say(self, *answers: Answer) -> None:
        """Script the next answers; the very last repeats."""
        self.answers.extend(answers)

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> FakeServer:
        self._server = await asyncio.start_server(self._client, "127.0.0.1", self.port, ssl=self.tls, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]
        self._tasks: set[asyncio.Task[Any]] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def until_gone(self, count: int = 1, seconds: float = 3.0) -> None:
        """Wait until `count` clients hung up before their reply ended."""
        async with asyncio.timeout(seconds):
            while self.gone < count:
                await asyncio.sleep(0.005)

    @classmethod
    @contextlib.contextmanager
    def in_thread(cls, *answers: Answer) -> Iterator[FakeServer]:
        """The same on a loop of its own, for tests that drive another process."""
        server, loop = cls(answers=list(answers)), asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(5)
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(5)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(5)
            loop.close()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        try:
            early: bytes | None = b""
            while early is not None:
                early = await self._one(reader, writer, early)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError, ssl.SSLError):
            pass
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, early: bytes) -> bytes | None:
        """Serve one request; what already came of the next one, or None when the connection ends."""
        head = (early + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in head[1:] if ": " in line)}
        seen = Seen(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))
        self.requests.append(seen)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0] if self.answers else plain(404)
        reply = answer if isinstance(answer, Reply) else answer(seen)
        watch = asyncio.ensure_future(reader.read(1))  # a client that goes shows as the end of its stream
        try:
            stays = await self._reply(reply, writer, watch)
            return None if not stays else watch.result() if watch.done() else b""
        finally:
            watch.cancel()
            await asyncio.wait([watch])
            if not watch.cancelled():
                watch.exception()

    async def _reply(self, reply: Reply, writer: asyncio.StreamWriter, watch: asyncio.Future[bytes]) -> bool:
        if reply.head:
            lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{k}: {v}" for k, v in reply.headers)]
            lines += ["Transfer-Encoding: chunked", "", ""]
            writer.write("\r\n".join(lines).encode("latin-1"))
        for piece in reply.pieces:
            match piece:
                case bytes():
                    if piece:
                        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                        await writer.drain()
                        await asyncio.sleep(0)
                case Wait(seconds):
                    await asyncio.wait([watch], timeout=seconds)
                case Hang():
                    await asyncio.wait([watch])
                case Cut(reset):
                    await writer.drain()
                    if reset:
                        sock = writer.get_extra_info("socket")
                        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        writer.transport.abort()
                    return False
            if watch.done():
                self.gone += 1
                return False
        if reply.head:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return reply.head
