"""The one way to a toast: plain words, cleaned, never markup."""

from __future__ import annotations

from typing import Any, Literal

from textual.app import App

from store.text import safe_text

TOAST_CHARS = 400


def say(app: App[Any], words: str, level: Literal["information", "warning", "error"] = "information") -> None:
    """Show `words` in a corner for a few seconds; errors stay longer."""
    clean = safe_text(words, one_line=True, limit=TOAST_CHARS)
    app.notify(clean, severity=level, timeout=10 if level == "error" else 5, markup=False)
