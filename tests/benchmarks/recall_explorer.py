"""The explorer on planted histories and the development half: what it cites, when it abstains, and what it costs.

`explorer` runs every arm on 76 planted questions among 2,000 other chats, `explorer-dev` the development half,
`explorer-100000` the offline engine over 100,000 messages. `--engine provider:model` adds an arm with that engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.guard import secrets
from app.guard.redactor import Redactor
from app.history.explorer.extractive import RuleDriver
from app.history.explorer.runner import explore
from app.paths import Home
from app.ports import Wire, WireError
from app.providers.wires import WireFinder
from app.settings import load
from store.models import SearchQuery
from tests.benchmarks import explorer_engines as engines
from tests.benchmarks.corpus import RECALL_FILE, load_recall, read_recall
from tests.benchmarks.explorer_arms import (
    Tally,
    bar,
    behind,
    explorer_arm,
    no_tools,
    p95,
    search_alone,
    search_and_read,
    share,
)
from tests.explorer.fuzzing import Fuzzed
from tests.explorer.kit import Kit
from tests.explorer.planted import plant

FUZZED = 10_000
BIG_CHATS, BIG_LINES = 2_700, 37  # 100,000 messages in all
BIG_SECONDS = 1.5  # p95 over them
DEV_QUESTIONS = 250
Figures = Iterator[dict[str, Any]]


def run(engine: str | None = None) -> Figures:
    """Every arm on the planted questions, and the fuzzed submissions."""
    planted = plant()
    yield {"name": "explorer", "cases": len(planted.cases), "kinds": len({c.kind for c in planted.cases})}
    with _kit(planted.events) as (kit, wait):
        offline = wait(explorer_arm(kit, planted.cases, "explorer, offline engine", None))
        scripted = wait(explorer_arm(kit, planted.cases, "explorer, scripted engine", engines.honest()))
        lying = wait(explorer_arm(kit, planted.cases, "explorer, an engine that lies", engines.lying()))
        searched = wait(search_and_read(kit, planted.cases, reads=3))
        arms = [wait(no_tools(kit, planted.cases)), searched, offline, scripted, lying]
        named = named_engine(engine) if engine else None
        if isinstance(named, str):
            yield {"name": f"explorer, {engine}", "skipped": named}
        elif named is not None:
            arms.append(wait(explorer_arm(kit, planted.cases, f"explorer, {engine}", named)))
        yield from (arm.figures() for arm in arms)
        yield from _bars(offline, arms)
        # what only the asking chat's own past has, no search can find: it doesn't count in the comparison
        both = [c for c in planted.cases if c.canaries and c.kind != "compacted"]
        alone = [wait(search_alone(kit, case)) for case in both]
        able = [c for c in planted.cases if c.canaries]
        found = [g for case, g in zip(able, offline.gold, strict=True) if case in both]
        yield {"name": "hit rate, search_chats alone / the explorer's evidence", "value": [share(alone), share(found)]}
        yield bar("hit rate, explorer's evidence over search_chats alone", share(found) - share(alone), at_least=0.0001)
        late = [c for c in planted.cases if c.kind in ("vague", "conflict")]
        yield from wait(behind(kit, late))
    fuzzed = Fuzzed()
    wrong = asyncio.run(fuzzed.run(FUZZED))
    yield bar(f"fabricated in {FUZZED:,} fuzzed submissions", len(wrong), at_most=0)


def _bars(offline: Tally, arms: list[Tally]) -> Figures:
    """What issue 5 sets: of every arm that cites, and of the offline engine."""
    explorers = [arm for arm in arms if arm.arm.startswith("explorer")]
    for arm in explorers:
        yield bar(f"fabricated citations: {arm.arm}", arm.fabricated, at_most=0)
        yield bar(f"cross-project bytes, cited or seen: {arm.arm}", arm.elsewhere + arm.leaked, at_most=0)
        yield bar(f"first progress s: {arm.arm}", max(arm.first), at_most=0.1)
    yield bar("right abstention", share(offline.abstained[False]), at_least=0.9)
    yield bar("wrong abstention", share(offline.abstained[True]), at_most=0.1)
    yield bar("canary inside the quoted passage, of answered", share(offline.quoted), at_least=0.95)
    yield bar("compacted current chat: correct", share(offline.correct["compacted"]), at_least=0.95)


def big() -> Figures:
    """The offline engine over 100,000 messages."""
    planted = plant(noise=BIG_CHATS, lines=BIG_LINES)
    with _kit(planted.events) as (kit, wait):
        tally = wait(explorer_arm(kit, planted.cases, "explorer, offline engine", None))
        messages = sum(s.messages for s in kit.store.summaries())
    yield tally.figures() | {"messages": messages}
    yield bar("messages", messages, at_least=100_000)
    yield bar("p95 s at 100,000 messages", p95(tally.seconds), at_most=BIG_SECONDS)
    yield bar("first progress s at 100,000 messages", max(tally.first), at_most=0.1)
    yield bar("cross-project bytes at 100,000 messages", tally.elsewhere + tally.leaked, at_most=0)
    yield bar("fabricated citations at 100,000 messages", tally.fabricated, at_most=0)
    yield bar("right abstention at 100,000 messages", share(tally.abstained[False]), at_least=0.9)


def development() -> Figures:
    """The development half: whether a gold line is among the evidence, beside one search of the same question."""
    if not RECALL_FILE.exists():
        yield {"name": "explorer development half", "skipped": "the development file isn't here"}
        return
    recall = read_recall(RECALL_FILE)
    with _kit([]) as (kit, wait):
        load_recall(kit.store, recall)
        while not wait(kit.search.caught_up(30)):
            continue
        asked = [q for q in recall.questions if q["answerable"] and q["gold_messages"]][:DEV_QUESTIONS]
        tally = [wait(_asked(kit, q)) for q in asked]
    hits, alone, wider, abstained, seconds = (list(one) for one in zip(*tally, strict=True))
    yield {"name": "development half: gold line in search_chats, 8 chats", "value": share(wider)}
    yield {"name": "development half: gold line in search_chats", "value": share(alone), "questions": len(asked)}
    yield {"name": "development half: gold line among the evidence", "value": share(hits)}
    yield bar("development half: evidence over search_chats alone", share(hits) - share(alone), at_least=0.0001)
    yield bar("development half: abstained on answerable ones", share(abstained), at_most=0.1)
    yield {"name": "development half: p95 s", "value": round(p95(seconds), 4)}


async def _asked(kit: Kit, q: dict[str, Any]) -> tuple[bool, bool, bool, bool, float]:
    """Evidence, one search by its default and of eight chats, whether it abstained, seconds."""
    child = kit.child()
    child.lock = replace(child.lock, project="")
    gold = set(q["gold_messages"])
    begun = time.perf_counter()
    report, _ = await explore(q["text"], child, RuleDriver(), engine="offline", extractive=True)
    seconds = time.perf_counter() - begun
    hit = any(e.message in gold for g in (*report.findings, *report.conflicts) for e in g.evidence)
    found = []
    for limit in (5, 8):
        answer = await kit.search.search(SearchQuery(q["text"], limit=limit, private=False), lane="tools")
        found.append(any(h.anchor in gold for g in answer.groups for h in g.hits))
    return hit, found[0], found[1], report.outcome == "no_match", seconds


@contextlib.contextmanager
def _kit(events: list[Any]) -> Iterator[tuple[Kit, Callable[[Any], Any]]]:
    """A home with these events, caught up, and how to wait for something in it."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        kit = Kit(Path(folder), events)
        try:
            while not runner.run(kit.search.caught_up(30)):
                continue
            yield kit, runner.run
        finally:
            runner.run(kit.close())


def named_engine(engine: str) -> Wire | str:
    """The engine named on the command line, with the person's own settings and keys; or why it can't be had."""
    if engine == "offline":
        return "it has its arm already"
    settings, _ = load(Home.default())
    try:
        return WireFinder(settings, Redactor(), shapes=secrets.clean).wire(engine)
    except WireError as error:
        return error.sentence
