"""What joins the program once the first screen is there: all tools, the explorer, the chats together, tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.history.explorer.build import build_explorer
from app.history.explorer.entitlement import Consents, Entitlements
from app.history.explorer.explore import Explorer
from app.history.read_chat import ReadChat
from app.history.search_chats import SearchChats
from app.history.surface import SurfaceGate
from app.ports import Extension, Wires, joined_extensions
from app.session.delivery import Delivery
from app.settings import Settings
from app.tasks.build import build_tasks
from app.together.build import build_together
from app.together.lines import EditWatch
from app.together.snapshot import Snapshot
from app.tools.base import Tool
from app.tools.bounds import Bounds
from app.tools.changes import ChangeTracker
from app.tools.files.all import file_tools
from app.tools.files.desk import FileDesk
from app.tools.shell.processes import ProcessRegistry
from app.tools.web.build import build_web
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
    bounds: Bounds,
    tracker: ChangeTracker,
    shell: Sequence[Tool],
    remembering: Sequence[Tool],
    processes: ProcessRegistry,
    own: Sequence[str],
    home: Path,
    folder: str,
) -> tuple[Extension, Explorer]:
    """All of it as one extension, and the explorer for the command line. `crossing` cleans what leaves a chat.

    Its tools are all of Shoal's own in their fixed order, `shell` and `remembering` in their places.
    """
    snapshot = Snapshot(store)
    looking: list[Tool] = [SearchChats(store, search, crossing, surface), ReadChat(store, search, crossing, surface)]
    files = file_tools(FileDesk(bounds, tracker, EditWatch(store, snapshot)))
    web = build_web(settings.web, clean, os.environ)
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
    joined = joined_extensions([exploring, together, tasks])
    return replace(joined, tools=(*looking, *files, *shell, *web, *remembering, *joined.tools)), explorer
