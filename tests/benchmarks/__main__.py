"""`python -m tests.benchmarks [--full] [--engine MODEL] [PART …]`: one JSON line a figure, calibrated by a fixed loop.

Milliseconds are of this computer; the bars are ratios within one run. `--full` adds a million messages.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.benchmarks import recall, speed, typos


def parts(full: bool, engine: str | None = None) -> dict[str, Iterable[dict[str, Any]]]:
    """Every part, run when it is asked for."""
    sizes = (10_000, 100_000, 1_000_000) if full else (10_000, 100_000)
    return {
        "recall": _later(recall.run),
        "typos": _later(typos.run),
        **{f"speed-{n}": speed.measure(n) for n in sizes},
        "screen": _later(lambda: importlib.import_module("tests.benchmarks.screen").run(full)),
        "guard": _later(lambda: importlib.import_module("tests.benchmarks.guard").run(full)),
        "explorer": _later(lambda: importlib.import_module("tests.benchmarks.recall_explorer").run(engine)),
        "explorer-dev": _later(lambda: importlib.import_module("tests.benchmarks.recall_explorer").development()),
        "explorer-100000": _later(lambda: importlib.import_module("tests.benchmarks.recall_explorer").big()),
        "together": _later(lambda: importlib.import_module("tests.benchmarks.together").run(full)),
        "widgets": _later(_widgets),
    }


def _widgets() -> Iterator[dict[str, Any]]:
    importlib.import_module("tests.benchmarks.screen_widgets").main()  # it prints its own lines
    yield from ()


def _later(run: Callable[[], Iterable[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    yield from run()


def main() -> int:
    """Print every figure; 1 when a bar wasn't reached."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument(
        "parts",
        nargs="*",
        help="recall, typos, speed-10000, speed-100000, speed-1000000, screen, guard, explorer, explorer-dev, "
        "explorer-100000, together, widgets",
    )
    parser.add_argument("--full", action="store_true", help="also a million messages")
    parser.add_argument("--engine", metavar="MODEL", help="explore with this engine too, such as openai:NAME")
    args = parser.parse_args()
    missed = 0
    for name, figures in parts(args.full or "speed-1000000" in args.parts, args.engine).items():
        if args.parts and name not in args.parts:
            continue
        print(json.dumps({"part": name, "calibration_ms": speed.calibration()}), flush=True)
        for figure in figures:
            print(json.dumps(figure, ensure_ascii=False), flush=True)
            missed += figure.get("passed") is False
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
