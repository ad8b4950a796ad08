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
