"""Stands between the network and a provider's SDK: time limits, statuses, tidy events, joined words.

Imported only when a real wire is first used, since it brings the HTTP client.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2

from app.providers.ears.base import Ear
from app.providers.endpoints import Endpoint
from app.providers.failures import Failure, ProviderFault, error_object, from_exception, from_status, from_stream
from app.providers.sse import EventSplitter, EventTooLong, ServerEvent
from store import limits
from store.clock import Clock

AFTER_END_SECONDS = 0.2  # the end mark came: the connection can be kept if its body ends at once
ERROR_BODY_BYTES = 64 * 1024  # of an answer that isn't a stream


@dataclass(frozen=True, slots=True)
class Times:
    """How long to wait, in seconds. `first`: until the first event; `between`: without a sign of life after it;
    `quiet`: with signs of life (comments, pings) but no event; `after`: for the usage, once the finish reason came."""

    connect: float = limits.CONNECT_SECONDS
    first: float = limits.FIRST_EVENT_SECONDS
    between: float = limits.BETWEEN_EVENTS_SECONDS
    quiet: float = limits.QUIET_SECONDS
    after: float = 5.0


class Tap(httpx2.AsyncBaseTransport):
    """The transport of one request. `failure` says what went wrong here, which SDKs would blur."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, at: Endpoint, ear: Ear, times: Times, clock: Clock) -> None:
        self._inner, self._at, self._times, self._clock = inner, at, times, clock
        self.ear = ear
        self.failure: Failure | None = None
        self._response: httpx2.Response | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it, and answer with a tidy stream; raises ProviderFault for everything else."""
        self._strip(request)
        times = self._times
        request.extensions["timeout"] = {"connect": times.connect, "pool": times.connect, "read": None, "write": None}
        start = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(times.first):
                response = await self._inner.handle_async_request(request)
        except TimeoutError as error:
            raise self._fail(self._late(times.first)) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise self._fail(from_exception(self._at, error)) from error
        if response.status_code != 200:
            raise self._fail(await self._refused(response))
        self._response = response
        body = TidyBody(self, response, start, times)
        headers = [("content-type", "text/event-stream")]
        return httpx2.Response(200, headers=headers, stream=body, request=request)

    async def aclose(self) -> None:
        """Close the answer, whatever an SDK left open; the shared connections outlive a request."""
        if self._response is not None:
            await self._response.aclose()

    def _strip(self, request: httpx2.Request) -> None:
        """Leave out what SDKs tell of this computer, and keys the endpoint has none of."""
        for name in list(request.headers):
            if name.startswith("x-stainless") or name in (
                "x-goog-api-client",
                "x-server-timeout",
                "openai-organization",
                "openai-project",
            ):
                del request.headers[name]
        if self._at.protocol == "anthropic" and self._at.key:
            request.headers["authorization"] = f"Bearer {self._at.key}"  # never another token of the environment
            if not self._at.official:
                request.headers["x-api-key"] = self._at.key  # servers that copy Anthropic's may know only this one
        request.headers["user-agent"] = "shoal"
        request.headers["accept-encoding"] = "identity"
        if not self._at.key:
            for name in ("authorization", "x-api-key", "x-goog-api-key"):
                if name in request.headers:
                    del request.headers[name]

    async def _refused(self, response: httpx2.Response) -> Failure:
        """What a status other than 200 means."""
        body = b""
        try:
            async with asyncio.timeout(min(self._times.between, self._times.first)):
                async for chunk in response.stream:  # type: ignore[union-attr]
                    body += chunk
                    if len(body) > ERROR_BODY_BYTES:
                        break
        except (TimeoutError, httpx2.HTTPError, OSError):
            pass  # the status alone says enough
        finally:
            await response.aclose()
        headers = {k.lower(): v for k, v in response.headers.items()}
        return from_status(self._at, response.status_code, headers, body[:ERROR_BODY_BYTES], self._clock.now_ms())

    def _late(self, seconds: float) -> Failure:
        """Nothing came in time."""
        return Failure("timeout", f"{self._at.label} sent nothing for {seconds:.0f} seconds. Retry.", retry=True)

    def _fail(self, failure: Failure) -> ProviderFault:
        """Keep the first failure and carry it through the SDK."""
        self.failure = self.failure or failure
        return ProviderFault(self.failure)


def not_a_stream(at: Endpoint, body: bytes) -> Failure:
    """200, but no stream: nothing, a web page, an error object, or JSON of another shape."""
    if not body.strip():
        return Failure("empty", f"{at.label} answered with nothing at all. Retry. {at.url_advice}")
    if body.lstrip()[:1] == b"<":
        return Failure("malformed", f"{at.label} answered with a web page instead of a model's answer. {at.url_advice}")
    if body.lstrip()[:1] in b"{[" and (error := error_object(body)).get("message") and b'"error"' in body:
        return from_stream(at, error)
    return Failure("malformed", f"{at.label} answered with something that isn't a streamed answer. {at.url_advice}")


class TidyBody(httpx2.AsyncByteStream):
    """The body, event by event as the ear lets it through; words of one read are joined."""

    def __init__(self, tap: Tap, response: httpx2.Response, start: float, times: Times) -> None:
        self._tap, self._response, self._start, self._times = tap, response, start, times
        self._ear = tap.ear
        self._events = 0
        self._begun = False
        self._raw = b""  # what came before the first event, to tell what it is when none comes

    async def aclose(self) -> None:
        """Close the connection."""
        await self._response.aclose()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._begun:  # OpenAI's SDK drains a body that it read to the end; waiting for more took 0.1 s a request
            return
        self._begun = True
        splitter = EventSplitter()
        try:
            async for chunk in self._timed(splitter):
                if not self._events:
                    self._raw += chunk[:ERROR_BODY_BYTES]
                    if len(self._raw) > ERROR_BODY_BYTES and b"data:" not in self._raw:
                        raise self._tap._fail(not_a_stream(self._tap._at, self._raw))
                if out := self._tidy(splitter.feed(chunk)):
                    yield out
                if self._ear.failure is not None:
                    raise self._tap._fail(self._ear.failure)
        except EventTooLong as error:
            raise self._tap._fail(self._malformed()) from error
        except (httpx2.HTTPError, OSError) as error:
            if not (self._ear.ended or self._ear.finish):  # after the end, how the connection goes doesn't matter
                failure = self._cut() if self._ear.began else from_exception(self._tap._at, error)
                raise self._tap._fail(failure) from error
        if out := self._last(splitter):
            yield out
        self._check()
        if self._tap._at.protocol in ("chat", "responses"):
            yield b"data: [DONE]\n\n"

    async def _timed(self, splitter: EventSplitter) -> AsyncIterator[bytes]:
        """The chunks as they come; raises when nothing that counts came in time."""
        now, times = asyncio.get_running_loop().time, self._times
        sign = real = self._start
        lines = events = 0
        parts = aiter(self._response.stream)  # type: ignore[arg-type]
        while True:
            if self._events > events or splitter.lines > lines:
                real = now() if self._events > events else real
                sign, events, lines = now(), self._events, splitter.lines
            limit = times.between if self._ear.began else times.first  # a model that thinks says nothing yet
            until = min(sign + limit, real + max(times.quiet, limit))
            over = self._ear.ended or self._ear.finish is not None
            if over:  # only the usage and the end of the body may follow
                until = min(until, now() + (AFTER_END_SECONDS if self._ear.ended else times.after))
            try:
                async with asyncio.timeout_at(until):
                    chunk = await anext(parts, None)
            except TimeoutError as error:
                if over:
                    return
                raise self._tap._fail(self._stalled(limit)) from error
            if chunk is None:
                return
            yield chunk

    def _tidy(self, events: list[ServerEvent]) -> bytes:
        """What the SDK gets to see of these events, neighbouring words joined."""
        out: list[bytes] = []
        waiting: dict[str, Any] | None = None
        key, words = "", [""]
        for event in events:
            tidy = self._hear(event)
            if tidy is None:
                continue
            slot = self._ear.slot(tidy)
            if waiting is not None and slot is not None and slot[0] == key:
                words.append(slot[1][slot[2]])
                continue
            if waiting is not None:
                out.append(self._written(waiting, words))
            waiting, key, words = tidy, slot[0] if slot else "", [slot[1][slot[2]] if slot else ""]
        if waiting is not None:
            out.append(self._written(waiting, words))
        return b"".join(out)

    def _written(self, event: dict[str, Any], words: list[str]) -> bytes:
        """An event as the SDK reads it, with its words and those joined to it."""
        if len(words) > 1:
            slot = self._ear.slot(event)
            if slot is not None:
                slot[1][slot[2]] = "".join(words)
        name = self._ear.event_name(event)
        head = f"event: {name}\ndata: " if name else "data: "
        return head.encode() + json.dumps(event, ensure_ascii=True, separators=(",", ":")).encode() + b"\n\n"

    def _hear(self, event: ServerEvent) -> dict[str, Any] | None:
        """One event through the ear; raises when it isn't JSON."""
        data: Any
        if event.data.strip() == b"[DONE]":
            data = "[DONE]"
        elif not event.data.strip():
            return None
        else:
            try:
                data = json.loads(event.data.decode("utf-8", "replace"))
            except (ValueError, RecursionError) as error:
                raise self._tap._fail(self._malformed()) from error
        self._events += 1
        return self._ear.hear(event.name, data)

    def _last(self, splitter: EventSplitter) -> bytes:
        """What stood at the end without its blank line; half an event is a cut, not a mistake."""
        try:
            return self._tidy(splitter.end())
        except ProviderFault:
            self._tap.failure = None
            return b""

    def _check(self) -> None:
        """Whether the stream came to an end, or only stopped."""
        ear, at = self._ear, self._tap._at
        if ear.failure is not None:
            raise self._tap._fail(ear.failure)
        if ear.ended or ear.finish is not None:
            return
        if ear.began:
            raise self._tap._fail(self._cut())
        if not self._events:
            raise self._tap._fail(not_a_stream(at, self._raw))
        raise self._tap._fail(Failure("empty", f"{at.label} ended its answer before it began. Retry."))

    def _cut(self) -> Failure:
        return Failure("cut", f"{self._tap._at.label} broke off in the middle of the answer. Retry to ask again.")

    def _malformed(self) -> Failure:
        at = self._tap._at
        if not self._events:
            return not_a_stream(at, self._raw or b"?")
        return Failure("malformed", f"{at.label} sent something in its answer that can't be read. Retry to ask again.")

    def _stalled(self, seconds: float) -> Failure:
        if not self._ear.began:
            return self._tap._late(seconds)
        label = self._tap._at.label
        return Failure("timeout", f"{label} stopped sending in the middle of the answer. Retry to ask again.")
