"""Room: which tasks start now, and why the rest waits (ADR 0129). Pure: from the state to a decision."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from app.tasks.pace import Pace, Provider
from store.events import TaskWaiting
from store.limits import (
    ROOM_LEAST,
    ROOM_MORE_AFTER_WAITING,
    ROOM_MOST,
    ROOM_PATIENCE_SECONDS,
    ROOM_RECOVERY_SLOT_SECONDS,
    ROOM_SETTLING_SECONDS,
    ROOM_START_NOW_EXTRA,
)

Weight = Literal["light", "medium", "heavy"]

WEIGHTS: Final[Mapping[Weight, tuple[float, int]]] = {"light": (0.25, 192), "medium": (0.5, 384), "heavy": (1.0, 1024)}
OVERHEAD: Final[Mapping[Provider, tuple[float, int]]] = {
    "program": (0.25, 256),
    "remote": (0.05, 32),
    "local": (0.5, 512),
}
RESERVE_MIB: Final = 1_024  # left to the computer, and 512 of it to Shoal itself


@dataclass(frozen=True, slots=True)
class Cost:
    """What a task takes: processors, and memory in MiB."""

    cpu: float
    memory: int


def cost(
    weight: Weight = "medium",
    provider: Provider = "remote",
    *,
    much_cpu: bool = False,
    much_memory: bool = False,
    disk: bool = False,
    waits_on_network: bool = True,
) -> Cost:
    """The cost of a task of this weight (CB §2.6)."""
    cpu, memory = WEIGHTS[weight]
    cpu, memory = cpu * (2 if much_cpu else 1), memory * (2 if much_memory else 1)
    cpu += 0.25 if disk else 0
    if waits_on_network:
        cpu /= 2
    more_cpu, more_memory = OVERHEAD[provider]
    return Cost(cpu + more_cpu, memory + more_memory)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A task that waits for room. Times by the steady clock, in seconds."""

    id: str
    chat: str  # its parent
    cost: Cost
    since: float
    start_now: bool = False
    group: str | None = None
    provider: str = ""
    changes: frozenset[str] = frozenset()  # what it changes; no two that share one run together
    after: frozenset[str] = frozenset()  # tasks that have to end first
    short_of: Literal["memory", "cpu"] | None = None  # what it waited for last


@dataclass(frozen=True, slots=True)
class Working:
    """A task that takes room. One that holds (a question, a wait) isn't among them."""

    id: str
    chat: str
    cost: Cost
    started: float
    provider: str = ""
    changes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Machine:
    """What the computer has: processors, free memory in MiB (None: unknown), and managed commands that run."""

    processors: int
    free_memory: int | None = None
    commands: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """What starts, why the rest waits, and the line of it all."""

    start: tuple[str, ...]
    waits: dict[str, TaskWaiting]
    at_once: int
    words: str | None


@dataclass(slots=True)
class _Free:
    cpu: float
    memory: float
    places: int
    busy: dict[str, int]  # by provider
    changes: dict[str, str]  # what is being changed, by whom
    chats: dict[str, int]
    none_works: bool
    recovered_at: float | None = None
    kept: list[Cost] = field(default_factory=list)


def ceiling(processors: int) -> int:
    """How many may run at once: twice the processors, between 2 and 12."""
    return max(ROOM_LEAST, min(ROOM_MOST, processors * 2))


def decide(
    machine: Machine,
    working: Sequence[Working],
    waiting: Sequence[Waiting],
    now: float,
    *,
    paces: Mapping[str, Pace] | None = None,
    going: Collection[str] = (),
    now_ms: int = 0,
    typical: float | None = None,
    recovered_at: float | None = None,
) -> Decision:
    """Which of `waiting` start. `going`: every task that hasn't ended, for `after`; `now_ms` the same moment.

    `typical`: how many seconds a task takes, for a guess when room comes. `recovered_at`: memory was short; from then
    on one may start at a time.
    """
    settling = [w for w in working if now - w.started < ROOM_SETTLING_SECONDS]
    memory = float("inf") if machine.free_memory is None else machine.free_memory - RESERVE_MIB
    free = _Free(
        machine.processors - 1 - machine.commands / 2 - sum(w.cost.cpu for w in working),
        memory - sum(w.cost.memory for w in settling),
        ceiling(machine.processors) - len(working),
        _counts(w.provider for w in working),
        {thing: w.id for w in working for thing in w.changes},
        _counts(w.chat for w in working),
        none_works=not working,
        recovered_at=recovered_at,
    )
    start: list[str] = []
    waits: dict[str, TaskWaiting] = {}
    left = list(waiting)
    while left:
        left.sort(key=lambda w: _rank(w, free, now))
        head = left[0]
        batch = [w for w in left if head.group is not None and w.group == head.group] or [head]
        if len(batch) > 1 and not _batch_fits(batch, free, paces or {}, now, going):
            batch = [head]
        for one in batch:
            left.remove(one)
            held = _held_back(one, free, paces or {}, now, going, now_ms)
            if held is None:
                start.append(one.id)
                _take(one, free)
            else:
                waits[one.id] = held
                if held.reason in ("memory", "cpu"):  # its need is kept, so that smaller ones don't pass it for ever
                    free.kept.append(one.cost)
    most = ceiling(machine.processors)
    shown = next((w.words for w in waits.values() if w.reason in ("room", "memory", "cpu", "recovering")), None)
    if typical is not None and now_ms:
        providers = {w.id: w.provider for w in waiting}
        waits = _guessed(waits, providers, working, now, now_ms, typical)
    return Decision(tuple(start), waits, most, shown)


def _guessed(
    waits: dict[str, TaskWaiting],
    providers: Mapping[str, str],
    working: Sequence[Working],
    now: float,
    now_ms: int,
    typical: float,
) -> dict[str, TaskWaiting]:
    """With a guess of when each begins: the first in the row gets the place of the first that ends, and so on."""
    ends = {w.id: w.started + typical for w in working}
    taken = 0
    out: dict[str, TaskWaiting] = {}
    for id_, why in waits.items():
        at: float | None = None
        if why.reason in ("after", "conflict"):
            at = max((ends[one] for one in why.on), default=None) if set(why.on) <= set(ends) else None
        elif why.reason in ("room", "memory", "cpu", "provider-busy"):
            same = (w.id for w in working if why.reason != "provider-busy" or w.provider == providers[id_])
            row = sorted(ends[one] for one in same)
            at = row[taken] if taken < len(row) else None
            taken += 1
        guess = now_ms + int((at - now) * 1000) if at is not None and at > now else None
        out[id_] = why if guess is None else why.model_copy(update={"expected_at": guess})
    return out


def _rank(w: Waiting, free: _Free, now: float) -> tuple[bool, bool, int, float, str]:
    patient = now - w.since >= ROOM_PATIENCE_SECONDS
    return (not w.start_now, not patient, 0 if patient else free.chats.get(w.chat, 0), w.since, w.id)


def _batch_fits(
    batch: Sequence[Waiting], free: _Free, paces: Mapping[str, Pace], now: float, going: Collection[str]
) -> bool:
    trial = _Free(
        free.cpu,
        free.memory,
        free.places,
        dict(free.busy),
        dict(free.changes),
        dict(free.chats),
        free.none_works,
        free.recovered_at,
        list(free.kept),
    )
    for one in batch:
        if _held_back(one, trial, paces, now, going, 0) is not None:
            return False
        _take(one, trial)
    return True


def _take(one: Waiting, free: _Free) -> None:
    free.cpu -= one.cost.cpu
    free.memory -= one.cost.memory
    free.places -= 1
    free.none_works = False
    if free.recovered_at is not None:
        free.recovered_at = float("inf")  # one at a time
    free.busy[one.provider] = free.busy.get(one.provider, 0) + 1
    free.chats[one.chat] = free.chats.get(one.chat, 0) + 1
    free.changes |= dict.fromkeys(one.changes, one.id)


def _held_back(  # noqa: PLR0911 - a reason each
    one: Waiting, free: _Free, paces: Mapping[str, Pace], now: float, going: Collection[str], now_ms: int
) -> TaskWaiting | None:
    first = sorted(one.after & set(going))
    if first:
        return TaskWaiting(reason="after", words="It begins after another task", on=tuple(first))
    clash = sorted({free.changes[thing] for thing in one.changes if thing in free.changes})
    if clash:
        return TaskWaiting(reason="conflict", words="Another task changes the same thing", on=tuple(clash))
    pace = paces.get(one.provider)
    if pace is not None and pace.retry_at is not None and pace.retry_at > now:
        at = now_ms + int((pace.retry_at - now) * 1000) if now_ms else None
        return TaskWaiting(reason="provider", words="Its model's provider asked for a pause", retry_at=at)
    if pace is not None and free.busy.get(one.provider, 0) >= pace.most:
        return TaskWaiting(reason="provider-busy", words="Its model's provider is busy with other tasks")
    if free.none_works:
        return None
    if one.start_now:
        if free.places > -ROOM_START_NOW_EXTRA:
            return None
        return TaskWaiting(reason="room", words="As many tasks run as can run at all")
    if free.places <= 0:
        return TaskWaiting(
            reason="room", words="It waits for room: as many tasks run as may at once", can_start_now=True
        )
    more = ROOM_MORE_AFTER_WAITING if one.short_of else 1.0
    if one.cost.memory * more > free.memory - sum(k.memory for k in free.kept):
        return TaskWaiting(reason="memory", words="It waits for free memory", can_start_now=True)
    if one.cost.cpu * more > free.cpu - sum(k.cpu for k in free.kept):
        return TaskWaiting(reason="cpu", words="It waits for a free processor", can_start_now=True)
    if free.recovered_at is not None and now < free.recovered_at:
        again = free.recovered_at if free.recovered_at != float("inf") else now + ROOM_RECOVERY_SLOT_SECONDS
        at = now_ms + int((again - now) * 1000) if now_ms else None
        return TaskWaiting(
            reason="recovering", words="Memory was short a moment ago", expected_at=at, can_start_now=True
        )
    return None


def _counts(names: object) -> dict[str, int]:
    out: dict[str, int] = {}
    for name in names:  # type: ignore[attr-defined]
        out[name] = out.get(name, 0) + 1
    return out
