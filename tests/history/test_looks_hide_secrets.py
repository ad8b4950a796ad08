"""Nothing secret leaves an earlier chat: not in an answer, an event or a mark (ADR 0059 §4, faults S08)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.guard import secrets
from app.history.answers import Found, FoundChat, FoundLine, settled, settled_chat
from app.history.budget import fit_search
from app.ports import ToolOutcome
from app.tools.base import compact
from store import events as ev
from tests.corpus import secret_lines
from tests.history.past import Past

KEY = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5q" * 2
CORE = [line for line in secret_lines() if line.tier == "core" and line.secrets]


def all_of(outcome: ToolOutcome) -> str:
    """Everything a call leaves: its answer, its events and its marks."""
    return "\n".join(
        [outcome.text, *(e.model_dump_json() for e in outcome.events), *(t.model_dump_json() for t in outcome.taints)]
    )


async def test_a_key_in_title_message_name_command_or_query_is_in_no_answer_and_no_event(past: Past) -> None:
    chat = past.chat(f"Deploy with {KEY}", f"the staging key is {KEY}, keep it")
    past.say(chat, "staging done", author=f"Ana {KEY}", them=True)
    past.ran(chat, f"curl -H 'Authorization: Bearer {KEY}' https://staging.example.org")
    past.taint(chat)
    for name, args in (
        ("search_chats", {"query": "staging"}),
        ("search_chats", {"query": KEY}),
        ("search_chats", {"query": f"{KEY} staging"}),
        ("read_chat", {"chat": chat}),
    ):
        outcome = await past.call(name, **args)
        assert outcome.ok and KEY not in all_of(outcome) and KEY[8:] not in all_of(outcome), (name, args)
    answer = await past.find("staging")
    assert "the staging key is" in json.dumps(answer) and answer["chats"][0]["untrusted"] is True


async def test_a_known_value_is_hidden_whatever_it_looks_like(past: Past) -> None:
    past.redactor.add("correcthorsebattery")
    chat = past.chat("About correcthorsebattery", "the gate opens with correcthorsebattery today")
    for name, args in (("search_chats", {"query": "gate"}), ("read_chat", {"chat": chat})):
        outcome = await past.call(name, **args)
        assert "correcthorse" not in all_of(outcome) and "opens with" in outcome.text


async def test_a_label_stays_and_an_ordinary_sentence_is_as_it_was(past: Past) -> None:
    chat = past.chat("Notes", "the wifi password: Tr0ub4dor&3x", "we pass the word on, the token ring is old")
    answer = await past.read(chat)
    first, second = (line["text"] for line in answer["lines"])
    assert first.startswith("the wifi password: ") and "Tr0ub4dor" not in first
    assert second == "we pass the word on, the token ring is old"


async def test_every_core_shape_is_gone_from_reads_and_searches(past: Past) -> None:
    assert CORE
    where = {}
    for start in range(0, len(CORE), 6):
        chat = past.chat(f"Batch {start}")
        for line in CORE[start : start + 6]:
            where[past.say(chat, f"quagga\n{line.text}")] = (chat, line)
    for message, (chat, line) in where.items():
        outcome = await past.call("read_chat", chat=chat, message=message)
        assert line.hidden_in(all_of(outcome)), line.id
    found = all_of(await past.call("search_chats", query="quagga", limit=8))
    assert all(line.hidden_in(found) for _, line in where.values())


labels = st.sampled_from(
    ["password:", "my PIN is", "token=", "api_key: ", "Bearer ", 'secret = "', "pwd", "user:pw@", ""]
)
texts = st.lists(st.one_of(labels, st.text(max_size=30), st.sampled_from([KEY, '"', "\\", "\n"])), max_size=6).map(
    "".join
)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_the_filter_over_a_finished_answer_changes_nothing(pairs: list[tuple[str, str]]) -> None:
    """The toolbox filters every result once more; what was filtered line by line must come through it whole."""
    chats = tuple(
        settled_chat(
            FoundChat(
                "c_1", secrets.clean(title), 0, matches=1, lines=(FoundLine("m_1", "you", 0, secrets.clean(text)),)
            ),
            secrets.clean,
        )
        for title, text in pairs
    )
    query = settled(secrets.clean(pairs[0][0]), secrets.clean)
    text = compact(fit_search(Found(query, "exact", chats)).to_json())
    assert secrets.clean(text) == text and isinstance(json.loads(text), dict)
    assert all(len(c.lines[0].text) <= len(secrets.clean(raw)) for c, (_, raw) in zip(chats, pairs, strict=True))


@pytest.mark.parametrize("ending", ["my password:", "token=", "the pin is", "secret:", "token='", 'api_key: "'])
async def test_a_line_that_ends_in_a_label_leaves_the_answer_readable(past: Past, ending: str) -> None:
    chat = past.chat(f"Chat about {ending}", f"marmot {ending}", "marmot again")
    for name, args in (("search_chats", {"query": "marmot"}), ("read_chat", {"chat": chat})):
        outcome = await past.call(name, **args)
        assert past.clean(outcome.text) == outcome.text
        assert json.loads(outcome.text)["chat" if name == "read_chat" else "chats"]
        assert isinstance(outcome.events[0], ev.ChatsLooked)
