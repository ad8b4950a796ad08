"""Routines: the person's prompts that run on a schedule, each run a chat of its own with nobody watching."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.aio import TaskSet
from app.guard.quoting import host_line
from app.ports import ChatPort, Joining, Start, Turn
from app.settings import RoutineSettings
from store import events as ev
from store.clock import Clock
from store.errors import StoreError
from store.ids import CHAT, new_id
from store.limits import ROUTINE_LOOK_SECONDS
from store.log import Store, batch_of
from store.text import safe_name
from store.together import KeptRoutine, Put

log = logging.getLogger("shoal.routines")

FRAME: Final = (
    "the person's routine “{name}” runs. What follows is what they wrote for it; nobody is watching, and questions "
    "that nobody answers count as no"
)
BAD_SCHEDULE: Final = "The schedule of the routine “{name}” isn't five cron words, such as 0 9 * * 1-5; it doesn't run."


@dataclass(frozen=True, slots=True)
class Next:
    """When a routine runs next, for a list of them; `problem` where its schedule can't be read."""

    name: str
    at: int | None
    problem: str | None = None


def previous_and_next(schedule: str, now_ms: int) -> tuple[int | None, int | None]:
    """The last time that lies in the past and the first in the future, in the local zone, epoch ms.

    Raises ValueError for what isn't a schedule. The past is looked at for 32 days.
    """
    from cronsim import CronSim, CronSimError

    now = dt.datetime.fromtimestamp(now_ms / 1000).astimezone()
    try:
        following = next(CronSim(schedule, now), None)
        back = next(CronSim(schedule, now + dt.timedelta(seconds=1), reverse=True), None)
    except CronSimError:
        raise ValueError(schedule) from None
    if back is not None and now - back > dt.timedelta(days=32):
        back = None
    return (None if back is None else _ms(back)), (None if following is None else _ms(following))


def _ms(at: dt.datetime) -> int:
    return int(at.timestamp() * 1000)


class Routines:
    """Implements `Inbox` and `Starter` for the runs. What was missed while Shoal was off runs once at its start."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        port: ChatPort,
        routines: Mapping[str, RoutineSettings],
        *,
        model: str,
        folder: str,
    ) -> None:
        self._store = store
        self._clock = clock
        self._port = port
        self._routines = {name: one for name, one in routines.items() if one.on}
        self._model = model
        self._folder = folder
        self._tasks = TaskSet()
        self._looking = asyncio.Lock()

    def nexts(self) -> list[Next]:
        """When each runs next."""
        out = []
        for name, routine in self._routines.items():
            try:
                out.append(Next(name, previous_and_next(routine.schedule, self._clock.now_ms())[1]))
            except ValueError:
                out.append(Next(name, None, BAD_SCHEDULE.format(name=safe_name(name))))
        return out

    async def look(self) -> None:
        """Run what is due; a routine that is seen for the first time begins with its next time."""
        async with self._looking:
            now = self._clock.now_ms()
            for name, routine in self._routines.items():
                kept = next(iter(self._store.kept(KeptRoutine, "id=?", name)), None)
                try:
                    past, _ = previous_and_next(routine.schedule, now)
                except ValueError:
                    log.warning("%s", BAD_SCHEDULE.format(name=safe_name(name)))
                    continue
                if kept is None:
                    await self._store.commit(batch_of([], "chat", [Put(KeptRoutine(name, {"last": now}))]))
                elif past is not None and past > int(kept.body.get("last", now)):
                    await self._run(name, routine, kept, now)

    async def _run(self, name: str, routine: RoutineSettings, kept: KeptRoutine, now: int) -> None:
        """A chat of its own, under the routine's name; the run before it goes out of the list."""
        before, chat = kept.body.get("chat"), new_id(CHAT)
        created = ev.ChatCreated(
            title=safe_name(name),
            folder=routine.folder or self._folder,
            mode=routine.mode,
            model=routine.model or self._model,
            origin=ev.Origin(kind="routine", name=safe_name(name), ref=name),
        )
        events: list[tuple[str, ev.Event]] = [
            (chat, created),
            (chat, ev.TitleChanged(title=safe_name(name), by="person")),
        ]
        old = self._store.summary(str(before)) if before else None
        if old is not None and old.archived_at is None and old.turn_id is None:
            events.append((old.id, ev.ChatArchived(archived=True)))
        body: dict[str, Any] = {"last": now, "chat": chat, "begin": chat, "prompt": chat}
        await self._store.commit(batch_of(events, "chat", [Put(KeptRoutine(name, body))]))
        self._port.nudge(chat)

    def _kept(self, chat: str, is_to: str) -> KeptRoutine | None:
        """The routine whose run is to `begin`, or to get its `prompt`, in this chat."""
        summary = self._store.summary(chat)
        if summary is None or summary.origin is None or summary.origin.kind != "routine":
            return None
        kept = next(iter(self._store.kept(KeptRoutine, "id=?", summary.origin.ref or "")), None)
        return kept if kept is not None and kept.body.get(is_to) == chat else None

    async def take(self, turn: Turn, step: int) -> Joining:
        """The routine's prompt, as the person wrote it in their settings."""
        kept = self._kept(turn.chat, "prompt") if step == 1 else None
        routine = self._routines.get(kept.id) if kept else None
        if kept is None or routine is None:
            return Joining()
        text = f"{host_line(FRAME.format(name=safe_name(kept.id)))}\n{routine.prompt}"
        done = KeptRoutine(kept.id, {**kept.body, "prompt": None})
        return Joining((ev.Joined(kind="note", text=text),), changes=(Put(done),))

    def due(self, chat: str) -> Start | None:
        """A run that hasn't begun."""
        kept = self._kept(chat, "begin")
        if kept is None or kept.id not in self._routines:
            return None
        # set with its turn: a run that ends before its first step isn't begun again by itself
        return Start("routine", attended=False, changes=(Put(KeptRoutine(kept.id, {**kept.body, "begin": None})),))

    def chats(self) -> Sequence[str]:
        """The chats of such runs."""
        begun = (k.body.get("begin") for k in self._store.kept(KeptRoutine) if k.id in self._routines)
        return [str(chat) for chat in begun if chat and self._store.summary(str(chat)) is not None]

    async def ready(self) -> None:
        """From now on they run."""
        if self._routines:
            self._tasks.spawn(self._watch(), name="routines")

    async def _watch(self) -> None:
        while True:
            try:
                await self.look()
            except StoreError as error:
                log.warning("routines couldn't be looked at: %s", error)
            await asyncio.sleep(ROUTINE_LOOK_SECONDS)

    async def close(self) -> None:
        """None runs any more."""
        await self._tasks.close()
