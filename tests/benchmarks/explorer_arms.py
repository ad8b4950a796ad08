"""The arms of the explorer's benchmark, and how each is judged: on the same questions and the same planted lines."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from app.history.explorer.child import Child
from app.history.explorer.extractive import RuleDriver
from app.history.explorer.report import Report
from app.history.explorer.runner import Driver, ModelDriver
from app.history.read_chat import ReadArgs, ReadChat
from app.history.search_chats import SearchArgs, SearchChats
from app.history.surface import SurfaceGate
from app.ports import ModelRequest, Wire
from app.tools.base import compact
from store.events import ContextCompacted
from store.limits import TOOL_CHATS_MAX
from store.models import SearchAnswer, SearchQuery
from store.projection import project
from store.search import SearchService
from store.text import safe_text
from tests.explorer.kit import ASKING, Kit, clean
from tests.explorer.planted import PROJECT, Case


@dataclass
class Tally:
    """One arm's answers, question by question."""

    arm: str
    correct: dict[str, list[bool]] = field(default_factory=dict)
    abstained: dict[bool, list[bool]] = field(default_factory=lambda: {True: [], False: []})  # by: can be answered
    quoted: list[bool] = field(default_factory=list)  # of the answered ones: a canary inside what is quoted
    gold: list[bool] = field(default_factory=list)  # a gold line among the evidence
    both: list[bool] = field(default_factory=list)  # conflicts with both sides
    fabricated: int = 0
    elsewhere: int = 0  # bytes of other projects' lines that were cited
    leaked: int = 0  # bytes of other projects' lines that the engine saw
    first: list[float] = field(default_factory=list)  # seconds
    seconds: list[float] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    engine: list[int] = field(default_factory=list)  # bytes
    main: list[int] = field(default_factory=list)  # bytes

    def answer(self, case: Case, texts: list[str], places: set[tuple[str, str]], *, abstained: bool) -> None:
        """Judge one answer by what it quotes, the places it quotes, and whether it said that there is nothing."""
        has = [any(c in text for text in texts) for c in case.canaries]
        ok = (all(has) if case.kind == "several" else any(has)) if case.canaries else abstained
        self.correct.setdefault(case.kind, []).append(ok)
        self.abstained[bool(case.canaries)].append(abstained)
        if case.canaries:
            self.gold.append(bool(places & case.gold))
            if not abstained:
                self.quoted.append(any(has))

    def figures(self) -> dict[str, Any]:
        """All of it, for reading."""
        told = [ok for kind in self.correct.values() for ok in kind]
        return {
            "name": "explorer arm",
            "arm": self.arm,
            "questions": len(told),
            "correct": share(told),
            "right abstention": share(self.abstained[False]),
            "wrong abstention": share(self.abstained[True]),
            "gold line among the evidence": share(self.gold),
            "conflicts with both sides": share(self.both),
            "fabricated citations": self.fabricated,
            "other project's bytes cited / to the engine": [self.elsewhere, self.leaked],
            "first progress s": round(max(self.first, default=0.0), 4),
            "p50 / p95 s": [round(statistics.median(self.seconds), 4), round(p95(self.seconds), 4)],
            "calls p50 / max": [int(statistics.median(self.calls)), max(self.calls)],
            "bytes to the engine p50 / max": [int(statistics.median(self.engine)), max(self.engine)],
            "bytes to the main chat p50 / max": [int(statistics.median(self.main)), max(self.main)],
            "correct by kind": {k: share(v) for k, v in self.correct.items()},
        }


def share(told: list[bool]) -> float:
    """The part of them that is so."""
    return round(sum(told) / len(told), 4) if told else 0.0


def p95(values: list[float]) -> float:
    """The value that 95 % don't exceed."""
    return sorted(values)[max(0, int(len(values) * 0.95) - 1)]


class CountingWire:
    """Any wire, with the bytes of what it is sent counted, and the texts kept."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.sent = 0
        self.texts: set[str] = set()

    def context_tokens(self, model: str) -> int:
        """The wire's."""
        return self.wire.context_tokens(model)

    def stream(self, request: ModelRequest) -> Any:
        """Pass it on."""
        texts = [request.system, *(m.text for m in request.messages)]
        self.sent += sum(len(text.encode()) for text in texts)
        self.texts.update(texts)
        return self.wire.stream(request)


@dataclass
class Watched:
    """A driver whose child can be looked at when the run is over."""

    driver: Driver
    child: Child | None = None

    async def explore(self, query: str, child: Child) -> None:
        """As the driver does."""
        self.child = child
        await self.driver.explore(query, child)


class Behind:
    """A search service whose index doesn't have some chats yet, and says that it is catching up."""

    def __init__(self, search: SearchService, missing: set[str]) -> None:
        self._search, self._missing = search, missing

    async def caught_up(self, timeout: float) -> bool:
        """Never."""
        return False

    async def search(self, asked: SearchQuery, lane: Any = "typing") -> SearchAnswer:
        """Without the missing chats."""
        asked = replace(asked, without=asked.without | self._missing)
        return replace(await self._search.search(asked, lane), catching_up=True)

    async def slice(self, *args: Any, **more: Any) -> Any:
        """As it is."""
        return await self._search.slice(*args, **more)


def watch(kit: Kit, wire: Wire | None) -> tuple[Watched, CountingWire | None]:
    """Have the kit's explorer use a wire (None: the rules), and be looked at."""
    counting = CountingWire(wire) if wire is not None else None
    driver: Driver = ModelDriver(counting, "engine") if counting is not None else RuleDriver()
    watched = Watched(driver)
    kit.explorer._driver = lambda engine: watched  # type: ignore[method-assign]
    return watched, counting


async def explorer_arm(kit: Kit, cases: list[Case], arm: str, wire: Wire | None) -> Tally:
    """The explorer with one engine, over all the questions."""
    tally = Tally(arm)
    watched, counting = watch(kit, wire)
    for case in cases:
        watched.child, sent = None, counting.sent if counting else 0
        begun = time.perf_counter()
        progress: list[float] = []
        done = await kit.explorer.run(
            kit.context(case.chat or ASKING),
            case.query,
            "t_1",
            lambda _w, b=begun, p=progress: p.append(time.perf_counter() - b),
        )
        tally.seconds.append(time.perf_counter() - begun)
        tally.first.append(progress[0])
        child = watched.child
        assert child is not None
        tally.calls.append(child.searches + child.reads)
        tally.engine.append(counting.sent - sent if counting else child.registry.used)
        tally.leaked += sum(len(c.text.encode()) for c in child.registry.seen() if folder(kit, c.chat) != PROJECT)
        if done.report is not None:
            judge(kit, tally, case, done.report)
        else:
            tally.main.append(len(done.sentence.encode()))
            tally.answer(case, [], set(), abstained=False)
    if counting is not None:
        tally.leaked += sum(len(text.encode()) for text in counting.texts if "SECRET-" in text)
    return tally


def judge(kit: Kit, tally: Tally, case: Case, report: Report) -> None:
    """One report."""
    evidence = [e for g in (*report.findings, *report.conflicts) for e in g.evidence]
    tally.fabricated += sum(not there(kit, e) for e in evidence)
    tally.elsewhere += sum(len(e.excerpt.encode()) for e in evidence if folder(kit, e.chat) != PROJECT)
    tally.main.append(len(compact(report.to_json()).encode()))
    places = {(e.chat, e.message) for e in evidence}
    tally.answer(case, [e.excerpt for e in evidence], places, abstained=report.outcome == "no_match")
    if case.both:
        shown = [e.excerpt for c in report.conflicts for e in c.evidence]
        tally.both.append(all(any(side in text for text in shown) for side in case.both))


async def search_alone(kit: Kit, case: Case) -> bool:
    """Whether a gold line is among what one search of the same project shows (eight chats, as the child's own)."""
    asked = SearchQuery(
        case.query,
        limit=TOOL_CHATS_MAX,
        project=PROJECT,
        without=frozenset({case.chat or ASKING}),
        private=False,
    )
    answer = await kit.search.search(asked, lane="tools")
    return any((group.chat.id, hit.anchor) in case.gold for group in answer.groups for hit in group.hits)


async def search_and_read(kit: Kit, cases: list[Case], *, reads: int) -> Tally:
    """`search_chats` with the question as it is (all eight chats), then `read_chat` around its best lines."""
    arm = f"search_chats and {reads} reads" if reads else "search_chats alone"
    tally = Tally(arm)
    gate = SurfaceGate("direct")
    search = SearchChats(kit.store, kit.search, clean, gate)
    read = ReadChat(kit.store, kit.search, clean, gate)
    for case in cases:
        ctx = kit.context(case.chat or ASKING)
        begun = time.perf_counter()
        text = (await search.run(SearchArgs(query=case.query[:200], limit=TOOL_CHATS_MAX), ctx, "t_1")).text
        answer = json.loads(text)
        told, sizes = [answer], [len(text.encode())]
        for chat in answer["chats"][:reads]:
            args = ReadArgs(chat=chat["chat"], message=chat["lines"][0]["message"])
            text = (await read.run(args, ctx, "t_1")).text
            sizes.append(len(text.encode()))
            told.append({"chats": [json.loads(text)]})
        tally.seconds.append(time.perf_counter() - begun)
        chats = [chat for one in told for chat in one["chats"] if folder(kit, chat["chat"]) == PROJECT]
        places = {(chat["chat"], line["message"]) for chat in chats for line in chat["lines"]}
        texts = [line["text"] for chat in chats for line in chat["lines"]]
        tally.answer(case, texts, places, abstained=not answer["chats"])
        tally.calls.append(len(sizes))
        tally.engine.append(0)
        tally.main.append(sum(sizes))
    return tally


async def no_tools(kit: Kit, cases: list[Case]) -> Tally:
    """A chat without history tools: nothing of what was said can be known, so it abstains every time."""
    tally = Tally("no tools")
    for case in cases:
        tally.answer(case, [], set(), abstained=True)
        for figure in (tally.calls, tally.engine, tally.main):
            figure.append(0)
        tally.seconds.append(0.0)
    return tally


async def behind(kit: Kit, cases: list[Case]) -> Iterator[dict[str, Any]]:
    """Every second question's chats aren't indexed yet: it says so, and never that there is nothing."""
    said, wrong, quoted, fabricated = [], 0, [], 0
    watch(kit, None)
    search, settle = kit.explorer._search, kit.explorer._settle
    try:
        for n, case in enumerate(cases):
            missing = {chat for chat, _ in case.gold} if n % 2 else set[str]()
            late = Behind(kit.search, missing)
            kit.explorer._search, kit.explorer._settle = late, late.caught_up
            report = (await kit.explorer.run(kit.context(), case.query, "t_1")).report
            assert report is not None
            evidence = [e for g in (*report.findings, *report.conflicts) for e in g.evidence]
            fabricated += sum(not there(kit, e) for e in evidence)
            said.append(report.indexing and report.outcome == "partial" and report.confidence != "high")
            wrong += report.outcome == "no_match" or report.to_json()["index_status"] != "indexing"
            if not missing:
                quoted.append(any(c in e.excerpt for c in case.canaries for e in evidence))
    finally:
        kit.explorer._search, kit.explorer._settle = search, settle
    return iter(
        [
            bar("partial index: said to be partial", share(said), at_least=1.0),
            bar("partial index: taken for nothing", wrong, at_most=0),
            bar("partial index: found what is indexed", share(quoted), at_least=0.95),
            bar("partial index: fabricated citations", fabricated, at_most=0),
        ]
    )


def bar(name: str, value: float, at_least: float | None = None, at_most: float | None = None) -> dict[str, Any]:
    """A figure with its bar."""
    passed = (at_least is None or value >= at_least) and (at_most is None or value <= at_most)
    wanted = at_least if at_least is not None else at_most
    return {"name": name, "value": round(value, 4), "bar": wanted, "passed": passed}


def folder(kit: Kit, chat: str) -> str:
    """The project of a chat; "" for none."""
    summary = kit.store.summary(chat)
    return summary.folder if summary else ""


def there(kit: Kit, e: Any) -> bool:
    """Whether the quoted words stand in the message the evidence names."""
    for stored in kit.store.events_of_row(e.chat, e.message):
        line = project(stored)
        said = line.text if line else stored.event.summary if isinstance(stored.event, ContextCompacted) else ""
        if e.excerpt and e.excerpt in " ".join(safe_text(clean(said)).split()):
            return True
    return False
