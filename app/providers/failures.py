"""Each way a provider can fail, as one sentence that says what is wrong and what to do, and a code."""

from __future__ import annotations

import email.utils
import json
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.providers.endpoints import Endpoint
from store.text import safe_text

SERVER_WORDS_CHARS = 240  # of a server's own message, once filtered
ECHO_CHARS = 32  # a message that repeats any stretch this long of what was sent isn't shown


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed request. `words`: the server's own message, unfiltered; `hint`: seconds it asked to wait."""

    code: str
    sentence: str
    retry: bool = False
    words: str = ""
    hint: float | None = None


class ProviderFault(Exception):
    """Carries a Failure through an SDK."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.code)
        self.failure = failure


_CONTEXT = re.compile(
    r"context[_ ](length|window|size)|prompt is too long|maximum context|too many (input )?tokens"
    r"|input token count|exceeds? the (maximum number of tokens|available context)|request_too_large",
    re.IGNORECASE,
)
_NO_MONEY = re.compile(r"insufficient_quota|credit balance|billing|exceeded your current quota|payment", re.IGNORECASE)
_BAD_KEY = re.compile(r"api[_ -]?key (not valid|invalid|expired)|API_KEY_INVALID|invalid[_ ]api[_ ]key", re.IGNORECASE)
_BUSY = re.compile(r"overloaded|unavailable|capacity", re.IGNORECASE)


def from_status(at: Endpoint, status: int, headers: Mapping[str, str], body: bytes, now_ms: int) -> Failure:
    """What an answer with a status other than 200 means; body is at most a few KB of it."""
    error = error_object(body)
    words = error_words(error)
    kind = " ".join(str(error.get(k) or "") for k in ("code", "type", "status")) if error else ""
    failure = by_status(at, status, f"{kind} {words}")
    hint = hint_seconds(headers, now_ms)
    if hint is None:
        hint = google_delay(error)
    if headers.get("x-should-retry", "").lower() == "false":
        failure = replace(failure, retry=False)
    return replace(failure, words=words, hint=hint)


def by_status(at: Endpoint, status: int, said: str) -> Failure:  # noqa: PLR0911 - one line a case
    """The failure of an HTTP status; `said` are the server's kind and message, for telling cases apart."""
    if _CONTEXT.search(said) or status == 413:
        return Failure("context", f"The chat is longer than {at.model} can read. Summarise or start a new chat.")
    if status == 401 or (status in (400, 403) and _BAD_KEY.search(said)):
        return Failure("auth", f"{at.label} refused the key ({status}). {at.key_advice}")
    if status == 403:
        return Failure("auth", f"{at.label} doesn't allow this key to use {at.model} (403). {at.key_advice}")
    if status == 402 or (status in (400, 403, 429) and _NO_MONEY.search(said)):
        return Failure("rate", f"{at.label} says the account has no credit left ({status}). Top it up there.")
    if status == 404:
        return Failure("model", f"{at.label} has no model “{at.model}” (404). {at.model_advice}")
    if status == 429:
        return Failure("rate", f"{at.label} says it is asked too often (429). Wait a while, then retry.", retry=True)
    if status in (503, 529):
        return Failure("overloaded", f"{at.label} is overloaded ({status}). Wait a while, then retry.", retry=True)
    if status == 408 or status == 504:
        return Failure("timeout", f"{at.label} gave up waiting for its model ({status}). Retry.", retry=True)
    if status >= 500 or status == 409:
        return Failure("server", f"{at.label} had a fault of its own ({status}). Retry in a while.", retry=True)
    if 300 <= status < 400:
        return Failure(
            "setup", f"{at.label} sends requests elsewhere ({status}), which isn't followed. {at.url_advice}"
        )
    return Failure("refused", f"{at.label} refused the request ({status}).")


def from_stream(at: Endpoint, error: Any) -> Failure:
    """What an error object inside a stream means."""
    found = error if isinstance(error, dict) else {"message": error}
    words = error_words(found)
    kind = " ".join(str(found.get(k) or "") for k in ("code", "type", "status"))
    said = f"{kind} {words}"
    status = next((int(found[k]) for k in ("status", "code") if str(found.get(k, "")).isdigit()), 0)
    known = {
        "overloaded_error": 529,
        "rate_limit_error": 429,
        "rate_limit_exceeded": 429,
        "authentication_error": 401,
        "permission_error": 403,
        "not_found_error": 404,
        "api_error": 500,
        "server_error": 500,
        "timeout_error": 504,
        "request_too_large": 413,
    }
    status = next((known[k] for k in kind.split() if k in known), status) or (529 if _BUSY.search(said) else 500)
    if status < 400 or status > 599:
        status = 500
    failure = by_status(at, status, said)
    if failure.code == "server":
        failure = replace(failure, sentence=f"{at.label} broke off with an error. Retry in a while.")
    return replace(failure, words=words, hint=google_delay(found))


def from_exception(at: Endpoint, error: BaseException) -> Failure:  # noqa: PLR0911 - one line a case
    """What a network or SDK exception means, by what caused it."""
    causes = list(chain(error))
    for cause in causes:
        if isinstance(cause, ProviderFault):
            return cause.failure
    if any(isinstance(c, ssl.SSLCertVerificationError) for c in causes):
        why = f"The certificate of {at.label} can't be trusted, so nothing was sent. {at.url_advice}"
        return Failure("cert", f"{why} Behind a company proxy, set SSL_CERT_FILE to its certificate.")
    if any(isinstance(c, ssl.SSLError) for c in causes):
        return Failure("cert", f"No secure connection to {at.label} could be made. {at.url_advice}")
    if any(isinstance(c, socket.gaierror) for c in causes):
        return Failure("connect", f"There is no server named {at.host}. Check the network. {at.url_advice}", retry=True)
    names = {type(c).__name__ for c in causes}
    if any(isinstance(c, ConnectionRefusedError) for c in causes):
        return Failure("connect", f"Nothing answers at {at.address}. {at.refused_advice}", retry=True)
    if names & {"ConnectTimeout", "PoolTimeout"}:
        return Failure("timeout", f"{at.address} didn't accept a connection in time. {at.url_advice}", retry=True)
    if names & {"ProxyError"}:
        return Failure("connect", f"The proxy to {at.host} refused. Check HTTPS_PROXY and NO_PROXY.", retry=True)
    if names & {"ConnectError"}:
        return Failure("connect", f"No connection to {at.address}. {at.refused_advice}", retry=True)
    if names & {"ReadError", "WriteError", "RemoteProtocolError", "ReadTimeout", "WriteTimeout", "CloseError"} or any(
        isinstance(c, (ConnectionError, EOFError)) for c in causes
    ):
        return Failure("connect", f"{at.label} dropped the connection before it answered. Retry.", retry=True)
    if names & {"InvalidURL", "UnsupportedProtocol", "LocalProtocolError"}:
        return Failure("setup", f"The address {at.base_url} or the key can't be used. {at.url_advice}")
    return Failure("malformed", f"{at.label} answered with something that isn't a model's answer. {at.url_advice}")


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, its causes and what groups hold, each once."""
    seen: set[int] = set()
    todo: list[BaseException] = [error]
    while todo:
        one = todo.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        todo += [e for e in (one.__cause__, one.__context__) if e is not None]
        if isinstance(one, BaseExceptionGroup):
            todo += one.exceptions


def error_object(body: bytes) -> dict[str, Any]:
    """The error in a JSON body, wherever servers put it; {} when there is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(found, list) and found:
        found = found[0]
    if not isinstance(found, dict):
        return {}
    inner = found.get("error", found)
    return inner if isinstance(inner, dict) else {"message": inner}


def error_words(error: Mapping[str, Any]) -> str:
    """The message of an error object; "" when there is none."""
    words = next((error[k] for k in ("message", "detail", "error") if isinstance(error.get(k), str)), "")
    return "" if "<html" in words.lower() or "<!doctype" in words.lower() else words[:4_000]


def google_delay(error: Mapping[str, Any]) -> float | None:
    """Google's RetryInfo: seconds, or None."""
    for detail in error.get("details") or () if isinstance(error.get("details"), list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?s", delay):
            return float(delay[:-1])
    return None


def hint_seconds(headers: Mapping[str, str], now_ms: int) -> float | None:
    """The wait a server asks for: `retry-after-ms`, `retry-after` in seconds or as a date; never below 0."""
    given = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", given):
        return float(given) / 1000
    given = headers.get("retry-after", "").strip()
    if re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", given):
        return max(0.0, float(given))
    try:
        at = email.utils.parsedate_to_datetime(given)
        return max(0.0, at.timestamp() - now_ms / 1000)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def too_long(failure: Failure) -> Failure:
    """The failure whose server asks for a longer wait than Shoal holds a reply for."""
    seconds = failure.hint or 0.0
    when = f"{seconds / 3600:.0f} hours" if seconds >= 5400 else f"{seconds / 60:.0f} minutes"
    return replace(failure, sentence=f"{failure.sentence} It asks to wait {when}.")


def spoken(failure: Failure, clean: Callable[[str], str], sent: str) -> str:
    """The sentence with the server's own words after it: filtered, harmless, short, never echoing what was sent."""
    sentence = safe_text(clean(failure.sentence), one_line=True)
    words = " ".join(safe_text(clean(failure.words), one_line=True).split())
    if not words or echoes(failure.words, sent):
        return sentence
    cut = words if len(words) <= SERVER_WORDS_CHARS else words[: SERVER_WORDS_CHARS - 1] + "…"
    return f"{sentence} It says: {cut}"


def echoes(words: str, sent: str) -> bool:
    """Whether the words repeat a stretch of what was sent; linear in both."""
    flat, said = " ".join(sent.split()), " ".join(words.split())
    size = ECHO_CHARS // 2
    if len(flat) < size:
        return len(flat) >= size // 2 and flat in said
    windows = {said[i : i + size] for i in range(len(said) - size + 1)}
    return any(flat[i : i + size] in windows for i in range(0, len(flat) - size + 1, size))
