"""Puts together background tasks, their room, and routines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from app.paths import worktrees_of
from app.ports import ChatPort, Extension
from app.settings import RoutineSettings
from app.tasks import room
from app.tasks.arranging import machine
from app.tasks.routines import Routines
from app.tasks.service import Tasks
from app.tasks.tools import Delegate, ReportResult, StartBackgroundTask, TaskControl, TaskStatus
from app.tasks.worktrees import Worktrees
from store.clock import Clock
from store.log import Store


def build_tasks(
    store: Store,
    clock: Clock,
    port: ChatPort,
    clean: Callable[[str], str],
    *,
    home: Path,
    commands: Callable[[], int] = lambda: 0,
    reading: Callable[[], room.Machine] | None = None,
    routines: Mapping[str, RoutineSettings] | None = None,
    model: str = "offline",
    folder: str = "",
) -> tuple[Extension, Tasks]:
    """The tools, what tasks are told, those that are due, and the commands. `commands`: how many run now."""
    worktrees = Worktrees(worktrees_of(home))
    tasks = Tasks(store, clock, port, clean, machine=reading or (lambda: machine(commands)), worktrees=worktrees)
    timed = Routines(store, clock, port, routines or {}, model=model, folder=folder)

    async def ready() -> None:
        await tasks.ready()
        await timed.ready()

    async def tick() -> None:
        await tasks.arrange()
        await timed.look()

    extension = Extension(
        tools=(
            StartBackgroundTask(store, tasks),
            TaskStatus(store, tasks),
            TaskControl(store, tasks),
            Delegate(store, tasks),
            ReportResult(tasks),
        ),
        inboxes=(tasks, timed),
        starters=(tasks, timed),
        handlers={"task": tasks.decide},
        ticks=(tick,),
        ready=(ready,),
        leaving=(tasks.leaving,),
        close=(tasks.close, timed.close),
    )
    return extension, tasks
