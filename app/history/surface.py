"""Which history tools a chat gets: one setting, one table, one pure function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from app.guard.may import NOT_HERE, may_look
from app.ports import TurnContext

Surface = Literal["direct", "explorer", "off"]

SEARCH, READ, EXPLORE = "search_chats", "read_chat", "explore_chat_history"

# (surface, may look, Pro) → tools. Modes don't appear: each of ours is one of Agent, Ask and Plan.
TABLE: dict[tuple[Surface, bool, bool], tuple[str, ...]] = {
    ("direct", True, True): (SEARCH, READ),
    ("direct", True, False): (SEARCH, READ),
    ("direct", False, True): (),
    ("direct", False, False): (),
    ("explorer", True, True): (EXPLORE, READ),
    ("explorer", True, False): (),
    ("explorer", False, True): (),
    ("explorer", False, False): (),
    ("off", True, True): (),
    ("off", True, False): (),
    ("off", False, True): (),
    ("off", False, False): (),
}

PAST_CHATS_PROMPT = """\
## Earlier chats
When the person refers to an earlier conversation, or to a decision, a plan or a file from before, look with \
search_chats before you say that you don't know; then read around the best line with read_chat. For facts about the \
person use recall first, where you have it. Say which chat it was in. Never pass on a password or a key."""


def history_tools(surface: Surface, *, may: bool, pro: bool) -> tuple[str, ...]:
    """The names of the history tools of a chat that may (or may not) look and is (or isn't) Pro."""
    return TABLE[surface, may, pro]


@dataclass(frozen=True, slots=True)
class SurfaceGate:
    """Asks the table for a turn. `pro` is the one seam to plans (the explorer's `Entitlement`)."""

    surface: Surface = "direct"
    pro: Callable[[TurnContext], bool] = lambda _ctx: False
    consent: Callable[[str], str] = lambda _name: "always"  # of the explorer surface's tools

    def refusal(self, name: str, ctx: TurnContext) -> str | None:
        """None when the turn has the tool, else one sentence."""
        refused = may_look(ctx)
        if refused:
            return refused
        if self.surface == "explorer" and self.consent(name) == "never":
            return NOT_HERE
        return None if name in history_tools(self.surface, may=True, pro=self.pro(ctx)) else NOT_HERE
