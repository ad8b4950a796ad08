"""Style names to terminal styles, worked out once a theme from its variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from rich.style import Style
from textual.color import Color, ColorParseError

if TYPE_CHECKING:
    from textual.app import App

# name: (theme variable of the text, of the background, attributes)
NAMES: Final[dict[str, tuple[str, str, str]]] = {
    "muted": ("foreground-muted", "", ""),
    "strong": ("", "", "bold"),
    "em": ("", "", "italic"),
    "strike": ("", "", "strike"),
    "under": ("", "", "underline"),
    "accent": ("text-accent", "", ""),
    "title": ("text-accent", "", "bold"),
    "good": ("text-success", "", ""),
    "warn": ("text-warning", "", ""),
    "bad": ("text-error", "", ""),
    "you": ("text-primary", "", "bold"),
    "them": ("text-secondary", "", "bold"),
    "code": ("text-secondary", "", ""),
    "codeblock": ("", "surface", ""),
    "link": ("text-primary", "", "underline"),
    "heading": ("text-primary", "", "bold"),
    "quote": ("foreground-muted", "", "italic"),
    "rule": ("foreground-muted", "", ""),
    "mark": ("", "mark", "bold underline"),
    "found": ("", "", "bold reverse"),
    "cursor": ("", "cursor", "bold"),
    "resting": ("", "resting", ""),
    "key": ("text-accent", "", "bold"),
    "word": ("text-primary", "", ""),  # a keyword of code
    "string": ("text-success", "", ""),
    "lit": ("", "mark", ""),
    "selected": ("", "selected", ""),
}

_palettes: WeakKeyDictionary[App[object], tuple[tuple[object, ...], dict[str, Style]]] = WeakKeyDictionary()


def palette(app: App[object]) -> dict[str, Style]:
    """The styles of the app's theme by name; several names with spaces between are joined and kept by `styled`."""
    key = (app.theme, app.native_ansi_color)
    held = _palettes.get(app)
    if held is None or held[0] != key:
        held = (key, _make(app))
        _palettes[app] = held
    return held[1]


def styled(styles: dict[str, Style], names: str) -> Style:
    """The style of one or several names; unknown ones are plain."""
    style = styles.get(names)
    if style is None:
        style = Style.combine(styles.get(name, Style.null()) for name in names.split())
        styles[names] = style
    return style


def _make(app: App[object]) -> dict[str, Style]:
    variables = app.theme_variables
    ansi = app.native_ansi_color
    base = _color(variables.get("background", ""), None)
    shades = {
        "mark": "accent 30%" if not ansi else "",
        "cursor": "primary 40%" if not ansi else "",
        "resting": "foreground 8%" if not ansi else "",
        "selected": "screen-selection-background",
    }
    out = {"": Style.null()}
    for name, (text, ground, attributes) in NAMES.items():
        variable, _, share = shades.get(ground, ground).partition(" ")
        back = _color(variables.get(variable, ""), base, share)
        fore = _color(variables.get(text, ""), base)
        if ansi and text.endswith("-muted"):
            fore, attributes = None, f"{attributes} dim"
        if ansi and name == "cursor":
            attributes = "bold reverse"
        if ansi and name == "resting":
            attributes = "underline"
        out[name] = Style.parse(attributes.strip() or "none") + Style(
            color=fore.rich_color if fore else None, bgcolor=back.rich_color if back else None
        )
    return out


def _color(value: str, base: Color | None, share: str = "") -> Color | None:
    """A theme variable's colour, laid over `base` where it is translucent; None when it has none of its own."""
    if not value or value.startswith(("auto", "transparent")):
        return None
    try:
        color = Color.parse(value)
    except ColorParseError:
        return None
    if color.ansi is not None:
        return None if color.ansi == -1 else color
    if share:
        color = color.with_alpha(int(share.rstrip("%")) / 100)
    if color.a < 1:
        return base + color if base is not None else color.with_alpha(1.0)
    return color
