"""Build hook: the wheel owns one import name, `shoal`, and carries the three floors inside it."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrivateRoot(BuildHookInterface):  # type: ignore[type-arg]
    """Put `app`, `widgets` and `store` below `shoal/` in a wheel; leave an editable install flat."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling with the build target's version ("standard" or "editable")."""
        if version != "editable":
            build_data["force_include"]["shoal.py"] = "shoal/__init__.py"
            build_data["force_include"] |= {d: f"shoal/{d}" for d in ("app", "widgets", "store")}
