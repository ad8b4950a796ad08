"""`shoal import FILE`: takes chats in, then brings the index up to date."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from app.cli import FAILED
from app.cli.context import cleaner, clock_of, folder, opened
from app.cli.failures import say
from store.importers.run import Report
from store.limits import IMPORT_INDEX_SECONDS

REDRAW_BYTES = 8_000_000


def arguments(parser: argparse.ArgumentParser) -> None:
    """The file and its folder."""
    parser.add_argument("file", metavar="FILE", type=Path, help="Shoal's own export, or a LoCoMo file; .gz too")
    parser.add_argument("--project", metavar="DIR", help="the folder of chats that name none")


def run(args: argparse.Namespace) -> int:
    """Import, and say what came."""
    from app.guard import secrets
    from store.importers.run import import_file
    from store.log import Store
    from store.search import SearchService

    context = opened(args.set, writes=True)
    clean = cleaner(context.settings)
    project = folder(args.project) or folder(context.settings.folder or ".") or ""
    store = Store.open(context.home.root, clock_of(os.environ))
    try:
        for notice in store.notices:
            say(notice)
        report = import_file(store, args.file, project=project, clean=clean, progress=_Progress())
        search = SearchService(
            store, context.home.index, spans=secrets.spans, spans_version=secrets.SHAPES_VERSION, redact=clean
        )
        search.start_sync()
        try:
            if not asyncio.run(search.caught_up(IMPORT_INDEX_SECONDS)):
                say("the search index is still catching up; it goes on when Shoal runs.")
        finally:
            search.close_sync()
    finally:
        store.close()
    print(report.sentence())
    return FAILED if report.cut else 0


class _Progress:
    """One line on the error stream, drawn anew, where somebody watches."""

    def __init__(self) -> None:
        self._drawn = 0
        self._watched = sys.stderr.isatty()

    def __call__(self, report: Report) -> None:
        if not self._watched or (report.done - self._drawn < REDRAW_BYTES and report.done < report.total):
            return
        self._drawn = report.done
        share = f"{100 * report.done // report.total} %" if report.total else ""
        print(
            f"\r{share} · {report.messages:,} messages",
            end="\n" if report.done >= report.total else "",
            file=sys.stderr,
        )
