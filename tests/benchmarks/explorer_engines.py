"""Engines of the explorer's benchmark that follow a script: one that reports what it saw, and one that lies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from app.history.explorer.evidence import stems
from app.ports import AssistantMessage, ModelRequest, PersonMessage, ToolReturn
from app.providers.scripted import Item, ScriptedWire, call

ENOUGH = 0.5  # of the question's telling words
PAGES = 5
CHANGED = ("changed our mind", "instead of")
FORGED = "Settled.\n1 “forged quote” · Auth · 2031-01-01 · you\nevidence: chat c_planted00001 message m_1"


def honest() -> ScriptedWire:
    """Searches twice, reads once, and cites what has half of the question's telling words in it, else nothing."""
    return ScriptedWire(rules=[("", _honest)])


def lying() -> ScriptedWire:
    """Searches, then names ids that it was never given, and mixes them with real ones when it is bounced."""
    return ScriptedWire(rules=[("", _lying)])


def _honest(request: ModelRequest) -> Sequence[Item]:
    query, steps = _question(request), _steps(request)
    telling = stems(query)
    if steps == 0:
        return [call("search_chats", {"query": query}, "x0")]
    if steps == 1:
        return [call("search_chats", {"query": " ".join(sorted(telling)) or query}, "x1")]
    good = [row for share, row in _ranked(request, telling) if share >= ENOUGH][:4]
    if steps == 2 and good:
        return [call("read_chat", {"candidate": good[0]["candidate"]}, "x2")]
    if not good and steps < PAGES + 2:  # the chat it works for, from the end of what was summarised there to its start
        earlier = _first_of_page(request)
        if steps == 2 or earlier:
            args = {"candidate": earlier, "direction": "before"} if earlier else {"current_chat": True}
            return [call("read_chat", args, f"x{steps}")]
    if not good:
        return [call("submit_report", {"outcome": "no_match"}, "x9")]
    good += [row for asked in good if (row := _answer_to(request, asked)) is not None and row not in good]
    later = next((row for row in good if any(words in row["text"] for words in CHANGED)), None)
    report: dict[str, Any] = {"summary": good[0]["text"][:200], "findings": [_finding(row) for row in good]}
    if later is not None and len(good) > 1:
        sides = [row["candidate"] for row in good if row is not later][:2]
        report["conflicts"] = [{"description": "It was changed.", "evidence": [*sides, later["candidate"]]}]
    return [call("submit_report", report, "x9")]


def _first_of_page(request: ModelRequest) -> str:
    """The first line of the page of this chat that was read last, where there is more before it."""
    body = json.loads(request.messages[-1].text) if request.messages[-1].text.startswith("{") else {}
    there = body.get("current_chat") and body.get("earlier") and body.get("lines")
    return str(body["lines"][0]["candidate"]) if there else ""


def _answer_to(request: ModelRequest, asked: dict[str, Any]) -> dict[str, Any] | None:
    """What was said next, where a line is a question."""
    if not asked["text"].rstrip().endswith("?"):
        return None
    for message in request.messages:
        if isinstance(message, ToolReturn) and message.text.startswith("{"):
            lines = json.loads(message.text).get("lines", [])
            at = next((n for n, row in enumerate(lines) if row["candidate"] == asked["candidate"]), len(lines))
            if at + 1 < len(lines):
                return dict(lines[at + 1])
    return None


def _finding(row: dict[str, Any]) -> dict[str, Any]:
    return {"claim": row["text"][:300], "evidence": [row["candidate"]]}


def _lying(request: ModelRequest) -> Sequence[Item]:
    steps = _steps(request)
    if steps == 0:
        return [call("search_chats", {"query": _question(request)}, "x0")]
    rows = [row["candidate"] for row in _rows(request)]
    fake = ["e_made_up", "c_planted00001", "m_00001x1", "", *(id_[:-1] for id_ in rows[:3]), "e_fake"]
    if steps > 1 and len(_question(request)) % 2:  # every second one brings in real ids, to be taken at all
        fake[2:2] = rows[:2]
    finding = {"claim": FORGED, "evidence": fake}
    split = {"description": FORGED, "evidence": [*rows[:1], "e_other_side"]}
    report = {"summary": FORGED, "findings": [finding], "conflicts": [split] if steps > 1 else []}
    return [call("submit_report", report, f"x{steps}")]


def _question(request: ModelRequest) -> str:
    first = request.messages[0]
    return first.words if isinstance(first, PersonMessage) else ""


def _steps(request: ModelRequest) -> int:
    return sum(isinstance(m, AssistantMessage) for m in request.messages)


def _rows(request: ModelRequest) -> list[dict[str, Any]]:
    """Every line that was shown, once, in order."""
    seen: dict[str, dict[str, Any]] = {}
    for message in request.messages:
        if isinstance(message, ToolReturn) and message.text.startswith("{"):
            body = json.loads(message.text)
            for row in (*body.get("results", ()), *body.get("lines", ())):
                seen.setdefault(row["candidate"], row)
    return list(seen.values())


def _ranked(request: ModelRequest, telling: set[str]) -> list[tuple[float, dict[str, Any]]]:
    """The lines by their share of the telling words, first those that came first."""
    shares = [(len(telling & stems(row["text"])) / max(1, len(telling)), row) for row in _rows(request)]
    return sorted(shares, key=lambda one: -one[0])
