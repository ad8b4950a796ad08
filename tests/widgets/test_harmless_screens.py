"""Foreign lines through every widget: nothing a terminal obeys is drawn, and brackets stand letter for letter."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.widget import Widget
from textual.widgets import Static
from widget_host import NOW, Host, ask, corpus, look, said

from store import events as ev
from store.models import ChatHits, ChatSummary, FileDiff, Hit, SearchAnswer
from store.models import Line as ChatLine
from store.models import Preview as PreviewModel
from store.rows import ChangeRow, MemoryRow, NoticeRow, ProcessRow, ToolRow, UnknownRow
from store.text import safe_text
from widgets.bar import Bar
from widgets.chat_list import ChatList
from widgets.column import Column
from widgets.composer import Composer
from widgets.memory_list import MemoryList, Remembered
from widgets.name_list import NameList
from widgets.net import NET
from widgets.preview import Preview
from widgets.results import Results, Section, chat_results, message_results, this_chat
from widgets.rows import widget_for
from widgets.rows.change_row import Change
from widgets.rows.permission_card import PermissionCard
from widgets.rows.said import Said
from widgets.strip import ChatStrip
from widgets.transcript import Transcript

LINES = corpus("screen", "markup", "title")
SIZE = (70, 24)


def chat(text: str) -> ChatSummary:
    origin = ev.Origin(kind="import", name=text)
    return ChatSummary("c1", text, preview=text, last_active=NOW, folder=text, model=text, origin=origin, doing=text)


def rows(text: str) -> list[Any]:
    opened_look = look(text, text, text)
    return [
        said("you", text, 1),
        said("them", text, 2, "them", name=text),
        said("forwarded", text, 3, "forwarded", name=text),
        said("asst", text, 4, "assistant", thinking=text, attachments=(ev.Attachment(caption=text),)),
        said("live", text, 5, "assistant", live=True),
        ToolRow("tool", NOW, 6, text, text, {text: text}, text, "error"),
        opened_look,
        NoticeRow("notice", NOW, 8, text, "error", True),
        UnknownRow("unknown", NOW, 9, text),
        ChangeRow("change", NOW, 10, text, (ev.FileChange(path=text, change="created", added=1),), left=(text,)),
        ProcessRow("process", NOW, 11, text, text),
        MemoryRow("memory", NOW, 12, "fact", text, "pending"),
    ]


async def a_transcript(app: App[Any], text: str) -> None:
    view = app.query_one(Transcript)
    view.show_page(rows(text), 3)
    await app.animator.wait_for_idle()
    for key in ("tool", "look", "asst", "change"):
        row = view.row_widget(key)
        if row is not None:
            row.press()
        if isinstance(row, Change):
            row.set_diffs([FileDiff(text, ("@@ " + text, "+" + text, "-" + text, " " + text), text)])
    view.find(text[:8])


async def a_column(app: App[Any], text: str) -> None:
    view = app.query_one(Column)
    view.show_summary(chat(text), folder=text)
    view.show_doing(text, text)
    view.composer.set_hint(text)
    view.composer.set_queue([text, text])
    view.show_asks([ask(text, text, taint=text)])


async def a_box(app: App[Any], text: str) -> None:
    view = app.query_one(Composer)
    view.set_draft(text)


async def a_chat_list(app: App[Any], text: str) -> None:
    view = app.query_one(ChatList)
    view.set_chats([chat(text), ChatSummary("c2", text, last_active=NOW, status="error")], NOW)
    view.toggle("IMPORTED")


async def some_results(app: App[Any], text: str) -> None:
    hit = Hit("m", "them", NOW, text, ((0, 4), (2, 400)), text)
    answer = SearchAnswer(text, "close", (ChatHits(chat(text), 2, (hit, hit)),), 2)
    app.query_one(Results).show(
        [
            Section("CHATS", chat_results([(chat(text), ((0, 3),))], NOW)),
            Section("MESSAGES", message_results(answer, NOW)),
            Section("THIS CHAT", this_chat(text, "c1")),
        ]
    )


async def a_preview(app: App[Any], text: str) -> None:
    lines = (ChatLine("m", "them", NOW, text, text), ChatLine("n", "you", NOW, text))
    app.query_one(Preview).show(PreviewModel(chat(text), lines, 0, ((0, 3),), 2), NOW)


async def a_strip(app: App[Any], text: str) -> None:
    app.query_one(ChatStrip).show([chat(text)], "c1")


async def memories(app: App[Any], text: str) -> None:
    app.query_one(MemoryList).show([Remembered("y", safe_text(text, one_line=True), "fact", True)])


async def names(app: App[Any], text: str) -> None:
    app.query_one(NameList).show([text, "k"])


PLACES: dict[str, tuple[Callable[[], Widget], Any]] = {
    "transcript": (Transcript, a_transcript),
    "column": (lambda: Column("c1", now_ms=NOW), a_column),
    "message box": (Composer, a_box),
    "chat list": (ChatList, a_chat_list),
    "results": (Results, some_results),
    "preview": (Preview, a_preview),
    "strip": (ChatStrip, a_strip),
    "memories": (MemoryList, memories),
    "names": (NameList, names),
}


def unseen(text: str) -> set[str]:
    """Characters that a terminal obeys or that show nothing."""
    return {
        char
        for at, char in enumerate(text)
        if unicodedata.category(char) in ("Cc", "Cs", "Co", "Cn")
        or (unicodedata.category(char) == "Cf" and not (char == "\u200d" and at))
        or 0xE0000 <= ord(char) <= 0xE0FFF
        or char in "\u3164\uffa0\u115f\u1160\u2800"
    }


@pytest.mark.parametrize("place", PLACES)
async def test_nothing_unseen_and_no_link_or_action_is_drawn(place: str) -> None:
    make, fill = PLACES[place]
    widget = make()
    async with Host(widget).run_test(size=SIZE) as pilot:
        for name, text in LINES:
            await fill(pilot.app, text)
            await pilot.pause()
            strips = pilot.app.screen._compositor.render_strips()
            for strip in strips:
                drawn = "".join(segment.text for segment in strip)
                assert not unseen(drawn), (place, name, drawn)
                assert cell_len(drawn) == SIZE[0], (place, name, drawn)
                for segment in strip:
                    style = segment.style or Style()
                    assert style.link is None, (place, name)
                    assert not [key for key in style.meta if key.startswith("@") and not key.startswith("@mouse")], (
                        place,
                        name,
                    )


MARKUP = [(name, text) for name, text in corpus("markup") if "\n" not in text]


@pytest.mark.parametrize(("name", "text"), MARKUP)
async def test_brackets_stand_letter_for_letter_in_every_view(name: str, text: str) -> None:
    wide = Column("c1", now_ms=NOW)
    listed, found = ChatList(), Results()
    async with Host(wide, listed, found, css="Column, ChatList, Results { height: 40; }").run_test(
        size=(200, 120)
    ) as p:
        await a_column(p.app, text)
        wide.transcript.show_page(rows(text)[:3], 0)
        await a_chat_list(p.app, text)
        await some_results(p.app, text)
        await p.pause(1.2)
        for widget in (wide.title_bar, wide.transcript, wide.asks, wide.composer.queue, listed, found, wide.foot):
            strips = [s for w in [widget, *widget.query("*")] for s in w.render_lines(w.size.region)]
            assert any(text in "".join(segment.text for segment in strip) for strip in strips), (name, widget)


async def test_a_press_on_foreign_text_runs_nothing_and_only_asks_about_its_address() -> None:
    row = widget_for(said("a", "[@click=app.quit]read more[/] [x](https://evil.example)", who="assistant"))
    async with Host(row).run_test() as pilot:
        before = len(pilot.app.messages)  # type: ignore[attr-defined]
        for x in range(0, 60, 5):
            await pilot.click(row, offset=(x, 0))
        assert pilot.app.is_running
        sent = pilot.app.messages[before:]  # type: ignore[attr-defined]
        assert all(isinstance(m, Said.Links) and m.addresses == ("https://evil.example",) for m in sent)


def test_the_net_drops_what_a_view_forgot_and_keeps_the_width() -> None:
    black = Color.parse("black")
    for name, text in LINES:
        segments = NET.apply([Segment(text)], black)
        drawn = "".join(segment.text for segment in segments)
        assert not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e]", drawn), name
    plain = [Segment("plain text", Style(bold=True)), Segment("日本 é", None)]
    assert NET.apply(plain, black) is plain
    evil = Style(link="https://a.example/\x1b]0;x\x07")
    assert NET.apply([Segment("x", evil)], black)[0].style.link is None  # type: ignore[union-attr]
    good = Style(link="https://a.example/")
    assert NET.apply([Segment("x", good)], black)[0].style.link == "https://a.example/"  # type: ignore[union-attr]


async def test_the_net_makes_a_forgotten_view_harmless() -> None:
    class Netted(Host):
        def get_line_filters(self) -> Any:
            return [*super().get_line_filters(), NET]

    shown = Static("before\x1b]0;title\x07\u202eafter\x9b2J", markup=False)
    async with Netted(shown).run_test(size=(40, 3)) as pilot:
        text = "".join(s.text for strip in shown.render_lines(shown.size.region) for s in strip)
        assert not unseen(text)
        assert "before" in text and "after" in text
        assert pilot.app.is_running


async def test_titles_in_bars_are_plain_text() -> None:
    bar = Bar()
    async with Host(bar).run_test(size=(30, 2)) as pilot:
        bar.say([("[/] [bold]x", "strong")], [("[@click=app.quit]", "")])
        await pilot.pause()
        assert bar.plain == "[/] [bold]x[@click=app.quit]"


def test_every_corpus_line_is_used() -> None:
    assert len(LINES) > 40


async def test_a_card_shows_all_of_a_line() -> None:
    for name, text in corpus("screen"):
        card = PermissionCard(ask(detail=text))
        async with Host(card).run_test(size=(70, 30)):
            lines = "".join("".join(s.text for s in strip) for strip in card.render_lines(card.size.region))
            visible = [c for c in text if c.isalnum() and c.isascii()]
            assert not unseen(lines), name
            assert lines.count("".join(visible)[:1] or "") or not visible, name
