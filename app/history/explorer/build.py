"""Puts the explorer together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.history.explorer.entitlement import Consents, Entitlements
from app.history.explorer.explore import Explorer
from app.history.explorer.tool import ExploreChatHistory
from app.history.surface import SurfaceGate
from app.ports import Extension, Wires
from store.clock import Clock
from store.log import Store


def build_explorer(
    store: Store,
    search: Any,
    clock: Clock,
    wires: Wires,
    clean: Callable[[str], str],
    entitlements: Entitlements,
    gate: SurfaceGate,
    consents: Consents,
) -> tuple[Extension, Explorer]:
    """The tool, the commands, and what a kill left pending."""
    explorer = Explorer(store, search, clock, wires, clean, entitlements, gate, consents)
    extension = Extension(
        tools=(ExploreChatHistory(explorer),),
        handlers={"explore": explorer.command, "consent": explorer.consent},
        ready=(explorer.ready,),
        close=(explorer.close,),
    )
    return extension, explorer
