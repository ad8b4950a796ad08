"""Rows P01 to P12 of the fault list, over real sockets: each failure is one clean sentence with a code."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import logging
import ssl
import time
from email.utils import format_datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from app.ports import PersonMessage, TextDelta
from app.providers import failures
from app.providers.tap import Times
from store.clock import ManualClock
from store.events import Usage
from tests.providers.kit import KEYS, NAMES, RETRYING, TIMES, WIRES, Got, ask, finder, request, say
from tests.servers import anthropic, gemini, openai, responses
from tests.servers.fake import HANG_UP, RESET, SILENT, Cut, FakeServer, Hang, Piece, Reply, Wait, plain

wires = pytest.mark.parametrize(("model", "speak"), WIRES, ids=NAMES)
KEY_ENVS = {
    "openai": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GEMINI_API_KEY or GOOGLE_API_KEY",
}


def clean_sentence(got: Got) -> str:
    """The sentence, checked to be one a person can read."""
    said = got.sentence
    assert said and got.done is None
    assert not any(key in said for key in KEYS.values())
    assert not any(bad in said for bad in ("<", "{", "Traceback", "Error(", "\n", "\x1b", "http2", "pydantic"))
    assert len(said) < 600
    return said


# P01


@wires
@pytest.mark.parametrize("status", [401, 403, 404])
async def test_p01_a_refused_key_or_model_says_what_to_set_and_is_not_tried_again(
    model: str, speak: ModuleType, status: int
) -> None:
    name = model.partition(":")[0]
    key = KEYS[KEY_ENVS[name].partition(" ")[0]]
    got, server = await say(model, plain(status, {"error": {"message": f"no use with {key} here", "type": "x"}}))
    said = clean_sentence(got)
    assert len(server.requests) == 1
    assert str(status) in said
    if status == 404:
        assert got.code == "model" and "“m”" in said
    else:
        assert got.code == "auth" and KEY_ENVS[name] in said


async def test_p01_a_missing_key_is_told_apart_from_a_wrong_one() -> None:
    got, _ = await say("openai:m", plain(401, "nope"), env={"OPENAI_API_KEY": ""})
    assert "It wants a key: set OPENAI_API_KEY" in clean_sentence(got)


async def test_p01_googles_400_for_a_bad_key_counts_as_one() -> None:
    body = {"error": {"code": 400, "message": "API key not valid. Please pass one.", "status": "INVALID_ARGUMENT"}}
    got, _ = await say("google:m", plain(400, body))
    assert got.code == "auth" and "GEMINI_API_KEY" in clean_sentence(got)


# P02


@wires
async def test_p02_429_waits_what_the_server_asks_and_counts_down(model: str, speak: ModuleType) -> None:
    start = time.monotonic()
    got, server = await say(model, plain(429, "{}", [("Retry-After", "1")]), speak.text("ok"))
    assert got.text == "ok" and len(server.requests) == 2
    assert time.monotonic() - start >= 1.0
    left = [wait.seconds for wait in got.waits]
    assert left == sorted(left, reverse=True) and left[0] >= 1.0
    assert "too often" in got.waits[0].why


@pytest.mark.parametrize("seconds", [1.2, -3600.0])
async def test_p02_a_date_is_waited_for_and_one_in_the_past_is_not_at_once(seconds: float) -> None:
    clock = ManualClock()
    at = dt.datetime.fromtimestamp(clock.now_ms() / 1000 + seconds, dt.UTC)
    start = time.monotonic()
    reply = plain(429, "{}", [("Retry-After", format_datetime(at, usegmt=True))])
    got, server = await say("openai:m", reply, openai.text("ok"), clock=clock)
    assert got.text == "ok" and len(server.requests) == 2
    waited = time.monotonic() - start
    assert got.waits and waited >= (0.2 if seconds > 0 else RETRYING.base)
    assert waited < 2.5


async def test_p02_a_day_is_told_in_words_and_not_waited() -> None:
    start = time.monotonic()
    got, server = await say("openai:m", plain(429, "{}", [("Retry-After", "86400")]))
    assert got.code == "rate" and "24 hours" in clean_sentence(got)
    assert not got.waits and len(server.requests) == 1 and time.monotonic() - start < 1


@wires
async def test_p02_without_a_hint_the_pauses_grow_and_end(model: str, speak: ModuleType) -> None:
    got, server = await say(model, plain(429, "{}"))
    assert got.code == "rate" and "429" in clean_sentence(got)
    assert len(server.requests) == 1 + RETRYING.times
    pauses = [wait.seconds for wait in got.waits]
    assert pauses == sorted(pauses) and pauses[0] >= RETRYING.base


async def test_p02_other_hints_are_read() -> None:
    now = ManualClock().now_ms()
    assert failures.hint_seconds({"retry-after-ms": "1500"}, now) == 1.5
    assert failures.hint_seconds({"retry-after": " 7 "}, now) == 7
    assert failures.hint_seconds({"retry-after": "-5"}, now) == 0
    for odd in ("", "soon", "1e9", "NaN", "9" * 400, "Wed, 99 Xxx 2026 00:00:00 GMT"):
        assert failures.hint_seconds({"retry-after": odd}, now) is None
    assert failures.google_delay({"details": [{"@type": "x"}, {"retryDelay": "3.5s"}]}) == 3.5
    assert failures.google_delay({"details": "x"}) is None


async def test_p02_no_credit_left_is_not_tried_again() -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    got, server = await say("openai:m", plain(429, body))
    assert "no credit" in clean_sentence(got) and len(server.requests) == 1


# P03


@wires
@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_p03_faults_of_the_server_are_tried_again(model: str, speak: ModuleType, status: int) -> None:
    got, server = await say(model, plain(status, "<html>Bad</html>", kind="text/html"), speak.text("ok"))
    assert got.text == "ok" and len(server.requests) == 2 and got.waits
    got, server = await say(model, plain(status, "oops"))
    assert got.code == ("overloaded" if status in (503, 529) else "server")
    assert str(status) in clean_sentence(got) and len(server.requests) == 1 + RETRYING.times


@wires
async def test_p03_a_refused_connection_is_tried_again_and_told(model: str, speak: ModuleType) -> None:
    async with FakeServer() as server:
        url = server.url
    got = await ask(finder(url), request(model))
    assert got.code == "connect" and url.removeprefix("http://") in clean_sentence(got)
    assert "BASE_URL" in got.sentence and len(got.waits) == RETRYING.times


async def test_p03_a_server_of_this_computer_that_is_down_says_how_to_start_it() -> None:
    async with FakeServer() as server:
        url = server.url
    got = await ask(finder(url, env={"OLLAMA_BASE_URL": f"{url}/v1"}), request("ollama:m"))
    assert "ollama serve" in clean_sentence(got)


@wires
@pytest.mark.parametrize("broken", [HANG_UP, RESET], ids=["closed", "reset"])
async def test_p03_a_dropped_connection_before_words_is_tried_again(
    model: str, speak: ModuleType, broken: Reply
) -> None:
    got, server = await say(model, broken, speak.text("ok"))
    assert got.text == "ok" and len(server.requests) == 2
    got, server = await say(model, broken)
    assert got.code == "connect" and len(server.requests) == 1 + RETRYING.times
    clean_sentence(got)


async def test_p03_no_such_host_is_told() -> None:
    got = await ask(finder("http://nowhere.invalid"), request("openai:m"))
    assert got.code == "connect" and "nowhere.invalid" in clean_sentence(got)


def certificate(folder: Path) -> ssl.SSLContext:
    """A server context whose certificate nobody signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=9999))
        .sign(key, hashes.SHA256())
    )
    pem = built.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "tls.pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.pem")
    return context


@wires
async def test_p03_a_bad_certificate_is_never_tried_again(model: str, speak: ModuleType, tmp_path: Path) -> None:
    async with FakeServer(tls=certificate(tmp_path)) as server:
        server.say(speak.text("never"))
        got = await ask(finder(server.url), request(model))
        assert got.code == "cert" and not got.waits and not got.text and server.requests == []
        assert "certificate" in clean_sentence(got)


async def test_p03_plain_http_on_a_tls_address_is_told() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    got = await ask(finder(f"https://127.0.0.1:{port}"), request("openai:m"))
    server.close()
    assert got.code == "cert" and "OPENAI_BASE_URL" in clean_sentence(got)


# P04


@wires
async def test_p04_no_answer_ends_at_the_limit_and_the_next_request_works(model: str, speak: ModuleType) -> None:
    async with FakeServer() as server:
        server.say(SILENT)
        start = time.monotonic()
        found = finder(server.url, retrying=RETRYING.__class__(times=0))
        got = await ask(found, request(model))
        assert got.code == "timeout" and TIMES.first <= time.monotonic() - start < TIMES.first + 1.5
        clean_sentence(got)
        server.answers[:] = [speak.text("ok")]
        assert (await ask(found, request(model))).text == "ok"


@wires
@pytest.mark.parametrize("drip", [b"d", b": ping\n\n"], ids=["bytes", "comments"])
async def test_p04_dripped_bytes_and_endless_signs_of_life_end_too(model: str, speak: ModuleType, drip: bytes) -> None:
    pieces: list[Piece] = [piece for _ in range(60) for piece in (drip, Wait(0.05))]
    start = time.monotonic()
    got, _ = await say(model, Reply(tuple(pieces)), retrying=RETRYING.__class__(times=0))
    assert got.code == "timeout" and time.monotonic() - start < 2.0
    clean_sentence(got)


@wires
async def test_p04_a_stall_in_the_middle_keeps_the_words_and_is_not_tried_again(model: str, speak: ModuleType) -> None:
    at = {"anthropic:m": 4, "openai-responses:m": 4, "openai:m": 2, "google:m": 1}[model]
    got, server = await say(model, speak.text("half", "rest").first(at).then(Hang()))
    assert got.text == "half" and got.code == "timeout" and len(server.requests) == 1
    clean_sentence(got)


async def test_p04_a_connection_that_is_never_accepted_ends_at_the_connect_limit() -> None:
    got = await ask(
        finder("http://192.0.2.1:9", times=Times(connect=0.3, first=5), retrying=RETRYING.__class__(times=0)),
        request("openai:m"),
    )
    assert got.code in ("timeout", "connect")  # some networks refuse the address at once
    clean_sentence(got)


# P05


@wires
@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        ("<!DOCTYPE html><html><script>alert(1)</script>Log in</html>", "text/html", "malformed"),
        ("<html>" + "x" * 200_000, "text/event-stream", "malformed"),
        ("", "text/event-stream", "empty"),
        ("", "application/json", "empty"),
        ("{}", "application/json", "malformed"),
        ('{"hello": "world"}', "application/json", "malformed"),
        ("[1, 2", "application/json", "malformed"),
        ("\x00\x01\x02 binary", "application/octet-stream", "malformed"),
        ("data: {}\n\n", "text/event-stream", "empty"),
        ("data: 3\n\n", "text/event-stream", "server"),
        ('data: {"hello": "world"}\n\n', "text/event-stream", "empty"),
    ],
)
async def test_p05_200_with_something_else_is_told_and_never_shown_raw(
    model: str, speak: ModuleType, body: str, kind: str, code: str
) -> None:
    got, server = await say(model, plain(200, body, kind=kind), retrying=RETRYING.__class__(times=0))
    assert got.code == code and got.text == "" and not got.calls
    said = clean_sentence(got)
    assert "alert" not in said and "world" not in said
    assert len(server.requests) == 1


@wires
async def test_p05_an_error_object_with_status_200_is_read_as_one(model: str, speak: ModuleType) -> None:
    body = {"error": {"message": "model is overloaded", "type": "overloaded_error"}}
    got, server = await say(model, plain(200, body), speak.text("ok"))
    assert got.text == "ok" and len(server.requests) == 2


# P06


@wires
async def test_p06_a_cut_after_words_keeps_them_and_is_told(model: str, speak: ModuleType) -> None:
    at = {"anthropic:m": 4, "openai-responses:m": 4, "openai:m": 2, "google:m": 1}[model]
    for end in ((), (Cut(),), (Cut(reset=True),)):
        got, server = await say(model, speak.text("```py\nhalf", "rest").first(at).then(*end))
        assert got.text == "```py\nhalf" and got.code == "cut" and len(server.requests) == 1
        clean_sentence(got)


@wires
async def test_p06_half_a_call_is_never_handed_on(model: str, speak: ModuleType) -> None:
    args = json.dumps({"query": "a long question about the venue"})
    if speak is gemini:
        whole = gemini.calls(("search_chats", args), before="Let me look.").first(2)
    elif speak is responses:
        whole = responses.calls(("c1", "search_chats", args)).first(3)
    else:
        whole = speak.calls(("c1", "search_chats", args), before="Let me look.")
        half = next(i for i, p in enumerate(whole.pieces) if b"a long" in p or b"query" in p)
        whole = whole.first(half + 1)
    for end in ((), (Cut(),)):
        got, _ = await say(model, whole.then(*end))
        assert got.calls == [] and got.code == "cut"
        clean_sentence(got)


@wires
async def test_p06_a_cut_inside_an_event_is_a_cut(model: str, speak: ModuleType) -> None:
    at = {"anthropic:m": 4, "openai-responses:m": 4, "openai:m": 2, "google:m": 1}[model]
    whole = speak.text("half", "rest")
    last = whole.pieces[at]
    assert isinstance(last, bytes)
    got, _ = await say(model, whole.first(at).then(last[: len(last) // 2]))
    assert got.text == "half" and got.code == "cut"


async def test_p06_servers_that_leave_out_one_end_mark_are_understood() -> None:
    for reply in (openai.text("ok", done=False), openai.text("ok", finish=None)):
        got, _ = await say("openai:m", reply)
        assert got.text == "ok" and got.done is not None and got.done.reason == "stop"
    got, _ = await say("openai:m", openai.text("ok", done=False, finish=None))
    assert got.code == "cut"
    got, _ = await say("anthropic:m", anthropic.text("ok").first(-1))
    assert got.done is not None and got.done.reason == "stop"


@wires
async def test_p06_a_server_that_keeps_the_connection_open_after_the_end_is_not_waited_for(
    model: str, speak: ModuleType
) -> None:
    start = time.monotonic()
    got, _ = await say(model, speak.text("ok").then(Hang()))
    assert got.text == "ok" and got.done is not None and time.monotonic() - start < 1.5


# P07


async def test_p07_surrogate_pairs_split_over_events_are_joined_and_lone_halves_replaced() -> None:
    def raw(text: str) -> bytes:
        return b'data: {"choices":[{"index":0,"delta":{"content":"' + text.encode() + b'"}}]}\n\n'

    got, _ = await say("openai:m", Reply((raw("a \\ud83d"), raw("\\ude00 b"), raw(" \\udc00 c \\ud83d"), openai.DONE)))
    assert got.text == "a 😀 b \ufffd c "
    for piece in got.pieces:
        piece.encode()
    delta = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":'
    parts = [delta + b'{"type":"text_delta","text":"' + t + b'"}}\n\n' for t in (b"x\\ud83d", b"\\ude00y")]
    got, _ = await say("anthropic:m", anthropic.stream([anthropic.words(0, [])[0], *parts]))
    assert got.text == "x😀y"
    candidate = b'data: {"candidates":[{"content":{"parts":[{"text":"%s"}]}}]}\n\n'
    got, _ = await say("google:m", gemini.stream([candidate % b"x\\ud83d", candidate % b"\\ude00y"]))
    assert got.text == "x😀y"


async def test_p07_bytes_that_are_no_utf_8_are_replaced() -> None:
    broken = b'data: {"choices":[{"index":0,"delta":{"content":"a\xff\xfeb"}}]}\n\n'
    got, _ = await say("openai:m", Reply((broken, openai.DONE)))
    assert got.text == "a\ufffd\ufffdb"


# P08


@wires
async def test_p08_one_chunk_of_a_megabyte(model: str, speak: ModuleType) -> None:
    words = "0123456789abcdé " * 65_536
    got, _ = await say(model, speak.text(words))
    assert got.text == words and got.done is not None


@wires
async def test_p08_very_many_one_letter_chunks_are_joined_and_leave_the_loop_free(
    model: str, speak: ModuleType
) -> None:
    count = 20_000
    reply = speak.text(*"abcdefghij" * (count // 10))
    body = b"".join(p for p in reply.pieces if isinstance(p, bytes))
    pieces = tuple(body[i : i + 65_536] for i in range(0, len(body), 65_536))
    worst = 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            start = time.monotonic()
            await asyncio.sleep(0.005)
            worst = max(worst, time.monotonic() - start)

    await say(model, speak.text("imports the SDK"))
    watcher = asyncio.ensure_future(watch())
    start = time.process_time()
    got, _ = await say(model, Reply(pieces))
    spent = time.process_time() - start
    watcher.cancel()
    assert got.text == "abcdefghij" * (count // 10)
    assert len(got.pieces) < count / 20
    assert spent < 4.0
    assert worst < 0.5  # 0.1 alone on a machine; eight helpers share this one


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_p08_comments_retries_unknown_events_and_odd_lines_are_ignored(end: bytes) -> None:
    lines = [
        b"\xef\xbb\xbf: welcome",
        b"retry: 1",
        b"id: 7",
        b"event: unheard.of",
        b'data: {"object": "something.else", "choices": []}',
        b"",
        b"data:" + openai.chunk({"content": "with"})[6:-2],
        b"",
        b": keep-alive",
        b"nonsense without a colon",
        b"data:",
        b"",
        b'data: {"choices":',
        b'data: [{"index":0,"delta":{"content":"out"}}]}',
        b"",
        openai.chunk({}, "stop")[:-2],
        b"",
        b"data: [DONE]",
        b"",
    ]
    for size in (1, 7, 10_000):
        got, _ = await say("openai:m", Reply((end.join(lines) + end,)).split(size))
        assert got.text == "without" and got.done is not None


async def test_p08_a_last_event_without_its_blank_line_counts() -> None:
    got, _ = await say("openai:m", Reply((openai.chunk({"content": "ok"}), b"data: [DONE]")))
    assert got.text == "ok" and got.done is not None


async def test_p08_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.providers.sse.EVENT_BYTES_MOST", 300_000)
    got, _ = await say("openai:m", Reply((openai.chunk({"content": "ok"}), *[b"data: " + b"x" * 100_000] * 5)))
    assert got.text == "ok" and got.code == "malformed"


async def test_p08_unknown_events_of_anthropic_and_responses_are_ignored() -> None:
    odd = anthropic.event({"type": "brand_new", "x": 1})
    block = anthropic.event({"type": "content_block_start", "index": 5, "content_block": {"type": "brand_new"}})
    got, _ = await say("anthropic:m", anthropic.stream([odd, block, *anthropic.words(0, ["ok"])]))
    assert got.text == "ok"
    reply = responses.text("ok")
    got, _ = await say("openai-responses:m", Reply((responses.event("response.brand.new", 9), *reply.pieces)))
    assert got.text == "ok"


# P09

STREAM_ERRORS: dict[str, bytes] = {
    "openai:m": openai.event({"error": {"message": "The server had an error", "type": "server_error"}}),
    "openai-responses:m": responses.event("error", 9, code="server_error", message="The server had an error"),
    "anthropic:m": anthropic.event({"type": "error", "error": {"type": "api_error", "message": "had an error"}}),
    "google:m": gemini.event({"error": {"code": 500, "message": "had an error", "status": "INTERNAL"}}),
}


@wires
async def test_p09_an_error_inside_the_stream_keeps_the_words_and_is_told(model: str, speak: ModuleType) -> None:
    at = {"anthropic:m": 4, "openai-responses:m": 4, "openai:m": 2, "google:m": 1}[model]
    got, server = await say(model, speak.text("half", "rest").first(at).then(STREAM_ERRORS[model], Hang()))
    assert got.text == "half" and got.code == "server" and len(server.requests) == 1
    assert "had an error" in clean_sentence(got)


@wires
async def test_p09_an_error_before_any_word_is_tried_again(model: str, speak: ModuleType) -> None:
    got, server = await say(model, Reply((STREAM_ERRORS[model],)), speak.text("ok"))
    assert got.text == "ok" and len(server.requests) == 2 and got.waits


@pytest.mark.parametrize(
    ("model", "raw", "reason"),
    [
        ("openai:m", "length", "length"),
        ("openai:m", "content_filter", "filter"),
        ("openai:m", "made_up", "unknown"),
        ("openai:m", "tool_calls", "stop"),
        ("anthropic:m", "max_tokens", "length"),
        ("anthropic:m", "refusal", "filter"),
        ("anthropic:m", "made_up", "unknown"),
        ("google:m", "MAX_TOKENS", "length"),
        ("google:m", "SAFETY", "filter"),
        ("google:m", "MALFORMED_FUNCTION_CALL", "unknown"),
        ("google:m", "MADE_UP", "unknown"),
    ],
)
async def test_p09_each_finish_reason_is_told_apart(model: str, raw: str, reason: str) -> None:
    speak = dict(WIRES)[model]
    got, _ = await say(model, speak.text("words", finish=raw))
    assert got.text == "words" and got.done is not None and got.done.reason == reason


@pytest.mark.parametrize(
    ("why", "reason"), [("max_output_tokens", "length"), ("content_filter", "filter"), ("made_up", "unknown")]
)
async def test_p09_incomplete_responses_say_why(why: str, reason: str) -> None:
    reply = responses.text("words", status="incomplete", incomplete_details={"reason": why})
    got, _ = await say("openai-responses:m", reply)
    assert got.text == "words" and got.done is not None and got.done.reason == reason


@pytest.mark.parametrize("finish", ["length", "content_filter", "made_up"])
async def test_p09_calls_of_an_answer_that_was_stopped_are_not_handed_on(finish: str) -> None:
    got, _ = await say("openai:m", openai.calls(("c1", "search_chats", '{"query":"x"}'), finish=finish))
    assert got.calls == [] and got.done is not None and got.done.reason in ("length", "filter", "unknown")


@wires
async def test_p09_an_empty_answer_is_called_empty(model: str, speak: ModuleType) -> None:
    got, _ = await say(model, speak.text(""))
    assert got.text == "" and got.done is not None and got.done.reason == "empty"
    assert got.done.usage.output_tokens == 7


async def test_p09_a_blocked_prompt_and_a_refusal_are_a_filter() -> None:
    got, _ = await say("google:m", Reply((gemini.event({"promptFeedback": {"blockReason": "SAFETY"}}),)))
    assert got.done is not None and got.done.reason == "filter"
    got, _ = await say("openai:m", openai.stream([openai.chunk({"refusal": "I can't."})]))
    assert got.text == "I can't." and got.done is not None and got.done.reason == "filter"


# P10


async def test_p10_calls_without_an_id_get_one_each() -> None:
    got, _ = await say("openai:m", openai.calls(("", "a", "{}"), ("", "b", '{"x":1}')))
    assert [(c.name, c.args) for c in got.calls] == [("a", "{}"), ("b", '{"x":1}')]
    assert len({c.id for c in got.calls if c.id}) == 2


@wires
async def test_p10_two_calls_with_one_id_become_two(model: str, speak: ModuleType) -> None:
    if speak is gemini:
        part = {"functionCall": {"id": "same", "name": "a", "args": {}}}
        reply = gemini.stream([gemini.chunk([part]), gemini.chunk([part])])
    else:
        reply = speak.calls(("same", "a", '{"x":1}'), ("same", "b", '{"x":2}'))
    got, _ = await say(model, reply)
    assert len(got.calls) == 2 and len({c.id for c in got.calls}) == 2


async def test_p10_pieces_of_two_calls_mixed_up_are_joined_by_their_place() -> None:
    pieces = [
        openai.call(1, "b", '{"y"', "c2"),
        openai.call(0, "a", '{"x"', "c1"),
        openai.call(1, None, ":2}"),
        openai.call(0, None, ":1}"),
    ]
    got, _ = await say("openai:m", openai.stream(pieces, "tool_calls"))
    assert {(c.id, c.name, c.args) for c in got.calls} == {("c1", "a", '{"x":1}'), ("c2", "b", '{"y":2}')}


async def test_p10_servers_that_number_every_call_0_or_not_at_all_are_understood() -> None:
    whole = [openai.call(0, "a", '{"x":1}', "c1"), openai.call(0, "b", '{"y":2}', "c2")]
    got, _ = await say("openai:m", openai.stream(whole, "tool_calls"))
    assert [(c.id, c.name, c.args) for c in got.calls] == [("c1", "a", '{"x":1}'), ("c2", "b", '{"y":2}')]
    bare = [
        openai.chunk({"tool_calls": [{"id": i, "function": {"name": n, "arguments": {"z": i}}}]})
        for i, n in (("c1", "a"), ("c2", "b"))
    ]
    got, _ = await say("openai:m", openai.stream(bare, "tool_calls"))
    assert [(c.id, c.name, json.loads(c.args)) for c in got.calls] == [
        ("c1", "a", {"z": "c1"}),
        ("c2", "b", {"z": "c2"}),
    ]


async def test_p10_a_call_without_a_name_is_handed_on_under_one_no_tool_has() -> None:
    got, _ = await say("openai:m", openai.stream([openai.call(0, None, "{}", "c1")], "tool_calls"))
    assert [(c.id, c.name) for c in got.calls] == [("c1", "unnamed")]


async def test_p10_broken_arguments_are_handed_on_as_they_came() -> None:
    for model, reply in (
        ("openai:m", openai.calls(("c1", "a", '{"x": '))),
        ("anthropic:m", anthropic.calls(("c1", "a", '{"x": '))),
    ):
        got, _ = await say(model, reply)
        assert [(c.id, c.args) for c in got.calls] == [("c1", '{"x": ')]


# P11


@pytest.mark.parametrize(
    ("model", "reply"),
    [
        (
            "openai:m",
            plain(400, {"error": {"message": "maximum context length is 8", "code": "context_length_exceeded"}}),
        ),
        ("anthropic:m", plain(400, {"type": "error", "error": {"type": "x", "message": "prompt is too long: 9 > 8"}})),
        ("google:m", plain(400, {"error": {"message": "The input token count (9) exceeds the maximum", "code": 400}})),
        ("openai:m", plain(413, "too big")),
        ("openai:m", Reply((openai.event({"error": {"code": 400, "message": "exceeds the available context size"}}),))),
    ],
)
async def test_p11_a_context_that_is_too_long_has_its_own_code(model: str, reply: Reply) -> None:
    got, server = await say(model, reply)
    assert got.code == "context" and len(server.requests) == 1
    clean_sentence(got)


@pytest.mark.parametrize("odd", ["many", -5, 1.5, True, None, [], {}, 10**20])
async def test_p11_usage_that_is_no_count_is_unknown(odd: Any) -> None:
    got, _ = await say("openai:m", openai.text("ok", use={"prompt_tokens": odd, "completion_tokens": 3}))
    assert got.done is not None and got.done.usage == Usage(output_tokens=3)
    got, _ = await say("openai:m", openai.text("ok", use=odd))
    assert got.done is not None and got.done.usage == Usage()
    got, _ = await say("anthropic:m", anthropic.text("ok", use={"input_tokens": odd, "output_tokens": odd}))
    assert got.done is not None and got.done.usage == Usage(output_tokens=7)
    got, _ = await say("google:m", gemini.text("ok", use={"promptTokenCount": odd, "candidatesTokenCount": 2}))
    assert got.done is not None and got.done.usage == Usage(output_tokens=2)
    use = {"input_tokens": odd, "output_tokens": 2, "total_tokens": odd, "output_tokens_details": odd}
    got, _ = await say("openai-responses:m", responses.text("ok", use=use))
    assert got.done is not None and got.done.usage == Usage(output_tokens=2)


# P12


@wires
async def test_p12_an_error_that_repeats_key_prompt_and_hostile_text_is_cleaned(
    model: str, speak: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = KEYS[KEY_ENVS[model.partition(":")[0]].partition(" ")[0]]
    hostile = f"Key {key} is \x1b[31mbad\x1b[0m\u202e [/] [bold] \u200b<script>\nsecond line " + "y" * 5_000
    got, _ = await say(model, plain(400, {"error": {"message": hostile}}))
    said = got.sentence
    assert key not in said and "•••" in said
    assert not any(c in said for c in "\x1b\u202e\u200b\n") and len(said) < 500
    assert key not in caplog.text and "\x1b" not in caplog.text and "y" * 1_000 not in caplog.text
    prompt = "my very private question about the strange rash"
    got, _ = await say(
        model, plain(400, {"error": {"message": f"bad input: {prompt}"}}), messages=(PersonMessage(f"Hi, {prompt}?"),)
    )
    assert "rash" not in got.sentence and got.code == "refused"


async def test_p12_even_a_short_key_is_not_shown() -> None:
    got, _ = await say("openai:m", plain(400, {"error": {"message": "bad key abcd"}}), env={"OPENAI_API_KEY": "abcd"})
    assert "abcd" not in clean_sentence(got)


async def test_p12_the_filter_of_shapes_is_used_before_the_cut() -> None:
    other = "ghp_" + "a1B2" * 9
    body = {"error": {"message": "x" * (failures.SERVER_WORDS_CHARS - 15) + other}}
    got, _ = await say("openai:m", plain(400, body), shapes=lambda text: text.replace(other, "•••"))
    assert "ghp_" not in got.sentence


@wires
async def test_a_redirect_is_not_followed_with_the_key(model: str, speak: ModuleType) -> None:
    async with FakeServer() as thief:
        got, server = await say(model, plain(307, "", [("Location", f"{thief.url}/steal")]))
        assert thief.requests == [] and got.code == "setup" and len(server.requests) == 1
        clean_sentence(got)


async def test_many_requests_at_once_do_not_wait_for_each_other() -> None:
    async with FakeServer() as server:
        server.say(openai.text("a", "b", "c").first(2).then(Wait(0.3), *openai.text("a", "b", "c").pieces[2:]))
        found = finder(server.url, times=Times(first=5, between=5))
        await found.warm("openai:m")

        async def one() -> str:
            stream = found.wire("openai:m").stream(request("openai:m"))
            return "".join([e.text async for e in stream if isinstance(e, TextDelta)])

        start = time.monotonic()
        assert await asyncio.gather(*(one() for _ in range(20))) == ["abc"] * 20
        assert time.monotonic() - start < 4.0
        await found.close()


@pytest.mark.soak
@wires
async def test_p08_200_000_one_letter_chunks(model: str, speak: ModuleType) -> None:
    reply = speak.text(*"abcdefghij" * 20_000)
    body = b"".join(p for p in reply.pieces if isinstance(p, bytes))
    got, _ = await say(model, Reply((body,)).split(1_400))
    assert got.text == "abcdefghij" * 20_000
