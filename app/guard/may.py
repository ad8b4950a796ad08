"""Who may: asked when a tool is offered and again when it is used."""

from __future__ import annotations

from app.guard.taint import has_person
from app.ports import TurnContext

NOT_HERE = "Looking through earlier chats isn't available in this chat."
SOMEONE_ELSE = (
    "Someone else's words are in this chat, so the person's earlier chats stay private. "
    "Don't look them up another way; a new chat has the tools again."
)


def may_look(ctx: TurnContext, *, host_tools: bool = True) -> str | None:
    """None when the chat may look through earlier chats, else the refusal (ADR 0059 §2, conch-behaviour §3.1)."""
    if not host_tools or ctx.taints is None or ctx.tool_scope is not None:
        return NOT_HERE
    if ctx.origin is not None and ctx.origin.kind != "channel":
        return NOT_HERE
    if has_person(ctx.taints):
        return SOMEONE_ELSE
    return None


TEACHES_NOTHING = (
    "Only the person's own words teach, and this chat isn't theirs alone, so nothing is remembered or forgotten here."
)
STAYS_PRIVATE = "This chat is private, so nothing said in it is remembered for other chats."


def may_learn(ctx: TurnContext) -> str | None:
    """None when what is said in the chat may be remembered, else the refusal (conch-behaviour §2.4)."""
    if ctx.taints is None or ctx.tool_scope is not None or has_person(ctx.taints):
        return TEACHES_NOTHING
    if ctx.origin is not None and ctx.origin.kind != "channel":
        return TEACHES_NOTHING
    return STAYS_PRIVATE if ctx.private else None
