"""Builds every collaborator once and passes it down; nobody below takes `Services`."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.aio import TaskSet
from app.assistant.boundary import Boundary
from app.assistant.loop import StepLoop
from app.guard import quoting, secrets
from app.guard.redactor import Redactor
from app.guard.vault import HandedOut, Vault
from app.history.explorer.entitlement import Consents, Entitlements
from app.history.surface import SurfaceGate
from app.paths import Home
from app.ports import Extension, Inbox, Turn, TurnContext, Wire, Wires
from app.providers.endpoints import PRESETS
from app.providers.wires import WireFinder
from app.session.asks import Asks
from app.session.bus import Bus
from app.session.delivery import Delivery
from app.session.desk import Defaults
from app.session.passwords import KeepsValues
from app.session.processes import EndsProcesses
from app.session.session import Catching, Session
from app.session.undoing import FileChanges
from app.settings import SERVERS, Settings, save
from app.tools.base import Gate, Tool
from app.tools.bounds import Bounds
from app.tools.changes import ChangeTracker
from app.tools.memory.book import MemoryBook
from app.tools.memory.build import build_memory
from app.tools.passwords import UsePassword
from app.tools.registry import Registry
from app.tools.shell.build import build_shell
from app.tools.shell.processes import ProcessRegistry
from app.tools.toolbox import TurnToolbox, context_of
from app.tools.undo import Undo
from store.clock import Clock, SystemClock
from store.limits import TITLES_MATCHED
from store.log import Store
from store.search import SearchService

if TYPE_CHECKING:
    from app.history.explorer.explore import Explorer


@dataclass(slots=True)
class Services:
    """Everything of one running Shoal."""

    home: Home
    settings: Settings
    clock: Clock
    store: Store
    search: SearchService
    session: Session
    wires: Wires
    registry: Registry
    redactor: Redactor
    tasks: TaskSet
    processes: ProcessRegistry
    changes: ChangeTracker
    memories: MemoryBook
    vault: Vault
    rest: Callable[[], Explorer]
    _explorer: Explorer | None = None
    catalogue: Any = None

    def complete(self) -> None:
        """What `late` left for after the first screen joins: the explorer, the chats together, tasks. Once."""
        if self._explorer is None:
            self._explorer = self.rest()

    @property
    def explorer(self) -> Explorer:
        """There once it is complete."""
        assert self._explorer is not None
        return self._explorer

    async def close(self) -> None:
        """Stop turns, keep what came, close; at most 3 s."""
        await asyncio.gather(self.session.close(), self.processes.close())
        await self.tasks.close()
        close = getattr(self.wires, "close", None)
        if close is not None:
            await close()
        await self.changes.close()
        await self.search.close()
        self.session.bus.detach()
        await asyncio.to_thread(self.store.close)


async def build(
    home: Home,
    settings: Settings,
    clock: Clock | None = None,
    *,
    wires: Wires | None = None,
    tools: Sequence[Tool] = (),
    gate: Gate | None = None,
    on_notice: Callable[[str], None] | None = None,
    late: bool = False,
) -> Services:
    """Open the home (taking its lock) and build all of it; what a kill left open is closed when it returns.

    Raises StoreError in words (StoreHeld: another Shoal writes). `tools` come after Shoal's own. `late`: a screen
    calls `complete` once it is painted; commands that need the rest wait until then.
    """
    await asyncio.to_thread(home.ensure)
    clock = clock or SystemClock()
    store = await asyncio.to_thread(Store.open, home.root, clock)
    try:
        return await _over(store, home, settings, clock, wires, tools, gate, on_notice, late)
    except BaseException:
        await asyncio.to_thread(store.close)  # so that the home is free again
        raise


async def _over(
    store: Store,
    home: Home,
    settings: Settings,
    clock: Clock,
    wires: Wires | None,
    tools: Sequence[Tool],
    gate: Gate | None,
    on_notice: Callable[[str], None] | None,
    late: bool,
) -> Services:
    redactor = Redactor(_known_keys(settings, os.environ))

    def clean(text: str) -> str:
        return secrets.clean(redactor.clean(text))

    def crossing(text: str) -> str:
        return quoting.defused(clean(text))

    around: list[Services] = []  # filled below: what was found on this computer is known only later

    def offline() -> Wire:
        from app.providers.offline import OfflineWire  # with the first message: the first screen is there before

        return OfflineWire(lambda: _titles(store), lambda: _found(around), clock)

    wires = wires or WireFinder(settings, redactor, clock, shapes=secrets.clean, offline=offline)
    search = SearchService(
        store,
        home.index,
        spans=secrets.spans,
        spans_version=secrets.SHAPES_VERSION,
        redact=redactor.clean,
        clock=clock,
        on_notice=on_notice,
    )
    memory = await asyncio.to_thread(build_memory, store, home.memories, clock, clean)
    vault, handed = Vault(home.vault, redactor), HandedOut()
    await vault.start()
    remembering: list[Tool] = [*memory.tools, UsePassword(vault, handed, clean)]
    entitlements = Entitlements.of_settings(settings, wires)
    consents = Consents.of_settings(settings, lambda tool, value: save(home, {f"explorer.consent.{tool}": value}))
    surface = SurfaceGate(
        settings.history.surface, pro=lambda ctx: entitlements.of(_model_of(store, ctx)).pro, consent=consents.of
    )
    bounds = Bounds.of(home.root, Home.default().root)
    tracker = ChangeTracker(store, home.root, bounds)
    undo = Undo(store, clock, tracker, bounds)
    shell, processes = build_shell(
        store,
        settings.commands,
        clock,
        clean,
        private=[home.root, Home.default().root],
        key_names=_key_names(settings),
        passwords=handed,
    )
    own = tuple(dict.fromkeys((str(home.root.absolute()), str(home.root.resolve()))))
    delivery = Delivery()
    inboxes: list[Inbox] = [memory.inbox]
    registry = Registry()

    def guard() -> Gate:
        from app.tools.gate import GuardGate, ToldByLog  # with the first reply

        made = GuardGate(ToldByLog(store), clean=clean, home=str(Path.home()), own=own)
        if not settings.guard.second_look:
            return made
        from app.tools.second_look import SecondLook

        return SecondLook(made, wires, settings.guard.second_look, clean=clean, home=str(Path.home()))

    session, tasks = build_session(
        store,
        clock,
        wires,
        registry,
        gate=gate,
        guard=guard,
        clean=clean,
        defaults=_defaults(settings),
        search=search,
        inboxes=inboxes,
        memory_changed=memory.book.changed,
        vault=vault,
        tracker=tracker,
        undo=undo,
        processes=processes,
        delivery=delivery,
        late=late,
    )

    def rest() -> Explorer:
        from app.extending import extension_of  # a good part of what there is to import

        extension, explorer = extension_of(
            store,
            search,
            clock,
            wires,
            settings,
            clean=clean,
            crossing=crossing,
            entitlements=entitlements,
            surface=surface,
            consents=consents,
            delivery=delivery,
            bounds=bounds,
            tracker=tracker,
            shell=shell,
            remembering=remembering,
            processes=processes,
            own=own,
            home=home.root,
            folder=_defaults(settings).folder,
        )
        for tool in (*extension.tools, *tools):
            registry.add(tool)
        inboxes.extend(extension.inboxes)
        session.join(extension)
        return explorer

    await session.start()
    if not store.readonly:
        await processes.recover()
    await search.start()
    if not store.readonly:
        tasks.spawn(undo.tidy())
    services = Services(
        home=home,
        settings=settings,
        clock=clock,
        store=store,
        search=search,
        session=session,
        wires=wires,
        registry=registry,
        redactor=redactor,
        tasks=tasks,
        processes=processes,
        changes=tracker,
        rest=rest,
        memories=memory.book,
        vault=vault,
    )
    around.append(services)
    if not late:
        services.complete()
    if on_notice is not None:
        tasks.spawn(_tell_sandbox(processes, on_notice))
    return services


async def _tell_sandbox(processes: ProcessRegistry, told: Callable[[str], None]) -> None:
    """One honest line where commands run without a sandbox."""
    if words := await processes.warning():
        told(words)


def build_session(
    store: Store,
    clock: Clock,
    wires: Wires,
    registry: Registry,
    *,
    gate: Gate | None = None,
    guard: Callable[[], Gate] | None = None,
    clean: Callable[[str], str] = secrets.clean,
    defaults: Defaults | None = None,
    search: Catching | None = None,
    inboxes: Sequence[Inbox] = (),
    memory_changed: Callable[[str], None] = lambda _: None,
    vault: KeepsValues | None = None,
    tracker: ChangeTracker | None = None,
    undo: Undo | None = None,
    processes: EndsProcesses | None = None,
    delivery: Delivery | None = None,
    extension: Extension | None = None,
    late: bool = False,
) -> tuple[Session, TaskSet]:
    """The session over a store, inside the running event loop; also the tasks to close after it.

    `guard` makes the gate with the first reply, where none is given.
    """
    tasks = TaskSet()
    bus = Bus()
    bus.attach(store)
    asks = Asks(store, clock, tasks)

    @functools.cache
    def the_gate() -> Gate:
        if gate is not None:
            return gate
        if guard is not None:
            return guard()
        from app.tools.gate import GuardGate, ToldByLog

        return GuardGate(ToldByLog(store), clean=clean)

    def toolbox(turn: Turn) -> TurnToolbox:
        def progress(call_id: str, text: str) -> None:
            bus.signal(turn.chat, "progress", {"call_id": call_id, "text": clean(text)})

        return TurnToolbox(
            chat=turn.chat,
            store=store,
            registry=registry,
            context=lambda: context_of(store, turn, progress),
            gate=the_gate(),
            asker=asks,
            clock=clock,
            clean=clean,
            tracker=tracker,
        )

    delivery = delivery or Delivery()

    def signal(chat: str, kind: str, data: dict[str, Any]) -> None:
        if kind == "slowed":  # for those who pace tasks, not for the screen
            delivery.slowed(chat, data["seconds"])
        else:
            bus.signal(chat, kind, data)

    engine = StepLoop(store=store, wires=wires, toolbox=toolbox, boundary=Boundary(clock, inboxes), signal=signal)
    session = Session(
        store,
        clock,
        bus=bus,
        engine=engine,
        asks=asks,
        wires=wires,
        defaults=defaults,
        search=search,
        memory_changed=memory_changed,
        vault=vault,
        files=FileChanges(tracker, undo) if tracker is not None and undo is not None else None,
        processes=processes,
        delivery=delivery,
        extension=extension,
        late=late,
    )
    return session, tasks


def _defaults(settings: Settings) -> Defaults:
    return Defaults(settings.model, settings.mode, settings.folder or os.getcwd())


def _model_of(store: Store, ctx: TurnContext) -> str:
    """The chat's own model."""
    summary = store.summary(ctx.chat)
    return summary.model if summary is not None else ""


def _titles(store: Store) -> list[tuple[str, str]]:
    """The chats that a sentence may name: the person's own first, newest first; private ones never."""
    named = [s for s in store.summaries() if s.title and not s.private]
    named.sort(key=lambda s: s.origin is not None)
    return [(s.id, s.title) for s in named[:TITLES_MATCHED]]


def _found(around: list[Services]) -> list[str]:
    """What the catalogue found, in words, once somebody has looked."""
    found = around[0].catalogue.found if around and around[0].catalogue is not None else ()
    return [one.words for one in found]


def _known_keys(settings: Settings, environ: Mapping[str, str]) -> list[str]:
    """Every provider key there is, in the settings or the environment, whether a wire uses it or not."""
    names = _key_names(settings)
    return [*settings.providers.given_keys(), *(environ[name] for name in sorted(names) if environ.get(name))]


def _key_names(settings: Settings) -> set[str]:
    """The environment variables that may hold a key."""
    names = {name for preset in PRESETS for name in preset.key_envs}
    names |= {settings.web.search_key_env} if settings.web.search_key_env else set()
    return names | {part.key_env for name in SERVERS if (part := getattr(settings.providers, name)).key_env}
