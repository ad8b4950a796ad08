"""Puts together what chats know of each other: list, notes, messages and waits."""

from __future__ import annotations

from collections.abc import Callable

from app.ports import ChatPort, Extension, joined_extensions
from app.tools.changes import ChangeTracker
from app.tools.shell.processes import ProcessRegistry
from store.clock import Clock
from store.log import Store


def build_together(
    store: Store,
    clock: Clock,
    port: ChatPort,
    clean: Callable[[str], str],
    *,
    processes: ProcessRegistry,
    tracker: ChangeTracker,
) -> Extension:
    """The room's tools, what joins steps, replies that are due, and its commands."""
    return joined_extensions([])
