"""The deck, the slash commands, filters, titles and keys, without a screen."""

from __future__ import annotations

import datetime as dt
import re
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import keys
from app.screens import filters, slash, titles
from app.screens.deck import Deck, layout
from app.screens.help_screen import _spread
from app.settings import Settings
from store.models import ChatSummary

NOW = int(dt.datetime(2026, 9, 24, 15, 30).astimezone().timestamp() * 1000)


def day(year: int, month: int, number: int) -> int:
    return int(dt.datetime(year, month, number).astimezone().timestamp() * 1000)


# -- deck


def test_a_chat_opens_in_the_focused_column_and_beside_it() -> None:
    deck = Deck().show("a").beside("b").beside("c")
    assert (deck.chats, deck.focused) == (("a", "b", "c"), "c")
    assert deck.go(0).beside("d").chats == ("a", "d", "b", "c")
    assert deck.go(1).show("e").chats == ("a", "e", "c")
    assert deck.show("a") == Deck(("a", "b", "c"), 0), "an open chat is gone to, never opened twice"


def test_closing_a_column_gives_the_focus_to_a_neighbour() -> None:
    deck = Deck(("a", "b", "c"), 2)
    assert deck.close("c") == Deck(("a", "b"), 1)
    assert deck.close("a") == Deck(("b", "c"), 1)
    assert Deck(("a",), 0).close("a") == Deck((), 0)


def test_moving_stops_at_the_ends() -> None:
    assert Deck(("a", "b"), 0).move(-1) == Deck(("a", "b"), 0)
    assert Deck(("a", "b"), 0).move(1) == Deck(("b", "a"), 1)


@given(st.lists(st.tuples(st.sampled_from("sbcgm"), st.sampled_from("abcdef"), st.integers(-2, 9))))
def test_the_focus_is_always_on_a_column_that_is_there(steps: list[tuple[str, str, int]]) -> None:
    deck = Deck()
    for what, chat, number in steps:
        match what:
            case "s":
                deck = deck.show(chat)
            case "b":
                deck = deck.beside(chat)
            case "c":
                deck = deck.close(chat)
            case "g":
                deck = deck.go(number)
            case _:
                deck = deck.move(1 if number > 3 else -1)
        assert len(set(deck.chats)) == len(deck.chats)
        assert 0 <= deck.focus < max(1, len(deck.chats))
        assert Deck.from_json(deck.to_json(), frozenset(deck.chats)) == deck


@pytest.mark.parametrize("kept", [None, 3, {"chats": "x"}, {"chats": [1, "gone", "a", "a"], "focus": "x"}, []])
def test_a_kept_deck_that_is_odd_never_stops_the_start(kept: object) -> None:
    assert Deck.from_json(kept, frozenset("ab")).chats in ((), ("a",))


@pytest.mark.parametrize(
    ("window", "columns", "list_open", "shown", "drawer"),
    [
        (132, 3, True, 2, False),
        (160, 3, True, 3, False),
        (160, 6, True, 3, False),
        (220, 6, False, 4, False),
        (132, 1, True, 1, False),
        (99, 3, True, 1, True),
        (80, 3, False, 1, True),
        (20, 2, True, 1, True),
        (1, 1, True, 1, True),
    ],
)
def test_columns_keep_their_least_width(window: int, columns: int, list_open: bool, shown: int, drawer: bool) -> None:
    got = layout(window, columns, list_open)
    assert (got.shown, got.drawer) == (shown, drawer)
    assert got.width >= 38 or got.shown == 1


# -- slash


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        ("hello", "words", "hello"),
        ("//not a command", "words", "/not a command"),
        ("/etc/hosts is broken", "words", "/etc/hosts is broken"),
        ("/rename  A new title ", "command", "A new title"),
        ("/NEW", "command", ""),
        ("/serach x", "mistake", "There is no /serach: did you mean /search?"),
        ("/import", "mistake", "/import needs FILE"),
    ],
)
def test_a_line_is_words_a_command_or_a_mistake(line: str, kind: str, text: str) -> None:
    typed = slash.read(line)
    assert (typed.kind, typed.text) == (kind, text)


def test_forward_takes_a_name_and_words() -> None:
    assert slash.forwarded("Ana: hello: there") == ("Ana", "hello: there")
    assert slash.forwarded("Ana\nfirst: line\nsecond") == ("Ana", "first: line\nsecond")
    assert slash.forwarded("Ana") is None
    assert slash.forwarded(": words") is None


@given(st.text())
def test_any_text_can_be_typed(text: str) -> None:
    slash.read(text)
    slash.read("/" + text)
    slash.forwarded(text)


# -- filters


def test_filters_are_taken_out_of_what_is_typed() -> None:
    chats = [ChatSummary("c1", title="Wedding planning"), ChatSummary("c2", title="Other")]
    got = filters.read('venue after:2026-09 who:you chat:"wedding pl" lisbon', NOW, lambda: chats)
    assert (got.words, got.after, got.who, got.chat) == ("venue lisbon", day(2026, 9, 1), "you", "c1")
    assert got.problem is None


def test_a_title_filter_is_that_chat_or_all_that_have_the_words() -> None:
    titles = ("Ana and Bo · 1", "Ana and Bo · 19", "Ana and Bo · 10", "Venue")
    chats = [ChatSummary(f"c{n}", title=title, last_active=n) for n, title in enumerate(titles)]

    def read(typed: str) -> filters.Filtered:
        return filters.read(typed, NOW, lambda: chats)

    assert (read('chat:"ana and bo · 1"').chat, read('chat:"ana and bo · 1"').chats) == ("c0", frozenset())
    several = read("chat:bo x")
    assert (several.chat, several.chats, several.any) == (None, frozenset({"c0", "c1", "c2"}), True)
    assert [several.fits(c) for c in chats] == [True, True, True, False]
    assert read("chat:vnu").chat == "c3", "letters only: the nearest"
    assert "no chat's title fits" in (read("chat:zzz").problem or "")


def test_a_folder_filter_is_a_path_or_the_end_of_one_and_says_when_no_chat_works_there() -> None:
    chats = [ChatSummary("a", folder="/srv/web", last_active=1), ChatSummary("b", folder="/home/x/Web", last_active=2)]

    def read(typed: str) -> filters.Filtered:
        return filters.read(typed, NOW, lambda: chats)

    assert read("in:/srv/web x").project == "/srv/web"
    assert read("in:web x").project == read("project:WEB x").project == "/home/x/Web", "the newest of several"
    assert read("in:srv/web x").project == "/srv/web"
    assert read("in:nope x").problem == "in: no chat works in “nope”" and read("in: x").problem is None


def test_dates_that_leave_nothing_between_are_said() -> None:
    assert "no line can be between" in (filters.read("after:2026-09 before:2026-08 x", NOW, list).problem or "")
    assert filters.read("after:2026-08 before:2026-09 x", NOW, list).problem is None


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("2026", day(2026, 1, 1)),
        ("2026-9-2", day(2026, 9, 2)),
        ("today", day(2026, 9, 24)),
        ("yesterday", day(2026, 9, 23)),
        ("3d", day(2026, 9, 21)),
        ("mon", day(2026, 9, 21)),
        ("thursday", day(2026, 9, 17)),
        ("2026-13", None),
        ("soon", None),
    ],
)
def test_dates_are_read_as_people_write_them(word: str, expected: int | None) -> None:
    assert filters.when(word, NOW) == expected


def test_a_filter_that_cannot_be_read_says_what_it_takes() -> None:
    assert "date" in (filters.read("after:soon x", NOW, list).problem or "")
    assert "you, assistant" in (filters.read("who:bob x", NOW, list).problem or "")
    assert filters.read("who: x", NOW, list).problem is None, "still being typed"


def test_tab_goes_through_the_filters() -> None:
    assert filters.with_next("venue") == ("venue after:", 12)
    assert filters.with_next("venue after:")[0] == "venue before:"
    assert filters.with_next("venue after:2026 who:you")[0] == "venue after:2026 who:you before:"


@given(st.text(alphabet=string.printable))
def test_no_text_in_the_search_box_fails(text: str) -> None:
    filters.read(text, NOW, list)
    filters.with_next(text)


# -- titles


def test_titles_match_by_letters_with_the_letters_marked() -> None:
    chats = [
        ChatSummary("a", title="Fix the login"),
        ChatSummary("b", title="Release notes"),
        ChatSummary("c", title=""),
    ]
    (hit,) = titles.find("relno", chats)
    assert hit.chat.id == "b"
    assert "".join("Release notes"[a:b] for a, b in hit.ranges) == "Relno"
    assert titles.find("login fix", chats)[0].ranges == ((0, 3), (8, 13))
    assert titles.find("zq", chats) == []


@given(st.text(), st.text())
def test_ranges_lie_in_the_title(query: str, title: str) -> None:
    found = titles.match(query, title)
    for start, end in found[1] if found else ():
        assert 0 <= start < end <= len(title)


# -- keys


def test_every_key_has_an_id_of_its_own_words_and_no_clash() -> None:
    ids = [k.id for k in keys.KEYS]
    assert len(ids) == len(set(ids))
    assert all(k.words and k.section for k in keys.KEYS)
    assert (
        keys.keymap({k.id: k.keys for k in keys.KEYS if k.where != "leader" and k.where not in ("row", "card")})[1]
        == []
    )
    assert keys.clashes({k.id: k.keys for k in keys.KEYS}) == []


def test_a_remapped_key_is_taken_and_a_clash_is_said() -> None:
    good, problems = keys.keymap({"search.open": "ctrl+t", "help.open": "f10", "nope": "x", "chat.model": "q"})
    assert good == {"search.open": "ctrl+t", "help.open": "f10"}
    assert any("F10 is both help.open and settings.open" in p for p in problems)
    assert any("“nope”" in p for p in problems)
    assert any("needed for writing" in p for p in problems)


@given(st.dictionaries(st.text(), st.text()))
def test_no_keymap_fails(wanted: dict[str, str]) -> None:
    keys.keymap(wanted)


def test_keys_are_shown_as_people_write_them() -> None:
    assert [keys.show(k) for k in ("ctrl+k,super+k", "f1", "escape", "alt+up", "ctrl+shift+k", "N")] == [
        "^K",
        "F1",
        "Esc",
        "Alt+↑",
        "Ctrl+Shift+k",
        "N",
    ]


def test_help_columns_lose_no_block() -> None:
    from textual.content import Content

    blocks = [[Content(str(i))] * i for i in (5, 1, 9, 2, 4)]
    assert sum(len(c) for c in _spread(blocks, 3)) == 21


def test_settings_have_the_fields_the_screens_read() -> None:
    settings = Settings()
    assert (settings.theme, settings.mouse, settings.keys) == ("", True, {})


def test_every_binding_of_a_widget_is_in_the_table() -> None:
    root = Path(__file__).resolve().parents[2] / "widgets"
    named = {i for path in root.rglob("*.py") for i in re.findall(r'Binding\([^\n]*id="([a-z.-]+)"', path.read_text())}
    assert named - {k.id for k in keys.KEYS} <= {"results.column"}, "search.column stands for it"
    assert "row.open" in named
