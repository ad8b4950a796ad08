"""Old event bodies brought to the newest `v`, one pure step at a time; bodies in the log are never rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Step = Callable[[dict[str, Any]], dict[str, Any]]
STEPS: Mapping[tuple[str, int], Step] = {}  # (type, v) -> the body at v + 1


def newest(body: dict[str, Any]) -> dict[str, Any]:
    """The body after every step there is for its type and `v`."""
    while step := STEPS.get((str(body.get("type")), _v(body))):
        body = step(body)
    return body


def _v(body: dict[str, Any]) -> int:
    v = body.get("v")
    return v if isinstance(v, int) and v else 1
