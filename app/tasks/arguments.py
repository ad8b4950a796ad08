"""What the tools of tasks are given."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.tools.base import ToolArgs
from store.limits import (
    CHAT_ID_CHARS,
    TASK_INSTRUCTIONS_CHARS,
    TASK_PARTS,
    TASK_SUMMARY_CHARS,
    TASK_TITLE_ASKED_CHARS,
)


class StartArgs(ToolArgs):
    """A task."""

    title: str = Field(min_length=1, max_length=TASK_TITLE_ASKED_CHARS, description="A few words")
    instructions: str = Field(
        min_length=1,
        max_length=TASK_INSTRUCTIONS_CHARS,
        description="All it needs to know: it sees nothing else",
    )
    model: str | None = Field(None, max_length=120, description="Another model than this chat's")
    checks: bool = Field(False, description="It must report a result to count as done")
    worktree: bool = Field(False, description="In a git worktree of its own")
    tools: list[str] | None = Field(None, max_length=30, description="Only these tools")
    changes: list[str] | None = Field(
        None, max_length=20, description="What it changes; two that share one don't run together"
    )
    after: list[str] | None = Field(None, max_length=20, description="Ids of tasks that have to end first")
    weight: Literal["light", "medium", "heavy"] = Field("medium", description="How much of the computer it takes")


class Part(ToolArgs):
    """One part of split work."""

    title: str = Field(min_length=1, max_length=TASK_TITLE_ASKED_CHARS)
    instructions: str = Field(min_length=1, max_length=TASK_INSTRUCTIONS_CHARS)
    model: str | None = Field(None, max_length=120)
    worktree: bool = False
    checks: bool = False


class DelegateArgs(ToolArgs):
    """Parts that can be worked on side by side."""

    parts: list[Part] = Field(min_length=1, max_length=TASK_PARTS)


class StatusArgs(ToolArgs):
    """One task, or all of this chat's."""

    id: str | None = Field(None, max_length=CHAT_ID_CHARS)
    operations_offset: int = Field(0, ge=0, le=10**6, description="With an id: from which of its operations on")


class ControlArgs(ToolArgs):
    """What to do with a task."""

    id: str = Field(min_length=1, max_length=CHAT_ID_CHARS)
    action: Literal["stop", "retry", "continue"]
    instructions: str = Field("", max_length=TASK_INSTRUCTIONS_CHARS, description="continue: how to go on")


class ReportArgs(ToolArgs):
    """The result of a task."""

    result: str = Field(min_length=1, max_length=TASK_SUMMARY_CHARS)
