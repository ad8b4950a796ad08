"""`wait_for`: wait for something without asking again and again (ADR 0125; ADR 0134 adds chats and tasks)."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.guard.may import NO_SUCH_CHAT, is_yours, may_look
from app.guard.quoting import host_line
from app.ports import CallFacts, ToolOutcome, TurnContext
from app.together.lines import line_name
from app.together.waits.service import Waits
from app.together.waits.watchers import compiled
from app.together.waits.web_watchers import REF, REPO
from app.tools.base import ToolArgs
from app.tools.web.addresses import Refused, parse, shown
from store.clock import Clock
from store.limits import CHAT_ID_CHARS, WAIT_HELD_MINUTES, WAIT_MINUTES, WAIT_MINUTES_MOST, WAIT_TEXT_CHARS
from store.log import Store
from store.together import KeptTask

Kind = Literal["chat", "task", "process", "url", "time", "ci"]

ITSELF = "This is that chat; it can't wait for itself."
NEEDS = {
    "chat": 'Give "chat": the id of the chat to wait for, from list_chats.',
    "task": 'Give "task": the id of a task this chat started.',
    "process": 'Give "process_id": the id run_command gave.',
    "url": 'Give "url": the page to wait for, and "contains" if it should have certain words.',
    "time": 'Give "minutes" (how long from now) or "until" (an ISO time with its date).',
    "ci": 'Give "repo" as owner/name on GitHub and "ref": a branch, tag or commit.',
}
TOO_FAR = (
    "That is more than a day away. Wait for at most a day; for later or regular things the person can make a routine."
)
NO_TASK = "This chat started no such task. Use an id that start_background_task or task_status gave."
ALREADY = "This chat is already waiting for {title}; it is woken when that ends. End your reply now."
LETS_GO = (
    "Waiting for {title}, until {until} at the most. End your reply now, without asking again: this chat carries on by "
    "itself when it is over."
)
CHECKS = "https://github.com/{repo}/commit/{ref}/checks"  # the page that its row opens
DESCRIPTION = (
    "Wait for something without asking again and again: another chat (chat), a task of this chat (task), a background "
    "process (process), a page (url), the checks of a commit on GitHub (ci), or a time (time). Where the answer says "
    "so, end your reply: the chat is woken when it is over."
)


class WaitArgs(ToolArgs):
    """What to wait for."""

    kind: Kind = Field(description="chat, task, process, url, time or ci")
    chat: str | None = Field(None, description="chat: its id, from list_chats")
    task: str | None = Field(None, max_length=CHAT_ID_CHARS, description="task: its id")
    process_id: str | None = Field(None, max_length=CHAT_ID_CHARS, description="process: the id run_command gave")
    pattern: str | None = Field(
        None, min_length=1, max_length=WAIT_TEXT_CHARS, description="process: end at a line that matches"
    )
    url: str | None = Field(None, max_length=2_000, description="url: the page")
    contains: str | None = Field(
        None, min_length=1, max_length=WAIT_TEXT_CHARS, description="url: end when the page has these words"
    )
    repo: str | None = Field(None, max_length=200, description="ci: owner/name")
    ref: str | None = Field(None, max_length=200, description="ci: branch, tag or commit")
    fail_fast: bool = Field(False, description="ci: end at the first failed check")
    minutes: float | None = Field(None, ge=0, le=WAIT_MINUTES_MOST, description="time: how long from now")
    until: str | None = Field(None, max_length=40, description="time: an ISO time")
    timeout_minutes: float | None = Field(
        None, ge=1, le=WAIT_MINUTES_MOST, description="Give up after so long (else a sensible time)"
    )
    tell_me: bool = Field(False, description="Tell the person when it is over")


class WaitFor:
    """The tool."""

    name = "wait_for"
    description = DESCRIPTION
    args: type[BaseModel] = WaitArgs
    family = "together"
    effect: Literal["read", "write"] = "read"
    prompt: str | None = None

    def __init__(self, store: Store, clock: Clock, waits: Waits) -> None:
        self._store = store
        self._clock = clock
        self._waits = waits

    def refusal(self, ctx: TurnContext) -> str | None:
        """Not where someone else's words are, nor in a routine's run; a task may wait for its own things."""
        if ctx.origin is not None and ctx.origin.kind == "task" and ctx.taints is not None:
            return None
        return may_look(ctx)

    def label(self, args: WaitArgs) -> str:
        """What the call does, in plain words."""
        return f"Wait for {self._title(args)}"[:200]

    async def facts(self, args: WaitArgs, ctx: TurnContext) -> CallFacts:
        """A page's address is judged as `fetch_page` is; the rest looks at what is here."""
        url, never = None, None
        if args.kind == "url" and args.url:
            try:
                url = shown(parse(args.url))
            except Refused as refused:
                never = refused.sentence
        family = "web" if args.kind in ("url", "ci") else self.family
        return CallFacts(self.name, family, self.effect, self.label(args), url=url, preview=url or "", never=never)

    async def run(self, args: WaitArgs, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Look once; then answer, let go of the turn, or hold it."""
        asked = self._asked(args, ctx)
        if isinstance(asked, str):
            return ToolOutcome(asked, ok=False)
        title, spec = asked
        if (answer := self._no_new_one(args, ctx, title, spec)) is not None:
            return answer
        first = await self._waits.look(args.kind, ctx.chat, spec)
        if first.fatal is not None:
            return ToolOutcome(first.fatal, ok=False, taints=first.taints)
        if first.settled:
            words = host_line(f"already over: {first.words}")
            return ToolOutcome(f"{words}\n{first.quoted}" if first.quoted else words, taints=first.taints)
        if (answer := self._no_new_one(args, ctx, title, spec)) is not None:  # another call of this step was quicker
            return answer
        minutes = self._minutes(args, spec)
        note = self._waits.note(
            args.kind,
            title,
            minutes=minutes,
            tell=args.tell_me,
            url=CHECKS.format(**spec) if args.kind == "ci" else spec.get("url"),
            chat=spec.get("chat") or spec.get("task_chat"),
        )
        if self._lets_go(args, ctx, spec):
            event, row = self._waits.begin(note, ctx.chat, spec, first, held=False)
            until = dt.datetime.fromtimestamp(note.deadline / 1000).astimezone().isoformat(timespec="minutes")
            words = LETS_GO.format(title=title, until=until)
            return ToolOutcome(words, events=(event,), changes=(row,), taints=first.taints)
        text, taints, ok = await self._waits.hold(note, ctx, spec, first)
        return ToolOutcome(text, ok=ok, taints=(*first.taints, *taints))

    def _no_new_one(self, args: WaitArgs, ctx: TurnContext, title: str, spec: dict[str, Any]) -> ToolOutcome | None:
        """The answer where the chat waits for the same thing already, or may not wait for one thing more."""
        known = self._waits.find(ctx.chat, args.kind, str(spec["key"]))
        if known is not None and not known.held:
            return ToolOutcome(ALREADY.format(title=title))
        refused = self._waits.refusal(ctx.chat, str(spec["chat"]) if spec.get("chat") else None)
        return None if refused is None else ToolOutcome(refused, ok=False)

    def _lets_go(self, args: WaitArgs, ctx: TurnContext, spec: dict[str, Any]) -> bool:
        if not ctx.attended or ctx.origin is not None or args.kind == "process":
            return False
        return args.kind != "time" or int(spec["due"]) - self._clock.now_ms() > WAIT_HELD_MINUTES * 60_000

    def _minutes(self, args: WaitArgs, spec: dict[str, Any]) -> float:
        usual, most = WAIT_MINUTES[args.kind]
        minutes = min(float(most), args.timeout_minutes or float(usual))
        if args.kind == "time":  # never cut before its own due time plus a minute
            minutes = max(minutes, (int(spec["due"]) - self._clock.now_ms()) / 60_000 + 1)
        return minutes

    def _title(self, args: WaitArgs) -> str:
        match args.kind:
            case "chat":
                summary = self._store.summary(args.chat or "")
                return f"“{line_name(summary.title)}”" if summary and is_yours(summary) else "another chat"
            case "task":
                found = self._store.kept(KeptTask, "id=?", args.task or "")
                return f"the task “{line_name(found[0].title)}”" if found else "a task"
            case "process":
                return "a background process"
            case "url":
                return line_name(args.url or "a page")
            case "ci":
                return f"checks of {line_name(args.repo or '')} {line_name(args.ref or '')}"
        return f"{args.minutes:g} minutes" if args.minutes is not None else f"{line_name(args.until or 'a time')}"

    def _asked(self, args: WaitArgs, ctx: TurnContext) -> tuple[str, dict[str, Any]] | str:  # noqa: PLR0911 - a kind each
        """The title and the spec, or the sentence that says what to give."""
        title = self._title(args)
        match args.kind:
            case "chat" if args.chat is not None:
                if args.chat == ctx.chat:
                    return ITSELF
                target = self._store.summary(args.chat)
                if may_look(ctx) is not None or not is_yours(target) or target is None:
                    return NO_SUCH_CHAT
                return title, {"key": args.chat, "chat": args.chat, "title": line_name(target.title)}
            case "task" if args.task:
                found = self._store.kept(KeptTask, "id=? AND parent=?", args.task, ctx.chat)
                if not found:
                    return NO_TASK
                task = found[0]
                return title, {"key": task.id, "task": task.id, "task_chat": task.chat, "title": line_name(task.title)}
            case "process" if args.process_id:
                if args.pattern:
                    try:
                        compiled(args.pattern)
                    except ValueError as error:
                        return f'"pattern" {error}. Nothing was waited for.'
                key = f"{args.process_id} {args.pattern or ''}"
                return title, {"key": key, "process_id": args.process_id, "pattern": args.pattern}
            case "url" if args.url:
                key = f"{args.url} {args.contains or ''}"
                tainted = ctx.taints is None or bool(ctx.taints)
                return title, {"key": key, "url": args.url, "contains": args.contains, "tainted": tainted}
            case "ci" if args.repo and args.ref:
                repo = REPO.fullmatch(args.repo.strip())
                if repo is None or REF.fullmatch(args.ref) is None or ".." in args.ref:
                    return NEEDS["ci"]
                spec = {"repo": repo[1], "ref": args.ref, "fail_fast": args.fail_fast}
                return title, {"key": f"{repo[1]}@{args.ref}", **spec}
            case "time" if args.minutes is not None or args.until:
                due = self._due(args)
                return due if isinstance(due, str) else (title, {"key": str(due), "due": due})
        return NEEDS[args.kind]

    def _due(self, args: WaitArgs) -> int | str:
        now = self._clock.now_ms()
        if args.minutes is not None:
            return now + int(args.minutes * 60_000)
        try:
            at = dt.datetime.fromisoformat((args.until or "").strip())
        except ValueError:
            return NEEDS["time"]
        due = int((at if at.tzinfo else at.astimezone()).timestamp() * 1000)
        return TOO_FAR if due - now > WAIT_MINUTES_MOST * 60_000 else due
