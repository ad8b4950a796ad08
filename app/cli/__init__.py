"""The command line: one lazily imported file a command."""

from __future__ import annotations


def main(argv: list[str] | None = None) -> int:
    """Run `shoal`; the exit code is `headless.md`'s."""
    raise SystemExit("shoal: no commands yet")
