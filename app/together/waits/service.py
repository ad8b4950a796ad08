"""Waits: watched without a model, kept over restarts, and heard when the chat's next reply starts (ADR 0125, 0134)."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.aio import TaskSet
from app.commands import CommandError, DecideWait
from app.guard.quoting import host_line
from app.guard.taint import has_person
from app.ports import ChatPort, Joining, Start, Turn, TurnContext
from app.together.waits.looks import Look, makes_cycle, next_pause, span
from app.together.waits.watchers import Watcher
from store.clock import Clock
from store.errors import StoreError
from store.events import Joined, TaintSource, Wait, WaitNote
from store.events.together import WaitKind, WaitState
from store.ids import WAIT, new_id
from store.limits import (
    WAIT_CHECK_SECONDS,
    WAIT_CLOCKED,
    WAIT_LOOK_SECONDS,
    WAIT_NUDGE_SECONDS,
    WAIT_STATUS_CHARS,
    WAIT_TITLE_CHARS,
    WAITS_A_CHAT,
    WAITS_MOST,
)
from store.log import Batch, Change, Store
from store.together import Drop, KeptTask, KeptWait, Put

log = logging.getLogger("shoal.together")

TOO_MANY_HERE: Final = f"This chat waits for {WAITS_A_CHAT} things already, which is the most. Let one end first."
TOO_MANY: Final = f"{WAITS_MOST} waits are open in all chats, which is the most. Let one end first."
RING: Final = (
    "That chat waits for this one (itself or through others), so waiting for it would only stop all of them. Go on "
    "with what you have, or tell the person."
)
NO_WAIT: Final = "This wait is over."
ENDED_WITH_SHOAL: Final = "Shoal ended"
CHAIN_ENDED: Final = "you stopped the chain it belongs to"
CANT_WATCH: Final = "can't be watched any more"
WOKE: Final = "what this chat waited for: {words}"
LATE: Final = (
    "this chat waited for {title} until its limit and gave up; last seen: {status}. It may wait longer if that helps"
)
FAILED: Final = "this chat could not go on waiting for {title}: {why}"
KNOWN_SECONDS: Final = 60.0  # a call's result is durable long before
GO_ON: Final = " Carry on with what you were doing."


@dataclass(slots=True)
class Open:
    """A wait that is being watched."""

    note: WaitNote
    chat: str
    spec: dict[str, Any]
    held: bool
    ends: float  # its limit, by the steady clock: a wall clock that jumps ends nothing
    nudge: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    known: asyncio.Event = field(default_factory=asyncio.Event)  # its row is durable
    last: Look = field(default_factory=Look)
    looked_at: float = -1e9  # by the steady clock
    pause: float = 0.0
    checked: float = -1e9


class Waits:
    """All waits of this Shoal. Implements `Inbox` and `Starter` for those that let go of their turn."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        port: ChatPort,
        watchers: Mapping[WaitKind, Watcher],
        clean: Callable[[str], str],
        *,
        chain: Callable[[str], str | None] = lambda _chat: None,
        pace: Callable[[str], tuple[float, float]],
        chance: random.Random | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._port = port
        self._watchers = watchers
        self._clean = clean
        self._chain = chain
        self._pace = pace
        self._chance = chance or random.Random()
        self._open: dict[str, Open] = {}
        self._tasks = TaskSet()
        self._picked_up = False  # those of before the restart are watched again
        port.listen(self._moved)
        port.listen_chain(self.end_chain)

    # -- what is open

    def waiting(self, chat: str) -> bool:
        """Whether the chat ended its reply to wait for something: it carries on by itself, so it isn't done."""
        if any(o.chat == chat and not o.held for o in self._open.values()):
            return True
        kept = "state='ended'" if self._picked_up else "state IN ('watching', 'ended')"
        return bool(self._store.kept(KeptWait, f"chat=? AND {kept}", chat))

    def waiters(self) -> set[str]:
        """Every chat that `waiting` is true of. May be asked from a thread."""
        kept = "state='ended'" if self._picked_up else "state IN ('watching', 'ended')"
        mine = {o.chat for o in list(self._open.values()) if not o.held}
        return mine | {w.chat for w in self._store.kept(KeptWait, kept)}

    def find(self, chat: str, kind: str, key: str) -> Open | None:
        """The chat's wait for the same thing."""
        mine = (o for o in self._open.values() if o.chat == chat and o.note.kind == kind)
        return next((o for o in mine if o.spec["key"] == key), None)

    def refusal(self, chat: str, target: str | None) -> str | None:
        """Why the chat may not wait for one thing more (`target`: the chat it would wait for)."""
        if sum(o.chat == chat for o in self._open.values()) >= WAITS_A_CHAT:
            return TOO_MANY_HERE
        if len(self._open) >= WAITS_MOST:
            return TOO_MANY
        edges = [(o.chat, str(o.spec["chat"])) for o in self._open.values() if o.spec.get("chat")]
        edges += [(t.parent, t.chat) for t in self._tasks_held()]
        return RING if target is not None and makes_cycle(edges, chat, target) else None

    def _tasks_held(self) -> list[KeptTask]:
        ids = [str(o.spec["task"]) for o in self._open.values() if o.spec.get("task")]
        marks = ",".join("?" * len(ids))
        return self._store.kept(KeptTask, f"id IN ({marks})", *ids) if ids else []

    async def look(self, kind: WaitKind, chat: str, spec: dict[str, Any]) -> Look:
        """One look, before a wait is made."""
        return await self._looked(self._watchers[kind], chat, spec)

    async def _looked(self, watcher: Watcher, chat: str, spec: dict[str, Any]) -> Look:
        try:
            return await watcher.look(chat, spec)
        except (OSError, StoreError) as error:
            log.warning("a look of %s failed: %s", chat, error)
            return Look(status="couldn't look just now", blip=True)

    # -- beginning

    def begin(self, note: WaitNote, chat: str, spec: dict[str, Any], first: Look, *, held: bool) -> tuple[Wait, Change]:
        """Watch from now on; the event and the row go in the batch of the call's result (or of their own, if held)."""
        shown = self._with(note, first, held=held)
        opened = self._open[note.wait_id] = Open(shown, chat, spec, held, self._ends(note))
        opened.last, opened.looked_at = first, self._clock.steady()
        opened.pause = next_pause(self._pace(note.kind), 0, changed=True, hint=first.hint, chance=self._chance)
        opened.note = self._timed(opened)
        self._tasks.spawn(self._watch(opened), name=f"wait {note.wait_id}")
        kept = {**spec, "note": opened.note.model_dump()}
        row = KeptWait(
            note.wait_id, chat, "held" if held else "watching", kept, note.started_at, note.deadline, note.tell
        )
        return Wait(wait_id=note.wait_id, wait=opened.note), Put(row)

    def note(
        self,
        kind: WaitKind,
        title: str,
        *,
        minutes: float,
        tell: bool,
        url: str | None = None,
        chat: str | None = None,
    ) -> WaitNote:
        """A new wait as its row shows it."""
        now = self._clock.now_ms()
        return WaitNote(
            wait_id=new_id(WAIT),
            kind=kind,
            title=self._clean(title)[:WAIT_TITLE_CHARS],
            started_at=now,
            deadline=now + int(minutes * 60_000),
            tell=tell,
            url=url,
            chat=chat,
        )

    async def hold(
        self, note: WaitNote, ctx: TurnContext, spec: dict[str, Any], first: Look
    ) -> tuple[str, tuple[TaintSource, ...], bool]:
        """Wait inside the call: what changed in words, the marks it brings, and whether it ended well."""
        event, row = self.begin(note, ctx.chat, spec, first, held=True)
        opened = self._open[note.wait_id]
        stop = ctx.stop or asyncio.Event()
        tasks = TaskSet()
        try:
            await self._store.commit(Batch.of(ctx.chat, event, changes=[row]))  # a stop may come as early as here
            opened.known.set()
            await asyncio.wait(
                {tasks.spawn(opened.over.wait()), tasks.spawn(stop.wait())}, return_when=asyncio.FIRST_COMPLETED
            )
        finally:  # first of all, since a reply that ends may cancel this twice
            stopped = not opened.over.is_set()
            opened.known.set()
            if stopped:
                self._tasks.spawn(self._end(opened, "stopped", Look(status="stopped with its reply")))
            await tasks.close()
        if stopped:
            return "Stopped waiting.", (), False
        summary = self._store.summary(ctx.chat)
        bare = summary is None or has_person(summary.taints)
        return self._words(opened, bare=bare), opened.last.taints, opened.note.state == "done"

    # -- watching

    async def _watch(self, opened: Open) -> None:
        """Looks until it is over, then says so; survives whatever a look does."""
        try:
            async with asyncio.timeout(KNOWN_SECONDS):  # not wait_for, which may swallow the end of the program
                await opened.known.wait()
        except TimeoutError:  # its call's result couldn't be kept, so there is no such wait
            self._open.pop(opened.note.wait_id, None)
            return
        while opened.note.wait_id in self._open and not opened.over.is_set():
            left = self._until_due(opened)
            if left > 0:  # at once, where something moved during the last look
                await self._sleep(opened, left)
                if not opened.nudge.is_set() and self._until_due(opened) > 0:
                    continue
            if opened.nudge.is_set():
                since = self._clock.steady() - opened.looked_at
                if 0 <= since < WAIT_NUDGE_SECONDS and self._left(opened) > 0:
                    await asyncio.sleep(WAIT_NUDGE_SECONDS - since)
                opened.nudge.clear()
            look = await self._looked(self._watchers[opened.note.kind], opened.chat, opened.spec)
            await self._take(opened, look)

    async def _sleep(self, opened: Open, seconds: float) -> None:
        try:
            async with asyncio.timeout(min(seconds, WAIT_LOOK_SECONDS)):
                await opened.nudge.wait()
        except TimeoutError:
            return

    def _until_due(self, opened: Open) -> float:
        left = min(opened.looked_at + opened.pause - self._clock.steady(), self._left(opened))
        if opened.note.kind != "time":
            return left
        return min(left, (int(opened.spec["due"]) - self._clock.now_ms()) / 1000)  # the computer may have slept

    def _left(self, opened: Open) -> float:
        return opened.ends - self._clock.steady()

    def _ends(self, note: WaitNote) -> float:
        """Its limit by the steady clock, from the limit in wall time that its row and a restart know."""
        return self._clock.steady() + (note.deadline - self._clock.now_ms()) / 1000

    async def _take(self, opened: Open, look: Look) -> None:
        """What a look gave: an event where something shown changed, which for one that is polled is its next look."""
        opened.looked_at = self._clock.steady()
        if opened.over.is_set() or opened.note.wait_id not in self._open:
            return
        if look.fatal is not None:
            await self._end(opened, "failed", replace(look, status=look.fatal))
        elif look.settled:
            await self._end(opened, "done", look)
        elif self._left(opened) <= 0:
            await self._end(opened, "timed-out", replace(opened.last if look.blip else look, headline=""))
        else:
            changed = not look.blip and (look.status, look.parts) != (opened.last.status, opened.last.parts)
            opened.pause = next_pause(
                self._pace(opened.note.kind), opened.pause, changed=changed, hint=look.hint, chance=self._chance
            )
            if not look.blip:
                opened.last = look
            if changed:
                opened.note = self._with(opened.note, look, held=opened.held)
            timed = self._timed(opened)
            if changed or timed != opened.note:
                opened.note = timed
                await self._tell(opened)

    def _timed(self, opened: Open) -> WaitNote:
        """With when it looks next, where it looks by the clock and not when something moves."""
        if opened.note.kind not in WAIT_CLOCKED:
            return opened.note
        return opened.note.model_copy(update={"next_check_at": self._clock.now_ms() + int(opened.pause * 1000)})

    def _with(self, note: WaitNote, look: Look, *, held: bool) -> WaitNote:
        return note.model_copy(
            update={
                "status": self._clean(look.status)[:WAIT_STATUS_CHARS],
                "headline": self._clean(look.headline)[:WAIT_STATUS_CHARS] or None,
                "parts": look.parts,
                "wakes": not held,
                "next_check_at": None,
            }
        )

    async def _tell(self, opened: Open, changes: Sequence[Change] = ()) -> None:
        try:
            event = Wait(wait_id=opened.note.wait_id, wait=opened.note)
            await self._store.commit(Batch.of(opened.chat, event, changes=changes))
        except StoreError as error:
            log.warning("a wait of %s couldn't be written: %s", opened.chat, error)

    async def _end(self, opened: Open, state: WaitState, look: Look) -> None:
        """It is over: the row says how, and one that let go is heard by the next reply (not one that was stopped)."""
        if opened.over.is_set():
            return
        opened.last = look
        note = self._with(opened.note, look, held=opened.held)
        tone = {"failed": "bad", "timed-out": "bad"}.get(state, look.tone)
        opened.note = note.model_copy(update={"state": state, "tone": tone, "ended_at": self._clock.now_ms()})
        opened.over.set()
        change: Change = Drop(KeptWait, note.wait_id)
        if not opened.held and state != "stopped":
            heard = {
                "words": self._words(opened, bare=False),
                "bare": self._words(opened, bare=True),
                "taints": [t.model_dump() for t in look.taints],
            }
            change = Put(KeptWait(note.wait_id, opened.chat, "ended", opened.spec, note.started_at, heard=heard))
        await self._tell(opened, [change])
        self._open.pop(note.wait_id, None)
        if not opened.held and state != "stopped":
            self._port.nudge(opened.chat)

    def _words(self, opened: Open, *, bare: bool) -> str:
        """What the model reads: how it ended, then others' words in their fence (never where a person came in)."""
        note, look = opened.note, opened.last
        go_on = GO_ON if not opened.held else ""
        if note.state == "timed-out":
            status = look.status or "nothing yet"
            return host_line(LATE.format(title=f"“{note.title}”", status=status) + "." + go_on)
        if note.state == "failed":
            return host_line(FAILED.format(title=f"“{note.title}”", why=look.fatal or look.status) + go_on)
        took = span((note.ended_at or note.started_at) / 1000 - note.started_at / 1000)
        head = host_line(f"{WOKE.format(words=look.words)} (after {took}).{go_on}")
        return f"{head}\n{look.quoted}" if look.quoted and not bare else head

    def _moved(self, chat: str) -> None:
        """Something changed in a chat: whoever waits for it looks; a wait of its own may be durable now."""
        for opened in self._open.values():
            spec, own = opened.spec, opened.chat == chat
            if own and not opened.known.is_set() and self._store.kept(KeptWait, "id=?", opened.note.wait_id):
                opened.known.set()
            if chat in (spec.get("chat"), spec.get("task_chat")) or (own and spec.get("task")):
                opened.nudge.set()
        if self._port.running(chat) is None and self._unheard(chat):
            self._port.nudge(chat)  # one that ended while a reply ran: it goes when that ends, however it ends

    # -- hearing

    def _unheard(self, chat: str) -> list[KeptWait]:
        return self._store.kept(KeptWait, "chat=? AND state='ended'", chat)

    async def take(self, turn: Turn, step: int) -> Joining:
        """At a reply's start: how every ended wait of the chat ended; the marks come first."""
        if step != 1 or turn.stop.is_set():
            return Joining()
        ended = self._unheard(turn.chat)
        summary = self._store.summary(turn.chat)
        bare = summary is None or has_person(summary.taints)
        parts = [Joined(kind="note", text=str(w.heard["bare" if bare else "words"]), ref=w.id) for w in ended]
        taints = [] if bare else [TaintSource.model_validate(t) for w in ended for t in w.heard.get("taints", ())]
        return Joining(tuple(parts), tuple(taints), changes=tuple(Drop(KeptWait, w.id) for w in ended))

    def due(self, chat: str) -> Start | None:
        """A reply that an ended wait starts."""
        return Start("wait", self._chain(chat)) if self._unheard(chat) else None

    def chats(self) -> Sequence[str]:
        """The chats in which one is due."""
        return list(dict.fromkeys(w.chat for w in self._store.kept(KeptWait, "state='ended'")))

    # -- the person, restarts, ends

    async def decide(self, command: DecideWait) -> dict[str, Any]:
        """Check now (at most every 5 s; more presses are quietly taken), or stop: nobody is woken then."""
        opened = self._open.get(command.wait)
        if opened is None or opened.chat != command.chat:
            raise CommandError("gone", NO_WAIT)
        if command.action == "stop":
            await self._end(opened, "stopped", replace(opened.last, status="you stopped it", headline=""))
            return {"state": "stopped"}
        now = self._clock.steady()
        if now - opened.checked >= WAIT_CHECK_SECONDS:
            opened.checked = now
            opened.nudge.set()
        return {"state": opened.note.state}

    async def ready(self) -> None:
        """Pick up what was kept; a wait that was held ended with its reply, one nothing can watch is said to have."""
        for kept in self._store.kept(KeptWait, "state IN ('watching', 'held')"):
            if kept.id in self._open:
                continue
            try:
                note = WaitNote.model_validate(kept.spec["note"])
                spec = {k: v for k, v in kept.spec.items() if k != "note"}
                watchable = note.kind in self._watchers and self._store.summary(kept.chat) is not None
            except (KeyError, ValueError):
                await self._store.commit(Batch(changes=[Drop(KeptWait, kept.id)]))
                continue
            opened = Open(note, kept.chat, spec, kept.state == "held", self._ends(note))
            opened.known.set()
            self._open[kept.id] = opened
            if opened.held:
                await self._end(opened, "stopped", Look(status=ENDED_WITH_SHOAL))
            elif not watchable:
                await self._end(opened, "failed", Look(status=CANT_WATCH, fatal=CANT_WATCH))
            else:
                self._tasks.spawn(self._watch(opened), name=f"wait {kept.id}")
        self._picked_up = True

    async def tick(self) -> None:
        """A manual clock moved: every wait sees whether it is due, and those that are have ended when this returns."""
        for opened in list(self._open.values()):
            if self._until_due(opened) <= 0:
                opened.looked_at = self._clock.steady()
                await self._take(opened, await self._looked(self._watchers[opened.note.kind], opened.chat, opened.spec))

    async def end_chain(self, chain: str) -> list[str]:
        """The person stopped a chain: no chat of it is woken; those in which a wait was stopped."""
        there = [o for o in self._open.values() if not o.held and self._in_chain(o.chat, chain)]
        for opened in there:
            await self._end(opened, "stopped", replace(opened.last, status=CHAIN_ENDED, headline=""))
        unheard = [w for w in self._store.kept(KeptWait, "state='ended'") if self._in_chain(w.chat, chain)]
        if unheard:
            await self._store.commit(Batch(changes=[Drop(KeptWait, w.id) for w in unheard]))
        return list(dict.fromkeys(o.chat for o in there))

    def _in_chain(self, chat: str, chain: str) -> bool:
        """Whether a reply that a wait of the chat starts would belong to the chain."""
        summary = self._store.summary(chat)
        return summary is not None and (self._chain(chat) or summary.chain) == chain

    async def leaving(self, chat: str) -> None:
        """The chat is about to be deleted: its waits go with it."""
        for opened in [o for o in self._open.values() if o.chat == chat]:
            await self._end(opened, "stopped", Look(status="its chat is gone"))

    async def close(self) -> None:
        """Nothing is watched any more; what let go is kept for the next start."""
        await self._tasks.close()
