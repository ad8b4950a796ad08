"""Who may: asked when a tool is offered and again when it is used."""

from __future__ import annotations

from app.guard.taint import has_person
from app.ports import TurnContext
from store.models import ChatSummary

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


NO_SUCH_CHAT = "There is no such chat. Use the id of a chat that list_chats or search_chats returned."
NOT_YOURS = frozenset({"peer", "client", "artifact", "import"})


def is_yours(summary: ChatSummary | None) -> bool:
    """Whether a chat may be listed, waited for and named to others (ADR 0134; decisions 10, 14)."""
    if summary is None or summary.private or has_person(summary.taints):
        return False
    return summary.origin is None or summary.origin.kind not in NOT_YOURS


def may_receive(summary: ChatSummary | None, *, own_task: bool) -> bool:
    """Whether a chat may be messaged or stopped: the person's own, or a task that the sender started (`own_task`).

    What the chat says of messages from others (`inbound`) is asked beside.
    """
    if summary is None or not is_yours(summary):
        return False
    if summary.origin is None or summary.origin.kind == "channel":
        return True
    return own_task and summary.origin.kind == "task"
