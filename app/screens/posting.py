"""Screens post commands and go on; nothing on screen ever waits for the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from app.aio import TaskSet
from app.commands import AnyCommand, CommandError

if TYPE_CHECKING:
    from app.session.session import Session

Then = Callable[[dict[str, Any]], None]
Failed = Callable[[str], None]


class Posting:
    """Sends commands one after another for each chat, so that they arrive in the order they were given."""

    def __init__(self, session: Session, tasks: TaskSet, say: Callable[[str], None]) -> None:
        self._session, self._tasks, self._say = session, tasks, say

    def post(self, command: AnyCommand, then: Then | None = None, failed: Failed | None = None) -> None:
        """Send it; `then` gets its answer, `failed` the sentence (which is shown all the same)."""
        self._tasks.spawn(self._send(command, then, failed), command.do)

    async def _send(self, command: AnyCommand, then: Then | None, failed: Failed | None) -> None:
        try:
            answer = await self._session.do(command)
        except CommandError as error:
            self._say(error.message)
            if failed is not None:
                failed(error.message)
            return
        if then is not None:
            then(answer)


def checked(make: Callable[[], AnyCommand]) -> AnyCommand | str:
    """A command of what was typed, or the sentence that says why it can't be one."""
    try:
        return make()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"]) or "that"
        if first["type"] == "string_too_long":
            return f"The {where} can have at most {first['ctx']['max_length']:,} characters"
        return f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}"
