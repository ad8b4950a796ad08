"""The app over a whole Shoal: the real session, store, memories and vault, with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from app import commands as cmd
from app.paths import Home
from app.providers.scripted import ScriptedWire, ScriptedWires
from app.screens.deck_screen import DeckScreen
from app.services import Services, build
from app.settings import load
from store import events as ev
from store.log import Batch
from store.memory import Memory
from tests.screens.deck_tools import WIDE, running
from tests.session.kit import MODEL


@dataclass
class Real:
    """A running Shoal with one chat on its deck."""

    pilot: Pilot[int]
    deck: DeckScreen
    services: Services
    chat: str

    async def say(self, text: str) -> None:
        """The person's words, until the reply is there."""
        await self.services.session.do(cmd.Send(chat=self.chat, text=text))
        await self.services.session.settle(self.chat)

    async def remembers(self, id_: str, content: str, *, pending: bool = False, at: int = 0) -> None:
        """A memory of the chat."""
        memory = Memory(id_, "fact", content, at, "pending" if pending else "kept", (self.chat,))
        saved = ev.MemorySaved(memory_id=id_, content=content, pending=pending)
        await self.services.store.commit(Batch.of(self.chat, saved, changes=[memory.keep()]))


@asynccontextmanager
async def real(root: Path, *steps: Sequence[Any], size: tuple[int, int] = WIDE) -> AsyncIterator[Real]:
    """A whole Shoal in `root`, its model taking these steps."""
    home = Home(root / "home")
    settings = load(home, [], environ={})[0].model_copy(update={"model": MODEL, "folder": str(root)})
    services = await build(home, settings, wires=ScriptedWires({MODEL: ScriptedWire(steps)}))
    async with running(services, size, settings) as (pilot, deck):  # type: ignore[arg-type]
        yield Real(pilot, deck, services, deck.deck.focused or "")
