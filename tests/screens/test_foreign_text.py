"""Foreign text is harmless on every screen: nothing of it is markup, nothing of it reaches the terminal's ear."""

from __future__ import annotations

import ast
import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from app.guard.vault_places import VaultProblem
from app.screens.confirm import Confirm
from app.screens.deck_screen import DeckScreen
from app.screens.picker import Choice, Picker
from store import events as ev
from store.log import Batch
from store.memory import Memory
from tests.screens.deck_tools import open_deck, running, until
from tests.screens.fakes import FakeServices, fake_services
from widgets.memory_list import MemoryList
from widgets.name_list import NameList

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    *sorted((ROOT / "app" / "screens").glob("*.py")),
    ROOT / "app" / "tui.py",
    *sorted((ROOT / "widgets").rglob("*.py")),
]
MARKED = {"Static", "Label", "Button", "Option", "Collapsible", "Tab"}
HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def corpus() -> list[str]:
    rows = [json.loads(line) for line in (ROOT / "tests/corpora/injection-dev.jsonl").read_text().splitlines()]
    picked = [r for r in rows if {"screen", "markup", "title"} & set(r["checks"])]
    texts = [base64.b64decode(r["text_b64"]).decode("utf-8", "surrogatepass") for r in picked]
    return [t.replace("{HOST}", "Shoal").replace("{host}", "shoal") for t in texts]


# -- the source


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield name, node


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_no_text_becomes_markup_in_the_source(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for name, call in calls(tree):
        where = f"{path.name}:{call.lineno}"
        keywords = {k.arg: k.value for k in call.keywords}
        if name == "notify":
            assert isinstance(keywords.get("markup"), ast.Constant), f"{where}: notify without markup=False"
        if name == "from_markup":
            assert isinstance(call.args[0], ast.Constant), f"{where}: markup that isn't a constant"
        if name in MARKED and call.args:
            first = call.args[0]
            plain = isinstance(first, ast.Call) and ast.unparse(first.func) in ("Content", "Content.styled", "_prompt")
            assert plain, f"{where}: {name}({ast.unparse(first)[:40]}) isn't Content"
        if name == "OptionList":
            assert isinstance(keywords.get("markup"), ast.Constant), f"{where}: OptionList without markup=False"
        if (
            name == "update"
            and isinstance(call.func, ast.Attribute)
            and call.args
            and "query_one" in ast.unparse(call.func)
        ):
            assert ast.unparse(call.args[0]).startswith("Content"), f"{where}: update with something else than Content"
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
            continue
        if node.targets[0].attr in ("border_title", "border_subtitle", "tooltip"):
            where = f"{path.name}:{node.lineno}"
            assert ast.unparse(node.value).startswith("Content"), f"{where}: a title that isn't Content"


# -- what is drawn


def drawn(app: App[int]) -> str:
    """Every letter on screen, as it goes to the terminal."""
    size = app.size
    strips = app.screen._compositor.render_strips(size)
    return "\n".join("".join(segment.text for segment in strip if not segment.control) for strip in strips)


def assert_harmless(app: App[int]) -> None:
    text = drawn(app)
    found = HARMFUL.search(text.replace("\n", " "))
    assert found is None, repr(text[max(0, found.start() - 40) : found.end() + 40])
    for strip in app.screen._compositor.render_strips(app.size):
        assert strip.cell_length == app.size.width, "borders stay where they were"
        for segment in strip:
            assert segment.style is None or not segment.style.link
            assert segment.style is None or "@click" not in segment.style.meta


async def ready(pilot: Pilot[int]) -> None:
    await pilot.pause(0.15)


@pytest.fixture
def services(tmp_path: Path) -> FakeServices:
    return fake_services(tmp_path)


async def test_titles_lists_header_and_strip(services: FakeServices) -> None:
    texts = [t.encode("utf-8", "replace").decode() for t in corpus()]
    chats = [services.seed(t[:200], ("you", "x"), folder=t[:40]) for t in texts]
    open_deck(services, *chats[:3])
    async with running(services, (160, 60)) as (pilot, deck):
        assert_harmless(pilot.app)
        for chat in chats[3:]:
            deck.show_chat(chat)
        await ready(pilot)
        assert_harmless(pilot.app)
        await pilot.resize_terminal(80, 24)
        await pilot.press("f2")
        await ready(pilot)
        assert_harmless(pilot.app)


async def test_rows_cards_queue_and_status(services: FakeServices) -> None:
    texts = [t.encode("utf-8", "replace").decode() for t in corpus()]
    chat = services.seed("Rows", ("you", "x"))
    open_deck(services, chat)
    async with running(services, (120, 60)) as (pilot, deck):
        for n, text in enumerate(texts):
            asks = ev.PermissionRequested(
                permission_id=f"p{n}", tool_name="run", input={"command": text}, summary=text, detail=text, taint=text
            )
            look = ev.LookChat(
                id=chat, title=text, from_=text, lines=(ev.LookLine(message="m", who="them", name=text, text=text),)
            )
            await services.session.write(
                chat,
                ev.UserMessage(message_id=f"u{n}", text=text, author=text, them=True),
                ev.AssistantDone(message_id=f"a{n}", text=text, thinking=text),
                ev.ForwardedMessage(message_id=f"f{n}", name=text, text=text),
                ev.ToolStarted(call_id=f"t{n}", name="run", label=text, input={"x": text}),
                ev.ToolFinished(call_id=f"t{n}", status="success", output=text),
                ev.ChatsLooked(look_id=f"l{n}", action="search", query=text, chats=(look,)),
                ev.Notice(notice_id=f"n{n}", text=text),
                asks,
            )
            services.session.bus.delta(chat, "live", 0, text)
            if n % 9 == 8:
                await pilot.pause(1.2)
                assert_harmless(pilot.app)
                for m in range(n - 8, n + 1):
                    await services.session.write(chat, ev.PermissionResolved(permission_id=f"p{m}", decision="deny"))
        assert deck.column is not None
        deck.column.composer.set_queue(texts[:6])
        deck.doing[chat] = texts[8]
        deck.refresh_words()
        await ready(pilot)
        assert_harmless(pilot.app)


async def test_composer_find_toasts_and_boxes(services: FakeServices) -> None:
    async with running(services) as (pilot, deck):
        for text in corpus():
            assert deck.column is not None
            deck.say(text, "error")
            deck.column.composer.set_draft(text)
            deck.action_find(text.encode("utf-8", "replace").decode())
            await pilot.pause(0.01)
        await ready(pilot)
        assert_harmless(pilot.app)
        for text in corpus()[::4]:
            pilot.app.clear_notifications()
            for screen in (Confirm(text, text, yes="Yes"), Picker(text, [Choice("a", text, text)])):
                pilot.app.push_screen(screen)
                await pilot.pause(0.05)
                assert_harmless(pilot.app)
                await pilot.press("escape")
                await until(pilot, lambda: isinstance(pilot.app.screen, DeckScreen))


async def test_memories_and_what_was_done_show_hostile_lines_as_letters(services: FakeServices) -> None:
    texts = [t.encode("utf-8", "replace").decode() for t in corpus()]
    chat = services.seed("Memories", ("you", "x"))
    kept = [Memory(f"y_{n}", "fact", text, n, "pending" if n % 2 else "kept", (chat,)) for n, text in enumerate(texts)]
    said = [ev.MemorySaved(memory_id=m.id, content=m.content) for m in kept]
    files = [ev.FilesChanged(change_id=f"f_{n}", label=text) for n, text in enumerate(texts)]
    services.store.commit_sync(Batch.of(chat, *said, *files, changes=[m.keep() for m in kept]))
    services.memories.changed("y_0")
    open_deck(services, chat)
    async with running(services, (120, 40)) as (pilot, _):
        await pilot.press("f8", "m")
        await pilot.pause(0.3)
        for key in ["down"] * len(texts):
            await pilot.press(key)
            if int(pilot.app.screen.query_one(MemoryList).selected.split("_")[1]) % 8 == 0:  # type: ignore[union-attr]
                await pilot.pause(0.05)
                assert_harmless(pilot.app)
        await pilot.press("enter")
        await ready(pilot)
        assert_harmless(pilot.app)
        await pilot.press("escape", "escape", "f3")
        await pilot.pause(0.3)
        for _ in range(4):
            assert_harmless(pilot.app)
            await pilot.press("pagedown")
            await ready(pilot)


async def test_names_of_passwords_and_what_is_said_of_them_are_letters(services: FakeServices) -> None:
    async with running(services, (100, 30)) as (pilot, _):
        for text in corpus()[::3]:
            try:
                await services.vault.put(text.encode("utf-8", "replace").decode(), "a-long-password")
            except VaultProblem:
                continue  # nothing of it is a letter
        await pilot.press("f8", "w")
        await pilot.pause(0.3)
        assert len(pilot.app.screen.query_one(NameList).items) > 5
        assert_harmless(pilot.app)
        await pilot.press("end", "x")
        await ready(pilot)
        assert_harmless(pilot.app)


async def test_search_shows_hostile_lines_as_letters(services: FakeServices) -> None:
    for number, text in enumerate(corpus()):
        plain = text.encode("utf-8", "replace").decode()
        services.seed(plain[:120], ("you", f"needle {number} {plain}"))
    async with running(services, (140, 50)) as (pilot, _):
        await pilot.press("ctrl+k", *"needle")
        await pilot.pause(0.8)
        assert_harmless(pilot.app)
        for _ in range(30):
            await pilot.press("down")
        await pilot.pause(0.3)
        assert_harmless(pilot.app)
        pilot.app.screen.query_one(Input).value = "needle \x1b]0;x\x07 [bold]"
        await pilot.pause(0.6)
        assert_harmless(pilot.app)
