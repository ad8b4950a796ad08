"""What goes wrong at a provider is one clear end of the turn, the text that came is kept, and Retry goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.blackbox import ANTHROPIC, KEY, OPENAI, Dialect, said_of, system_of, tools_of
from tests.e2e.headless_client import Client
from tests.servers import anthropic, openai
from tests.servers.fake import Cut, FakeServer, Reply, Seen, Wait, plain

HTML = Reply((b"<html><body>proxy login</body></html>",), headers=(("Content-Type", "text/html"),))


@dataclass
class Here:
    """A process and its server, whose next replies a test gives."""

    client: Client
    server: FakeServer
    dialect: Dialect
    replies: list[Reply]

    def turn(self, *replies: Reply, text: str = "hello", chat: str = "") -> tuple[str, list[dict[str, Any]]]:
        """One turn over these replies; the chat, and its events of this turn."""
        self.replies[:] = replies
        chat = chat or self.client.do("new", title="T")["chat"]
        at = len(self.client.lines)
        self.client.do("send", chat=chat, text=text)
        self.client.do("settle", timeout=20)
        return chat, [x for x in self.client.lines[at:] if x.get("chat") == chat]


@pytest.fixture(scope="module", params=[OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def here(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    dialect: Dialect = request.param
    replies: list[Reply] = []

    def answer(seen: Seen) -> Reply:
        return replies.pop(0) if replies else dialect.speak.text("fine")

    with FakeServer.in_thread(answer) as server:
        home = tmp_path_factory.mktemp("trouble") / "home"
        with Client(home, env=dialect.env(server)) as client:
            yield Here(client, server, dialect, replies)
            client.do("quit")
            assert client.end() == 0 and client.stderr() == ""
        for log in (home / "logs").glob("*"):
            assert KEY not in log.read_text() and "Traceback" not in log.read_text(), log.read_text()


def ended(events: list[dict[str, Any]], outcome: str = "error") -> dict[str, Any]:
    """The one end of the turn; its sentence is one line without the key or a path."""
    (end,) = [e for e in events if e.get("type") == "turn.completed"]
    assert end["outcome"] == outcome, end
    if outcome == "error":
        text = end["error"]
        assert text and "\n" not in text and KEY not in text and "Traceback" not in text and "<" not in text, text
    return end


def broken(status: int, words: str = "no", headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    error = {"error": {"message": f"{words} {KEY}", "type": "x"}, "type": "error"}
    reply = plain(status, error)
    return Reply(reply.pieces, status, reply.headers + headers)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_key_or_model_is_said_once_and_not_retried(here: Here, status: int) -> None:
    at = len(here.server.requests)
    chat, events = here.turn(broken(status))
    end = ended(events)
    assert len(here.server.requests) == at + 1 and end["code"]
    assert status == 404 or f"{here.dialect.name}_API_KEY" in end["error"]
    assert here.client.do("retry", chat=chat)["chat"] == chat
    here.client.do("settle")
    said = [e for e in here.client.events("user.message") if e["chat"] == chat]
    assert len(said) == 1
    assert [e["outcome"] for e in here.client.events("turn.completed") if e["chat"] == chat] == ["error", "success"]
    assert here.client.refused("retry", chat=chat) == "not-allowed"


def test_429_with_seconds_waits_them_and_says_so(here: Here) -> None:
    began = time.monotonic()
    _, events = here.turn(broken(429, headers=(("Retry-After", "1"),)))
    ended(events, "success")
    assert time.monotonic() - began >= 1
    (first, *_) = [e for e in events if e.get("live") and e["kind"] == "retry"]
    assert first["seconds"] > 0 and first["why"] and KEY not in first["why"] and "seq" not in first


def test_429_for_a_day_is_told_and_not_waited(here: Here) -> None:
    began = time.monotonic()
    _, events = here.turn(broken(429, headers=(("Retry-After", "86400"),)))
    assert ended(events)["error"] and time.monotonic() - began < 5


@pytest.mark.parametrize("status", [500, 503, 529])
def test_a_server_error_is_tried_again(here: Here, status: int) -> None:
    at = len(here.server.requests)
    _, events = here.turn(broken(status))
    ended(events, "success")
    assert len(here.server.requests) == at + 2


def test_a_wait_between_tries_can_be_stopped(here: Here) -> None:
    here.replies[:] = [broken(429, headers=(("Retry-After", "100"),))]
    chat = here.client.do("new", title="T")["chat"]
    here.client.do("send", chat=chat, text="x")
    here.client.until(lambda x: "live" in x and x["kind"] == "retry")
    began = time.monotonic()
    assert here.client.do("stop", chat=chat) == {"stopping": True}
    end = here.client.until(lambda x: x.get("type") == "turn.completed" and x["chat"] == chat)
    assert end["outcome"] == "interrupted" and time.monotonic() - began < 2
    assert here.client.do("stop", chat=chat) == {"stopping": False}


def test_what_is_not_an_answer_is_told_in_words(here: Here) -> None:
    for reply in (HTML, Reply(()), plain(200, {}), plain(200, {"choices": "?"}), plain(200, [1])):
        at = len(here.server.requests)
        _, events = here.turn(*[reply] * 6)
        end = ended(events)
        assert "proxy login" not in json.dumps(events), end
        assert len(here.server.requests) - at <= 5


def started(here: Here, *more: Any) -> Reply:
    if here.dialect is OPENAI:
        return Reply(
            (openai.chunk({"role": "assistant", "content": "half a "}), openai.chunk({"content": "word"}), *more)
        )
    pieces = anthropic.words(0, ["half a ", "word"])[:-1]
    return Reply((anthropic.start(), *pieces, *more))


@pytest.mark.parametrize("how", [Cut(), Cut(reset=True), b""], ids=["end", "reset", "no end mark"])
def test_a_stream_that_is_cut_keeps_its_words_and_ends_in_error(here: Here, how: Any) -> None:
    chat, events = here.turn(*[started(here, how)] * 6)
    assert ended(events)["code"]
    done = [e for e in events if e.get("type") == "assistant.done"]
    assert [d["text"] for d in done] == ["half a word"] and done[0]["unfinished"] is True
    here.replies[:] = []
    here.client.do("retry", chat=chat)
    here.client.do("settle")
    assert here.client.events("turn.completed")[-1]["outcome"] == "success"


def test_a_half_call_is_never_run(here: Here) -> None:
    if here.dialect is OPENAI:
        pieces: list[Any] = [openai.call(0, "search_chats", '{"query": "fer', "call_half")]
    else:
        pieces = [anthropic.start(), *anthropic.call(0, "toolu_half", "search_chats", '{"query": "ferry"}')[:2]]
    _, events = here.turn(*[Reply((*pieces, Cut()))] * 6)
    ended(events)
    assert not [e for e in events if e.get("type") in ("tool.started", "chats.looked")]


def test_an_empty_reply_is_one_clear_end(here: Here) -> None:
    empty = openai.stream([]) if here.dialect is OPENAI else anthropic.stream([])
    _, events = here.turn(*[empty] * 6)
    ended(events)


@pytest.mark.parametrize("reason", ["length", "filter", "odd"])
def test_an_end_that_is_no_end_is_said(here: Here, reason: str) -> None:
    names = {"length": ("length", "max_tokens"), "filter": ("content_filter", "refusal"), "odd": ("odd", "odd")}
    finish = names[reason][here.dialect is ANTHROPIC]
    _, events = here.turn(here.dialect.speak.text("so ", "far", finish=finish))
    end = next(e for e in events if e.get("type") == "turn.completed")
    done = next(e for e in events if e.get("type") == "assistant.done")
    assert done["text"] == "so far"
    assert end["outcome"] == "error" or done["unfinished"] or end.get("error"), (end, done)


def test_an_error_inside_the_stream(here: Here) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": f"busy {KEY}"}}
    inside = openai.event(error) if here.dialect is OPENAI else anthropic.event(error)
    _, events = here.turn(*[started(here, inside)] * 6)
    ended(events)
    assert KEY not in json.dumps(events)


def test_usage_is_told_and_what_is_odd_is_unknown(here: Here) -> None:
    _, events = here.turn(here.dialect.speak.text("hi"))
    usage = ended(events, "success")["usage"]
    assert usage["input_tokens"] >= 11 and usage["output_tokens"] == 7
    for odd in ({"prompt_tokens": -5, "completion_tokens": "many"}, {"input_tokens": -5, "output_tokens": "x"}, None):
        _, events = here.turn(here.dialect.speak.text("hi", use=odd))
        usage = ended(events, "success").get("usage", {})
        assert all(isinstance(v, int | float) and v >= 0 for v in usage.values()), usage


def test_a_letter_cut_in_two_comes_whole(here: Here) -> None:
    _, events = here.turn(here.dialect.speak.text("naïve 🦀 中文", "é").split(3))
    ended(events, "success")
    (done,) = [e for e in events if e.get("type") == "assistant.done"]
    assert done["text"] == "naïve 🦀 中文é"
    assert "".join(e["delta"] for e in events if e.get("live") and "delta" in e) == done["text"]


def test_titles_are_the_models_and_never_replace_the_persons(here: Here) -> None:
    chat = here.client.do("new")["chat"]
    at = len(here.server.requests)
    here.replies[:] = [here.dialect.speak.text("an answer"), here.dialect.speak.text("“Painting the boat.”\n")]
    here.client.do("send", chat=chat, text="how do I paint a boat")
    here.client.do("settle")
    titles = [e for e in here.client.events("title") if e["chat"] == chat]
    assert [(t["title"], t["by"]) for t in titles] == [("Painting the boat", "model")]
    assert len(here.server.requests) == at + 2
    mine = here.client.do("new", title="Mine")["chat"]
    here.client.do("send", chat=mine, text="hello")
    here.client.do("settle")
    assert not [e for e in here.client.events("title") if e["chat"] == mine]
    assert len(here.server.requests) == at + 3
    # renamed while the title is being written
    late = here.client.do("new")["chat"]
    slow = here.dialect.speak.text("Late title")
    here.replies[:] = [here.dialect.speak.text("an answer"), Reply((Wait(0.6), *slow.pieces))]
    here.client.do("send", chat=late, text="hello")
    here.client.until(lambda x: x.get("type") == "turn.completed" and x["chat"] == late)
    here.client.do("rename", chat=late, title="By me")
    here.client.do("settle")
    (summary,) = [c for c in here.client.do("chats")["chats"] if c["id"] == late]
    assert summary["title"] == "By me"


def test_a_title_goes_without_tools_and_a_turn_with_the_date_beside_the_words(here: Here) -> None:
    at = len(here.server.requests)
    chat = here.client.do("new")["chat"]
    here.replies[:] = []
    here.client.do("send", chat=chat, text="hello there")
    here.client.do("settle")
    turn, title = here.server.requests[at:]
    assert "search_chats" in tools_of(turn) and tools_of(title) == [] and "hello there" in said_of(turn)
    assert "[Shoal: it is" in said_of(turn) and "[Shoal: it is" not in system_of(turn)


def test_a_queue_goes_on_after_a_good_end_and_can_be_edited(here: Here) -> None:
    chat = here.client.do("new", title="Q")["chat"]
    slow = here.dialect.speak.text("one")
    here.replies[:] = [Reply((Wait(0.5), *slow.pieces))]
    first = here.client.do("send", chat=chat, text="a")
    second = here.client.do("send", chat=chat, text="b")
    here.client.do("send", chat=chat, text="c")
    assert (first["queued"], second["queued"]) == (False, True) and second["message_id"]
    here.client.do("queue", chat=chat, texts=["b", "c, better"])
    here.client.do("settle")
    said = [e for e in here.client.events("user.message") if e["chat"] == chat]
    assert [e["text"] for e in said] == ["a", "b", "c, better"] and said[1]["message_id"] == second["message_id"]
    assert said[1]["id"] > second["last_id"]


def test_a_second_turn_can_be_stopped_as_soon_as_it_is_seen(here: Here) -> None:
    chat = here.client.do("new", title="Q")["chat"]
    one, two = here.dialect.speak.text("one"), here.dialect.speak.text("two")
    here.replies[:] = [Reply((Wait(0.3), *one.pieces)), Reply((Wait(30), *two.pieces))]
    here.client.do("send", chat=chat, text="a")
    here.client.do("send", chat=chat, text="b")
    here.client.until(lambda x: x.get("type") == "turn.completed" and x["chat"] == chat)
    here.client.until(lambda x: x.get("type") == "turn.started" and x["chat"] == chat)
    assert here.client.do("stop", chat=chat) == {"stopping": True}
    end = here.client.until(lambda x: x.get("type") == "turn.completed" and x["chat"] == chat, 2.5)
    assert end["outcome"] == "interrupted"
