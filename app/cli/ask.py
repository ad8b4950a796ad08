"""`shoal ask TEXT`: one turn, unattended: a question is answered no at once (exit 5), unless `--allow`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from app.cli import FAILED, UNANSWERED, USAGE
from app.cli.context import Context, clock_of, opened
from app.cli.failures import CliError, say
from app.commands import Answer, CommandError, NewChat, Send, SetOptions
from app.settings import model_problem
from store.events import AssistantDone, Mode, PermissionRequested, Stored, TurnCompleted
from store.limits import ASK_INDEX_SECONDS, MESSAGE_CHARS
from store.text import safe_text

if TYPE_CHECKING:
    from app.services import Services


def arguments(parser: argparse.ArgumentParser) -> None:
    """The words, and where they are said."""
    parser.add_argument("text", metavar="TEXT", help="what to say; - reads standard input")
    parser.add_argument("--chat", metavar="ID", help="go on in this chat (default: a new one)")
    parser.add_argument("--model", metavar="M", help="offline, openai:NAME, anthropic:NAME, google:NAME")
    parser.add_argument("--mode", choices=get_args(Mode), help="what may be done unasked")
    parser.add_argument("--allow", action="store_true", help="answer every question yes")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the answer's words")


@dataclass(slots=True)
class Said:
    """What came of the turn."""

    chat: str
    texts: list[str] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    end: TurnCompleted | None = None
    seen: int = 0  # the newest event taken

    def code(self, allow: bool) -> int:
        """The exit code."""
        if self.asked and not allow:
            return UNANSWERED
        return 0 if self.end is not None and self.end.outcome == "success" else FAILED


def run(args: argparse.Namespace) -> int:
    """Say it, wait for the answer, print it."""
    if args.text == "-":
        args.text = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not args.text.strip():
        raise CliError("there is nothing to say.", USAGE)
    if len(args.text) > MESSAGE_CHARS:
        raise CliError(f"a message has at most {MESSAGE_CHARS:,} characters.", USAGE)
    if args.model and (problem := model_problem(args.model)):
        raise CliError(f"--model: {problem}", USAGE)
    context = opened([*args.set, *([f"model={args.model}"] if args.model else [])], writes=True)
    try:
        said, clean = asyncio.run(_turn(context, args))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None  # SIGTERM and SIGHUP end it as ctrl-c does: the turn is closed, all is kept
    if args.json:
        print(json.dumps(_line(said, clean), ensure_ascii=False))
    elif said.texts:
        print(safe_text(clean("\n\n".join(said.texts))))
    for asked in said.asked:
        say(f"asked to {asked['summary'] or asked['tool_name']}; the answer was {asked['decision']}.")
    if said.end is not None and (said.end.outcome != "success" or said.end.paused):
        say(said.end.error or "the reply didn't finish.")
    return said.code(args.allow)


async def _turn(context: Context, args: argparse.Namespace) -> tuple[Said, Any]:
    from app.services import build
    from app.session.bus import Lagged

    me = asyncio.current_task()
    if me is not None and threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
            asyncio.get_running_loop().add_signal_handler(number, me.cancel)
    services = await build(context.home, context.settings, clock_of(os.environ))
    for notice in services.store.notices:
        say(notice)
    try:
        said = Said(await _chat(services, args))
        bus = services.session.bus.subscribe()
        await services.session.do(Send(chat=said.chat, text=args.text, attended=False))
        async for item in bus:
            if isinstance(item, Lagged):
                for stored in list(services.store.events(max(item.last_id, said.seen), said.chat)):
                    await _take(services, said, stored, allow=args.allow)
            elif isinstance(item, Stored):
                await _take(services, said, item, allow=args.allow)
            if said.end is not None:
                break
        bus.close()
        with contextlib.suppress(CommandError):  # the title and the index may take longer; the next start goes on
            await services.session.settle(said.chat, ASK_INDEX_SECONDS)
        redact = services.redactor.clean
    except CommandError as error:
        raise CliError(error.message, USAGE if error.code == "bad-command" else FAILED) from error
    finally:
        await services.close()
    from app.guard.secrets import clean

    return said, lambda text: clean(redact(text))


async def _chat(services: Services, args: argparse.Namespace) -> str:
    if args.chat is None:
        return str((await services.session.do(NewChat(mode=args.mode, model=args.model)))["chat"])
    if args.mode or args.model:
        await services.session.do(SetOptions(chat=args.chat, mode=args.mode, model=args.model))
    return str(args.chat)


async def _take(services: Services, said: Said, stored: Stored, *, allow: bool) -> None:
    if stored.chat != said.chat or stored.id <= said.seen or said.end is not None:
        return
    said.seen = stored.id
    match stored.event:
        case AssistantDone(text=text) if text:
            said.texts.append(text)
        case PermissionRequested() as event:
            decision = "allow" if allow else "deny"
            said.asked.append({"tool_name": event.tool_name, "summary": event.summary, "decision": decision})
            await _answer(services, said.chat, event.permission_id, allow=allow)
        case TurnCompleted() as event:
            said.end = event


async def _answer(services: Services, chat: str, permission: str, *, allow: bool) -> None:
    answer = Answer(chat=chat, permission=permission, decision="allow" if allow else "deny")
    for _ in range(200):  # its event may be heard a moment before the question can be answered
        try:
            await services.session.do(answer)
            return
        except CommandError as error:
            if error.code != "gone":
                raise
        await asyncio.sleep(0.01)


def _line(said: Said, clean: Callable[[str], str]) -> dict[str, Any]:
    end, text = said.end, clean("\n\n".join(said.texts))
    line: dict[str, Any] = {"chat": said.chat, "outcome": end.outcome if end else "error", "text": text}
    if said.asked:
        line["asked"] = [{name: clean(words) for name, words in asked.items()} for asked in said.asked]
    if end is not None:
        if end.error:
            line["paused" if end.paused else "error"] = {"code": end.code, "message": clean(end.error)}
        line["usage"] = end.usage.model_dump(exclude_none=True)
    return line
