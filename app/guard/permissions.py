""" "Always allow": what exactly it allows from then on, and where that is kept (decisions 17)."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from app.guard.addresses import host_of
from app.guard.commands import Parsed
from app.guard.unwrap import INTERPRETERS, WRAPPERS
from app.ports import CallFacts
from store.state import KeepState

STATE: Final = "always/"  # of the chat; then a hash of the key


def key_of(facts: CallFacts, parsed: Parsed | None) -> str | None:
    """This exact command and folder; for other tools, this tool and host or path. None: never for good."""
    if facts.once:
        return None
    if facts.command is not None:
        if parsed is None or not parsed.plain or parsed.odd or len(parsed.parts) != 1:
            return None
        name = parsed.parts[0].name
        if name in INTERPRETERS or name in WRAPPERS:
            return None
        return json.dumps(["command", facts.folder, facts.command])
    if facts.url is not None:
        host = host_of(facts.url)
        return json.dumps(["tool", facts.name, host]) if host else None
    if facts.paths or facts.outside:
        return json.dumps(["tool", facts.name, *sorted({*facts.paths, *facts.outside})])
    if facts.place or facts.family == "history":  # a consent is to the looking, whatever is looked for
        return json.dumps(["tool", facts.name, facts.place or facts.summary])
    return json.dumps(["tool", facts.name, facts.summary, facts.preview])  # all that the card showed


def state_key(key: str) -> str:
    """Where a rule of a chat is kept."""
    return STATE + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def keep(chat: str, key: str) -> KeepState:
    """The change that keeps it, for the batch that says so."""
    return KeepState(chat, state_key(key), key)
