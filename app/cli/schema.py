"""`shoal headless --schema`: the JSON Schema of every line, made from the same classes that read and write them."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from app.cli.protocol import COMMANDS, REPLIES
from store.events import EVENT_TYPES

_CODES = ["bad-command", "unknown-chat", "gone", "busy", "not-allowed", "read-only", "failed"]
_REF = {"type": ["string", "null"]}
_HEAD = {
    "id": {"type": "integer", "description": "one order over the whole store"},
    "chat": {"type": "string"},
    "seq": {"type": "integer", "description": "0-based, without gaps, in the chat"},
    "at": {"type": "integer", "description": "epoch milliseconds, for display; 0 is unknown"},
}


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of every line. In `$defs`: Command, Event, Reply, and one entry a class of each."""
    events: list[type[Any]] = list(EVENT_TYPES.values())
    commands: list[type[Any]] = list(COMMANDS.values())
    replies: list[type[Any]] = list(REPLIES.values())
    models = dict.fromkeys((cls, "validation") for cls in (*commands, *events, *replies))
    refs, made = models_json_schema(list(models), ref_template="#/$defs/{model}")  # type: ignore[arg-type]
    defs: dict[str, Any] = made["$defs"]

    def of(cls: type[Any]) -> dict[str, Any]:
        return dict(refs[(cls, "validation")])

    for cls in commands:
        body = defs[of(cls)["$ref"].rsplit("/", 1)[1]]
        body["properties"]["ref"] = {"type": "string"}
        body["required"] = sorted({*body.get("required", []), "do"})
    for cls in events:
        body = defs[of(cls)["$ref"].rsplit("/", 1)[1]]
        body["properties"] |= _HEAD
        body["required"] = sorted({*body.get("required", []), "id", "chat", "seq", "at", "type", "v"})
    defs |= {f"ok:{do}": of(REPLIES[do]) for do in REPLIES}
    defs |= {
        "Command": {"oneOf": [of(COMMANDS[do]) for do in sorted(COMMANDS)]},
        "Event": {"oneOf": [of(EVENT_TYPES[name]) for name in sorted(EVENT_TYPES)]},
        "Ready": _object({"ready": {"const": 1}, "protocol": {"type": "integer"}, "version": {"type": "string"}}),
        "Reply": _object({"ref": _REF, "ok": {"anyOf": [_ref(f"ok:{do}") for do in sorted(REPLIES)]}}),
        "Refused": _object({"ref": _REF, "error": _object({"code": {"enum": _CODES}, "message": {"type": "string"}})}),
        "Replayed": _object({"ref": _REF, "event": _ref("Event")}),
        "Live": _object(
            {"live": {"const": True}, "chat": {"type": "string"}, "kind": {"type": "string"}},
            {"type": {"const": "assistant.delta"}, "message_id": {"type": "string"}, "delta": {"type": "string"}},
        ),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "shoal headless",
        "description": "A line of standard input is a Command; one of standard output is any of the others.",
        "anyOf": [_ref(n) for n in ("Command", "Ready", "Reply", "Refused", "Replayed", "Event", "Live")],
        "$defs": {name: defs[name] for name in sorted(defs)},
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def _object(properties: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": properties | (optional or {}), "required": list(properties)}


def losses(old: Any, new: Any, path: str = "") -> list[str]:
    """What a client of the `old` schema could miss or be refused by in the `new` one; adding is no loss."""
    if isinstance(old, dict) and isinstance(new, dict):
        words = () if path.endswith(("/properties", "/$defs")) else _WORDS
        found = [f"{path}/{key} is gone" for key in old if key not in new and key not in words]
        needed = (set(old.get("required") or ()), set(new.get("required") or ()))
        if isinstance(old.get("properties"), dict):
            asked = "do" in old["properties"]  # a command may not ask for more, an answer not leave out what was there
            lost = needed[1] - needed[0] if asked else needed[0] - needed[1]
            found += [f"{path} {'asks for' if asked else 'may leave out'} {name}" for name in sorted(lost)]
            words = (*words, "required")
        for key in old.keys() & new.keys():
            if key not in words:
                found += losses(old[key], new[key], f"{path}/{key}")
        return found
    if isinstance(old, list) and isinstance(new, list):
        return [f"{path} lost {item}" for item in old if item not in new]
    return [] if old == new else [f"{path} was {old!r} and is {new!r}"]


_WORDS = ("description", "title", "default", "examples")
