"""What kind of step a tool call is, in the fixed families other chats may hear of (conch-behaviour §4.1)."""

from __future__ import annotations

import re
from typing import Final, Literal

from store.events.tools import ToolStarted

StepFamily = Literal[
    "explore",
    "edit",
    "run",
    "verify",
    "ship",
    "research",
    "browse",
    "connect",
    "make",
    "plan",
    "delegate",
    "remember",
    "other",
]

_BY_TOOL_FAMILY: Final[dict[str, StepFamily]] = {
    "history": "explore",
    "web": "research",
    "memory": "remember",
    "task": "delegate",
    "command": "run",
}
_VERIFIES = re.compile(
    r"\b(pytest|tox|nox|jest|vitest|ctest|unittest|ruff|mypy|eslint|(npm|yarn|pnpm|cargo|go|make|gradle|mvn|bazel|just)"
    r"( run)? (test|check|lint|vet|verify)\b)"
)
_SHIPS = re.compile(
    r"\bgit (-\S+ )*(commit|push|tag|merge|rebase|cherry-pick|revert|am)\b|\b(npm|cargo|twine) (publish|upload)\b"
)


def family_of(call: ToolStarted) -> StepFamily:
    """The family of a call that runs; only its name, its tool's family and which command it is are looked at."""
    if call.family == "files":
        return "edit" if call.effect == "write" else "explore"
    if call.family == "command":
        command = str(call.input.get("command", ""))[:2_000]
        if _SHIPS.search(command):
            return "ship"
        return "verify" if _VERIFIES.search(command) else "run"
    return _BY_TOOL_FAMILY.get(call.family, "other")
