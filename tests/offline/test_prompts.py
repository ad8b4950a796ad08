"""The bar of the offline assistant: prompts written before its recogniser, and never tuned to."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

from app.providers.offline.recognise import recognise

PROMPTS = [json.loads(line) for line in (Path(__file__).parent / "prompts.jsonl").read_text("utf-8").splitlines()]
TODAY = dt.date(2026, 11, 30)


def right(prompt: dict[str, Any]) -> bool:
    """The right tool, the right chat, and every expected word in the arguments."""
    titles = [(f"c_{n}", title) for n, title in enumerate(prompt["titles"])]
    intent = recognise(prompt["text"], titles, TODAY)
    args = json.dumps(intent.args, ensure_ascii=False).replace('\\"', '"').lower()
    chat = next((chat for chat, title in titles if title == prompt.get("chat")), None)
    words = all(word.lower() in args for word in prompt["words"])
    return intent.tool == prompt["tool"] and words and intent.args.get("chat") == chat


def test_at_least_nine_prompts_of_ten_get_the_right_tool_and_words() -> None:
    assert len(PROMPTS) >= 80
    wrong = [prompt["text"] for prompt in PROMPTS if not right(prompt)]
    print(f"\noffline prompts: {len(PROMPTS) - len(wrong)} of {len(PROMPTS)} right; wrong: {wrong}")
    assert len(wrong) <= len(PROMPTS) // 10


def test_every_kind_of_prompt_is_there() -> None:
    tools = {prompt["tool"] for prompt in PROMPTS}
    assert tools == {
        None, "search_chats", "read_chat", "list_chats", "message_chat", "wait_for", "stop_chat", "remember",
        "start_background_task",
    }  # fmt: skip
