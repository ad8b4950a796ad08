"""`process_output` and `stop_process`: what a background process printed, and its end."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.guard.downloads import sources
from app.guard.quoting import host_line
from app.ports import ToolOutcome, TurnContext
from app.tools.base import ToolArgs
from app.tools.shell.output import Clean
from app.tools.shell.processes import Process, ProcessRegistry

NO_PROCESS = "There is no such background process in this chat; use the id run_command gave."


class OutputArgs(ToolArgs):
    """Which process, and from where on."""

    process: str = Field(description="The id run_command gave")
    since: int | None = Field(None, ge=0, description="Only what came after this position (the answer gives the next)")


class StopArgs(ToolArgs):
    """Which process."""

    process: str = Field(description="The id run_command gave")


class ProcessOutput:
    """Reads; what a download printed marks the chat as the command itself did."""

    name = "process_output"
    description = (
        "What a background process has printed (the newest part where it is much), whether it still runs, and its exit "
        "code. Give the position of the last answer as `since` to get only what is new."
    )
    args: type[BaseModel] = OutputArgs
    family = "command"
    effect: Literal["read", "write"] = "read"
    prompt: str | None = None

    def __init__(self, processes: ProcessRegistry, clean: Clean) -> None:
        self._processes = processes
        self._clean = clean

    def refusal(self, ctx: TurnContext) -> str | None:
        """Always None: a chat reaches only its own processes."""
        return None

    def label(self, args: Any) -> str:
        """Plain words."""
        return "Looked at a background process"

    async def run(self, args: Any, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """The output since a position."""
        process = self._processes.get(ctx.chat, args.process)
        if process is None:
            return ToolOutcome(NO_PROCESS, ok=False)
        text, gone = await asyncio.to_thread(process.out.since, args.since or 0, self._clean)
        lines = [host_line(f"{state_of(process)}; next position {process.out.total}")]
        if gone:
            lines.append(host_line(f"{gone:,} bytes before this aren't shown"))
        lines.append(text.strip("\n") or "(nothing new came out)")
        return ToolOutcome("\n".join(lines), taints=sources(process.command))


class StopProcess:
    """Ends one with everything it started."""

    name = "stop_process"
    description = "Stop a background process of this chat, with everything it started."
    args: type[BaseModel] = StopArgs
    family = "command"
    effect: Literal["read", "write"] = "write"
    prompt: str | None = None

    def __init__(self, processes: ProcessRegistry) -> None:
        self._processes = processes

    def refusal(self, ctx: TurnContext) -> str | None:
        """Always None: a chat reaches only its own processes."""
        return None

    def label(self, args: Any) -> str:
        """Plain words."""
        return "Stopped a background process"

    async def run(self, args: Any, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Stop it; one that has ended already is said to have."""
        process = self._processes.get(ctx.chat, args.process)
        if process is None:
            return ToolOutcome(NO_PROCESS, ok=False)
        if process.ended is not None:
            return ToolOutcome(f"It had ended already: {state_of(process)}.")
        await self._processes.stop(process)
        return ToolOutcome("Stopped, with everything it had started.")


def state_of(process: Process) -> str:
    """Whether it runs, in words."""
    if process.ended is None:
        return "still running"
    ends = {"exited": f"ended with exit code {process.code}", "limit": "stopped at its limit", "closed": "ended"}
    return ends.get(process.ended, "stopped")
