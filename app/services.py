"""Builds every collaborator once and passes it down; nobody below takes `Services`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.aio import TaskSet
from app.assistant.boundary import Boundary
from app.assistant.loop import StepLoop
from app.guard import secrets
from app.paths import Home
from app.ports import Turn, Wires
from app.session.asks import Asks
from app.session.bus import Bus
from app.session.desk import Defaults
from app.session.session import Session
from app.settings import Settings
from app.tools.base import Gate, OpenGate, Tool
from app.tools.registry import Registry
from app.tools.toolbox import TurnToolbox, context_of
from store.clock import Clock, SystemClock
from store.log import Store


@dataclass(slots=True)
class Services:
    """Everything of one running Shoal."""

    home: Home
    settings: Settings
    clock: Clock
    store: Store
    search: Any
    session: Session
    wires: Wires
    registry: Registry
    tasks: TaskSet
    catalogue: Any = None

    async def close(self) -> None:
        """Stop turns, keep what came, close; at most 3 s."""
        await self.session.close()
        await self.tasks.close()
        if self.search is not None:
            await self.search.close()
        self.session.bus.detach()
        self.store.close()


async def build(
    home: Home,
    settings: Settings,
    clock: Clock | None = None,
    *,
    wires: Wires | None = None,
    tools: list[Tool] | None = None,
    gate: Gate | None = None,
) -> Services:
    """Open the home and build all of it; `session.start()` has run. Raises StoreError in words."""
    home.ensure()
    clock = clock or SystemClock()
    store = Store(home.store, clock)
    registry = Registry(tools or ())
    wires = wires or _wires(settings)
    session, tasks = build_session(
        store, clock, wires, registry, gate=gate, clean=secrets.clean, defaults=_defaults(settings)
    )
    await session.start()
    return Services(home, settings, clock, store, None, session, wires, registry, tasks)


def build_session(
    store: Store,
    clock: Clock,
    wires: Wires,
    registry: Registry,
    *,
    gate: Gate | None = None,
    clean: Callable[[str], str] = secrets.clean,
    defaults: Defaults | None = None,
    search: Any = None,
) -> tuple[Session, TaskSet]:
    """The session over a store, inside the running event loop; also the tasks to close after it."""
    tasks = TaskSet()
    bus = Bus()
    bus.attach(store)
    asks = Asks(store, clock, tasks)

    def toolbox(turn: Turn) -> TurnToolbox:
        def progress(call_id: str, text: str) -> None:
            bus.signal(turn.chat, "progress", {"call_id": call_id, "text": clean(text)})

        return TurnToolbox(
            chat=turn.chat,
            store=store,
            registry=registry,
            context=lambda: context_of(store, turn, progress),
            gate=gate or OpenGate(),
            asker=asks,
            clock=clock,
            clean=clean,
        )

    engine = StepLoop(store=store, wires=wires, toolbox=toolbox, boundary=Boundary(clock), signal=bus.signal)
    session = Session(store, clock, bus=bus, engine=engine, asks=asks, wires=wires, defaults=defaults, search=search)
    return session, tasks


def _defaults(settings: Settings) -> Defaults:
    return Defaults(settings.model, settings.mode, settings.folder or os.getcwd())


def _wires(settings: Settings) -> Wires:
    from app.providers.scripted import ScriptedWires

    return ScriptedWires()
