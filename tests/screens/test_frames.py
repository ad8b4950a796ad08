"""What happens between two paints is drawn once, and no word is lost."""

from __future__ import annotations

import asyncio
from typing import Any

from app.screens.frames import Frame, Frames
from store import events as ev
from store.rows import SaidRow
from tests.screens.fakes import FakeBus, FakeLagged


async def running(bus: FakeBus, heal: Any = lambda chat: None) -> tuple[Frames, list[Frame], asyncio.Task[None]]:
    drawn: list[Frame] = []
    frames = Frames(bus, drawn.append, heal, fps=50)  # type: ignore[arg-type]
    task = asyncio.ensure_future(frames.run())
    await asyncio.sleep(0)
    return frames, drawn, task


async def test_many_deltas_become_few_frames_and_every_word_is_shown() -> None:
    bus = FakeBus()
    frames, drawn, task = await running(bus)
    words = [f"word{i} " for i in range(200)]
    sent = 0
    for word in words:
        bus.delta("c", "m", sent, word)
        sent += len(word)
        if word.endswith("0 "):
            await asyncio.sleep(0.005)
    await asyncio.sleep(0.05)
    assert 1 < len(drawn) < 20
    stream = frames.streaming("c")
    assert stream is not None and stream.text == "".join(words)
    task.cancel()


async def test_a_lost_delta_is_healed_from_the_text_so_far() -> None:
    bus = FakeBus()
    frames, _, task = await running(bus, lambda chat: SaidRow("m", 0, 0, "assistant", "one two three", live=True))
    bus.delta("c", "m", 0, "one ")
    bus.delta("c", "m", 8, "three")
    await asyncio.sleep(0.05)
    stream = frames.streaming("c")
    assert stream is not None and stream.text == "one two three"
    bus.delta("c", "m", 13, " four")
    await asyncio.sleep(0.05)
    assert stream.text == "one two three four"
    task.cancel()


async def test_the_finished_message_replaces_the_stream() -> None:
    bus = FakeBus()
    frames, drawn, task = await running(bus)
    bus.delta("c", "m", 0, "half")
    bus.publish(ev.Stored(1, "c", 0, 0, ev.AssistantDone(message_id="m", text="half and whole")))
    await asyncio.sleep(0.05)
    assert frames.streaming("c") is None
    assert [len(f.events) for f in drawn] == [1]
    assert not drawn[0].streams
    task.cancel()


async def test_a_subscriber_that_lagged_is_told_to_read_again() -> None:
    bus = FakeBus()
    frames, drawn, task = await running(bus)
    bus.delta("c", "m", 0, "half")
    bus.publish(FakeLagged(99))
    await asyncio.sleep(0.05)
    assert drawn[-1].lagged == 99
    assert frames.streaming("c") is None
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not bus.subscriptions, "closed when it ends"
