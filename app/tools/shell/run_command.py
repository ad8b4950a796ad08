"""`run_command`: a command in the chat's work folder, waited for or left running in the background."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field, field_validator

from app.guard.downloads import sources
from app.guard.quoting import host_line
from app.ports import CallFacts, ToolOutcome, TurnContext
from app.tools.base import ToolArgs
from app.tools.shell.output import Clean, HeadTail
from app.tools.shell.processes import ProcessRegistry
from app.tools.shell.running import End, Running
from app.tools.shell.sandbox import Sandbox
from store.clock import Clock
from store.limits import COMMAND_CHARS, COMMAND_LABEL_CHARS, COMMAND_SECONDS, COMMAND_SECONDS_MOST
from store.text import safe_text

EMPTY = "must hold a command"
NUL = "can't hold a NUL character"
NO_FOLDER = "This chat has no work folder, so no command can run in it."
FOLDER_GONE = "The work folder {folder} isn't there (any more), so the command wasn't run. Tell the person."
OWN_FOLDER = "Shoal's own folder holds every chat, so no command runs in it. The person can choose another work folder."
NOT_STARTED = "The command couldn't be started: {why}."

DESCRIPTION = (
    "Run one shell command in the work folder and get what it prints (both streams; the middle of a long output is "
    f"left out) and its exit code. It gets no input and at most `timeout` seconds ({COMMAND_SECONDS} unless given). "
    "`background`: start it and go on, for servers and watchers; process_output reads it, stop_process ends it. "
    "Commands may run in a sandbox without network where only the work folder can be written; the result says so."
)


class CommandArgs(ToolArgs):
    """What to run."""

    command: str = Field(description="The command, for bash", json_schema_extra={"maxLength": COMMAND_CHARS})
    timeout: int | None = Field(
        None, ge=1, le=COMMAND_SECONDS_MOST, description=f"Its limit in seconds, at most {COMMAND_SECONDS_MOST}"
    )
    background: bool = Field(False, description="Leave it running")

    @field_validator("command")
    @classmethod
    def _command(cls, value: str) -> str:
        if not value.strip():
            raise ValueError(EMPTY)
        if "\0" in value:
            raise ValueError(NUL)
        if len(value) > COMMAND_CHARS:
            raise ValueError(f"is longer than {COMMAND_CHARS:,} characters; put it into a script")
        return value


class Passwords(Protocol):
    """What was handed out for a turn's next command."""

    def take(self, chat: str, turn_id: str) -> dict[str, str]:
        """Environment variables, given once."""


class RunCommand:
    """The tool."""

    name = "run_command"
    description = DESCRIPTION
    args: type[BaseModel] = CommandArgs
    family = "command"
    effect: Literal["read", "write"] = "write"
    prompt: str | None = None

    def __init__(
        self,
        sandbox: Sandbox,
        processes: ProcessRegistry,
        clock: Clock,
        clean: Clean,
        passwords: Passwords | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._processes = processes
        self._clock = clock
        self._clean = clean
        self._passwords = passwords

    def refusal(self, ctx: TurnContext) -> str | None:
        """None where the chat has a work folder."""
        return None if ctx.folder else NO_FOLDER

    def label(self, args: Any) -> str:
        """ "Ran npm test -- auth"."""
        short = safe_text(args.command, one_line=True, limit=COMMAND_LABEL_CHARS)
        return f"Started {short} in the background" if args.background else f"Ran {short}"

    async def facts(self, args: Any, ctx: TurnContext) -> CallFacts:
        """The whole command and where it would run."""
        sandboxed = await self._sandbox.ready()
        folder, within = await asyncio.to_thread(self._place, ctx.folder)
        return CallFacts(
            self.name,
            self.family,
            self.effect,
            summary="Start a command in the background" if args.background else "Run a command",
            preview=args.command,
            place=folder,
            command=args.command,
            folder=folder,
            sandboxed=sandboxed and self._sandbox.fits(Path(folder)),
            never=OWN_FOLDER if within else None,
        )

    async def run(self, args: Any, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Run it; the tree is gone when this returns, stopped, timed out or cancelled, but for a background one."""
        await self._sandbox.ready()
        place, within = await asyncio.to_thread(self._place, ctx.folder)
        if within:
            return ToolOutcome(OWN_FOLDER, ok=False)
        folder = Path(place)
        if not await asyncio.to_thread(folder.is_dir):
            return ToolOutcome(FOLDER_GONE.format(folder=safe_text(str(folder), one_line=True)), ok=False)
        taints = sources(args.command)
        handed = self._passwords.take(ctx.chat, ctx.turn_id) if self._passwords is not None else {}
        if args.background:
            text, ok = await self._processes.start(args.command, folder, ctx.chat, call_id, handed)
            return ToolOutcome(text, ok=ok, taints=taints)
        text, ok = await self._foreground(args, folder, ctx, call_id, handed)
        return ToolOutcome(text, ok=ok, taints=taints)

    def _place(self, folder: str) -> tuple[str, bool]:
        """The folder with its links followed, and whether it lies in Shoal's own."""
        real = os.path.realpath(folder)
        own = [os.path.realpath(path) for path in self._sandbox.private]
        return real, any(real == path or real.startswith(path + os.sep) for path in own)

    async def _foreground(
        self, args: Any, folder: Path, ctx: TurnContext, call_id: str, handed: dict[str, str]
    ) -> tuple[str, bool]:
        limit = args.timeout or COMMAND_SECONDS
        out = HeadTail()
        prepared = self._sandbox.prepare(args.command, folder, handed)
        begun = self._clock.steady()
        try:
            running = await Running.start(self._sandbox, prepared, folder, out)
        except OSError as error:
            return NOT_STARTED.format(why=error.strerror or "the system refused"), False

        def told() -> None:
            if ctx.progress is not None and (line := out.last_line(self._clean)):
                ctx.progress(call_id, line)

        try:
            how = await running.wait(limit, ctx.stop, told)
        finally:
            running.drop()
        text = await asyncio.to_thread(out.text, self._clean)
        ended = self._ended(how, running.code, self._clock.steady() - begun, limit)
        return f"{ended}\n{text.strip(chr(10)) or '(nothing came out)'}", how == "exited" and running.code == 0

    def _ended(self, how: End, code: int | None, seconds: float, limit: int) -> str:
        where = self._sandbox.brief
        if how == "limit":
            return host_line(
                f"stopped at its limit of {limit} s, with everything it had started ({where}); `timeout` can be up to "
                f"{COMMAND_SECONDS_MOST}, and `background` is for what runs on"
            )
        if how == "stopped":
            return host_line(f"stopped by the person after {seconds:.1f} s, with everything it had started ({where})")
        return host_line(f"exit code {'unknown' if code is None else code} after {seconds:.1f} s ({where})")
