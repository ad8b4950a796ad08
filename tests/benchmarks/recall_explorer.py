"""The explorer on planted histories and the development half: what it cites, when it abstains, and what it costs."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.history.explorer.extractive import RuleDriver
from app.history.explorer.report import Run, Submission, SubmittedConflict, SubmittedFinding, derive
from app.history.explorer.runner import explore
from app.tools.base import compact
from store.models import Line, SearchQuery
from store.projection import project
from store.text import safe_text
from tests.benchmarks.corpus import RECALL_FILE
from tests.explorer.kit import Kit, clean
from tests.explorer.planted import OTHER, PROJECT, Case, Planted, plant

ANSWERABLE = ("vague", "exact", "conflict", "several", "injection")


def run(full: bool = False, engine: str = "offline") -> Iterator[dict[str, Any]]:
    """Every figure of it; those with a bar say whether it was reached."""
    with tempfile.TemporaryDirectory() as folder:
        planted = plant()
        kit = Kit(Path(folder), planted.events, engine=engine)
        try:
            yield from asyncio.run(_measure(kit, planted, engine))
        finally:
            asyncio.run(kit.close())
    if RECALL_FILE.exists():
        yield from _development()
    else:
        yield {"name": "explorer development half", "skipped": "the development file isn't here"}


def bar(name: str, value: float, at_least: float | None = None, at_most: float | None = None) -> dict[str, Any]:
    """A figure with its bar."""
    passed = (at_least is None or value >= at_least) and (at_most is None or value <= at_most)
    wanted = at_least if at_least is not None else at_most
    return {"name": name, "value": round(value, 4), "bar": wanted, "passed": passed}


async def _measure(kit: Kit, planted: Planted, engine: str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"name": "explorer", "engine": engine, "cases": len(planted.cases)}]
    answered = right = wrong = fabricated = crossed = hits = search_hits = both = conflicts = 0
    seconds, first, sent = [], [], []
    by_kind: dict[str, list[bool]] = {}
    for case in planted.cases:
        begun = time.perf_counter()
        progress: list[float] = []
        done = await kit.explorer.run(
            kit.context(), case.query, "t_1", lambda _w, b=begun, p=progress: p.append(time.perf_counter() - b)
        )
        seconds.append(time.perf_counter() - begun)
        first.append(progress[0])
        report = done.report
        assert report is not None
        evidence = [e for g in (*report.findings, *report.conflicts) for e in g.evidence]
        fabricated += sum(not _there(kit, e) for e in evidence)
        crossed += sum(kit.store.summary(e.chat).folder == OTHER for e in evidence)  # type: ignore[union-attr]
        sent.append(len(compact(report.to_json()).encode()))
        abstained = report.outcome == "no_match"
        ok = abstained if not case.canaries else any(c in e.excerpt for c in case.canaries for e in evidence)
        by_kind.setdefault(case.kind, []).append(ok)
        if case.canaries:
            wrong += abstained
            answered += not abstained
            hits += ok
            search_hits += await _search_alone(kit, case)
            if case.both:
                both += 1
                shown = [e.excerpt for c in report.conflicts for e in c.evidence]
                conflicts += all(any(side in text for text in shown) for side in case.both)
        else:
            right += abstained
    able = sum(bool(c.canaries) for c in planted.cases)
    unable = len(planted.cases) - able
    out += [
        bar("fabricated citations", fabricated, at_most=0),
        bar("cross-project evidence", crossed, at_most=0),
        bar("right abstention", right / unable, at_least=0.9),
        bar("wrong abstention", wrong / able, at_most=0.1),
        bar("canary inside the quoted passage, of answered", hits / max(answered, 1), at_least=0.95),
        bar("evidence hit rate over search_chats alone", hits / able - search_hits / able, at_least=0.0001),
        bar("first progress s", max(first), at_most=0.1),
        {"name": "conflicts with both sides", "value": round(conflicts / max(both, 1), 3)},
        {"name": "p50 / p95 s", "value": [round(statistics.median(seconds), 4), round(_p95(seconds), 4)]},
        {"name": "bytes to the main chat p50 / max", "value": [int(statistics.median(sent)), max(sent)]},
        {"name": "right by kind", "value": {k: round(sum(v) / len(v), 3) for k, v in by_kind.items()}},
        {"name": "no tools", "value": 0.0, "words": "without tools no canary can be known"},
        {"name": "search_chats alone, canary in its answer", "value": round(search_hits / able, 4)},
    ]
    return [*out, *_fuzzed(kit)]


def _there(kit: Kit, e: Any) -> bool:
    """Whether the quoted words stand in the message the evidence names."""
    for stored in kit.store.events_of_row(e.chat, e.message):
        line = project(stored)
        text = " ".join(safe_text(clean(line.text)).split()) if line else ""
        if e.excerpt and e.excerpt in text:
            return True
    return False


async def _search_alone(kit: Kit, case: Case) -> bool:
    """Whether one search_chats call would have shown a canary."""
    answer = await kit.search.search(SearchQuery(case.query, limit=8, project=PROJECT, private=False), lane="tools")
    return any(c in hit.snippet for c in case.canaries for g in answer.groups for hit in g.hits)


def _fuzzed(kit: Kit, many: int = 10_000) -> list[dict[str, Any]]:
    """Reports full of ids that were never seen: none gets through."""
    chance = random.Random(11)
    child = kit.child()

    seen = []
    for n, summary in enumerate(kit.store.summaries()[:40]):
        candidate = child.registry.observe(summary, Line(f"m_{n}", "you", n, f"words {n} of {summary.title}"))
        if n % 2:
            child.registry.show(candidate.id)
        seen.append(candidate.id)
    bad = 0
    for _ in range(many):
        pool = [*seen, "e_fake", "", "c_planted00001", "m_1", seen[0][:-1]]
        groups = [[chance.choice(pool) for _ in range(chance.randint(0, 5))] for _ in range(chance.randint(0, 5))]
        cut = chance.randint(0, len(groups))
        submitted = Submission(
            summary="s\nchat c_x message m_y",
            findings=[SubmittedFinding(claim="a\n1 “forged” · Title · 3 Mar", evidence=g) for g in groups[:cut]],
            conflicts=[SubmittedConflict(description="d", evidence=g) for g in groups[cut:]],
            outcome=chance.choice(["complete", "no_match", "partial"]),
        )
        report = derive(submitted, child.registry, Run("q"), clean)
        named = [e for g in (*report.findings, *report.conflicts) for e in g.evidence]
        shown = {(c.chat, c.message) for c in child.registry.seen()}
        bad += sum((e.chat, e.message) not in shown for e in named)
        bad += any("\n" in f.claim for f in report.findings) or "\n" in report.summary
    return [bar(f"fabricated in {many:,} fuzzed submissions", bad, at_most=0)]


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95) - 1]


def _development() -> Iterator[dict[str, Any]]:
    """The development half: whether a gold line is among the evidence, and time at its size."""
    from tests.benchmarks.corpus import load_recall, read_recall

    recall = read_recall(RECALL_FILE)
    with tempfile.TemporaryDirectory() as folder:
        kit = Kit(Path(folder), [])
        load_recall(kit.store, recall)
        yield from asyncio.run(_lines(kit, recall))
        asyncio.run(kit.close())


async def _lines(kit: Kit, recall: Any) -> list[dict[str, Any]]:
    while not await kit.search.caught_up(30):
        continue
    hits = alone = asked = abstained = 0
    seconds = []
    for q in [q for q in recall.questions if q["answerable"] and q["gold_messages"]][:300]:
        child = kit.child()
        child.lock = replace(child.lock, project="")
        begun = time.perf_counter()
        report, _ = await explore(q["text"], child, RuleDriver(), engine="offline", extractive=True)
        seconds.append(time.perf_counter() - begun)
        gold = set(q["gold_messages"])
        abstained += report.outcome == "no_match"
        hits += any(e.message in gold for g in (*report.findings, *report.conflicts) for e in g.evidence)
        answer = await kit.search.search(SearchQuery(q["text"], limit=5, private=False), lane="tools")
        alone += any(h.anchor in gold for g in answer.groups for h in g.hits)
        asked += 1
    return [
        {"name": "development half: gold line among the evidence", "value": round(hits / asked, 4), "questions": asked},
        {"name": "development half: gold line in search_chats", "value": round(alone / asked, 4)},
        {"name": "development half: abstained on answerable ones", "value": round(abstained / asked, 4)},
        {"name": "development half: p95 s", "value": round(_p95(seconds), 4)},
    ]
