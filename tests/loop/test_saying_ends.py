"""The keeper of a message's text ends whenever it is cancelled, also while something is just due."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.assistant.saying import Saying
from store.clock import ManualClock
from store.limits import LIVE_TEXT_CHARS
from store.log import Store


@pytest.mark.parametrize("turns", range(6))
async def test_a_cancel_is_never_swallowed_by_words_that_are_just_due(tmp_path: Path, turns: int) -> None:
    store = Store.open(tmp_path, ManualClock())
    try:
        saying = Saying("c_1", store, lambda *_: None)
        keeper = asyncio.get_running_loop().create_task(saying.keep_going())
        await asyncio.sleep(0.01)
        saying.add("text", "x" * LIVE_TEXT_CHARS)
        for _ in range(turns):
            await asyncio.sleep(0)
        keeper.cancel()
        done, _ = await asyncio.wait({keeper}, timeout=2)
        assert done and keeper.cancelled()
    finally:
        keeper.cancel()
        store.close()
