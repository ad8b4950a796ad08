"""`shoal explore`: one exploration of a project's earlier chats, with the same runner and all its checks."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from pathlib import Path
from typing import Any

from app.cli import FAILED, USAGE
from app.cli.context import Context, clock_of, opened
from app.cli.failures import CliError, say
from app.commands import CommandError, NewChat
from store.limits import ASK_INDEX_SECONDS, EXPLORER_QUERY_CHARS, TITLE_WORDS_CHARS
from store.text import safe_text


def arguments(parser: argparse.ArgumentParser) -> None:
    """The question and where to look."""
    parser.add_argument("query", metavar="QUERY", nargs="+", help="what you want to know")
    parser.add_argument("--project", metavar="DIR", default=".", help="the project's folder (default: this one)")
    parser.add_argument("--json", action="store_true", help="the report as one line of JSON")


def run(args: argparse.Namespace) -> int:
    """Print the report; 0 also when nothing was found."""
    query = " ".join(" ".join(args.query).split())
    if not query:
        raise CliError("there is nothing to look for.", USAGE)
    if len(query) > EXPLORER_QUERY_CHARS:
        raise CliError(f"a question has at most {EXPLORER_QUERY_CHARS} characters.", USAGE)
    folder = Path(args.project).expanduser()
    if not folder.is_dir():
        raise CliError(f"{args.project} is not a folder.", USAGE)
    context = opened(args.set, writes=True)
    report = asyncio.run(_explored(context, query, str(folder.resolve())))
    print(json.dumps(report, ensure_ascii=False) if args.json else _words(report))
    return 0


async def _explored(context: Context, query: str, folder: str) -> dict[str, Any]:
    """In a chat of its own, which holds the look, its marks and the report."""
    from app.services import build

    services = await build(context.home, context.settings, clock_of(os.environ))
    for notice in services.store.notices:
        say(notice)
    try:
        await services.search.caught_up(ASK_INDEX_SECONDS)  # what is missing then is said in the report
        made = await services.session.do(NewChat(title=query[:TITLE_WORDS_CHARS], folder=folder))
        return await services.explorer.by_hand(made["chat"], query)
    except CommandError as error:
        raise CliError(error.message, FAILED) from error
    finally:
        await services.close()


def _words(report: dict[str, Any]) -> str:
    """For reading: every line harmless."""
    lines = [report["summary"] or "", f"{report['outcome']} · {report['confidence']} confidence"]
    for n, finding in enumerate(report["findings"], 1):
        lines += [f"{n} {finding['claim']}"] * bool(finding["claim"])
        lines += [_quoted(e) for e in finding["evidence"]]
    for conflict in report["conflicts"]:
        lines += [f"⚠ {conflict['description']}", *(_quoted(e) for e in conflict["evidence"])]
    lines += [f"Not covered: {missing}" for missing in report["missing_coverage"]]
    if report.get("partial_reason"):
        lines.append(report["partial_reason"])
    return "\n".join(safe_text(line, one_line=True) for line in lines if line)


def _quoted(e: dict[str, Any]) -> str:
    when = f" · {e['created_at'][:10]}" if e.get("created_at") else ""
    return f"  “{e['excerpt']}” · {e['chat_title']}{when} · {e['who']}"
