"""Shoal's own two themes; Textual's stay available beside them."""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

DARK: Final = Theme(
    name="shoal",
    primary="#7fa9d6",
    secondary="#b3a1d8",
    accent="#58c4b4",
    success="#8dbf7c",
    warning="#e3b46a",
    error="#e2787c",
    foreground="#d6dce2",
    background="#11151a",
    surface="#171c22",
    panel="#1f262e",
    dark=True,
    variables={"border-blurred": "#2c353f", "footer-background": "#11151a"},
)
LIGHT: Final = Theme(
    name="shoal-light",
    primary="#2f6299",
    secondary="#6a4fa0",
    accent="#0c7f70",
    success="#3d7a2c",
    warning="#9a6200",
    error="#b3373d",
    foreground="#23292f",
    background="#fbfaf7",
    surface="#f3f1ec",
    panel="#e9e6df",
    dark=False,
    variables={"border-blurred": "#cfcac0", "footer-background": "#fbfaf7"},
)
THEMES: Final = (DARK, LIGHT)
