"""The one retrieval core: search, slice, preview and recent, for the palette, the tools, the explorer and scripts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from store import answers, db, index, nearness, query, said
from store.clock import Clock, SystemClock
from store.index import Spans
from store.index_pace import Pace
from store.index_state import BROKEN_WORDS, REBUILDING_WORDS, IndexStatus
from store.indexer import Indexer
from store.lanes import Superseded, ToolsLane, TypingLane, Unready
from store.limits import CATCH_UP_WAIT_SECONDS, READ_LINES, TOOLS_LANE_SECONDS
from store.models import ChatHits, ChatSummary, Preview, SearchAnswer, SearchQuery, Slice
from store.retrieve import Core, Filters

T = TypeVar("T")
Lane = Literal["typing", "tools"]


def _same(text: str) -> str:
    return text


class SearchService:
    """Answers from the index; every text it gives is filtered already. Start it before use."""

    def __init__(
        self,
        store: said.Log,
        index_dir: Path,
        *,
        spans: Spans,
        spans_version: int,
        redact: Callable[[str], str] = _same,
        clock: Clock | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._indexer = Indexer(store, index_dir, spans, spans_version, on_notice)
        self._views = answers.Views(store.summary, spans, redact)
        self._typing = TypingLane(self._indexer)
        self._tools = ToolsLane(self._indexer, TOOLS_LANE_SECONDS)
        self._started = False

    async def start(self) -> None:
        """Open the index and begin to catch up, on its own thread."""
        self.start_sync()

    def start_sync(self) -> None:
        """`start` for code without an event loop."""
        if not self._started:
            self._started = True
            self._indexer.start()

    async def close(self) -> None:
        """Stop the worker and both lanes."""
        await asyncio.get_running_loop().run_in_executor(None, self.close_sync)

    def close_sync(self) -> None:
        """`close` for code without an event loop."""
        self._typing.close()
        self._tools.close()
        self._indexer.close()

    # -- the index

    def status(self) -> IndexStatus:
        """How far the index is."""
        return self._indexer.status()

    def pace(self) -> Pace:
        """How quickly it follows what is said."""
        return self._indexer.pace.now

    async def caught_up(self, timeout: float) -> bool:  # noqa: ASYNC109 - the worker's own wait
        """Wait until everything said is indexed, at most `timeout` seconds; answers whether it is."""
        return await asyncio.get_running_loop().run_in_executor(None, self._indexer.wait, timeout)

    async def repair(self) -> None:
        """Rebuild the index because a person asked for it; returns at once."""
        self._indexer.repair()

    # -- searching

    async def search(self, asked: SearchQuery, lane: Lane = "typing") -> SearchAnswer:
        """Find lines, grouped by chat. Never raises for what was typed; `broken` says in words why it can't answer."""
        if lane == "tools" and not self._indexer.wait(0):
            await self.caught_up(CATCH_UP_WAIT_SECONDS)
        run = self._typing.run if lane == "typing" else self._tools.run
        read = self._indexer.path
        try:
            return self._with_status(await run(lambda core: self._search(core, asked)))
        except Superseded:
            return SearchAnswer(self._views.clean(query.visible(asked.text)), "none", superseded=True)
        except Unready:
            return self._cant(asked)
        except db.DatabaseError as error:
            self._broke(error, read)
            return self._cant(asked)

    def search_sync(self, asked: SearchQuery) -> SearchAnswer:
        """`search` on the tools lane, for the command line."""
        self._indexer.wait(CATCH_UP_WAIT_SECONDS)
        read = self._indexer.path
        try:
            return self._with_status(self._tools.run_now(lambda core: self._search(core, asked)))
        except Unready:
            return self._cant(asked)
        except db.DatabaseError as error:
            self._broke(error, read)
            return self._cant(asked)

    def _search(self, core: Core, asked: SearchQuery) -> SearchAnswer:
        started = time.perf_counter()
        parsed = query.parse(asked.text)
        filters = answers.filters_of(asked, self._indexer.entries, self._indexer.private)
        if not parsed.text:
            return self._listed(core, asked, filters, started)
        if parsed.too_short:
            return SearchAnswer(self._views.clean(parsed.text), "too-short", cut=parsed.cut)
        found = core.run(parsed, filters, typing=asked.typing)
        found = nearness.together(found, parsed, lambda ids: index.texts_by_id(core.conn, ids))
        answer = answers.answer(core, asked, parsed, found, self._views)
        return replace(answer, took_ms=(time.perf_counter() - started) * 1000)

    def _listed(self, core: Core, asked: SearchQuery, filters: Filters, started: float) -> SearchAnswer:
        """Nothing asked: the chats with the newest lines (in the dates given), without lines of theirs."""
        chats = core.newest_chats(filters)
        seen = [(self._views.chat(core.by_no[no].chat), n) for no, n in chats if no in core.by_no]
        there = [(s, n) for s, n in seen if s is not None and (asked.private or not s.private)]
        groups = tuple(ChatHits(s, n, ()) for s, n in there[: asked.limit])
        took = (time.perf_counter() - started) * 1000
        return SearchAnswer(
            "", "exact" if groups else "none", groups, sum(n for _, n in there), len(there) - len(groups), took_ms=took
        )

    def _with_status(self, answer: SearchAnswer) -> SearchAnswer:
        if self._indexer.is_ready():
            return answer
        status = self.status()
        if status.state == "unavailable":
            return replace(answer, broken=status.words)
        if status.state == "ready":
            return answer
        return replace(answer, catching_up=True, indexed=status.indexed, to_index=status.to_index)

    def _cant(self, asked: SearchQuery) -> SearchAnswer:
        status = self.status()
        shown = self._views.clean(query.visible(asked.text))
        if status.state == "unavailable":
            return SearchAnswer(shown, "none", broken=status.words or BROKEN_WORDS)
        return SearchAnswer(
            shown, "none", catching_up=True, indexed=status.indexed, to_index=status.to_index, broken=self._why()
        )

    def _why(self) -> str | None:
        words = self.status().words
        return words if words == REBUILDING_WORDS else None

    def _broke(self, error: db.DatabaseError, read: Path | None) -> None:
        """`read`: the file at the beginning; where it was replaced meanwhile, it is no longer the one to mend."""
        if not db.is_busy(error):
            self._indexer.report_broken(read)

    # -- reading

    async def slice(
        self,
        chat: str,
        message: str | None = None,
        direction: Literal["around", "before", "after"] = "around",
        count: int = READ_LINES,
    ) -> Slice:
        """A stretch of one chat, oldest first; `chat` of the slice is None when there is no such chat."""
        if not self._indexer.wait(0):
            await self.caught_up(CATCH_UP_WAIT_SECONDS)

        def work(core: Core) -> Slice:
            summary = self._views.chat(chat)
            entry = self._indexer.entries.get(chat)
            if summary is None or entry is None:
                return Slice(summary, found=message is None)
            return answers.slice_of(core, summary, entry.no, message, direction, max(1, min(count, 100)), self._views)

        return await self._read(work, lambda words: Slice(self._views.chat(chat), broken=words))

    async def preview(self, chat: str, anchor: str | None = None, text: str = "") -> Preview:
        """A line with its neighbours, for the search screen."""

        def work(core: Core) -> Preview:
            summary = self._views.chat(chat)
            entry = self._indexer.entries.get(chat)
            if summary is None or entry is None:
                return Preview(summary)
            groups = query.groups(core.conn, query.parse(text).pieces)
            return answers.preview_of(core, summary, entry.no, anchor, groups, self._views)

        return await self._read(work, lambda words: Preview(self._views.chat(chat)))

    async def recent(self, limit: int = 6) -> list[ChatSummary]:
        """The chats that were last active, archived ones left out."""

        def work() -> list[ChatSummary]:
            return [s for c in self._store.recent(limit) if (s := self._views.chat(c.id)) is not None]

        return await asyncio.get_running_loop().run_in_executor(None, work)

    async def _read(self, work: Callable[[Core], T], cant: Callable[[str], T]) -> T:
        read = self._indexer.path
        try:
            return await self._tools.run(work)
        except Unready:
            return cant(self.status().words or REBUILDING_WORDS)
        except db.DatabaseError as error:
            self._broke(error, read)
            return cant(BROKEN_WORDS if self.status().state == "unavailable" else REBUILDING_WORDS)
