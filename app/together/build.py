"""Puts together what chats know of each other: list, notes, messages and waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.ports import ChatPort, Extension, joined_extensions
from app.together.listing import build_list
from app.together.messaging import build_messages
from app.together.snapshot import Snapshot
from app.together.waiting import build_waits
from app.tools.shell.processes import ProcessRegistry
from app.tools.web.client import PageClient
from store.clock import Clock
from store.log import Store


def build_together(
    store: Store,
    clock: Clock,
    port: ChatPort,
    clean: Callable[[str], str],
    *,
    snapshot: Snapshot,
    processes: ProcessRegistry,
    own: Sequence[str] = (),
    client: PageClient | None = None,
) -> Extension:
    """The room's tools, what joins steps, replies that are due, and its commands. `own`: Shoal's own folders."""
    messaging, messages = build_messages(store, clock, port, clean)
    waiting, waits = build_waits(store, clock, port, clean, processes, chain=messages.newest_chain, client=client)
    listing = build_list(store, clock, port, clean, snapshot, own=own, waiting=waits.waiters)
    return joined_extensions([listing, waiting, messaging])
