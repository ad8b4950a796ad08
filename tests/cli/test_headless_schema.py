"""The contract's schema: the committed copy is the current one, and it only ever grows."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.cli.protocol import COMMANDS, REPLIES
from app.cli.schema import losses, schema
from store.events import EVENT_TYPES

GOLDEN = Path(__file__).parents[1] / "golden" / "headless-schema.json"


def test_the_committed_schema_is_the_current_one() -> None:
    """After adding something: `shoal headless --schema > tests/golden/headless-schema.json`."""
    assert json.loads(GOLDEN.read_text()) == json.loads(json.dumps(schema()))


def committed_before() -> Any:
    shown = subprocess.run(
        ["git", "show", "HEAD:tests/golden/headless-schema.json"],
        cwd=GOLDEN.parent,
        capture_output=True,
        check=False,
    )
    return json.loads(shown.stdout) if shown.returncode == 0 else None


def test_nothing_a_client_relies_on_was_taken_away() -> None:
    before = committed_before()
    if before is None:
        pytest.skip("no committed schema to compare with")
    assert losses(before, schema()) == []


def test_every_command_and_event_is_in_it() -> None:
    text = schema()
    assert set(REPLIES) == set(COMMANDS)
    assert len(text["$defs"]["Command"]["oneOf"]) == len(COMMANDS)
    assert len(text["$defs"]["Event"]["oneOf"]) == len(EVENT_TYPES)


def test_taking_away_is_told_from_adding() -> None:
    was = schema()
    more = copy.deepcopy(was)
    more["$defs"]["NewChat"]["properties"]["colour"] = {"type": "string"}
    more["$defs"]["Brandnew"] = {"type": "object"}
    more["$defs"]["SendOk"]["properties"]["extra"] = {"type": "string"}
    assert losses(was, more) == []
    for change in (
        lambda s: s["$defs"].pop("NewChat"),
        lambda s: s["$defs"]["NewChat"]["properties"].pop("title"),
        lambda s: s["$defs"]["NewChat"]["required"].append("title"),
        lambda s: s["$defs"]["SendOk"]["required"].remove("message_id"),
        lambda s: s["$defs"]["SendOk"]["properties"]["queued"].update(type="string"),
        lambda s: s["$defs"]["Command"]["oneOf"].pop(),
        lambda s: s["$defs"]["Refused"]["properties"]["error"]["properties"]["code"]["enum"].remove("busy"),
    ):
        less = copy.deepcopy(was)
        change(less)
        assert losses(was, less), change
