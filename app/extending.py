"""What joins the program once the first screen is there: the explorer, the chats together, tasks and routines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from app.history.explorer.build import build_explorer
from app.history.explorer.entitlement import Consents, Entitlements
from app.history.explorer.explore import Explorer
from app.history.surface import SurfaceGate
from app.ports import Extension, Wires, joined_extensions
from app.session.delivery import Delivery
from app.settings import Settings
from app.tasks.build import build_tasks
from app.together.build import build_together
from app.together.snapshot import Snapshot
from app.tools.shell.processes import ProcessRegistry
from app.tools.web.client import PageClient
from store.clock import Clock
from store.log import Store

Clean = Callable[[str], str]


def extension_of(
    store: Store,
    search: Any,
    clock: Clock,
    wires: Wires,
    settings: Settings,
    *,
    clean: Clean,
    crossing: Clean,
    entitlements: Entitlements,
    surface: SurfaceGate,
    consents: Consents,
    delivery: Delivery,
    snapshot: Snapshot,
    processes: ProcessRegistry,
    own: Sequence[str],
    home: Path,
    folder: str,
) -> tuple[Extension, Explorer]:
    """All of it as one extension, and the explorer for the command line. `crossing` cleans what leaves a chat."""
    exploring, explorer = build_explorer(store, search, clock, wires, crossing, entitlements, surface, consents)
    client = PageClient(allow=settings.web.allow)
    together = build_together(
        store, clock, delivery, clean, snapshot=snapshot, processes=processes, own=own, client=client
    )
    tasks, _ = build_tasks(
        store,
        clock,
        delivery,
        clean,
        home=home,
        commands=processes.running,
        routines=settings.routines,
        model=settings.model,
        folder=folder,
    )
    return joined_extensions([exploring, together, tasks]), explorer
