"""Each look of Shoal as a picture; `pytest --snapshot-update` after looking at what changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.screens import scenes


@pytest.fixture(autouse=True)
def same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One time zone, colours on."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("name", [n for n in scenes.SCENES if n not in ("light-search", "search-recent")])
def test_the_look_is_as_it_was(name: str, snap_compare: Any, tmp_path: Path) -> None:
    scene = scenes.SCENES[name]

    async def before(pilot: Any) -> None:
        await scenes.play(scene, pilot)

    assert snap_compare(scenes.app_of(scene, tmp_path / "home"), terminal_size=scene.size, run_before=before)
