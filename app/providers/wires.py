"""Finds the wire of a model name, and runs one request over it: retries, countdowns, failures in words."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from app.ports import (
    AssistantMessage,
    CallReady,
    ModelRequest,
    PersonMessage,
    RetryWait,
    StepDone,
    StepEvent,
    TextDelta,
    ToolReturn,
    Wire,
    WireError,
)
from app.providers import failures
from app.providers.endpoints import Endpoint, find, proxy_for
from app.providers.failures import Failure
from app.providers.pricing import cost_usd
from app.providers.windows import window_tokens
from store import limits
from store.clock import Clock, SystemClock

if TYPE_CHECKING:
    import httpx2

    from app.providers.tap import Tap, Times

log = logging.getLogger("shoal.providers")
PLACEHOLDERS = frozenset(("none", "dummy", "empty", "ollama", "lm-studio", "not-needed", "no-key", "api-key", "nokey"))
_LOADED: set[str] = set()  # protocols whose SDK is imported


class Redactor(Protocol):
    """Knows values that must never be shown (app.guard.redactor)."""

    def add(self, value: str) -> None:
        """Know one more."""

    def clean(self, text: str) -> str:
        """The text without them."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """How often and how patiently a request is tried again. Seconds; `jitter` is a share of the pause."""

    times: int = limits.RETRIES
    base: float = limits.RETRY_BASE_SECONDS
    most: float = limits.RETRY_MOST_SECONDS
    hint_most: float = limits.RETRY_HINT_MOST_SECONDS
    jitter: float = 0.25

    def pause(self, tried: int, hint: float | None, chance: float) -> float:
        """The pause after `tried` failures: growing, never shorter than the server asked; `chance` is 0 to 1."""
        own = min(self.base * 2.0**tried, self.most)
        return max(own, hint or 0.0) * (1 + self.jitter * chance)


class WireFinder:
    """`ports.Wires` over the environment and the settings.

    Provider traffic goes through HTTPS_PROXY, HTTP_PROXY and ALL_PROXY (NO_PROXY holds); loopback never does.
    """

    def __init__(
        self,
        settings: Any,
        redactor: Redactor,
        clock: Clock | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        shapes: Callable[[str], str] | None = None,
        times: Times | None = None,
        retrying: Retrying | None = None,
        offline: Callable[[], Wire] | None = None,
    ) -> None:
        """`shapes`: the filter of key shapes (app.guard.secrets.clean), put after the known values.

        `offline` makes the offline assistant that knows the person's titles, when it is first asked for; without it
        one that knows none is made.
        """
        self._settings, self._redactor = settings, redactor
        self._clock = clock or SystemClock()
        self._environ = os.environ if environ is None else environ
        self._shapes = shapes or (lambda text: text)
        self._times, self._retrying = times, retrying or Retrying()
        self._pools: dict[tuple[str | None, asyncio.AbstractEventLoop], httpx2.AsyncHTTPTransport] = {}
        self._making = asyncio.Lock()
        self._offline = offline or _offline
        self._others: dict[str, Wire] = {}

    def wire(self, model: str) -> Wire:
        """The wire of `model`; raises WireError "setup"."""
        if model == "offline" or model.startswith("scripted:"):
            if model not in self._others:
                self._others[model] = self._offline() if model == "offline" else _scripted(model.partition(":")[2])
            return self._others[model]
        at = find(model, self._settings, self._environ)
        if at.key and at.key.casefold() not in PLACEHOLDERS:
            self._redactor.add(at.key)
        proxy_for(at, self._environ)  # a proxy that can't be used is said now
        return ApiWire(at, self)

    def clean(self, text: str) -> str:
        """Known values, then shapes."""
        return self._shapes(self._redactor.clean(text))

    async def pool(self, at: Endpoint) -> httpx2.AsyncHTTPTransport:
        """The connections for an endpoint, shared by all requests of this event loop."""
        from app.providers import sdk

        proxy = proxy_for(at, self._environ)
        key = (proxy, asyncio.get_running_loop())
        async with self._making:
            if key not in self._pools:
                self._pools[key] = await asyncio.to_thread(sdk.transport, proxy)
            return self._pools[key]

    def times(self, at: Endpoint) -> Times:
        """The time limits for an endpoint; longer where a model loads or thinks first."""
        from app.providers.tap import Times

        patient = at.local or at.thinks
        return self._times or (Times(first=limits.FIRST_EVENT_LOCAL_SECONDS) if patient else Times())

    @property
    def clock(self) -> Clock:
        """The clock of dates in servers' hints."""
        return self._clock

    @property
    def retrying(self) -> Retrying:
        """How requests are tried again."""
        return self._retrying

    async def warm(self, model: str) -> None:
        """Import what `model` needs, in a thread, so that its first request starts at once; never fails."""
        try:
            wire = self.wire(model)
        except WireError:
            return
        if isinstance(wire, ApiWire):
            await load_sdk(wire.at)

    async def close(self) -> None:
        """Close the connections."""
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await pool.aclose()


async def load_sdk(at: Endpoint) -> None:
    """Import the SDK of an endpoint in a thread: 1 to 3 seconds the first time, nothing later."""
    if at.protocol not in _LOADED:
        await asyncio.to_thread(_load, at)
        _LOADED.add(at.protocol)


def _load(at: Endpoint) -> None:
    from app.providers import sdk

    sdk.load(at.protocol)


def _offline() -> Wire:
    """The offline assistant."""
    wire: Wire = importlib.import_module("app.providers.offline").OfflineWire()
    return wire


def _scripted(path: str) -> Wire:
    """The scripted test model; raises WireError "setup" when its file can't be read."""
    from app.providers.scripted import scripted_from

    return scripted_from(Path(path))


@dataclass(slots=True)
class ApiWire:
    """One model over an API."""

    at: Endpoint
    finder: WireFinder
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)
    chance: Callable[[], float] = field(default=random.random)

    def context_tokens(self, model: str) -> int:
        """The model's window, or a careful guess."""
        return window_tokens(self.at, model.partition(":")[2] or model)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StepEvent, None]:
        """Run one request. Tried again only while nothing of an answer came."""
        at = replace(self.at, model=request.model.partition(":")[2] or self.at.model)
        await load_sdk(at)
        tried = 0
        while True:
            failure: Failure | None = None
            attempt = _Attempt(self.finder, at, request)
            async with aclosing(attempt.run()) as events:
                async for event in events:
                    yield event
            failure = attempt.failure
            if failure is None:
                yield attempt.done()
                return
            again = self.finder.retrying
            if failure.hint is not None and failure.hint > again.hint_most:
                failure = replace(failures.too_long(failure), retry=False)
            if not failure.retry or attempt.began or tried >= again.times:
                raise self._error(failure, request)
            pause = again.pause(tried, failure.hint, self.chance())
            tried += 1
            slowed = failure.code in ("rate", "overloaded")
            async for wait in self._countdown(pause, self.finder.clean(failure.sentence), slowed=slowed):
                yield wait

    async def _countdown(self, seconds: float, why: str, *, slowed: bool) -> AsyncIterator[RetryWait]:
        """Wait, telling each second how long it still takes; the first tells that the provider asked for it."""
        asked = seconds if slowed else None
        while seconds > 0:
            yield RetryWait(seconds, why, asked)
            asked = None
            step = seconds % 1 or 1.0
            await self.sleep(step)
            seconds = round(seconds - step, 6)

    def _error(self, failure: Failure, request: ModelRequest) -> WireError:
        """The failure as one clean sentence, and a filtered line in the log."""
        if key := self.at.key:  # however short it is
            failure = replace(failure, words=failure.words.replace(key, "•••"))
        sentence = failures.spoken(failure, self.finder.clean, sent_text(request))
        log.warning("%s: %s: %s", self.at.preset.name, failure.code, sentence)
        return WireError(sentence, failure.code)


def sent_text(request: ModelRequest) -> str:
    """The words of a request that an error message might repeat."""
    out = [request.system]
    for message in request.messages:
        match message:
            case PersonMessage(text) | AssistantMessage(text) | ToolReturn(text=text):
                out.append(text)
    return "\n".join(out)


def where(error: BaseException) -> str:
    """The function an exception came from, for the log."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_qualname if trace is not None else "?"


class _Attempt:
    """One try at a request; afterwards `failure`, or `done()`."""

    def __init__(self, finder: WireFinder, at: Endpoint, request: ModelRequest) -> None:
        self._finder, self._at, self._request = finder, at, request
        self.failure: Failure | None = None
        self.began = False
        self._said = self._called = False
        self._tap: Tap | None = None

    async def run(self) -> AsyncGenerator[StepEvent, None]:
        """Words as they come; calls once the answer is whole."""
        import httpx2

        from app.providers import sdk
        from app.providers.ears import ear_for
        from app.providers.tap import Tap

        pool = await self._finder.pool(self._at)
        self._tap = tap = Tap(pool, self._at, ear_for(self._at), self._finder.times(self._at), self._finder.clock)
        calls: list[CallReady] = []
        try:
            async with (
                httpx2.AsyncClient(transport=tap, trust_env=False, follow_redirects=False, timeout=None) as client,
                aclosing(sdk.stream(self._at, client, self._request)) as events,
            ):
                async for event in events:
                    self.began = True
                    if isinstance(event, CallReady):
                        calls.append(event)
                        continue
                    self._said = self._said or (isinstance(event, TextDelta) and bool(event.text.strip()))
                    yield event
        except Exception as error:  # noqa: BLE001 - SDKs raise what they like; each becomes a sentence
            ended_well = tap.failure is None and (tap.ear.ended or tap.ear.finish) and not tap.ear.began
            if not ended_well:  # an answer of nothing at all makes SDKs stumble, yet its end says what it is
                self.failure = tap.failure or failures.from_exception(self._at, error)
            if (
                self.failure is not None and tap.failure is None
            ):  # what an SDK stumbled over; only its kind, since its words may hold anything
                log.warning("%s: %s from %s", self._at.preset.name, type(error).__name__, where(error))
        self.failure = self.failure or tap.failure
        self.began = self.began or tap.ear.began
        if self.failure is None and tap.ear.finish in ("stop", "tool-calls", None):
            self._called = bool(calls)
            for call in calls:
                yield call

    def done(self) -> StepDone:
        """How it ended."""
        assert self._tap is not None
        ear = self._tap.ear
        reason = ear.finish or "stop"
        if reason in ("stop", "tool-calls"):
            reason = "tool-calls" if self._called else "stop" if self._said else "empty"
        usage = ear.usage.model_copy(update={"cost_usd": cost_usd(self._at, ear.usage)})
        return StepDone(reason, usage)
