"""Which chat gets which history tools: every cell of the table in decisions.md."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from app.guard.may import NOT_HERE, SOMEONE_ELSE
from app.history.surface import SurfaceGate, history_tools
from app.ports import TurnContext
from store.events import Origin, TaintSource

DIRECT, EXPLORER, NONE = ("search_chats", "read_chat"), ("explore_chat_history", "read_chat"), ()
EVERY = ("search_chats", "read_chat", "explore_chat_history")
PERSON = TaintSource(kind="person", label="Ana")


@pytest.mark.parametrize(
    ("surface", "may", "pro", "tools"),
    [
        ("direct", True, False, DIRECT),
        ("direct", True, True, DIRECT),
        ("direct", False, False, NONE),
        ("direct", False, True, NONE),
        ("explorer", True, True, EXPLORER),
        ("explorer", True, False, NONE),
        ("explorer", False, True, NONE),
        ("explorer", False, False, NONE),
        ("off", True, True, NONE),
        ("off", True, False, NONE),
        ("off", False, True, NONE),
        ("off", False, False, NONE),
    ],
)
def test_the_table(surface: Any, may: bool, pro: bool, tools: tuple[str, ...]) -> None:
    assert history_tools(surface, may=may, pro=pro) == tools


@pytest.mark.parametrize("mode", ["plan", "ask", "auto", "full"])
@pytest.mark.parametrize("surface", ["direct", "explorer", "off"])
def test_the_gate_follows_the_table_in_every_mode(surface: Any, mode: Any) -> None:
    for pro, (origin, taints) in itertools.product(
        (True, False), ((None, ()), (None, (PERSON,)), (None, None), (Origin(kind="task"), ()))
    ):
        gate = SurfaceGate(surface, pro=lambda _ctx, is_pro=pro: is_pro)
        ctx = TurnContext("c_1", "r_1", mode, origin, taints)
        may = origin is None and taints == ()
        has = tuple(name for name in EVERY if gate.refusal(name, ctx) is None)
        assert sorted(has) == sorted(history_tools(surface, may=may, pro=pro))
        if taints == (PERSON,):
            assert gate.refusal("read_chat", ctx) == SOMEONE_ELSE
        elif not may:
            assert gate.refusal("read_chat", ctx) == NOT_HERE


def test_nobody_is_pro_unless_told() -> None:
    ctx = TurnContext("c_1", "r_1", "auto", None, ())
    assert [n for n in EVERY if SurfaceGate("explorer").refusal(n, ctx) is None] == []
