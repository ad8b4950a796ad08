"""The pure parts: events cut out of bytes, histories made valid, addresses, prices, windows, sentences."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ports import AssistantMessage, Message, PersonMessage, ToolCall, ToolReturn, WireError
from app.providers.convert import NO_RESULT, Answered, Asked, json_object, rounds, tool_name, whole_text
from app.providers.ears import ear_for
from app.providers.ears.chat import ThinkTags
from app.providers.endpoints import PRESETS, find, proxy_for
from app.providers.failures import SERVER_WORDS_CHARS, Failure, echoes, error_object, from_status, spoken
from app.providers.pricing import cost_usd
from app.providers.sse import EventSplitter, EventTooLong, ServerEvent
from app.providers.wires import Retrying
from store.events import Usage

# events


def split(body: bytes, sizes: list[int]) -> list[ServerEvent]:
    """The events of a body that came in pieces of these sizes, over and over."""
    splitter, out, at, turn = EventSplitter(), [], 0, 0
    while at < len(body):
        size = sizes[turn % len(sizes)]
        out += splitter.feed(body[at : at + size])
        at, turn = at + size, turn + 1
    return out + splitter.end()


fields = st.sampled_from(["data: {}", "data:x", "data", "event: e", ": comment", "id: 1", "", "", "junk", "data: é🎉"])


@given(st.lists(fields, max_size=20), st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(1, 9), min_size=1))
def test_events_are_the_same_however_they_are_split(lines: list[str], end: str, sizes: list[int]) -> None:
    body = "".join(line + end for line in lines).encode()
    assert split(body, sizes) == split(body, [len(body) or 1])


@given(st.lists(st.binary(max_size=30), max_size=10))
def test_any_bytes_are_taken(pieces: list[bytes]) -> None:
    splitter = EventSplitter()
    for piece in pieces:
        splitter.feed(piece)
    splitter.end()


def test_fields_are_read_as_the_standard_says() -> None:
    body = b": hi\nevent: a\ndata: one\ndata:two\ndata\n\nevent: lost\n\ndata:  kept space\n\n"
    assert split(body, [3]) == [ServerEvent("a", b"one\ntwo\n"), ServerEvent("", b" kept space")]


def test_a_long_line_is_taken_in_linear_time_and_one_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    splitter = EventSplitter()
    start = time.process_time()
    for _ in range(8_000):
        splitter.feed(b"x" * 1_000)
    assert time.process_time() - start < 1.0
    monkeypatch.setattr("app.providers.sse.EVENT_BYTES_MOST", 8_000_100)
    with pytest.raises(EventTooLong):
        splitter.feed(b"x" * 1_000)
    many = EventSplitter()
    monkeypatch.setattr("app.providers.sse.EVENT_BYTES_MOST", 1_000)
    with pytest.raises(EventTooLong):
        for _ in range(200):
            many.feed(b"data: 0123456789\n")


@given(st.text("<think>/ a\n", max_size=40), st.lists(st.integers(1, 5), min_size=1))
def test_thinking_is_told_apart_however_it_is_split(text: str, sizes: list[int]) -> None:
    def run(cuts: list[int]) -> tuple[str, str]:
        tags, out, at, turn = ThinkTags(), ["", ""], 0, 0
        while at < len(text):
            thinking, answer = tags.feed(text[at : at + cuts[turn % len(cuts)]])
            out[0] += thinking
            out[1] += answer
            at, turn = at + cuts[turn % len(cuts)], turn + 1
        thinking, answer = tags.end()
        return out[0] + thinking, (out[1] + answer).lstrip("\n")

    assert run(sizes) == run([len(text) or 1])
    if not text.lstrip().startswith("<think>"):
        assert run(sizes) == ("", text.lstrip("\n"))


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KNOWN = "choices delta content tool_calls function name arguments id index finish_reason usage error type message"
KNOWN += " content_block input response item candidates parts text functionCall usageMetadata stop_reason output_index"
TYPES = ["content_block_start", "content_block_delta", "message_delta", "message_start", "response.output_item.added"]
TYPES += ["response.completed", "response.output_text.delta", "error", "tool_use", "text_delta", "function_call"]
shaped = st.recursive(
    odd | st.sampled_from(TYPES),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KNOWN.split()), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["openai", "openai-responses", "anthropic", "google"]), st.lists(shaped, max_size=4))
def test_no_shape_of_an_event_makes_an_ear_stumble(name: str, events: list[Any]) -> None:
    ear = ear_for(find(f"{name}:m", None, {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}))
    for event in events:
        if (tidy := ear.hear("", event)) is not None:
            json.dumps(tidy)
            ear.event_name(tidy)
            ear.slot(tidy)


# histories

call_ids = st.sampled_from(["", "a", "b", "c"])
texts = st.sampled_from(["", " ", "words", "more \ud83d words"])
messages = st.lists(
    st.builds(PersonMessage, texts)
    | st.builds(ToolReturn, call_ids, st.sampled_from(["t", "a b", ""]), texts, st.booleans())
    | st.builds(
        AssistantMessage,
        texts,
        st.lists(
            st.builds(
                ToolCall, call_ids, st.sampled_from(["t", "ünï", ""]), st.sampled_from(["", "{}", "[1]", "{x", "3"])
            ),
            max_size=3,
        ).map(tuple),
        texts,
    ),
    max_size=12,
)


@settings(max_examples=300)
@given(messages)
def test_any_history_becomes_one_that_every_provider_accepts(history: list[Message]) -> None:
    out = rounds(history)
    assert isinstance(out[0], Asked) and isinstance(out[-1], Asked)
    seen: set[str] = set()
    for before, after in itertools.pairwise(out):
        assert isinstance(before, Asked) != isinstance(after, Asked)
        if isinstance(before, Answered):
            assert isinstance(after, Asked)
            assert [c.id for c in before.calls] == [r.id for r in after.returns]
            assert before.text or before.calls
            for call in before.calls:
                assert call.id and call.id not in seen
                seen.add(call.id)
                assert isinstance(json.loads(call.args), dict) and tool_name(call.name) == call.name
    for one in out:
        if isinstance(one, Asked):
            assert one.returns or one.texts
            assert all(t.strip() for t in one.texts) and all(r.text for r in one.returns)
    said = [m.text for m in history if isinstance(m, PersonMessage) and m.text.strip()]
    kept = [t for one in out if isinstance(one, Asked) for t in one.texts]
    assert [t for t in kept if t in said] == said


def test_a_call_that_never_got_a_result_gets_one_that_says_so() -> None:
    out = rounds([PersonMessage("go"), AssistantMessage("", (ToolCall("a", "t", "{}"),))])
    assert out[2] == Asked((ToolReturn("a", "t", NO_RESULT, error=True),))


@given(st.text(max_size=30))
def test_arguments_always_become_an_object(args: str) -> None:
    assert isinstance(json.loads(json_object(args)), dict)


def test_whole_text_joins_pairs_and_replaces_halves() -> None:
    assert whole_text("a\ud83d\ude00b\ud83d") == "a😀b\ufffd"
    assert json.loads(json_object('{"x": "\\ud83d"}')) == {"x": "\ufffd"}
    assert json_object('{"n": 12345678901234567890.5}') == '{"n": 12345678901234567890.5}'


# addresses

KEYED = {"OPENAI_API_KEY": "sk-aaaa1111bbbb2222", "ANTHROPIC_API_KEY": "k-aaaa1111", "GEMINI_API_KEY": "g-aaaa1111"}


def test_every_preset_resolves_and_hides_its_key() -> None:
    keys = KEYED | {"OPENROUTER_API_KEY": "o-aaaa1111"}
    for preset in PRESETS:
        at = find(f"{preset.name}:vendor/name:tag", None, keys)
        assert at.model == "vendor/name:tag" and at.base_url == preset.base_url
        assert "aaaa1111" not in repr(at)


def test_gemini_key_wins_over_google_key_and_either_will_do() -> None:
    assert find("google:m", None, {"GOOGLE_API_KEY": "one-11111"}).key == "one-11111"
    assert find("google:m", None, {"GOOGLE_API_KEY": "one-11111", "GEMINI_API_KEY": "two-22222"}).key == "two-22222"


def test_settings_give_address_and_key_and_the_environment_wins() -> None:
    chosen = {"providers": {"openai": {"base_url": "http://box/v1", "key_env": "MY_KEY", "api_key": "from-settings"}}}
    at = find("openai-responses:m", chosen, {})
    assert (at.base_url, at.key) == ("http://box/v1", "from-settings")
    at = find("openai:m", chosen, {"MY_KEY": "mine", "OPENAI_API_KEY": "other", "OPENAI_BASE_URL": "http://env/v1/"})
    assert (at.base_url, at.key) == ("http://env/v1", "mine")


def test_real_settings_are_read() -> None:
    from app.settings import Settings

    chosen = Settings.model_validate({"providers": {"anthropic": {"base_url": "http://box", "api_key": "abc-123456"}}})
    assert find("anthropic:m", chosen, {}).key == "abc-123456"


def test_paths_that_sdks_add_themselves_are_taken_off() -> None:
    assert find("anthropic:m", None, {"ANTHROPIC_BASE_URL": "http://x/v1/"}).base_url == "http://x"
    assert find("google:m", None, {"GOOGLE_BASE_URL": "http://x/v1beta"}).base_url == "http://x"


def test_models_that_think_first_are_waited_for_longer() -> None:
    thinks = {"gpt-5-mini": True, "o3": True, "openai/o4-mini": True, "gpt-4o": False, "claude-x": False, "foo1": False}
    for name, expected in thinks.items():
        assert find(f"openai:{name}", None, KEYED).thinks is expected


def test_a_key_with_odd_characters_is_refused_without_showing_it() -> None:
    with pytest.raises(WireError, match="OPENAI_API_KEY holds something") as raised:
        find("openai:m", None, {"OPENAI_API_KEY": "sk-abc\u2026def"})
    assert "abc" not in raised.value.sentence


def test_proxies_hold_for_others_and_never_for_loopback() -> None:
    env = {"HTTPS_PROXY": "proxy:3128", "NO_PROXY": "localhost,.corp.example, x.example:443"}
    at = find("openai:m", None, KEYED)
    assert proxy_for(at, env) == "http://proxy:3128"
    assert proxy_for(at, {"https_proxy": "http://p", "no_proxy": "*"}) is None
    for url in ("http://localhost:1/v1", "http://127.0.0.9/v1", "http://[::1]:8/v1", "https://a.corp.example/v1"):
        assert proxy_for(find("openai:m", None, {"OPENAI_BASE_URL": url}), env | {"HTTP_PROXY": "p:1"}) is None
    with pytest.raises(WireError, match="proxies"):
        proxy_for(at, {"ALL_PROXY": "socks5://p:1"})


# prices, pauses, sentences


def test_prices_are_known_for_official_models_and_unknown_else() -> None:
    used = Usage(input_tokens=1000, output_tokens=100, cached_tokens=500)
    official = find("openai:gpt-4o", None, KEYED)
    price = cost_usd(official, used)
    assert price is not None and 0 < price < 1
    assert cost_usd(official, Usage(input_tokens=1000, output_tokens=100)) > price  # type: ignore[operator]
    assert cost_usd(official, Usage(input_tokens=1000)) is None
    assert cost_usd(find("openai:never-heard-of", None, KEYED), used) is None
    assert cost_usd(find("openai:gpt-4o", None, {"OPENAI_BASE_URL": "http://box/v1"}), used) is None
    assert cost_usd(find("ollama:gpt-4o", None, {}), used) is None


@given(st.integers(0, 20), st.none() | st.floats(0, 300), st.floats(0, 1))
def test_a_pause_is_never_none_and_never_shorter_than_asked(tried: int, hint: float | None, chance: float) -> None:
    pause = Retrying().pause(tried, hint, chance)
    assert pause >= 1.0 and pause >= (hint or 0)
    assert pause <= max(60.0, hint or 0) * 1.25


def test_the_servers_words_are_cut_after_cleaning() -> None:
    failure = Failure("refused", "No.", words="w" * (SERVER_WORDS_CHARS - 3) + "SECRET")
    assert "SEC" not in spoken(failure, lambda text: text.replace("SECRET", "•••"), "")


@given(st.text(max_size=200), st.text(max_size=200))
def test_long_echoes_are_always_noticed(before: str, after: str) -> None:
    sent = "0123456789 abcdefghij ABCDEFGHIJ klmnopqrst uvwxyz"
    assert echoes(f"{before} {sent} {after}", f"some words {sent} more")


@given(st.binary(max_size=60), st.integers(201, 599).filter(lambda s: s != 200))
def test_any_status_and_body_become_a_sentence(body: bytes, status: int) -> None:
    failure = from_status(find("openai:m", None, KEYED), status, {}, body, 0)
    assert failure.sentence and failure.code
    error_object(body)
