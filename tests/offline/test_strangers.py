"""The offline assistant with strangers: prompts written by someone who had not seen the recogniser.

`strangers.jsonl` was written blind: 114 of 161 right then, and the recogniser was mended by kinds with it in view.
`strangers2.jsonl` was written after that by the same hand, measured once (49 of 60, 82 %) and never tuned to: it is the
honest figure, below the nine of ten wanted. Its bar here only keeps it from falling.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.ports import AssistantMessage, Message, ModelRequest, PersonMessage, ToolReturn, ToolSpec
from app.providers.offline import OfflineWire
from app.providers.offline.recognise import recognise
from store.clock import ManualClock

HERE = Path(__file__).parent
TODAY = dt.date(2026, 11, 30)


def prompts(name: str) -> list[dict[str, Any]]:
    """The prompts of one file, in its order."""
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


ALL = prompts("strangers.jsonl") + prompts("strangers2.jsonl")


def miss(prompt: dict[str, Any]) -> str | None:
    """What went wrong with a prompt, or None: tool, chat, and every expected word in the arguments."""
    titles = [(f"c_{n}", title) for n, title in enumerate(prompt["titles"])]
    intent = recognise(prompt["prompt"], titles, TODAY)
    args = json.dumps(intent.args, ensure_ascii=False).replace('\\"', '"').lower()
    chat = next((chat for chat, title in titles if title == prompt["chat"]), None)
    words = all(word.lower() in args for word in prompt["words"])
    # list_chats has no chat to name: the list it answers with holds the one that was asked about.
    named = intent.tool == "list_chats" or intent.args.get("chat") == chat
    if intent.tool == prompt["tool"] and words and named:
        return None
    return f"{prompt['prompt']!r}: wanted {prompt['tool']}, was {intent.tool} {args}"


def missed_of(name: str) -> list[str]:
    """The misses of a file, printed with the share that was right."""
    asked = prompts(name)
    missed = [words for words in map(miss, asked) if words]
    print(f"\n{name}: {len(asked) - len(missed)} of {len(asked)} right\n" + "\n".join(missed))
    return missed


def test_nine_of_ten_prompts_of_strangers_get_the_right_tool_words_and_chat() -> None:
    assert len(prompts("strangers.jsonl")) >= 160
    assert len(missed_of("strangers.jsonl")) <= len(prompts("strangers.jsonl")) // 10


def test_the_prompts_never_tuned_to_get_no_worse_than_when_they_were_measured() -> None:
    assert len(prompts("strangers2.jsonl")) == 60
    assert len(missed_of("strangers2.jsonl")) <= 11


@pytest.mark.parametrize("prompt", ALL, ids=lambda prompt: str(prompt["prompt"])[:40])
def test_a_prompt_read_wrongly_never_acts_on_a_chat(prompt: dict[str, Any]) -> None:
    if miss(prompt):
        tool = recognise(prompt["prompt"], [(t, t) for t in prompt["titles"]], TODAY).tool
        assert tool in (None, "search_chats", "read_chat", "list_chats")


@pytest.mark.parametrize(
    "asked", [*(p["prompt"] for p in ALL if p["tool"] == "search_chats"), "xqzt blorf", "Ünfug 42 !!"]
)
def test_with_nothing_found_the_answer_says_so_and_quotes_nothing(asked: str) -> None:
    wire = OfflineWire(lambda: (), lambda: (), ManualClock(), ids=lambda: "t_1")
    tools = (ToolSpec("search_chats", "", {}), ToolSpec("read_chat", "", {}))
    messages: list[Message] = [PersonMessage(asked, asked)]
    queries = ""
    for _ in range(4):
        step = wire.step(ModelRequest("offline", "system", tuple(messages), tools, chat="c_me"))
        if isinstance(step, str):
            break
        queries += f" {json.loads(step.args).get('query', '')}"
        messages += [AssistantMessage("", (step,)), ToolReturn(step.id, step.name, '{"chats": [], "total": 0}')]
    assert isinstance(step, str) and queries
    assert re.search(r"\b(?:nothing|not found|found no|no chat)\b", step, re.IGNORECASE) and "\n- “" not in step


TITLES = [
    ("c_lisbon", "Lisbon trip with the girls"),
    ("c_budget", "Budget"),
    ("c_dinner", "Dinner"),
    ("c_parts", "Parts list"),
    ("c_deploy", "Deploy to production"),
    ("c_car", "Dad's car insurance"),
    ("c_stop", "How to stop talking so fast"),
]


@pytest.mark.parametrize(
    "words",
    [
        "xqzt blorf", "42", "pflaumenkuchen rezept", "drop the budget by 10 percent", "give Budget a rest",
        "cancel the trip", "cancel the dinner reservation", "tell dad about the insurance", "wait for the results",
        "tell the girls that we're late", "can you remember that plumber we had?", "what did we say about the red one",
        "can you remember the name of the plumber?", "don't tell anyone until the party", "which one was cheaper",
        "I need to end the relationship, stop it", "thanks, that plumber was called what?",
    ],
)  # fmt: skip
def test_words_that_only_look_like_a_command_are_looked_for_and_touch_no_chat(words: str) -> None:
    intent = recognise(words, TITLES, TODAY)
    assert intent.tool == "search_chats" and "chat" not in intent.args
    assert set(str(intent.args["query"]).lower().split()) <= set(re.sub(r"[?,]", "", words.lower()).split())


@pytest.mark.parametrize(
    "words", ["stop talking", "all done", "tell the Paris chat that we're late", "?!", "give me one"]
)
def test_words_without_anything_to_look_for_call_no_tool(words: str) -> None:
    assert recognise(words, TITLES, TODAY).tool is None
