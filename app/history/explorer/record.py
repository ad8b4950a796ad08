"""How a run went, without a word of its content: kept on this computer for `shoal doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from app.history.explorer.child import Child
from app.history.explorer.report import Report
from app.tools.base import compact
from store.clock import Clock
from store.events import HistoryExplored
from store.ids import new_id
from store.limits import EXPLORE_RUNS_KEPT
from store.log import Change
from store.state import KeepState

RUNS: Final = "explore/"


def record(clock: Clock, begun: float, event: HistoryExplored, child: Child, report: Report | None = None) -> Change:
    """The change that keeps a run's figures; `begun` is in seconds of `clock.steady()`."""
    told = {
        "at": clock.now_ms(),
        "seconds": round(clock.steady() - begun, 3),
        "steps": child.steps,
        "searches": child.searches,
        "reads": child.reads,
        "bytes": child.registry.used,
        "index": "indexing" if child.indexing else "ready",
        "capped": child.capped,
        "truncated": report is not None and report.truncated,
        "state": event.state,
        "outcome": event.outcome,
        "confidence": event.confidence,
        "report_bytes": len(compact(report.to_json()).encode()) if report else 0,
        "dropped": report.dropped if report else 0,
    }
    return _KeepRun(f"{RUNS}{told['at']:015}-{new_id('x')}", told)


@dataclass(frozen=True, slots=True)
class _KeepRun:
    """One run's record; the oldest go."""

    key: str
    told: dict[str, Any]

    def apply(self, conn: Any) -> None:
        """Inside the batch."""
        KeepState("", self.key, self.told).apply(conn)
        conn.execute(
            "DELETE FROM state WHERE chat='' AND key >= ? AND key < ? AND key NOT IN "
            "(SELECT key FROM state WHERE chat='' AND key >= ? AND key < ? ORDER BY key DESC LIMIT ?)",
            (RUNS, RUNS[:-1] + "0", RUNS, RUNS[:-1] + "0", EXPLORE_RUNS_KEPT),
        )
