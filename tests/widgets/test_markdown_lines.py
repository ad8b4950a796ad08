"""Markdown to lines: what it looks like, that nothing is lost, and that hard inputs are quick."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from widget_host import corpus, said

from widgets.line import Line
from widgets.markdown import markdown_lines, open_fence
from widgets.rows.said import Said
from widgets.rows.stream import Growing

DOC = """# Head

Some **bold** words and `code`.

1. one
2. two
   - sub

```python
def f():

    return "x"
```

| a | b |
|---|--:|
| 日本 | 2 |

> quoted
> more

Last [link](https://evil.example/a) ![pic](http://i.example/p.png)
"""


def plain(lines: list[Line]) -> list[str]:
    return [line.plain for line in lines]


def test_each_kind_of_block_has_its_look() -> None:
    lines = plain(markdown_lines(DOC, 60))
    assert lines == [
        "Head",
        "",
        "Some bold words and code.",
        "",
        "1. one",
        "2. two",
        "   • sub",
        "",
        "│ def f():",
        "│ ",
        '│     return "x"',
        "",
        "a    │ b",
        "─────┼──",
        "日本 │ 2",
        "",
        "┃ quoted",
        "┃ more",
        "",
        "Last link (https://evil.example/a) [image: pic]",
        "(http://i.example/p.png)",
    ]


def test_a_link_shows_its_whole_address_and_does_nothing() -> None:
    line = markdown_lines("[good.example](https://evil.example/x?y)", 80)[0]
    assert line.plain == "good.example (https://evil.example/x?y)"
    assert line.target == ""
    assert plain(markdown_lines("<https://a.example/>", 80)) == ["https://a.example/"]


@pytest.mark.parametrize(("name", "text"), corpus("markup"))
def test_markup_is_shown_letter_for_letter(name: str, text: str) -> None:
    shown = "".join("\n".join(plain(markdown_lines(text, 200))).split())
    for mark in ("[bold red]", "[/]", "[@click=app.quit]", "[link=", "[$error]", "[blink]", "b[i][j]"):
        if mark in text:
            assert mark.replace(" ", "") in shown, name


def test_code_is_letter_for_letter_with_and_without_a_language() -> None:
    code = "x = [1]\n\n\tif x:\r\n    y('[/]')"
    for language in ("", "python", "nonsense", "[bold]"):
        shown = plain(markdown_lines(f"```{language}\n{code}\n```", 60))
        assert [line.removeprefix("│ ") for line in shown] == ["x = [1]", "", "    if x:", "    y('[/]')"]


def test_a_large_table_is_a_cut_block_that_says_so() -> None:
    wide = "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + ("|" + "xy|" * 300 + "\n") * 50
    lines = plain(markdown_lines(wide, 60))
    assert len(lines) < 20
    assert lines[-1] == "… 300 columns × 50 rows · Enter shows 38 more rows"
    row = Said(said("a", f"before\n\n{wide}\nafter", who="assistant"))
    assert "more" in row.targets()
    row.choose("more")
    shown = plain(row.lines(60))
    assert len(shown) > 50
    assert shown[-1] == "after"


HARD = {
    "table 300 x 50": "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + ("|" + "xy|" * 300 + "\n") * 50,
    "10,000 lines of code": "```\n" + "x = 1\n" * 10_000 + "```",
    "2,000 paragraphs": "para text here\n\n" * 2_000,
    "3,000 nested quotes": ">" * 3_000 + " deep",
    "3,000 nested quotes, spaced": "> " * 3_000 + "deep",
    "20,000 brackets": "[" * 20_000,
    "20,000 half links": "[a](b" * 4_000,
    "backticks": "`a" * 8_000,
    "stars": "*a **b " * 4_000,
    "images": "![a" * 5_000,
    "200 nested lists": "\n".join("  " * i + "- x" for i in range(200)),
    "one line of 200,000": "a" * 200_000,
}


@pytest.mark.parametrize("name", HARD)
def test_hard_inputs_are_first_shown_within_300_ms(name: str) -> None:
    row = Said(said("a", HARD[name], who="assistant"))
    took = []
    for _ in range(3):
        row.version += 1
        start = time.process_time()
        lines = row.lines(80)
        took.append(time.process_time() - start)
    assert min(took) < 0.3
    assert 0 < len(lines) <= 302


@pytest.mark.parametrize("name", ["10,000 lines of code", "2,000 paragraphs", "one line of 200,000"])
def test_long_ones_are_cut_with_a_way_to_see_the_rest(name: str) -> None:
    row = Said(said("a", HARD[name], who="assistant"))
    before = row.lines(80)
    assert before[-1].target == "more"
    row.choose("more")
    assert len(row.lines(80)) > len(before)


@pytest.mark.parametrize("name", ["200 nested lists", "3,000 nested quotes", "20,000 brackets"])
def test_deep_nesting_loses_no_letter(name: str) -> None:
    text = HARD[name]
    shown = "".join(plain(markdown_lines(text, 80)))
    for letter in "xd[":
        assert shown.count(letter) >= text.count(letter)


def test_a_fence_is_known_to_be_open_or_closed() -> None:
    assert open_fence("a\n```py\nx") == "```py"
    assert open_fence("a\n````\n```\nx") == "````"
    assert open_fence("```\nx\n```\ny") == ""
    assert open_fence("~~~\n```\n~~~") == ""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_a_text_that_grows_ends_up_as_it_would_at_once(steps: list[int]) -> None:
    text = DOC + "\n\n" + DOC.replace("# Head", "Head\n====")
    growing, at = Growing(), 0
    for step in steps:
        at = min(len(text), at + step)
        growing.lines(text[:at], 50)
    assert plain(growing.lines(text, 50)) == plain(markdown_lines(text, 50))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(corpus("screen")), st.lists(st.integers(1, 9), max_size=30))
def test_an_escape_cut_between_two_pieces_of_a_stream_never_shows(line: tuple[str, str], steps: list[int]) -> None:
    text = f"before\n\n{line[1]}\n\n{line[1]} after"
    growing, at = Growing(), 0
    for step in [*steps, len(text)]:
        at = min(len(text), at + step)
        shown = "".join(plain(growing.lines(text[:at], 40)))
        assert not set(shown) & set("\x00\x07\x1b\x7f\x9b\x9d\u202e\u200b\u2062\ud83d"), line[0]


def test_only_the_tail_of_a_growing_text_is_laid_out_again() -> None:
    paragraph = "Some **words** of a paragraph that is long enough to wrap twice or so.\n\n"
    growing = Growing()
    text = paragraph * 400
    growing.lines(text, 60)
    start = time.process_time()
    for step in range(20):
        growing.lines(text + "more " * step, 60)
    assert (time.process_time() - start) / 20 < 0.01
