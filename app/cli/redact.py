"""`shoal redact`: standard input with its secrets hidden; reads and writes nothing else."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from app.cli import FAILED
from app.cli.context import cleaner
from app.cli.failures import say
from store.importers.lines import mended


def arguments(parser: argparse.ArgumentParser) -> None:
    """`--jsonl`."""
    parser.add_argument("--jsonl", action="store_true", help='each line is {"text":…}, and comes back with "removed"')


def run(args: argparse.Namespace) -> int:
    """Filter; a line that isn't what --jsonl asks for is said and makes the exit code 1."""
    from app.paths import Home
    from app.settings import load

    clean = cleaner(load(Home.default(), args.set)[0])
    if args.jsonl:
        return _lines(clean)
    text = sys.stdin.buffer.read().decode("utf-8", "replace")  # a secret may go over lines, so never line by line
    _write(clean(text))
    return 0


def _lines(clean: Callable[[str], str]) -> int:
    from app.guard.secrets import found

    bad = 0
    for number, raw in enumerate(sys.stdin.buffer, 1):
        if not raw.strip():
            continue
        try:
            text = mended(json.loads(raw)["text"])
            if not isinstance(text, str):
                raise TypeError
        except (ValueError, TypeError, KeyError, RecursionError):
            bad += 1
            say(f'line {number} isn\'t {{"text": …}}; it was left out.')
            continue
        kinds = [kind for _start, _end, kind in found(text)]
        hidden = clean(text)
        if hidden != text and not kinds:
            kinds = ["known-key"]
        _write(json.dumps({"text": hidden, "removed": list(dict.fromkeys(kinds))}, ensure_ascii=False) + "\n")
    return FAILED if bad else 0


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
