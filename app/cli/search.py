"""`shoal search`: the same core as Ctrl+K and the tools, read-only, also while another Shoal has the home open."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from app.cli import USAGE
from app.cli.context import Context, cleaner, opened
from app.cli.failures import CliError, say
from app.cli.searching import answer_line, asked_of
from store.limits import SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX
from store.models import SearchAnswer, SearchQuery
from store.text import safe_text

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The query and its filters."""
    parser.add_argument("query", metavar="QUERY", nargs="+", help="words that were said; put -- before a leading dash")
    parser.add_argument("--after", metavar="DATE", help="from this day or moment on (2026-03-05, 2026-03-05T14:30)")
    parser.add_argument("--before", metavar="DATE", help="up to this day or moment")
    parser.add_argument("--who", choices=("you", "assistant", "them", "step"), help="whose lines")
    parser.add_argument("--limit", type=int, default=SEARCH_LIMIT_DEFAULT, metavar="N", help="chats, at most 100")
    parser.add_argument("--chat", metavar="ID", help="only in this chat")
    parser.add_argument("--project", metavar="DIR", help="only chats of this folder")
    parser.add_argument("--json", action="store_true", help="one line of JSON, in the shape of search_chats")


def run(args: argparse.Namespace) -> int:
    """Print what is found; 0 also when nothing is."""
    if not 1 <= args.limit <= SEARCH_LIMIT_MAX:
        raise CliError(f"--limit is a number from 1 to {SEARCH_LIMIT_MAX}.", USAGE)
    try:
        asked = asked_of(
            " ".join(args.query), args.limit, args.after, args.before, args.who, chat=args.chat, project=args.project
        )
    except ValueError as error:
        raise CliError(str(error), USAGE) from error
    context = opened(args.set)
    clean = cleaner(context.settings)
    answer = found(context, asked, clean)
    if answer.broken:
        raise CliError(answer.broken)
    line = answer_line(answer, clean)
    if args.json:
        print(json.dumps(line, ensure_ascii=False))
    else:
        _print(line)
    return 0


def found(context: Context, asked: SearchQuery, clean: Callable[[str], str]) -> SearchAnswer:
    """The core's answer. Raises CliError for a chat that isn't there."""
    from app.guard import secrets
    from store.log import Store
    from store.search import SearchService

    if not context.home.store.exists():
        return SearchAnswer(asked.text, "none")
    store = Store.open(context.home.root, readonly=True)
    try:
        if asked.chat is not None and store.summary(asked.chat) is None:
            raise CliError("there is no such chat.")
        search = SearchService(
            store, context.home.index, spans=secrets.spans, spans_version=secrets.SHAPES_VERSION, redact=clean
        )
        search.start_sync()
        try:
            return search.search_sync(asked)
        finally:
            search.close_sync()
    finally:
        store.close()


def _print(line: dict[str, Any]) -> None:
    styled = sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
    bold, plain = (BOLD, PLAIN) if styled else ("", "")
    for chat in line["chats"]:
        facts = [chat[name] for name in ("from", "others") if chat.get(name)]
        facts += [name for name in ("archived", "private") if chat.get(name)]
        when = chat["last_active"][:10]
        print(f"{bold}{chat['title']}{plain} · {' · '.join([*facts, when, chat['chat']])}")
        for found_line in chat["lines"]:
            who = found_line.get("name") or found_line["who"]
            words = _flat(found_line["text"]).removeprefix(f"{who}: ")
            print(f"  {found_line['when'][:16].replace('T', ' ')}  {who}: {words}")
    if not line["chats"]:
        print("Nothing was found." if line["match"] == "none" else line.get("note", "Nothing was found."))
    elif line["match"] == "close":
        say("close matches; nothing matched exactly.")
    if line["hidden"]:
        say(f"{line['hidden']} more chats matched; --limit shows more.")
    if line.get("catching_up"):
        say("earlier chats are still being indexed, so something may be missing.")


def _flat(text: str) -> str:
    return safe_text(text, one_line=True)
