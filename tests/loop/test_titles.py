"""Titles: from the first words offline, by the model otherwise, never in place of the person's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import commands as cmd
from app.assistant.titles import from_words
from app.ports import WireError
from app.providers.scripted import ScriptedWire
from tests.session.kit import open_kit


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("hi there", "Hi there"),
        ("please, compare the two ferries to Gozo", "Compare the two ferries to Gozo"),
        ("Hello! What did we decide about the garden? I forgot.", "What did we decide about the garden?"),
        ("  one\n two\tthree ", "One two three"),
        ("日本語の長い文章がここにあります", "日本語の長い文章がここにあります"),
    ],
)
def test_a_title_is_made_of_the_first_words(words, title):
    assert from_words(words) == title


def test_a_long_first_sentence_is_cut_at_a_word():
    title = from_words("write me a very long sentence about everything that happened in the garden this summer")
    assert title.endswith("…") and len(title) <= 49 and " th…" not in title


@given(st.text(max_size=300))
def test_a_title_is_always_one_harmless_short_line(words):
    title = from_words(words)
    assert len(title) <= 60 and "\n" not in title and "\x1b" not in title


async def titled(tmp_path, *steps, title=""):
    wire = ScriptedWire(steps)
    async with open_kit(tmp_path, wires={"openai:x": wire}) as kit:
        chat = await kit.new(model="openai:x", title=title)
        await kit.say(chat, "which ferry is quicker?")
        await kit.say(chat, "and cheaper?")
        return wire, kit.summary(chat), [e.model_dump() for e in kit.events(chat, "title")]


async def test_the_model_gives_a_title_after_the_first_exchange_once(tmp_path):
    wire, summary, events = await titled(tmp_path, ["The red one."], ['"Ferries to Gozo."\n'], ["The blue one."])
    assert summary.title == "Ferries to Gozo" and [e["by"] for e in events] == ["model"]
    request = wire.requests[1]
    assert request.tools == () and len(wire.requests) == 3 and "which ferry" in request.messages[0].text


async def test_a_title_that_fails_is_made_of_the_words(tmp_path):
    _, summary, events = await titled(tmp_path, ["The red one."], [WireError("Busy.", "overloaded")], ["Blue."])
    assert summary.title == "Which ferry is quicker?" and [e["by"] for e in events] == ["words"]


async def test_a_given_title_stays_and_nothing_is_asked(tmp_path):
    wire, summary, events = await titled(tmp_path, ["The red one."], ["Blue."], title="Boats")
    assert summary.title == "Boats" and events == [] and len(wire.requests) == 2


async def test_a_hostile_title_is_made_harmless(tmp_path):
    _, summary, _ = await titled(tmp_path, ["Red."], ["\x1b]0;x\x07[bold]<b>Boats\u202e"], ["Blue."])
    assert not set(summary.title) & set("\x1b\x07[]<>\u202e") and "Boats" in summary.title


async def test_a_rename_while_the_model_thinks_of_a_title_wins(tmp_path):
    wire = ScriptedWire([["Red."], [0.2, "The model's"]])
    async with open_kit(tmp_path, wires={"openai:x": wire}) as kit:
        chat = await kit.new(model="openai:x")
        await kit.send(chat, "which?")
        while len(wire.requests) < 2:
            import asyncio

            await asyncio.sleep(0.01)
        await kit.session.do(cmd.Rename(chat=chat, title="Mine"))
        await kit.session.settle()
        assert kit.summary(chat).title == "Mine"


async def test_a_chat_whose_first_reply_failed_gets_the_models_title_after_the_first_good_one(tmp_path):
    wire = ScriptedWire([[WireError("Busy.", "overloaded")], ["Red."], ["Ferries"], ["Blue."]])
    async with open_kit(tmp_path, wires={"openai:x": wire}) as kit:
        chat = await kit.new(model="openai:x")
        await kit.say(chat, "which ferry?")
        assert kit.summary(chat).title == "Which ferry?"
        await kit.session.do(cmd.Retry(chat=chat))
        await kit.session.settle()
        await kit.say(chat, "and cheaper?")
        assert kit.summary(chat).title == "Ferries" and len(wire.requests) == 4
