"""`shoal export CHAT`: one chat as event lines (which import reads back), Markdown or an HTML page; read-only."""

from __future__ import annotations

import argparse
import sys

from app.cli.context import cleaner, opened
from app.cli.failures import CliError


def arguments(parser: argparse.ArgumentParser) -> None:
    """The chat and the form."""
    parser.add_argument("chat", metavar="CHAT", help="the chat's id (`shoal search --json` shows ids)")
    parser.add_argument("--format", choices=("md", "json", "html"), default="md", help="md unless given")


def run(args: argparse.Namespace) -> int:
    """Write it to standard output."""
    from store.export import exported
    from store.log import Store

    context = opened(args.set)
    if not context.home.store.exists():
        raise CliError("there is no such chat.")
    store = Store.open(context.home.root, readonly=True)
    try:
        summary = store.summary(args.chat)
        if summary is None:
            raise CliError("there is no such chat.")
        for line in exported(summary, store.events(chat=args.chat), args.format, cleaner(context.settings)):
            sys.stdout.buffer.write(line.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    finally:
        store.close()
    return 0
