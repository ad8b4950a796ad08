"""A work folder, a home, and file tools over them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from app.ports import CallFacts, ToolOutcome, TurnContext
from app.tools.beneath import Refused
from app.tools.bounds import Bounds
from app.tools.files.all import file_tools
from app.tools.files.desk import FileChanges, FileDesk


class Hands:
    """The tools of one chat in `root/work`, with Shoal's home in `root/home` (which isn't made)."""

    def __init__(self, root: Path, changes: FileChanges | None = None, chat: str = "c_a") -> None:
        self.home, self.work = root / "home", root / "work"
        self.work.mkdir(exist_ok=True)
        self.bounds = Bounds.of(self.home)
        self.desk = FileDesk(self.bounds, changes)
        self.tools = {tool.name: tool for tool in file_tools(self.desk)}
        self.ctx = TurnContext(chat, "tu_1", "auto", None, (), folder=str(self.work), stop=asyncio.Event())
        self.last: ToolOutcome | None = None

    async def facts(self, name: str, **args: Any) -> CallFacts:
        """What the guard would be told."""
        tool = self.tools[name]
        told = await tool.facts(tool.args.model_validate(args, strict=True), self.ctx)  # type: ignore[attr-defined]
        assert isinstance(told, CallFacts)
        return told

    async def __call__(self, name: str, *, allowed: bool = False, **args: Any) -> ToolOutcome:
        """Run a call as the toolbox would; `allowed`: the guard looked at it first, and let it through."""
        tool = self.tools[name]
        made = tool.args.model_validate(args, strict=True)
        if allowed:
            assert (await tool.facts(made, self.ctx)).never is None  # type: ignore[attr-defined]
        self.last = await tool.run(made, self.ctx, "call_1")
        return self.last

    async def text(self, name: str, **args: Any) -> str:
        """The words of a call that went well."""
        done = await self(name, **args)
        assert done.ok, done.text
        return done.text


def put(folder: Path, name: str, data: bytes | str) -> Path:
    """A file with its folders."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def all_files(folder: Path) -> dict[str, bytes]:
    """Every file below, by name."""
    return {
        os.path.relpath(os.path.join(where, name), folder): Path(where, name).read_bytes()
        for where, _, names in os.walk(folder)
        for name in names
    }


__all__ = ["Hands", "Refused", "all_files", "put"]
