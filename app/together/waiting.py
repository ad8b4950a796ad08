"""Puts the waits together."""

from __future__ import annotations

import os
from collections.abc import Callable

from app.ports import ChatPort, Extension
from app.together.waits.service import Waits
from app.together.waits.wait_for import WaitFor
from app.together.waits.watchers import ChatWatcher, ProcessWatcher, TaskWatcher, TimeWatcher
from app.together.waits.web_watchers import GITHUB, CiWatcher, UrlWatcher
from app.tools.shell.processes import ProcessRegistry
from app.tools.web.client import PageClient
from store.clock import Clock
from store.limits import WAIT_LOOK_SECONDS, WAIT_PACES
from store.log import Store

TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")


def github_token() -> str | None:
    """The person's token for GitHub, where the environment has one."""
    return next((os.environ[name] for name in TOKENS if os.environ.get(name)), None)


def build_waits(
    store: Store,
    clock: Clock,
    port: ChatPort,
    clean: Callable[[str], str],
    processes: ProcessRegistry,
    *,
    chain: Callable[[str], str | None],
    client: PageClient | None = None,
    token: Callable[[], str | None] = github_token,
    github: str = GITHUB,
) -> tuple[Extension, Waits]:
    """The tool, the watching, and its commands. `chain`: the chain that a reply a wait starts joins."""
    ci = CiWatcher(token, clean, base=github)

    def pace(kind: str) -> tuple[float, float]:
        return WAIT_PACES.get(ci.pace() if kind == "ci" else kind, (WAIT_LOOK_SECONDS, WAIT_LOOK_SECONDS))

    chats = ChatWatcher(store, port, clean, lambda chat: waits.waiting(chat))
    waits = Waits(
        store,
        clock,
        port,
        {
            "chat": chats,
            "task": TaskWatcher(store, clean),
            "process": ProcessWatcher(processes, clean),
            "time": TimeWatcher(clock),
            "url": UrlWatcher(client or PageClient(), clean),
            "ci": ci,
        },
        clean,
        chain=chain,
        pace=pace,
    )
    extension = Extension(
        tools=(WaitFor(store, clock, waits),),
        inboxes=(waits,),
        starters=(waits,),
        handlers={"wait": waits.decide},
        ticks=(waits.tick,),
        ready=(waits.ready,),
        leaving=(waits.leaving,),
        close=(waits.close,),
    )
    return extension, waits
