"""A task's own worktree of the repository its chat works in."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

from store.events import Worktree

NO_REPOSITORY: Final = "The chat's folder isn't in a git repository, so a task can't have a worktree of its own there."
NOT_MADE: Final = "git couldn't make a worktree: {why}"
SECONDS: Final = 60


class Worktrees:
    """Makes them under `root`, beside Shoal's own folder; one that changed nothing is removed when its task ends."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def make(self, folder: str, task: str) -> Worktree | str:
        """A new branch in a new folder, or the sentence why not."""
        code, top = await _git(folder, "rev-parse", "--show-toplevel") if folder else (1, "")
        if code != 0:
            return NO_REPOSITORY
        path, branch = self._root / task, f"shoal/{task}"
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        code, said = await _git(top, "worktree", "add", "-q", "-b", branch, str(path))
        return Worktree(path=str(path), branch=branch) if code == 0 else NOT_MADE.format(why=said[-200:])

    async def ended(self, tree: Worktree) -> Worktree:
        """How many files it changed; with none, and no commit, folder and branch go."""
        _, changed = await _git(tree.path, "status", "--porcelain")
        count = len(changed.splitlines()) if changed else 0
        _, ahead = await _git(
            tree.path, "log", "--oneline", "-1", "HEAD", "--not", f"--exclude={tree.branch}", "--branches"
        )
        if not count and not ahead:
            code, main = await _git(tree.path, "rev-parse", "--path-format=absolute", "--git-common-dir")
            if code == 0:
                await _git(main, "worktree", "remove", tree.path)
                await _git(main, "branch", "-D", tree.branch)
        return tree.model_copy(update={"changed": count})


async def _git(folder: str, *args: str) -> tuple[int, str]:
    """The exit code, and what it said."""
    try:
        proc = await asyncio.create_subprocess_exec(
            "git",
            "-C",
            folder,
            *args,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
        )
        try:
            async with asyncio.timeout(SECONDS):
                out, _ = await proc.communicate()
        finally:
            if proc.returncode is None:
                proc.kill()  # it hangs, or nobody waits for it any more
                await proc.wait()
    except (OSError, TimeoutError) as error:
        return 1, type(error).__name__
    return proc.returncode or 0, out.decode("utf-8", "replace").strip()
