"""A session over a real store with a scripted wire."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from app import commands as cmd
from app.ports import ToolOutcome
from app.providers.scripted import ScriptedWire, ScriptedWires
from app.services import build_session
from app.session.desk import Defaults
from app.session.session import Session
from app.tools.registry import Registry
from store.clock import ManualClock
from store.log import Batch, Store

MODEL = "scripted:test"


class Args(BaseModel):
    """Arguments of the fake tools."""

    text: str = ""
    count: int = 0


class FakeTool:
    """A tool with the real interface; `does` is a function of (args, ctx, call_id)."""

    args: type[BaseModel] = Args
    family = "explore"
    prompt: str | None = None

    def __init__(self, name="look", effect="read", does=None, prompt=None, refuses=None):
        self.name, self.effect, self.prompt = name, effect, prompt
        self.description = f"The {name} tool."
        self.does, self.refuses, self.ran = does, refuses, []

    def refusal(self, ctx):
        return self.refuses(ctx) if self.refuses else None

    def label(self, args):
        return f"{self.name} {args.text}".strip()

    async def run(self, args, ctx, call_id):
        self.ran.append(args.text)
        got = self.does(args, ctx, call_id) if self.does else f"{self.name} gave {args.text}"
        if hasattr(got, "__await__"):
            got = await got
        return got if isinstance(got, ToolOutcome) else ToolOutcome(got)


@dataclass
class Recorder:
    """Notes every batch of a store by kind."""

    batches: list[Batch] = field(default_factory=list)

    def attach(self, store: Store) -> None:
        commit = store.commit

        async def recorded(batch: Batch) -> Any:
            done = await commit(batch)
            if batch.events or batch.changes:
                self.batches.append(batch)
            return done

        store.commit = recorded  # type: ignore[method-assign]

    def kinds(self) -> list[str]:
        return [b.kind for b in self.batches if b.events]


@dataclass
class Kit:
    """What a test needs at hand."""

    session: Session
    store: Store
    wire: ScriptedWire
    clock: ManualClock
    recorder: Recorder
    wires: ScriptedWires
    registry: Registry

    async def new(self, **fields: Any) -> str:
        return str((await self.session.do(cmd.NewChat(**fields)))["chat"])

    async def send(self, chat: str, text: str) -> dict[str, Any]:
        return await self.session.do(cmd.Send(chat=chat, text=text))

    async def say(self, chat: str, text: str) -> None:
        await self.send(chat, text)
        await self.session.settle(chat)

    def summary(self, chat: str):
        return self.store.summary(chat)

    def events(self, chat: str, kind: str | None = None) -> list[Any]:
        return [s.event for s in self.store.events(chat=chat) if kind in (None, s.event.type)]


@contextlib.asynccontextmanager
async def open_kit(
    path: Path, *steps: Any, tools: Any = (), gate: Any = None, wires: Any = None, search: Any = None, **wire: Any
) -> AsyncIterator[Kit]:
    """A running session; steps as ScriptedWire takes them."""
    clock = ManualClock()
    path.mkdir(exist_ok=True)
    store = Store.open(path, clock)
    recorder = Recorder()
    recorder.attach(store)
    scripted = ScriptedWire(steps, **wire)
    found = ScriptedWires({MODEL: scripted, **(wires or {})})
    registry = Registry(tools)
    session, tasks = build_session(store, clock, found, registry, gate=gate, defaults=Defaults(MODEL), search=search)
    await session.start()
    try:
        yield Kit(session, store, scripted, clock, recorder, found, registry)
    finally:
        await session.close()
        await tasks.close()
        session.bus.detach()
        store.close()


def types(kit: Kit, chat: str) -> list[str]:
    """The chat's event types, in order."""
    return [e.type for e in kit.events(chat)]


async def until(true: Callable[[], Any]) -> None:
    """Wait until it holds, however busy the machine is."""
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.005)
