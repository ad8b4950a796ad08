"""What chats know of each other without a word of theirs: the list, the notes, and the check before an edit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from app.paths import worktrees_of
from app.ports import ChatPort, Extension
from app.together.lines import Notes
from app.together.list_chats import ListChats
from app.together.snapshot import Snapshot
from store.clock import Clock
from store.log import Store


def build_list(
    store: Store,
    clock: Clock,
    port: ChatPort,
    clean: Callable[[str], str],
    snapshot: Snapshot,
    *,
    own: Sequence[str] = (),
    waiting: Callable[[], Collection[str]] = lambda: (),
) -> Extension:
    """`list_chats` and the notes. `own`: Shoal's own folders; those of tasks' worktrees are among them here."""
    own = (*own, *(str(worktrees_of(Path(folder))) for folder in own))
    return Extension(
        tools=(ListChats(store, clock, port, snapshot, clean, waiting=waiting),),
        inboxes=(Notes(store, snapshot, clean, own),),
    )
