"""A chat's summary, folded from its events: pure, so that it can be rebuilt from the log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from store import events as ev
from store.families import family_of
from store.limits import PREVIEW_CHARS, TITLE_CHARS
from store.models import ChatSummary


def fold_summary(summary: ChatSummary, stored: ev.Stored) -> ChatSummary:
    """The summary after one more event of its chat."""
    changes = _changes(summary, stored)
    if not summary.created_at:
        changes = {"created_at": stored.at, "last_active": stored.at} | changes
    return replace(summary, last_id=stored.id, last_seq=stored.seq, **changes)


def _changes(s: ChatSummary, stored: ev.Stored) -> dict[str, Any]:  # noqa: PLR0911, PLR0912 - one match, a case an event
    match stored.event:
        case ev.ChatCreated() as e:
            return {
                "title": e.title[:TITLE_CHARS],
                "title_by": "person" if e.title and e.origin is None else s.title_by,
                "folder": e.folder,
                "mode": e.mode,
                "model": e.model,
                "origin": e.origin,
                "recorded_origin": e.recorded_origin,
                "private": e.private,
                "tools": e.tools,
                "created_at": stored.at,
                "last_active": stored.at,
            }
        case ev.TitleChanged() as e:
            if s.title_by == "person" and e.by != "person":
                return {}
            return {"title": e.title[:TITLE_CHARS], "title_by": e.by}
        case ev.OptionsChanged() as e:
            names = ("mode", "model", "inbound", "folder", "private")
            return {n: getattr(e, n) for n in names if getattr(e, n) is not None}
        case ev.ChatArchived() as e:
            return {"archived_at": stored.at if e.archived else None, "pinned": 0 if e.archived else s.pinned}
        case ev.ChatPinned() as e:
            return {"pinned": e.pinned}
        case ev.ChatForked() as e:
            return {"forked_from": e.from_chat}
        case ev.StatusChanged() as e:
            return {"status": e.status}
        case ev.UserMessage() as e:
            others = s.others if not e.them or not e.author or e.author in s.others else (*s.others, e.author)
            return {
                "preview": e.text[:PREVIEW_CHARS],
                "last_active": max(s.last_active, stored.at),
                "messages": s.messages + 1,
                "archived_at": s.archived_at if s.origin and s.origin.kind == "import" else None,
                "others": others,
            }
        case ev.ForwardedMessage() as e:
            others = s.others if e.name in s.others else (*s.others, e.name)
            return {"last_active": max(s.last_active, stored.at), "messages": s.messages + 1, "others": others}
        case ev.AssistantDone() as e:
            if not e.text:
                return {"last_active": max(s.last_active, stored.at)}
            return {
                "preview": e.text[:PREVIEW_CHARS],
                "last_active": max(s.last_active, stored.at),
                "messages": s.messages + 1,
            }
        case ev.TurnStarted() as e:
            return {
                "turn_id": e.turn_id,
                "status": "running",
                "doing": "",
                "doing_since": stored.at,
                "turn_began": stored.at,
                "place": e.place,
                "family": "",
                "chain": e.chain or s.chain,
            }
        case ev.StepStarted() as e:
            fed = [part.chain for part in e.joined if part.kind == "message" and part.chain]
            return {"chain": fed[-1]} if fed else {}
        case ev.TurnCompleted() as e:
            return {
                "turn_id": None,
                "status": "error" if e.outcome == "error" else "idle",
                "doing": "",
                "doing_since": None,
                "turn_began": None,
                "family": "",
                "last_outcome": e.outcome,
                "last_active": max(s.last_active, stored.at),
                "usage": _add(s.usage, e.usage),
            }
        case ev.ToolStarted() as e:
            return {"doing": e.label or e.name, "doing_since": stored.at, "family": family_of(e)}
        case ev.ToolFinished():
            return {"doing": "", "doing_since": stored.at, "family": ""}
        case ev.PermissionRequested():
            return {"status": "awaiting-permission"}
        case ev.PermissionResolved():
            return {"status": "running"} if s.turn_id else {}
        case ev.Taint() as e:
            return {} if e.source in s.taints else {"taints": (*s.taints, e.source)}
    return {}


def _add(a: ev.Usage, b: ev.Usage) -> ev.Usage:
    def both(x: Any, y: Any) -> Any:
        return y if x is None else x if y is None else x + y

    names = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
    return ev.Usage(**{n: both(getattr(a, n), getattr(b, n)) for n in names})
