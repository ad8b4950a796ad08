"""`shoal ask` when the assistant asks: answered no at once with exit 5, or yes with --allow (decisions 19)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app import services
from app.cli import main
from app.tools.base import Allow, Ask
from store.events import PermissionRequested
from tests.e2e.headless_client import script
from tests.session.kit import FakeTool


class AskingGate:
    """Every call is a question."""

    async def judge(self, tool: Any, args: Any, ctx: Any, call_id: str) -> Allow | Ask:
        assert ctx.attended is False
        return Ask(
            PermissionRequested(
                permission_id=f"p_{call_id}", call_id=call_id, tool_name=tool.name, summary="run a thing"
            )
        )


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeTool:
    tool, real = FakeTool("act", "write"), services.build

    async def build(*args: Any, **options: Any) -> Any:
        return await real(*args, **options, tools=[tool], gate=AskingGate())

    monkeypatch.setattr(services, "build", build)
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path / "home"))
    return tool


@pytest.fixture
def model(tmp_path: Path) -> str:
    call = {"call": {"id": "k1", "name": "act", "args": {"text": "x"}}}
    return script(tmp_path / "s.json", [call], ["That was it."])


@pytest.mark.parametrize(("allow", "code", "ran", "decision"), [(False, 5, [], "deny"), (True, 0, ["x"], "allow")])
def test_a_question_is_answered_at_once(
    tool: FakeTool,
    model: str,
    capsys: pytest.CaptureFixture[str],
    allow: bool,
    code: int,
    ran: list[str],
    decision: str,
) -> None:
    words = ["ask", "do it", "--model", model, "--json", *(["--allow"] if allow else [])]
    assert main(words) == code
    out, err = capsys.readouterr()
    line = json.loads(out)
    assert line["outcome"] == "success" and line["text"] == "That was it."
    assert [a["decision"] for a in line["asked"]] == [decision] and tool.ran == ran
    assert err.count("\n") == 1 and "run a thing" in err


def test_a_paused_reply_says_so_and_is_no_failure(
    tool: FakeTool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [[{"call": {"id": f"k{n}", "name": "act", "args": {"text": "x"}}}] for n in range(6)]
    assert main(["ask", "do it", "--model", script(tmp_path / "s.json", *steps), "--json", "--allow"]) == 0
    out = capsys.readouterr()
    line = json.loads(out.out)
    assert (line["outcome"], line["paused"]["code"], "error" in line) == ("success", "repeats", False)
    assert "Paused: act was called 5 times with the same input." in out.err
