"""The explore card: what the history explorer does, and what it found, with every passage leading to its place."""

from __future__ import annotations

from typing import Final

from store.events import Disagreement, Evidence, Finding
from store.rows import AnyRow, ExploredRow
from store.text import safe_text
from widgets.line import Line, Piece, wrap
from widgets.marks import FOLDED, IDLE, OPEN, STOPPED, WORKING, count, day
from widgets.names import person, title_of, without_name
from widgets.row import Row
from widgets.rows.past_chats_look import PastChatsLook

# a mark and words for every state, told apart without colour
STATES: Final[dict[str, tuple[str, str, str]]] = {
    "pending": (WORKING, "accent", "exploring"),
    "complete": ("✓", "good", "done"),
    "empty": (IDLE, "muted", "no relevant prior discussion found"),
    "partial": ("◐", "warn", "partial"),
    "indexing": ("◔", "warn", "partial, still indexing"),
    "conflict": ("⚠", "warn", "chats disagree"),
    "cancelled": (STOPPED, "muted", "stopped before it was done"),
    "failed": ("✗", "bad", "failed"),
    "evidence-only": ("≡", "warn", "evidence only, without a synthesis"),
}
STARTS: Final = "Searching prior chats…"
NOT_PROOF: Final = "That proves nothing: it may have been said in other words, or elsewhere."
SPOKE: Final = {"you": "you", "assistant": "assistant", "step": "a step"}


class ExploreCard(Row):
    """Open while it works and whenever it isn't both complete and sure; Enter folds it, a passage opens its chat."""

    spaced = True
    kind = ExploredRow

    def __init__(self, model: ExploredRow, now_ms: int = 0) -> None:
        super().__init__(model.key)
        self.model = model
        self.now_ms = now_ms or model.at
        self.words = STARTS
        self.chosen: bool | None = None  # opened or folded by hand

    @property
    def call_id(self) -> str | None:
        """The call it belongs to, for its live words."""
        return self.model.run.call_id if self.model.run else None

    @property
    def opened(self) -> bool:
        """By hand, else by its state."""
        run = self.model.run
        sure = run is not None and run.state == "complete" and run.confidence == "high"
        return not sure if self.chosen is None else self.chosen

    def phase(self, words: str) -> None:
        """What it does now, in Shoal's own words and counts."""
        if self.model.run is not None and self.model.run.state == "pending" and words != self.words:
            self.words = words
            self.changed()

    def show(self, model: AnyRow) -> None:
        """Take the run as it is now."""
        if isinstance(model, ExploredRow) and model != self.model:
            self.model = model
            self.changed()

    def make(self, width: int) -> list[Line]:
        """The question, how it stands, and, opened, all that was found."""
        run = self.model.run
        if run is None:
            return []
        mark, style, words = STATES[run.state]
        fold = OPEN if self.opened else FOLDED
        query = safe_text(run.query, one_line=True, limit=600)
        head: list[Piece] = [("Explored your history" if run.state != "pending" else "Exploring your history", "muted")]
        head += [(" · ", "muted"), (f"“{query}”", "")]
        out = wrap(head, width, first=(f"{fold} ", "muted"), rest=("  ", ""))
        standing: list[Piece] = [(f"{mark} ", style), *self._standing(words, style)]
        out += wrap(standing, width, first=("    ", ""), rest=("      ", ""))
        return out + self._findings(width) if self.opened else out

    def _standing(self, words: str, style: str) -> list[Piece]:
        run = self.model.run
        assert run is not None
        if run.state == "pending":
            goes = f" · limited text of this project's chats goes to {safe_text(run.engine, one_line=True, limit=60)}"
            away: list[Piece] = [(goes, "muted")] if run.engine not in ("", "offline") else []
            return [(safe_text(self.words, one_line=True, limit=200), ""), *away]
        groups: list[Finding | Disagreement] = [*run.findings, *run.conflicts]
        evidence = [e for g in groups for e in g.evidence]
        meta = []
        if evidence:
            chats = len({e.chat for e in evidence})
            meta = [count(chats, "chat"), count(len({(e.chat, e.message) for e in evidence}), "evidence target")]
        if run.confidence and evidence:
            meta.append(f"{run.confidence} confidence")
        told = [] if run.state == "complete" else [words]
        return [(" · ".join([*told, *meta]) or words, style if told else "muted")]

    def _findings(self, width: int) -> list[Line]:
        run = self.model.run
        assert run is not None
        out: list[Line] = []
        label = "Quoted, without a model" if run.extractive else "Analysis"
        host = run.state == "evidence-only" or not (run.findings or run.conflicts)  # Shoal's own words
        words = NOT_PROOF if run.state == "empty" else safe_text(run.summary, limit=1_300)
        if words and host:
            out += self._wrapped([(words, "muted")], width, "    ")
        elif not host:
            out += self._wrapped([(label, "muted"), (f" · {words}" if words else "", "")], width, "    ")
        for n, finding in enumerate(run.findings):
            out += self._group(finding, f"f{n}", f"{n + 1} ", width)
        for n, conflict in enumerate(run.conflicts):
            out += self._group(conflict, f"c{n}", "⚠ ", width)
        for missing in run.missing:
            out += self._wrapped([(f"Not covered: {safe_text(missing, one_line=True)}", "muted")], width, "    ")
        if run.partial_reason and (run.state != "evidence-only" or run.index_status == "indexing"):
            reason = safe_text(run.partial_reason, limit=400)
            out += self._wrapped([(reason, "bad" if run.state == "failed" else "warn")], width, "    ")
        return out

    def _group(self, group: Finding | Disagreement, target: str, mark: str, width: int) -> list[Line]:
        words = group.claim if isinstance(group, Finding) else group.description
        out = self._wrapped([(safe_text(words, one_line=True), "")], width, f"    {mark}") if words else []
        for n, e in enumerate(group.evidence):
            out += self._evidence(e, f"{target}:{n}", width)
        return out

    def _evidence(self, e: Evidence, target: str, width: int) -> list[Line]:
        who = SPOKE.get(e.who) or person(e.name, 20) or "someone else"
        dots = "…" if e.cut else ""
        excerpt, _ = without_name(safe_text(e.excerpt, one_line=True, limit=800), (), e.name)
        meta = [title_of(e.title, "an earlier chat"), day(e.at, self.now_ms) if e.at else "", who]
        if e.summary:
            meta.append("a summary")
        quote: list[Piece] = [(f"“{dots}{excerpt}{dots}”", "you" if e.who == "you" else "")]
        quote += [(f" · {word}", "muted") for word in meta if word]
        return wrap(quote, width, first=("      ", ""), rest=("      ", ""), target=target)

    @staticmethod
    def _wrapped(pieces: list[Piece], width: int, before: str) -> list[Line]:
        return wrap([p for p in pieces if p[0]], width, first=(before, "muted"), rest=(" " * len(before), ""))

    def press(self) -> None:
        """Open or fold."""
        self.chosen = not self.opened
        self.changed()
        self.post_message(self.Resized(self))

    def choose(self, target: str) -> None:
        """A passage opens its chat at its line."""
        run = self.model.run
        if run is None:
            return
        group, _, number = target.partition(":")
        groups = run.findings if group[0] == "f" else run.conflicts
        e = groups[int(group[1:])].evidence[int(number)]
        self.post_message(PastChatsLook.OpenAt(e.chat, e.message))
