"""How answers are made to fit; pure, over generated answers."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.history.answers import CAUTION, Found, FoundChat, FoundLine, note
from app.history.budget import fit_lines, fit_read, fit_search
from app.history.looked import looked
from app.tools.base import compact

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=400)
lines = st.builds(FoundLine, message=st.just("m_1"), who=st.just("you"), at=st.just(0), text=texts)
chats = st.builds(
    FoundChat,
    id=st.uuids().map(lambda u: f"c_{u.hex[:16]}"),
    title=texts.map(lambda t: t[:200]),
    last_active=st.just(0),
    untrusted=st.booleans(),
    matches=st.integers(0, 10**6),
    lines=st.lists(lines, min_size=1, max_size=3).map(tuple),
)
found = st.builds(
    Found, query=texts.map(lambda t: t[:200]), match=st.just("exact"), chats=st.lists(chats, max_size=8).map(tuple)
)


@given(found, st.integers(1_500, 8_000))
def test_a_search_answer_fits_keeps_its_order_and_counts_what_it_drops(answer: Found, most: int) -> None:
    kept = fit_search(answer, most)
    text = compact(kept.to_json())
    json.loads(text)
    assert len(text) <= most or (len(kept.chats) == 1 and len(kept.chats[0].lines[0].text) <= 80)
    assert [c.id for c in kept.chats] == [c.id for c in answer.chats[: len(kept.chats)]]
    assert kept.hidden - answer.hidden == len(answer.chats) - len(kept.chats)
    for before, after in zip(answer.chats, kept.chats, strict=False):
        assert after.lines[1:] == before.lines[1 : len(after.lines)] and len(after.lines) >= 1
    # Only the last chat that is left may have lost lines.
    assert all(b.lines == a.lines for b, a in zip(answer.chats, kept.chats[:-1], strict=False))


def test_the_best_line_is_shortened_never_dropped() -> None:
    chat = FoundChat(
        "c_1", "T", 0, matches=1, lines=(FoundLine("m", "you", 0, "word " * 200, marks=((0, 4), (900, 904))),)
    )
    kept = fit_search(Found("word", "exact", (chat,)), 400)
    [line] = kept.chats[0].lines
    assert 80 <= len(line.text) < 1_000 and line.text.endswith("…") and line.marks == ((0, 4),)
    assert len(fit_search(Found("word", "exact", (chat,)), 10).chats[0].lines[0].text) == 80


@given(st.lists(lines, max_size=12), st.integers(0, 11), st.booleans(), st.integers(600, 12_000))
def test_a_read_keeps_what_is_nearest_to_its_line(every: list[FoundLine], focus: int, start: bool, most: int) -> None:
    every = [replace(line, message=f"m_{n}") for n, line in enumerate(every)]
    at = focus if focus < len(every) else None

    def write(kept: object, earlier: bool, later: bool) -> str:
        return compact({"lines": [line.to_json() for line in kept], "earlier": earlier, "later": later})  # type: ignore[attr-defined]

    kept, earlier, later = fit_read(
        fit_lines(every, at), write, focus=at, keep_start=start, flags=(False, False), most=most
    )
    names = [line.message for line in kept]
    order = [line.message for line in every]
    begin = order.index(names[0]) if names else 0
    assert order[begin : begin + len(names)] == names
    assert earlier == (begin > 0) and later == (begin + len(names) < len(order))
    if every:
        nearest = f"m_{at}" if at is not None else order[0] if start else order[-1]
        assert nearest in names


def test_the_caution_is_never_what_a_long_note_loses() -> None:
    answer = Found(
        "q",
        "close",
        (FoundChat("c", "t", 0, untrusted=True),),
        hidden=3,
        missing=tuple("word" * 9 + str(n) for n in range(40)),
        read_as=tuple(("typed" * 9 + str(n), "read" * 9) for n in range(40)),
        catching_up=True,
        first_notes=("x" * 300,),
    )
    words = note(answer)
    assert words is not None and len(words) <= 600 and words.endswith(CAUTION)


def test_the_event_keeps_ten_chats_three_lines_and_240_characters() -> None:
    line = FoundLine("m", "you", 5, "a\n b " * 100, marks=((0, 1),))
    event = looked("search", [FoundChat(f"c{n}", "T", 0, lines=(line,) * 5) for n in range(12)], "t", query="q")
    assert len(event.chats) == 10 and all(len(c.lines) == 3 for c in event.chats)
    assert all(len(x.text) <= 240 and "\n" not in x.text and x.marks == () for c in event.chats for x in c.lines)
