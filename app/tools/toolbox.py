"""The tools of one turn, and the one path every call takes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from app.guard.marks import Marks
from app.guard.permissions import keep
from app.ports import Asker, ToolCall, ToolOutcome, ToolReturn, ToolSpec, Turn, TurnContext
from app.tools.base import Allow, Ask, Gate, Refuse, Tool, Tracker
from app.tools.registry import NO_SUCH_TOOL, Registry
from store.clock import Clock
from store.errors import StoreError
from store.events import Event, Mode, Taint, TaintSource, ToolFinished, ToolStarted, ToolStatus
from store.limits import TOOL_ARGS_CHARS, TOOL_RESULT_CHARS
from store.log import BatchKind, Change, Store, batch_of

log = logging.getLogger("shoal.tools")

TOO_LONG = f'"arguments" is longer than {TOOL_ARGS_CHARS:,} characters. Nothing was run; send less at once.'
NOT_AN_OBJECT = (
    '"arguments" must be one JSON object with the fields the tool names, and this isn\'t. Nothing was run; '
    "call it again with whole, valid JSON."
)
NOT_RECORDED = "It couldn't be written down, so it wasn't run. Tell the person that Shoal can't save right now."
NOT_KEPT = "What it gave couldn't be saved, so it isn't shown. Tell the person that Shoal can't save right now."
SAID_NO = "The person said no. Don't try it another way; ask them what they want instead."
NOBODY_ANSWERED = "The question wasn't answered, which counts as no. Nothing was run."
TURN_OVER = "The reply had ended before this finished."
CUT = "\n[Shoal: cut here; {more:,} more characters aren't shown]"


class TurnToolbox:
    """Implements `app.ports.Toolbox` for one turn. `context` reads anew at each call what the chat is now."""

    def __init__(
        self,
        *,
        chat: str,
        store: Store,
        registry: Registry,
        context: Callable[[], TurnContext],
        gate: Gate,
        asker: Asker,
        clock: Clock,
        clean: Callable[[str], str],
        tracker: Tracker | None = None,
    ) -> None:
        self._chat = chat
        self._store = store
        self._registry = registry
        self._told = context
        self._marks = Marks(store)
        self._gate = gate
        self._asker = asker
        self._clock = clock
        self._clean = clean
        self._tracker = tracker
        self._tainted: set[tuple[str, str]] = set()
        self._over = False
        self._mode: Mode | None = None  # of this step

    def offered(self) -> Sequence[ToolSpec]:
        """What the model may call at this step, which begins here: a mode picked later holds from the next one."""
        ctx = self._context()
        self._mode = ctx.mode
        return self._registry.offered(ctx)

    def _context(self) -> TurnContext:
        """What the chat is now, with the marks that count by today's rule."""
        ctx = self._told()
        return replace(ctx, taints=self._marks.of(ctx.chat, ctx.taints))

    def _now(self) -> TurnContext:
        """What the turn is now, in the mode its step began in."""
        ctx = self._context()
        return ctx if self._mode is None else replace(ctx, mode=self._mode)

    def prompts(self) -> Sequence[str]:
        """The system sections of the offered tools, each once."""
        texts = [tool.prompt for tool in self._registry.tools(self._context()) if tool.prompt]
        return list(dict.fromkeys(texts))

    def effect(self, name: str) -> Literal["read", "write"]:
        """An unknown tool does nothing, so it counts as a read."""
        tool = self._registry.get(name)
        return tool.effect if tool else "read"

    def close(self) -> None:
        """Late results are dropped from here on."""
        self._over = True

    async def refuse(
        self, call: ToolCall, sentence: str, status: ToolStatus = "error", *, asked: bool = False
    ) -> ToolReturn:
        """Record and answer a call that isn't run. `asked`: the row of its question says so, it needs none itself."""
        name = "" if asked else call.name or "a tool"
        done = ToolFinished(call_id=call.id, status=status, output=sentence, name=name)
        try:
            await self._commit("result", [done])
        except StoreError:
            log.warning("a refused call couldn't be recorded in %s", self._chat)
        return ToolReturn(call.id, call.name, sentence, error=True)

    async def call(self, call: ToolCall) -> ToolReturn:
        """Validate, offered?, taint and person, permission, intent, run, clean, cap, result."""
        ctx = self._now()
        refusal = self._registry.refusal(call.name, ctx)
        tool = self._registry.get(call.name)
        if tool is None or refusal is not None:
            return await self.refuse(call, refusal or NO_SUCH_TOOL)
        args = parse_args(tool, call.args)
        if isinstance(args, str):
            log.info("arguments refused: %s in %s", call.name, self._chat)
            return await self.refuse(call, args)
        started = ToolStarted(
            call_id=call.id,
            name=tool.name,
            input=args.model_dump(mode="json", exclude_unset=True),
            label=self._clean(_label(tool, args)),
            effect=tool.effect,
            family=tool.family,
        )
        refused = await self._permitted(tool, args, ctx, call, started)
        return refused or await self._run(tool, args, call)

    async def _permitted(
        self, tool: Tool, args: BaseModel, ctx: TurnContext, call: ToolCall, started: ToolStarted
    ) -> ToolReturn | None:
        """None once the intent is durable; else the refusal as the call's result."""
        try:
            match await self._gate.judge(tool, args, ctx, call.id):
                case Refuse(sentence):
                    return await self.refuse(call, sentence)
                case Ask(request, key, full):
                    always = [] if key is None else [keep(self._chat, key)]
                    decision = await self._asker.ask(
                        self._chat, request, attended=ctx.attended, intent=[started], always=always, full=full
                    )
                    if decision not in ("allow", "allow-always"):
                        sentence = SAID_NO if decision == "deny" else NOBODY_ANSWERED
                        return await self.refuse(call, sentence, asked=True)
                case Allow():
                    await self._commit("intent", [started])
        except StoreError:
            return await self.refuse(call, NOT_RECORDED)
        return None

    async def _run(self, tool: Tool, args: BaseModel, call: ToolCall) -> ToolReturn:
        begun = self._clock.steady()
        ctx = self._now()
        refusal = self._registry.refusal(tool.name, ctx)  # what the chat read may have changed while it was asked
        try:
            outcome = ToolOutcome(refusal, ok=False) if refusal else await self._tracked(tool, args, ctx, call.id)
        except Exception as error:
            log.error("%s failed in %s: %s", tool.name, self._chat, type(error).__name__, exc_info=error)
            outcome = ToolOutcome(
                f"{tool.name} failed inside Shoal ({type(error).__name__}). Try another way.", ok=False
            )
        text = capped(self._clean(outcome.text))
        finished = ToolFinished(
            call_id=call.id,
            status="success" if outcome.ok else "error",
            output=text,
            duration_ms=max(0, int((self._clock.steady() - begun) * 1000)),
            name=tool.name,
        )
        taints = self._new_taints(outcome.taints, ctx)
        events = [*(Taint(source=source, call_id=call.id) for source in taints), finished, *outcome.events]
        try:
            await self._commit("result", events, outcome.changes, outcome.elsewhere)
        except StoreError:
            self._tainted -= {(s.kind, s.label) for s in taints}
            return await self.refuse(call, NOT_KEPT, "unknown" if tool.effect == "write" else "error")
        return ToolReturn(call.id, call.name, text, error=not outcome.ok)

    async def _tracked(self, tool: Tool, args: BaseModel, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Run it; what a command changed in the work folder goes with its result."""
        tracker = self._tracker if tool.family == "command" and tool.effect == "write" else None
        if tracker is None:
            return await tool.run(args, ctx, call_id)
        try:
            await tracker.before(ctx, call_id)
        except Exception as error:
            log.error("the work folder of %s couldn't be looked at", self._chat, exc_info=error)
        try:
            outcome = await tool.run(args, ctx, call_id)
        except BaseException:
            tracker.dropped(ctx, call_id)
            raise
        try:
            events, changes = await tracker.after(ctx, call_id, self._clean(_label(tool, args)))
        except Exception as error:  # the call itself went through
            log.error("the work folder of %s couldn't be compared", self._chat, exc_info=error)
            return outcome
        return replace(outcome, events=(*outcome.events, *events), changes=(*outcome.changes, *changes))

    def _new_taints(self, sources: Sequence[TaintSource], ctx: TurnContext) -> list[TaintSource]:
        """Those the chat doesn't have yet, also not by a call that runs beside this one."""
        known = self._tainted | {(t.kind, t.label) for t in ctx.taints or ()}
        new = {(s.kind, s.label): s for s in sources if (s.kind, s.label) not in known}
        self._tainted |= new.keys()
        return list(new.values())

    async def _commit(
        self,
        kind: BatchKind,
        events: Sequence[Event],
        changes: Sequence[Change] = (),
        elsewhere: Sequence[tuple[str, Event]] = (),
    ) -> None:
        if self._over:
            raise StoreError(TURN_OVER)
        mine = [(self._chat, event) for event in events]
        await self._store.commit(batch_of([*mine, *elsewhere], kind, changes))


def parse_args(tool: Tool, raw: str) -> BaseModel | str:
    """The arguments, or a sentence naming the field that is wrong (never its value)."""
    if len(raw) >= TOOL_ARGS_CHARS:
        return TOO_LONG
    try:
        return tool.args.model_validate_json(raw.strip() or "{}", strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    except (ValueError, RecursionError):
        return NOT_AN_OBJECT
    if not first["loc"]:
        return NOT_AN_OBJECT
    name = ".".join(str(part) for part in first["loc"])[:80]
    why = str(first["msg"]).removeprefix("Value error, ")[:200].rstrip(".")
    return f'"{name}": {why[:1].lower()}{why[1:]}. Nothing was run; call it again with this put right.'


def capped(text: str, most: int = TOOL_RESULT_CHARS) -> str:
    """At most `most` characters of a result, saying how much was left out."""
    return text if len(text) <= most else text[:most] + CUT.format(more=len(text) - most)


def _label(tool: Tool, args: Any) -> str:
    try:
        return tool.label(args)[:200]
    except Exception as error:  # noqa: BLE001 - a label is decoration
        log.warning("no label for %s: %s", tool.name, type(error).__name__)
        return tool.name


def context_of(store: Store, turn: Turn, progress: Callable[[str, str], None] | None = None) -> TurnContext:
    """What the turn is now; a chat that can't be read counts as one that read who knows what."""
    summary = store.summary(turn.chat)
    if summary is None:
        return TurnContext(turn.chat, turn.turn_id, turn.mode, None, None, turn.attended, stop=turn.stop)
    return TurnContext(
        turn.chat,
        turn.turn_id,
        summary.mode,
        summary.origin,
        summary.taints,
        turn.attended,
        summary.folder,
        summary.private,
        tool_scope=summary.tools,
        chain=turn.chain,
        trigger=turn.trigger,
        stop=turn.stop,
        progress=progress,
    )
