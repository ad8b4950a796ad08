"""The explore card in each of its nine states, in three made-up chats."""

from __future__ import annotations

from typing import Any

from app.history.explorer.fitting import LEFT_OUT
from app.history.explorer.verdict import INDEXING, NO_SYNTHESIS, NOTHING
from store import events as ev
from store.log import Batch
from tests.screens.fakes import FakeServices
from tests.screens.seeded import DAY, NOW

FIRST, SECOND, THIRD = "c_explored_one", "c_explored_two", "c_explored_three"
QUERY = "what did we decide about auth?"


def explored(services: FakeServices) -> None:
    """Write them."""
    kept = evidence("m_1", "let's keep sessions for admin", "Auth rework", NOW - 90 * DAY, "you")
    dropped = evidence("m_2", "Sessions. Tokens were tried and dropped: they couldn't be taken back.", "Auth rework")
    later = evidence("m_3", "we changed our mind: tokens for the admin area", "Login again", NOW - 9 * DAY, "you")
    found: dict[str, Any] = {
        "summary": "Sessions, not tokens.",
        "findings": [{"claim": "Sessions were chosen for the admin area", "evidence": [kept, dropped]}],
        "confidence": "high",
        "outcome": "complete",
    }
    some = found | {"confidence": "medium", "outcome": "partial"}
    split = [{"description": "Two chats disagree about the admin area", "evidence": [kept, later]}]
    runs: dict[str, list[tuple[str, dict[str, Any]]]] = {
        FIRST: [
            ("pending", {"engine": "openai:small"}),
            ("complete", found),
            ("conflict", some | {"conflicts": split, "missing": ["the mobile app"]}),
        ],
        SECOND: [
            ("empty", {"summary": NOTHING, "outcome": "no_match"}),
            ("partial", some | {"partial_reason": LEFT_OUT}),
            ("cancelled", {}),
        ],
        THIRD: [
            ("indexing", some | {"partial_reason": INDEXING, "index_status": "indexing"}),
            ("failed", {"partial_reason": "The engine can't be reached: connection refused."}),
            ("evidence-only", {"summary": NO_SYNTHESIS.format(why="the engine failed"), **only(dropped)}),
        ],
    }
    for chat, states in runs.items():
        said = ev.UserMessage(message_id=f"m_{chat}", text=QUERY)
        made = [
            ev.HistoryExplored.model_validate({"explore_id": f"l_{chat}_{n}", "query": QUERY, "state": state, **body})
            for n, (state, body) in enumerate(states)
        ]
        created = ev.ChatCreated(title=f"Looking back {list(runs).index(chat) + 1}", folder="~/web")
        services.store.commit_sync(Batch.of(chat, created, said, *made))


def only(one: dict[str, Any]) -> dict[str, Any]:
    return {"findings": [{"claim": "", "evidence": [one]}], "confidence": "low", "outcome": "partial"}


def evidence(message: str, excerpt: str, title: str, at: int = NOW - 2 * DAY, who: str = "assistant") -> dict[str, Any]:
    return {"chat": f"c_{title}", "title": title, "message": message, "who": who, "at": at, "excerpt": excerpt}
