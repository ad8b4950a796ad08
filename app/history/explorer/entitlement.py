"""Who is Pro, and what the person consented to: the one seam to plans, and the one home of both consents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from app.ports import WireError, Wires
from app.settings import Settings

Consent = Literal["always", "ask", "never"]
TOOLS: Final = ("explore_chat_history", "read_chat")
NO_PLAN: Final = 'The explorer needs plan = "pro" in the settings.'
NO_ENGINE: Final = 'The explorer needs an engine: explorer.engine = "provider:model" (or "offline") in the settings.'
FREE_MODEL: Final = "This chat's model doesn't come with the explorer."


@dataclass(frozen=True, slots=True)
class Entitlement:
    """Whether a chat is Pro; `why` not, in a sentence."""

    pro: bool
    engine: str = ""
    why: str = ""


@dataclass(slots=True)
class Entitlements:
    """Reads the settings; a hosted edition would put a licence here. Nothing else asks about plans."""

    plan: str
    engine: str | None
    free_models: frozenset[str]
    wires: Wires
    _resolved: dict[str, str] = field(default_factory=dict)  # engine → why it can't be had; "": it can

    @classmethod
    def of_settings(cls, settings: Settings, wires: Wires) -> Entitlements:
        """As the settings say."""
        return cls(settings.plan, settings.explorer.engine, frozenset(settings.explorer.free_models), wires)

    def of(self, model: str) -> Entitlement:
        """A chat's, by its own model."""
        whole = self.whole()
        if whole.pro and (model in self.free_models or model == "offline"):
            return Entitlement(False, whole.engine, FREE_MODEL)
        return whole

    def whole(self) -> Entitlement:
        """Of plan and engine alone, as `shoal explore` asks."""
        if self.plan != "pro":
            return Entitlement(False, "", NO_PLAN)
        if not self.engine:
            return Entitlement(False, "", NO_ENGINE)
        why = self._why(self.engine)
        return Entitlement(not why, self.engine, why)

    def _why(self, engine: str) -> str:
        if engine not in self._resolved:
            self._resolved[engine] = ""
            if engine != "offline":
                try:
                    self.wires.wire(engine)
                except WireError as error:
                    self._resolved[engine] = f"{NO_ENGINE} ({error.sentence})"
        return self._resolved[engine]


@dataclass(slots=True)
class Consents:
    """Independent values for the two tools, changed by a person only; `kept` writes one down."""

    values: dict[str, Consent]
    kept: Callable[[str, Consent], None] = lambda tool, value: None

    @classmethod
    def of_settings(cls, settings: Settings, kept: Callable[[str, Consent], None]) -> Consents:
        """As the settings say."""
        consent = settings.explorer.consent
        return cls({"explore_chat_history": consent.explore_chat_history, "read_chat": consent.read_chat}, kept)

    def of(self, tool: str) -> Consent:
        """always, ask or never."""
        return self.values.get(tool, "ask")

    def set(self, tool: str, value: Consent) -> None:
        """What the person chose."""
        self.values[tool] = value
        self.kept(tool, value)
