"""Which tools there are; it imports none of them, `services` hands them in."""

from __future__ import annotations

from collections.abc import Iterable

from app.ports import ToolSpec, TurnContext
from app.tools.base import Tool, spec_of


class Registry:
    """The tools of this Shoal, in one fixed order (so that requests keep their prefix)."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._specs: dict[str, ToolSpec] = {}

    def add(self, tool: Tool) -> None:
        """One more tool, at the end."""
        self._tools[tool.name] = tool

    def get(self, name: str) -> Tool | None:
        """The tool of exactly that name."""
        return self._tools.get(name)

    def refusal(self, name: str, ctx: TurnContext) -> str | None:
        """Why this turn may not use the tool; an unknown tool and one outside a task's list answer alike."""
        tool = self._tools.get(name)
        if tool is None or (ctx.tool_scope is not None and name not in ctx.tool_scope):
            return NO_SUCH_TOOL
        return tool.refusal(ctx)

    def tools(self, ctx: TurnContext) -> list[Tool]:
        """The tools this turn may use now."""
        return [tool for name, tool in self._tools.items() if self.refusal(name, ctx) is None]

    def offered(self, ctx: TurnContext) -> list[ToolSpec]:
        """The same, as the model is told of them."""
        return [self._spec(tool) for tool in self.tools(ctx)]

    def _spec(self, tool: Tool) -> ToolSpec:
        if tool.name not in self._specs:
            self._specs[tool.name] = spec_of(tool)
        return self._specs[tool.name]


NO_SUCH_TOOL = "There is no such tool here; use only the tools you were given, by their exact names."
