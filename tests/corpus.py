"""The lines of `tests/corpora`, decoded. Print ids in failures, never the text of a secret."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "corpora"


@dataclass(frozen=True)
class Injection:
    """A hostile line and the checks that must hold for it."""

    id: str
    kind: str
    checks: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class SecretLine:
    """A line that holds secrets, or none."""

    id: str
    label: str
    family: str
    tier: str
    text: str
    secrets: tuple[str, ...]

    def hidden_in(self, out: str) -> bool:
        """Whether no secret, nor a telling run of one, is left in `out`."""
        return not any(_left(value, out) for value in self.secrets)


def _left(value: str, out: str) -> bool:
    run = max(6, min(12, len(value) // 2))
    return value in out or any(value[i : i + run] in out for i in range(len(value) - run + 1))


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


@cache
def injections(check: str | None = None, host: str = "Shoal") -> list[Injection]:
    """The hostile lines, or those with one check."""
    out = []
    for row in _rows("injection-dev.jsonl"):
        text = base64.b64decode(row["text_b64"]).decode("utf-8", "surrogatepass")
        text = text.replace("{HOST}", host).replace("{host}", host.lower())
        if check is None or check in row["checks"]:
            out.append(Injection(row["id"], row["kind"], tuple(row["checks"]), text))
    return out


@cache
def secret_lines() -> list[SecretLine]:
    """The lines of the secrets corpus."""
    return [
        SecretLine(
            row["id"],
            row["label"],
            row["family"],
            row["tier"],
            base64.b64decode(row["text_b64"]).decode(),
            tuple(base64.b64decode(s).decode() for s in row.get("secret_b64", ())),
        )
        for row in _rows("secrets-dev.jsonl")
    ]
