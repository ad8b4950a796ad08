"""Several chats of one session, each with a scripted model of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app import commands as cmd
from app.guard import secrets
from app.ports import CallReady, Extension, TurnContext, joined_extensions
from app.providers import scripted as script
from app.providers.scripted import ScriptedWire, ScriptedWires
from app.services import build_session
from app.session.delivery import Delivery
from app.session.desk import Defaults
from app.session.session import Session
from app.tasks.build import build_tasks
from app.tasks.room import Machine
from app.tasks.service import Tasks
from app.together.build import build_together
from app.together.lines import EditWatch
from app.together.snapshot import Snapshot
from app.tools.bounds import Bounds
from app.tools.changes import ChangeTracker
from app.tools.files.all import file_tools
from app.tools.files.desk import FileDesk
from app.tools.registry import Registry
from app.tools.shell.processes import ProcessRegistry
from app.tools.shell.sandbox import Sandbox
from store import events as ev
from store.clock import ManualClock
from store.ids import CALL, new_id
from store.log import Batch, Store
from store.models import ChatSummary
from store.together import SentMessage
from tests.session.kit import FakeTool

__all__ = ["Chats", "Holds", "call", "open_chats"]


def call(name: str, args: Any = None) -> CallReady:
    """A call with an id of its own."""
    return script.call(name, args, new_id(CALL))


class Holds:
    """A tool that waits until the test lets it go, by name."""

    def __init__(self) -> None:
        self._go: dict[str, asyncio.Event] = {}
        self.tool = FakeTool("hold", does=self._hold)

    def _of(self, name: str) -> asyncio.Event:
        return self._go.setdefault(name, asyncio.Event())

    async def _hold(self, args: Any, ctx: TurnContext, call_id: str) -> str:
        await self._of(args.text).wait()
        return "held"

    def step(self, name: str) -> list[Any]:
        return [call("hold", {"text": name})]

    def let_go(self, name: str) -> None:
        self._of(name).set()


@dataclass
class Chats:
    """What a test needs at hand. A chat's model is `scripted:NAME` for its title NAME."""

    session: Session
    store: Store
    clock: ManualClock
    wires: dict[str, ScriptedWire]
    snapshot: Snapshot
    extension: Extension
    folder: Path
    tasks: Tasks

    async def new(self, title: str, *steps: Any, **fields: Any) -> str:
        """A chat that says `steps`."""
        model = f"scripted:{title}"
        self.wires.setdefault(model, ScriptedWire()).add(*steps)
        fields = {"folder": str(self.folder)} | fields
        return str((await self.session.do(cmd.NewChat(title=title, model=model, **fields)))["chat"])

    async def say(self, chat: str, text: str) -> None:
        await self.session.do(cmd.Send(chat=chat, text=text))
        await self.session.settle()

    async def say_and_leave(self, chat: str, text: str) -> None:
        """Without waiting for the answer."""
        await self.session.do(cmd.Send(chat=chat, text=text))

    async def commit(self, chat: str, *events: ev.Event) -> None:
        await self.store.commit(Batch.of(chat, *events))

    async def taint(self, chat: str, kind: str = "web", label: str = "example.com") -> None:
        await self.commit(chat, ev.Taint(source=ev.TaintSource.model_validate({"kind": kind, "label": label})))

    def stop_within(self, chat: str, kind: str) -> None:
        """Stop the chat's reply inside the very write of its first event of this kind: durable, and not yet told."""
        loop, stopped = asyncio.get_running_loop(), False

        async def stop() -> None:
            await self.session.do(cmd.Stop(chat=chat))
            for _ in range(20):
                await asyncio.sleep(0)

        def on_writer(events: Any) -> None:
            nonlocal stopped
            if not stopped and any(s.chat == chat and s.event.type == kind for s in events):
                stopped = True
                asyncio.run_coroutine_threadsafe(stop(), loop).result(20)

        self.store.listen(on_writer)

    def summary(self, chat: str) -> ChatSummary:
        found = self.store.summary(chat)
        assert found is not None
        return found

    def events(self, chat: str, kind: str | None = None) -> list[Any]:
        return [s.event for s in self.store.events(chat=chat) if kind in (None, s.event.type)]

    def cards(self, chat: str) -> list[ev.ChatMessage]:
        """The chat's message cards as they are now, oldest first."""
        return list({e.message_id: e for e in self.events(chat, "chat.message")}.values())

    def joined(self, chat: str, *kinds: str) -> list[str]:
        """The words of these kinds that joined the chat's steps."""
        steps = self.events(chat, "step.started")
        return [part.text for step in steps for part in step.joined if part.kind in kinds]

    def results(self, chat: str) -> list[str]:
        """What the chat's calls gave."""
        return [e.output for e in self.events(chat, "tool.finished")]

    def messages(self) -> list[SentMessage]:
        return self.store.kept(SentMessage)


@contextlib.asynccontextmanager
async def open_chats(
    path: Path,
    *,
    tools: Sequence[Any] = (),
    wires: dict[str, ScriptedWire] | None = None,
    ready: bool = True,
    routines: Any = None,
    files: bool = False,
    machine: Machine = Machine(4),  # noqa: B008 - frozen
) -> AsyncIterator[Chats]:
    """A running session over the home `path`, with all of `app/together`; `files`: and the real file tools."""
    clock = ManualClock()
    home = path / "home"
    home.mkdir(parents=True, exist_ok=True)
    folder = path / "work"
    folder.mkdir(exist_ok=True)
    store = Store.open(home, clock)
    scripted = wires if wires is not None else {}
    delivery, snapshot = Delivery(), Snapshot(store)
    processes = ProcessRegistry(store, Sandbox(), clock, secrets.clean)
    together = build_together(
        store, clock, delivery, secrets.clean, snapshot=snapshot, processes=processes, own=(str(home),)
    )
    background, made = build_tasks(
        store, clock, delivery, secrets.clean, home=home, reading=lambda: machine, routines=routines
    )
    bounds = Bounds.of(home)
    tracker = ChangeTracker(store, home, bounds) if files else None
    desk = file_tools(FileDesk(bounds, tracker, EditWatch(store, snapshot))) if files else []
    extension = joined_extensions([together, background, Extension(tools=(*tools, *desk))])
    found = ScriptedWires(scripted)  # type: ignore[arg-type]
    found._wires = scripted  # type: ignore[assignment]  # so that chats made later find theirs
    session, tasks = build_session(
        store,
        clock,
        found,
        Registry(extension.tools),
        defaults=Defaults("offline"),
        inboxes=extension.inboxes,
        delivery=delivery,
        extension=extension,
        tracker=tracker,
    )
    await session.start()
    if ready:
        session.ready()
    try:
        yield Chats(session, store, clock, scripted, snapshot, extension, folder, made)
    finally:
        await session.close()
        await tasks.close()
        if tracker is not None:
            await tracker.close()
        session.bus.detach()
        store.close()
