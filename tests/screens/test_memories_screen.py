"""The list of memories: read, kept, refused, forgotten after a question, brought back."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Input, Static

from app.screens.confirm import Confirm
from app.screens.finder import actions
from app.screens.memories_screen import NO_SUCH, NOTHING, MemoriesScreen
from tests.screens.deck_tools import NARROW, toasts, until
from tests.screens.real_tools import Real, real
from widgets.bar import Bar
from widgets.memory_list import MemoryList, Remembered
from widgets.rows.memory_row import Memory as MemoryLine

LONG = "Sessions, not tokens.\n\nTokens were tried and dropped."


async def opened(shoal: Real) -> MemoriesScreen:
    await shoal.pilot.press("f8", "m")
    await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, MemoriesScreen))
    screen = shoal.pilot.app.screen
    assert isinstance(screen, MemoriesScreen)
    await until(shoal.pilot, lambda: read(screen))
    return screen


def lines(screen: MemoriesScreen) -> list[str]:
    items = [item.data for item in screen.query_one(MemoryList).items]
    return [data.words if isinstance(data, Remembered) else f"# {data}" for data in items]


def read(screen: MemoriesScreen) -> str:
    return str(screen.query_one("#memory", Static).render())


def state(shoal: Real, id_: str) -> str:
    memory = shoal.services.memories.get(id_)
    return memory.state if memory is not None else "none"


async def three(shoal: Real) -> None:
    await shoal.remembers("y_1", "Tea, no sugar", at=1)
    await shoal.remembers("y_2", LONG, at=2)
    await shoal.remembers("y_3", "The port is 4000", pending=True, at=0)


async def test_memories_are_listed_what_waits_first_and_the_selected_one_is_read_beside(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await three(shoal)
        screen = await opened(shoal)
        assert lines(screen) == [
            "# WAITING FOR YOU",
            "The port is 4000",
            "# KEPT",
            "Sessions, not tokens. Tokens were tried and dropped.",
            "Tea, no sugar",
        ]
        assert "Waits for your yes" in read(screen)
        await shoal.pilot.press("down")
        await until(shoal.pilot, lambda: LONG in read(screen))
        assert "from “New chat”" in read(screen)


async def test_enter_reads_one_alone_and_esc_comes_back_to_the_list(tmp_path: Path) -> None:
    async with real(tmp_path, size=NARROW) as shoal:
        await three(shoal)
        screen = await opened(shoal)
        await shoal.pilot.press("down", "enter")
        await until(shoal.pilot, lambda: not screen.query_one(MemoryList).display)
        assert screen.query_one("#reading").has_focus and LONG in read(screen)
        await shoal.pilot.press("escape")
        await until(shoal.pilot, lambda: screen.query_one(MemoryList).has_focus)
        await shoal.pilot.press("escape")
        await until(shoal.pilot, lambda: shoal.pilot.app.screen is shoal.deck)


async def test_k_keeps_one_that_waits_and_f_refuses_it_without_a_question(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await three(shoal)
        await shoal.remembers("y_4", "The door code is long", pending=True, at=5)
        screen = await opened(shoal)
        await shoal.pilot.press("k")
        await until(shoal.pilot, lambda: state(shoal, "y_4") == "kept")
        await until(shoal.pilot, lambda: lines(screen)[1] == "The port is 4000")
        await shoal.pilot.press("home", "f")
        await until(shoal.pilot, lambda: state(shoal, "y_3") == "forgotten")
        await until(shoal.pilot, lambda: "The port is 4000" not in lines(screen))
        assert "Refused" in toasts(shoal.deck)


async def test_f_forgets_after_a_question_and_u_brings_it_back(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await three(shoal)
        screen = await opened(shoal)
        await shoal.pilot.press("end", "f")
        await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, Confirm))
        await shoal.pilot.press("enter")  # on Cancel at first
        await until(shoal.pilot, lambda: shoal.pilot.app.screen is screen)
        assert state(shoal, "y_1") == "kept"
        await shoal.pilot.press("f")
        await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, Confirm))
        await shoal.pilot.press("right", "enter")
        await until(shoal.pilot, lambda: state(shoal, "y_1") == "forgotten")
        await until(shoal.pilot, lambda: "Tea, no sugar" not in lines(screen))
        assert screen.query_one(MemoryList).selected == "y_2"  # its neighbour
        await shoal.pilot.press("u")
        await until(shoal.pilot, lambda: "Tea, no sugar" in lines(screen))
        assert state(shoal, "y_1") == "kept"


async def test_words_narrow_the_list_with_their_typing_mistakes(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await three(shoal)
        screen = await opened(shoal)
        await shoal.pilot.press("tab", *"sugarr")
        await until(shoal.pilot, lambda: lines(screen) == ["Tea, no sugar"])
        assert "1 of 3" in screen.query_one("#status", Bar).plain
        await shoal.pilot.press("z", "q", "q")
        await until(shoal.pilot, lambda: read(screen) == NO_SUCH)
        await shoal.pilot.press("escape")
        await until(shoal.pilot, lambda: len(lines(screen)) == 5)
        assert screen.query_one(Input).value == ""


async def test_what_a_chat_learns_meanwhile_comes_into_the_open_list(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        screen = await opened(shoal)
        assert read(screen) == NOTHING
        await shoal.remembers("y_1", "Tea, no sugar", at=1)
        await until(shoal.pilot, lambda: lines(screen) == ["Tea, no sugar"])


async def test_o_opens_the_chat_that_learned_it_at_that_line(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await shoal.remembers("y_1", "Tea, no sugar", at=1)
        await opened(shoal)
        await shoal.pilot.press("o")
        await until(shoal.pilot, lambda: shoal.pilot.app.screen is shoal.deck)
        await until(shoal.pilot, lambda: shoal.deck.query_one(MemoryLine).has_focus)


async def test_slash_memory_and_the_search_box_open_it_too(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await shoal.pilot.press(*"/memory", "enter")
        await until(shoal.pilot, lambda: isinstance(shoal.pilot.app.screen, MemoriesScreen))
    assert [key.id for key in actions("memories")] == ["memories.open"]


async def test_a_memory_is_never_markup_and_never_a_control_character(tmp_path: Path) -> None:
    async with real(tmp_path) as shoal:
        await shoal.remembers("y_1", "[red]x[/red] \x1b[31m\x07 end", at=1)
        screen = await opened(shoal)
        assert "[red]x[/red]" in read(screen) and "\x1b" not in read(screen)
