"""The records of tasks: made with their chats, read, and written with their card in the chat they came from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from app.ports import TurnContext
from app.tasks import room
from app.tasks.worktrees import Worktrees
from store import events as ev
from store.clock import Clock
from store.ids import CHAT, TASK, new_id
from store.limits import TASK_EVENT_SUMMARY_CHARS, TASK_TITLE_CHARS
from store.log import Change, Store, batch_of
from store.text import safe_name
from store.together import KeptTask, Put

GOING: Final = ("queued", "running", "needs-you")
NO_TASK: Final = "There is no such task."


@dataclass(frozen=True, slots=True)
class Wanted:
    """A task somebody wants."""

    title: str
    instructions: str
    kind: Literal["background", "helper"] = "background"
    model: str | None = None
    group: str | None = None
    tools: tuple[str, ...] | None = None
    changes: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    weight: room.Weight = "medium"
    checks: bool = False
    worktree: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """A task that was made, and what makes it durable."""

    task: KeptTask
    events: tuple[tuple[str, ev.Event], ...]
    changes: tuple[Change, ...]


class Records:
    """Every task's record. `lock` is held while one is read and written; `waits` says why a queued one waits."""

    def __init__(self, store: Store, clock: Clock, clean: Callable[[str], str], worktrees: Worktrees) -> None:
        self.store = store
        self.clock = clock
        self.clean = clean
        self.worktrees = worktrees
        self.lock = asyncio.Lock()
        self.recovering = True  # until what a kill left is closed, nothing starts
        self.since: dict[str, float] = {}  # task → since when it waits, by the steady clock
        self.waits: dict[str, ev.TaskWaiting] = {}
        self.ended = asyncio.Event()  # something ended: who waits for tasks looks

    def tell_ended(self) -> None:
        """One has ended."""
        self.ended.set()
        self.ended = asyncio.Event()

    def of(self, parent: str) -> list[KeptTask]:
        """The tasks a chat started, oldest first."""
        return sorted(self.store.kept(KeptTask, "parent=?", parent), key=lambda t: (t.created_at, t.id))

    def get(self, task: str) -> KeptTask | None:
        """One task."""
        return next(iter(self.store.kept(KeptTask, "id=?", task)), None)

    def by_chat(self, chat: str) -> KeptTask | None:
        """The task a chat is."""
        return next(iter(self.store.kept(KeptTask, "chat=?", chat)), None)

    def going(self) -> list[KeptTask]:
        """Every task that hasn't ended."""
        marks = ",".join("?" * len(GOING))
        return self.store.kept(KeptTask, f"state IN ({marks})", *GOING)

    async def make(self, ctx: TurnContext, wanted: Wanted) -> Made | str:
        """A task and its chat; the sentence where it can't be had."""
        parent = self.store.summary(ctx.chat)
        if parent is None:
            return NO_TASK
        id_, chat = new_id(TASK), new_id(CHAT)
        tree: ev.Worktree | None = None
        folder = parent.folder
        if wanted.worktree:
            made = await self.worktrees.make(parent.folder, id_)
            if isinstance(made, str):
                return made
            tree, folder = made, made.path
        title = safe_name(self.clean(wanted.title), TASK_TITLE_CHARS)
        body: dict[str, Any] = {
            "begin": "task",
            "chain": ctx.chain,
            "group": wanted.group,
            "changes": list(wanted.changes),
            "after": list(wanted.after),
            "weight": wanted.weight,
            "checks": wanted.checks,
            "model": wanted.model or parent.model,
            "mode": ctx.mode,  # the chat's, as the task took it on
            "worktree": tree.model_dump() if tree else None,
        }
        now = self.clock.now_ms()
        prompt = self.clean(wanted.instructions)
        task = KeptTask(id_, ctx.chat, chat, "queued", wanted.kind, title, prompt, now, 1, body)
        created = ev.ChatCreated(
            title=title,
            folder=folder,
            mode=ctx.mode,
            model=wanted.model or parent.model,
            origin=ev.Origin(kind="task", name=safe_name(self.clean(parent.title)), ref=id_, chat=parent.id),
            private=parent.private,
            tools=(*wanted.tools, "report_result") if wanted.tools is not None else None,
        )
        marks = [ev.Taint(source=source) for source in parent.taints]
        events: list[tuple[str, ev.Event]] = [(chat, created), (chat, ev.TitleChanged(title=title, by="model"))]
        events += [(chat, mark) for mark in marks]
        events.append((ctx.chat, self.card(task)))
        self.since[id_] = self.clock.steady()
        return Made(task, tuple(events), (Put(task),))

    def card(self, task: KeptTask) -> ev.Task:
        """The task's card as it is now."""
        body = task.body
        return ev.Task(
            task_id=task.id,
            title=task.title,
            kind=task.kind,
            state=task.state,
            task_chat=task.chat,
            group=body.get("group"),
            current=body.get("current", ""),
            steps=tuple(ev.TaskStep.model_validate(s) for s in body.get("steps", ())),
            asking=ev.TaskAsking.model_validate(body["asking"]) if body.get("asking") else None,
            summary=str(body.get("summary") or "")[:TASK_EVENT_SUMMARY_CHARS],
            error=body.get("error"),
            note=body.get("note", ""),
            by=str(body.get("model", "")),
            worktree=ev.Worktree.model_validate(body["worktree"]) if body.get("worktree") else None,
            waiting=self.waits.get(task.id) if task.state == "queued" else None,
            started_at=body.get("started_at"),
            ended_at=body.get("ended_at"),
            rev=task.rev,
        )

    async def put(self, task: KeptTask, *, more: Sequence[tuple[str, ev.Event]] = (), **body: Any) -> KeptTask:
        """A newer record, with its card in the chat it came from."""
        newer = replace(task, rev=task.rev + 1, body={**task.body, **body})
        if self.store.summary(task.parent) is None or self.store.summary(task.chat) is None:
            return newer  # deleted for ever: nothing of it is written again
        events = [*more, (task.parent, self.card(newer))]
        await self.store.commit(batch_of(events, "chat", [Put(newer)]))
        return newer


def to_begin(task: KeptTask) -> bool:
    """Whether its turn is still to start."""
    return bool(task.body.get("begin")) and not task.body.get("turned")
