"""The tools of commands and the service that holds background processes, built together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from app.settings import CommandSettings
from app.tools.base import Tool
from app.tools.shell.process_tools import ProcessOutput, StopProcess
from app.tools.shell.processes import ProcessRegistry
from app.tools.shell.run_command import Passwords, RunCommand
from app.tools.shell.sandbox import Sandbox
from store.clock import Clock
from store.log import Store


def build_shell(
    store: Store,
    settings: CommandSettings,
    clock: Clock,
    clean: Callable[[str], str],
    *,
    private: Iterable[Path],
    key_names: Iterable[str],
    passwords: Passwords | None = None,
) -> tuple[list[Tool], ProcessRegistry]:
    """`private`: folders no command sees. `key_names`: environment variables no command gets."""
    sandbox = Sandbox(
        private=tuple(private),
        network=settings.network,
        switched_on=settings.sandbox == "auto",
        passed=settings.environment,
        never_passed=tuple(key_names),
    )
    processes = ProcessRegistry(store, sandbox, clock, clean)
    tools: list[Tool] = [
        RunCommand(sandbox, processes, clock, clean, passwords),
        ProcessOutput(processes, clean),
        StopProcess(processes),
    ]
    return tools, processes
