"""An explorer over a real store and index, with the offline engine or a scripted one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from app.guard import quoting, secrets
from app.history.explorer.build import build_explorer
from app.history.explorer.child import Child, Lock
from app.history.explorer.entitlement import Consents, Entitlements
from app.history.explorer.evidence import Registry
from app.history.explorer.explore import Explored, Explorer
from app.history.surface import SurfaceGate
from app.ports import TurnContext, Wires
from app.providers.scripted import ScriptedWire, ScriptedWires
from store import events as ev
from store.clock import ManualClock
from store.log import Batch, NewEvent, Store
from store.search import SearchService
from tests.explorer.planted import PROJECT

ASKING = "c_asking"
ENGINE = "scripted:engine"


def clean(text: str) -> str:
    return quoting.defused(secrets.clean(text))


class Kit:
    """A home of planted chats, and an explorer on it."""

    def __init__(
        self,
        folder: Path,
        events: list[NewEvent],
        *,
        engine: str = "offline",
        steps: Any = (),
        wires: Wires | None = None,
    ) -> None:
        self.clock = ManualClock()
        self.store = Store.open(folder, self.clock)
        asking = NewEvent(ASKING, ev.ChatCreated(title="The one that asks", folder=PROJECT, model="scripted:main"))
        for n in range(0, len(events), 5_000):
            self.store.commit_sync(Batch(events[n : n + 5_000]))
        self.store.commit_sync(Batch([asking]))
        self.search = SearchService(
            self.store, folder / "index", spans=secrets.spans, spans_version=secrets.SHAPES_VERSION, clock=self.clock
        )
        self.search.start_sync()
        self.wire = ScriptedWire(steps)
        wires = wires or ScriptedWires({ENGINE: self.wire})
        self.entitlements = Entitlements("pro", engine, frozenset(), wires)
        self.consents = Consents({"explore_chat_history": "always", "read_chat": "ask"})
        self.gate = SurfaceGate("explorer", pro=lambda ctx: self.entitlements.whole().pro, consent=self.consents.of)
        self.extension, self.explorer = build_explorer(
            self.store, self.search, self.clock, wires, clean, self.entitlements, self.gate, self.consents
        )

    def context(self, chat: str = ASKING, **more: Any) -> TurnContext:
        return TurnContext(chat, "r_1", "auto", None, (), folder=PROJECT, **more)

    async def explore(self, query: str) -> Explored:
        return await self.explorer.run(self.context(), query, "t_1")

    def child(self, **more: Any) -> Child:
        lock = Lock(PROJECT, ASKING, self.store.summary, frozenset())
        return Child(self.search, lock, Registry(clean), clean, **more)

    def events(self, kind: str = "history.explored") -> list[Any]:
        return [s.event for s in self.store.events(chat=ASKING) if s.event.type == kind]

    async def close(self) -> None:
        await self.explorer.close()
        await self.search.close()
        await asyncio.to_thread(self.store.close)


__all__ = ["ASKING", "ENGINE", "Explorer", "Kit", "clean"]
