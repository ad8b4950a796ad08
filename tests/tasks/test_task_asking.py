"""What a task's card shows of a question that its chat asks."""

from __future__ import annotations

import pytest

from app.tasks.following import _asking
from store import events as ev
from store.limits import TASK_ASKING_CHARS


@pytest.mark.parametrize("chars", [TASK_ASKING_CHARS, TASK_ASKING_CHARS + 1])
def test_a_command_that_is_not_shown_whole_is_not_allowed_from_the_tasks_card(chars: int) -> None:
    why = "This chat read a.example, which could be trying to steer the assistant; it is about to run a command."
    asked = ev.PermissionRequested(
        permission_id="p_1", call_id="t_1", tool_name="run_command", summary="Run a command",
        preview="x" * chars, taint=why,
    )  # fmt: skip
    asking = _asking([ev.Stored(1, "c_1", 0, 1, asked)])
    assert asking is not None and asking.here is (chars <= TASK_ASKING_CHARS)
    assert why in asking.summary  # why to look twice stands there too
