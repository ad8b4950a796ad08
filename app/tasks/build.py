"""Puts together background tasks, their room, and routines."""

from __future__ import annotations

from collections.abc import Callable

from app.ports import ChatPort, Extension, joined_extensions
from app.settings import Settings
from store.clock import Clock
from store.log import Store


def build_tasks(
    store: Store, clock: Clock, port: ChatPort, clean: Callable[[str], str], *, settings: Settings
) -> Extension:
    """The room's tools, replies that are due, and its commands."""
    return joined_extensions([])
