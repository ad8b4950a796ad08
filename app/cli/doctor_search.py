"""What `shoal doctor` tells of the index and of the explorer's runs: figures, never a word of any chat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any


def figures(runs: Iterable[Any]) -> dict[str, Any]:
    """The explorer's kept runs in numbers."""
    told = [run for run in runs if isinstance(run, dict)]
    if not told:
        return {"runs": 0}
    seconds = sorted(float(run.get("seconds", 0)) for run in told)
    shown = sorted(int(run.get("bytes", 0)) for run in told)
    return {
        "runs": len(told),
        "states": _counted(told, "state"),
        "outcomes": _counted(told, "outcome"),
        "confidence": _counted(told, "confidence"),
        "indexing": sum(run.get("index") == "indexing" for run in told),
        "seconds_p50": seconds[len(seconds) // 2],
        "seconds_p95": _p95(seconds),
        "steps": sum(int(run.get("steps", 0)) for run in told),
        "calls": sum(int(run.get("searches", 0)) + int(run.get("reads", 0)) for run in told),
        "bytes": sum(shown),
        "bytes_p95": _p95(shown),
        "report_bytes": sum(int(run.get("report_bytes", 0)) for run in told),
        "capped": sum(bool(run.get("capped")) for run in told),
        "truncated": sum(bool(run.get("truncated")) for run in told),
        "dropped": sum(int(run.get("dropped", 0)) for run in told),
    }


def explorer_words(told: dict[str, Any]) -> str:
    """The same in one line."""
    states = ", ".join(f"{n} {state}" for state, n in told["states"].items())
    return (
        f"{_many(told['runs'], 'run')} ({states}) · p50 {told['seconds_p50']:.2f} s, p95 {told['seconds_p95']:.2f} s · "
        f"{_many(told['calls'], 'call')} · {told['bytes'] / 1e3:,.1f} kB to the engine, "
        f"{told['report_bytes'] / 1e3:,.1f} kB to the chats · {told['capped']} at a limit"
    )


def pace_words(index: dict[str, Any]) -> str:
    """How big the index is, what waits for it, and how quickly it follows."""
    pace = index["pace"]
    words = [f"{index['bytes'] / 1e6:,.1f} MB", f"{_many(index['waiting'], 'line')} waiting"]
    if pace["drains"]:
        chats = _many(pace["queue"], "chat")
        words.append(f"followed in {pace['last']:.3f} s, at most {pace['longest']:.3f} s, with {chats} waiting at most")
    if pace["built"] is not None:
        words.append(f"made anew in {pace['built']:.2f} s")
    return " · ".join(words)


def _counted(told: list[dict[str, Any]], key: str) -> dict[str, int]:
    return dict(Counter(str(run[key]) for run in told if run.get(key) is not None))


def _p95(values: list[Any]) -> Any:
    return values[max(0, int(len(values) * 0.95) - 1)]


def _many(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
