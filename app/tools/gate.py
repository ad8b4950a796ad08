"""The guard at the door of every call: a tool's facts go in, a verdict with its card comes out."""

from __future__ import annotations

import logging
from typing import Any

from app.ports import CallFacts, TurnContext
from app.tools.base import Allow, Ask, Refuse, Tool, facts_of
from store.events import PermissionRequested
from store.ids import PERMISSION, new_id

log = logging.getLogger("shoal.guard")

NO_FACTS = "Shoal couldn't tell what this call would do, so it wasn't run. Try another way."
PLAN = "This chat is in Read only, so nothing is changed. Say what you would do, and let the person decide."


class GuardGate:
    """Implements `app.tools.base.Gate`."""

    async def judge(self, tool: Tool, args: Any, ctx: TurnContext, call_id: str) -> Allow | Refuse | Ask:
        """What is to happen with the call."""
        try:
            facts = await facts_of(tool, args, ctx)
        except Exception as error:
            log.error("no facts of %s in %s: %s", tool.name, ctx.chat, type(error).__name__, exc_info=error)
            return Refuse(NO_FACTS)
        if facts.never is not None:
            return Refuse(facts.never)
        if facts.effect == "write" and ctx.mode == "plan":
            return Refuse(PLAN)
        if facts.effect == "write" and ctx.mode == "ask":
            return Ask(_request(facts, args, call_id))
        return Allow()


def _request(facts: CallFacts, args: Any, call_id: str) -> PermissionRequested:
    return PermissionRequested(
        permission_id=new_id(PERMISSION),
        call_id=call_id,
        tool_name=facts.name,
        input=args.model_dump(mode="json", exclude_unset=True),
        summary=facts.summary,
        preview=facts.preview or facts.command or "",
        place=facts.place,
    )
