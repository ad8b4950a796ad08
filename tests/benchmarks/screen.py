"""The screen as it runs: start, first paint, keys while four chats stream, long chats, memory.

`python -m tests.benchmarks.screen` prints JSON lines. Each part is a process of its own in a pseudo-terminal of
160x50, over a home filled before; CPU milliseconds (best of three) except where the name says wall.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from app.guard import secrets
from app.paths import Home
from store import events as ev
from store.log import Batch, NewEvent, Store
from store.search import SearchService
from store.state import KeepState

ROOT = Path(__file__).resolve().parents[2]
STREAMING, TOKENS_A_SECOND, SECONDS = 4, 60, 8
TYPED = ("w12 w7", "w123", "w4 w99", "w31 w2", "w777", "w8 w15", "w2048", "w1 w300", "w55 w6", "w44 w1", "w913")
GOALS = {
    "cold start to first paint": 800.0,
    "open a chat of 10,000 messages": 200.0,
    "frame while 4 columns stream: mean": 70.0,
    "key to painted results while 4 chats stream: p50 (wall)": 50.0,
    "key to painted results while 4 chats stream: p95 (wall)": 120.0,
    "memory with 100,000 messages (MB)": 150.0,
}


def calibration() -> float:
    """CPU milliseconds of a fixed loop, to compare machines by."""
    start = time.process_time()
    sum(range(10**7))
    return (time.process_time() - start) * 1000


# -- homes


def words(rng: random.Random, count: int) -> str:
    """Made-up words, common ones more often."""
    return " ".join(f"w{int(rng.paretovariate(1.1)) % 5_000}" for _ in range(count))


def fill(home: Path, messages: int, long: int = 0) -> None:
    """A home with `messages` lines in chats of 200, and one of `long` lines; four chats are on the deck."""
    Home(home).ensure()
    store, rng = Store(Home(home).store), random.Random(3)
    sizes = ([long] if long else []) + [200] * (messages // 200)
    for number, size in enumerate(sizes):
        chat = f"c_{number:016d}"
        batch = [NewEvent(chat, ev.ChatCreated(title=f"{words(rng, 3)} {number}"), 1_780_000_000_000 + number)]
        for line in range(size):
            said = words(rng, 8 if line % 2 == 0 else 30)
            message = f"m_{line:06d}{number:08d}"
            one: ev.Event = ev.UserMessage(message_id=message, text=said)
            if line % 2:
                one = ev.AssistantDone(message_id=message, text=said)
            batch.append(NewEvent(chat, one, 1_780_000_000_000 + number * 300_000 + line * 1_000))
        store.commit_sync(Batch(batch))
    first = 1 if long else 0
    deck = [f"c_{n:016d}" for n in range(first, first + STREAMING)]
    store.commit_sync(Batch(changes=[KeepState("", "deck", {"chats": deck, "focus": 0})]))
    store.close()
    asyncio.run(_indexed(home))


async def _indexed(home: Path) -> None:
    """The index caught up, so that it isn't measured with the screen."""
    store = Store(Home(home).store)
    index = Home(home).index
    search = SearchService(store, index, spans=secrets.spans, spans_version=secrets.SHAPES_VERSION)
    await search.start()
    await search.caught_up(600)
    await search.close()
    store.close()


# -- the child: the app with a measuring hand


async def _drawn(app: Any) -> None:
    for _ in range(2):
        done = asyncio.Event()
        app.call_after_refresh(done.set)
        await done.wait()


async def _deck(app: Any) -> Any:
    from app.screens.deck_screen import DeckScreen

    while not (isinstance(app.screen, DeckScreen) and app.screen.columns):
        await asyncio.sleep(0.005)
    while not all(c.feed.loaded for c in app.screen.columns.values()):
        await asyncio.sleep(0.005)
    await _drawn(app)
    return app.screen


async def start(app: Any) -> dict[str, float]:
    """From the interpreter's first step to the first painted deck, and until all its columns are filled."""
    from app.screens.deck_screen import DeckScreen

    while not (isinstance(app.screen, DeckScreen) and app.screen.columns):
        await asyncio.sleep(0.002)
    await _drawn(app)
    painted = time.process_time() * 1000
    await _deck(app)
    return {"cold start to first paint": painted, "cold start to 4 filled columns": time.process_time() * 1000}


async def long_chat(app: Any) -> dict[str, float]:
    """Opening the long chat, and its first line."""
    deck = await _deck(app)
    await asyncio.sleep(1)
    chat = f"c_{0:016d}"
    begin = time.process_time()
    deck.show_chat(chat)
    transcript = deck.columns[chat].transcript
    while (
        not (rows := transcript.loaded.order) or not (last := transcript.row_widget(rows[-1])) or not last.size.height
    ):
        await asyncio.sleep(0.002)
    await _drawn(app)
    opened = (time.process_time() - begin) * 1000
    begin = time.process_time()
    deck.open_at(chat, f"m_{0:06d}{0:08d}", "w1")
    while deck.columns[chat]._opening is not None:
        await asyncio.sleep(0.002)
    await _drawn(app)
    return {
        "open a chat of 10,000 messages": opened,
        "go to the first line of 10,000": (time.process_time() - begin) * 1000,
    }


class Stream:
    """Four chats that write, as the session's signals say it."""

    def __init__(self, app: Any, deck: Any) -> None:
        self.app, self.bus, self.chats = app, deck.session.bus, list(deck.deck.chats)[:STREAMING]
        self.said = dict.fromkeys(self.chats, "")
        self.stopped = False

    async def run(self, seconds: float) -> None:
        """`TOKENS_A_SECOND` for each chat."""
        rng, begin, sent = random.Random(1), time.monotonic(), 0
        while not self.stopped and time.monotonic() - begin < seconds:
            due = int((time.monotonic() - begin) * TOKENS_A_SECOND)
            for _ in range(due - sent):
                for chat in self.chats:
                    token = rng.choice(("the ", "**cookie** ", "is\n\n", "set ", "with ", "`lax` ", "- then "))
                    data = {"message_id": "live", "kind": "text", "offset": len(self.said[chat]), "delta": token}
                    self.said[chat] += token
                    self.bus.signal(chat, "delta", data)
            sent = due
            await asyncio.sleep(0.008)


async def stream(app: Any) -> dict[str, float]:
    """CPU of a frame while four columns stream over their history; every token must be shown."""
    deck = await _deck(app)
    await asyncio.sleep(1.5)
    frames: list[int] = []
    draw = deck.frames._draw
    deck.frames._draw = lambda frame: (frames.append(1), draw(frame))
    source = Stream(app, deck)
    begin = time.process_time()
    await source.run(SECONDS)
    await _drawn(app)
    spent = (time.process_time() - begin) * 1000
    await asyncio.sleep(0.3)
    for chat in source.chats:
        row = deck.columns[chat].transcript.loaded.rows["live"]
        assert row.text == source.said[chat], "a token wasn't shown"
    return {
        "frame while 4 columns stream: mean": spent / max(1, len(frames)),
        "frames a second": len(frames) / SECONDS,
        "share of a core": spent / 1000 / SECONDS,
    }


async def keys(app: Any) -> dict[str, float]:
    """From a key to its results on screen, while four chats stream."""
    from textual.widgets import Input

    from app.screens.search_screen import SearchScreen

    deck = await _deck(app)
    await deck.services.search.caught_up(120)
    source = Stream(app, deck)
    writing = asyncio.ensure_future(source.run(120))
    deck.action_search()
    while not isinstance(app.screen, SearchScreen) or not app.screen.query(Input):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    screen = app.screen
    waited: list[float] = []
    for word in TYPED:
        for letter in word:
            begin, asked = time.monotonic(), screen._asked
            box = screen.query_one(Input)
            box.insert_text_at_cursor(letter)
            while screen._asked == asked or screen._pending:
                await asyncio.sleep(0.001)
            painted = asyncio.Event()
            screen.call_after_refresh(painted.set)
            await painted.wait()
            waited.append((time.monotonic() - begin) * 1000)
            await asyncio.sleep(max(0.0, 0.12 - (time.monotonic() - begin)))
        box.value = ""
        await asyncio.sleep(0.3)
    source.stopped = True
    await writing
    waited.sort()
    return {
        "key to painted results while 4 chats stream: p50 (wall)": statistics.median(waited),
        "key to painted results while 4 chats stream: p95 (wall)": waited[int(len(waited) * 0.95)],
    }


async def memory(app: Any) -> dict[str, float]:
    """The most memory held, with the index caught up and a search made."""
    from store.models import SearchQuery

    deck = await _deck(app)
    await deck.services.search.caught_up(300)
    await deck.services.search.search(SearchQuery("w12 w7"))
    await asyncio.sleep(0.5)
    status = Path("/proc/self/status")
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if status.exists():
        held = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS")) / 1024
    heavy = [name for name in ("pydantic_ai", "openai", "anthropic", "google.genai") if name in sys.modules]
    assert not heavy, f"imported without need: {heavy}"
    return {"memory with 100,000 messages (MB)": held}


PARTS: dict[str, Callable[[Any], Awaitable[dict[str, float]]]] = {
    "start": start,
    "long": long_chat,
    "stream": stream,
    "keys": keys,
    "memory": memory,
}


def child(part: str, home: Path, out: Path) -> None:
    """Run the real app, measure, write the figures, leave."""
    gc.disable()  # as the command line does before its imports
    from app.settings import Settings
    from app.tui import ShoalApp

    async def build() -> Any:
        from app.services import build as build_services

        return await build_services(Home(home), Settings(), late=True)

    app = ShoalApp(build, Settings(), crash_dir=home)

    async def measured() -> None:
        figures = await PARTS[part](app)
        out.write_text(json.dumps(figures))
        app.leave(0)

    original = app._start

    async def begin() -> None:
        app.tasks.spawn(measured())
        await original()

    app._start = begin  # type: ignore[method-assign]
    app.run()
    if app.failure:
        out.write_text(json.dumps({"failed": app.failure}))


def one(part: str, home: Path, seconds: float = 400) -> dict[str, Any]:
    """A part in a pseudo-terminal of its own."""
    import pexpect

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        env = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none"}
        command = ["-m", "tests.benchmarks.screen", "--child", part, str(home), str(out)]
        process = pexpect.spawn(sys.executable, command, env=env, dimensions=(50, 160), cwd=str(ROOT))
        end = time.monotonic() + seconds
        while process.isalive() and time.monotonic() < end:
            try:
                process.read_nonblocking(1 << 16, timeout=0.5)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                break
        process.close(force=True)
        if not out.exists():
            return {"failed": f"{part} gave no figures"}
        figures: dict[str, Any] = json.loads(out.read_text())
        return figures


def best(part: str, home: Path, times: int = 3) -> dict[str, Any]:
    """The least of each figure over some runs."""
    runs = [one(part, home) for _ in range(times)]
    good = [r for r in runs if "failed" not in r]
    return {k: min(r[k] for r in good) for k in good[0]} if good else runs[-1]


def run(full: bool = False) -> Iterator[dict[str, Any]]:
    """Every figure as a line; `goal` where there is one."""
    yield {"bench": "screen", "name": "calibration", "value": round(calibration(), 1)}
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small", Path(folder) / "large"
        fill(small, 10_000, long=10_000)
        fill(large, 100_000)
        for part, home, times in (
            ("start", small, 3),
            ("long", small, 3),
            ("stream", small, 3 if full else 2),
            ("keys", small, 2),
            ("memory", large, 1),
        ):
            for name, value in best(part, home, times).items():
                line: dict[str, Any] = {"bench": "screen", "name": name, "value": value}
                if isinstance(value, float):
                    line["value"] = round(value, 2)
                if name in GOALS:
                    line |= {"goal": GOALS[name], "met": isinstance(value, float) and value <= GOALS[name]}
                yield line


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        for figures in run("--full" in sys.argv):
            print(json.dumps(figures), flush=True)
