"""The engine without a model: reformulates, searches, reads and quotes by rule, and says so."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from app.history.explorer.child import Child
from app.history.explorer.child_tools import ReadArgs
from app.history.explorer.disagree import sides
from app.history.explorer.evidence import STOP, Candidate, passage, stems
from app.history.explorer.report import Submission, SubmittedConflict, SubmittedFinding
from store import words
from store.limits import EXPLORE_EVIDENCE

FOUND: Final = "Quoted from earlier chats, without a model: the passages that share most with the question."
CHANGED: Final = "Said at different times; the later one may have replaced the earlier."
ENOUGH: Final = 0.4  # of the question's telling words a passage (with its neighbours and its chat's title) has to have
MOST: Final = 0.6  # … where its longest word was never said
BEST: Final = 3  # passages of one report
MORE: Final = 22  # further passages, which are near it
RANKED: Final = 2.0  # what the core's own order counts beside the shared words
NEAR: Final = "Said near it, or with some of the same words."
SEARCHES: Final = 6
HERE: Final = 6  # pages of the asking chat


@dataclass(frozen=True, slots=True)
class _Scored:
    candidate: Candidate
    share: float
    value: float


class RuleDriver:
    """Implements `Driver`. What it claims are sentences that were said, and nothing else."""

    async def explore(self, query: str, child: Child) -> None:
        """Search in several forms, read around the best, and quote what has enough of the question in it."""
        telling = telling_words(query)
        if not telling:
            await child.look(query)
            child.submit(Submission(outcome="no_match"))
            return
        for asked in reformulations(query, telling)[:SEARCHES]:
            await child.look(asked)
        best = [s.candidate for s in self._best(child, telling)]
        split = self._conflicts([c for c in best[:12] if not asks(c)], telling)
        both = [id_ for conflict in split for id_ in conflict.evidence]
        for id_ in dict.fromkeys([*(c.id for c in best[:3]), *both]):
            await child.read(ReadArgs(candidate=id_))
        if asks_about_here(query) or (child.lock.here.cut and not self._enough(child, telling)):
            await self._read_here(child, telling)
        child.submit(self._report(query, child, telling))

    async def _read_here(self, child: Child, telling: set[str]) -> None:
        """The asking chat, beginning with what its model no longer sees, and on towards its start."""
        args = ReadArgs(current_chat=True)
        for _ in range(HERE):
            answer = await child.read(args)
            if not answer.startswith("{"):
                return
            read = json.loads(answer)
            if not read["lines"] or not read["earlier"] or self._enough(child, telling, child.lock.chat):
                return
            args = ReadArgs(candidate=read["lines"][0]["candidate"], direction="before")

    def _enough(self, child: Child, telling: set[str], chat: str | None = None) -> list[_Scored]:
        """What has enough of the question in it, best first."""
        best = [s for s in self._best(child, telling) if s.share >= ENOUGH and chat in (None, s.candidate.chat)]
        here = bool(best) and best[0].candidate.chat == child.lock.chat  # which no search finds
        # its rarest word wasn't found, or only something like it: then most of the others have to be there
        unsure = bool(best) and child.match in ("none", "close") and not here and best[0].share < MOST
        return [] if unsure else best

    def _best(self, child: Child, telling: set[str]) -> list[_Scored]:
        """Every seen message by its share of the telling words, the rare ones counting most."""
        seen = child.registry.seen()
        # the asking chat's title is often the question itself, and proves nothing
        have = {c.id: stems(c.text) | (stems(c.title) if c.chat != child.lock.chat else set()) for c in seen}
        chats: dict[str, set[str]] = {}
        for c in seen:
            chats.setdefault(c.chat, set()).update(have[c.id])
        weight = {w: 1.0 / (1 + sum(w in h for h in have.values())) ** 0.5 for w in telling}
        total = sum(weight.values()) or 1.0
        out = []
        for c in seen:
            own = sum(weight[w] for w in telling & have[c.id]) / total
            count = len(telling & have[c.id]) / len(telling)
            around = len(telling & chats[c.chat]) / len(telling)
            share = max(count, 0.5 * count + 0.5 * around if count >= 0.34 else count)
            rank = child.registry.found.get(c.id, 0.0)
            value = own + 0.2 * around + RANKED * rank + (0.02 if c.who == "assistant" else 0)
            out.append(_Scored(c, share, value))
        return sorted(out, key=lambda s: (-s.value, -(s.candidate.at or 0), s.candidate.id))

    def _report(self, query: str, child: Child, telling: set[str]) -> Submission:
        best = self._enough(child, telling)
        if not best:
            return Submission(outcome="no_match")
        top = [s for s in best if s.value >= best[0].value * 0.6][:BEST]
        conflicts = self._conflicts([s.candidate for s in best[:12] if not asks(s.candidate)], telling)
        findings, used = [], set[str]()
        for s in top:
            cited = [c for c in (s.candidate, *self._answers(child, s.candidate)) if c.id not in used]
            used |= {c.id for c in cited}
            if cited:
                claim = self._sentence(cited[-1] if asks(cited[0]) else cited[0], telling)
                findings.append(SubmittedFinding(claim=claim, evidence=[c.id for c in cited]))
        found = child.registry.found
        rest = [s.candidate.id for s in self._best(child, telling) if s.candidate.id not in used]
        more = sorted(rest, key=lambda id_: -found.get(id_, 0.0))[:MORE]
        for n in range(0, len(more), EXPLORE_EVIDENCE):
            findings.append(SubmittedFinding(claim=NEAR, evidence=more[n : n + EXPLORE_EVIDENCE]))
        missing = [f"Not found: {', '.join(sorted(lost))}"] if (lost := self._lost(child, telling)) else []
        return Submission(summary=FOUND, findings=findings, conflicts=conflicts, missing_coverage=missing)

    def _answers(self, child: Child, asked: Candidate) -> list[Candidate]:
        """What was said next, where the passage is a question: an answer often has none of its words."""
        if not asks(asked):
            return []
        same = [c for c in child.registry.seen() if c.chat == asked.chat and c.who != asked.who]
        later = sorted((c for c in same if (c.at or 0) >= (asked.at or 0)), key=lambda c: c.at or 0)
        return later[:1]

    def _lost(self, child: Child, telling: set[str]) -> set[str]:
        seen: set[str] = set()
        for c in child.registry.seen():
            seen |= stems(c.text) | stems(c.title)
        return telling - seen

    def _sentence(self, candidate: Candidate, telling: set[str]) -> str:
        """The sentence of the message that shares most with the question."""
        start, end = passage(candidate.text, telling)
        parts = re.split(r"(?<=[.!?])\s+|\n+", candidate.text[start:end])
        return max(parts, key=lambda part: (len(stems(part) & telling), -len(part)), default="").strip()

    def _conflicts(self, seen: list[Candidate], telling: set[str]) -> list[SubmittedConflict]:
        """Two passages on one thing, of different times, one of which speaks of a change."""
        for one, other in combinations(sorted(seen, key=lambda c: c.at or 0), 2):
            if sides(one, other, telling):
                return [SubmittedConflict(description=CHANGED, evidence=[one.id, other.id])]
        return []


def asks(candidate: Candidate) -> bool:
    """Whether a message is a question."""
    return candidate.text.rstrip().endswith(("?", "？"))


def telling_words(query: str) -> set[str]:
    """The stems of a question that could tell one chat from another."""
    return stems(query)


def reformulations(query: str, telling: set[str]) -> list[str]:
    """The question, its telling words alone, and fewer of them."""
    told = [t for t in words.tokens(query) if t not in STOP and len(t) > 1]
    unique = list(dict.fromkeys(told))
    out = [query, " ".join(unique)]
    if len(unique) > 2:
        longest = sorted(unique, key=lambda t: (-len(t), t))
        out += [" ".join(longest[:2]), " ".join(longest[1:3]), longest[0]]
    return list(dict.fromkeys(o for o in out if o))


def asks_about_here(query: str) -> bool:
    """Whether it asks about the chat it was asked in."""
    return bool(re.search(r"\b(this chat|here|earlier in this|above|we just|before this)\b", query, re.IGNORECASE))
