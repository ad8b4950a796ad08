"""Entry module of Shoal; in the wheel it is the package's `__init__`, beside the three floors."""

import gc
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from app import cli


def main(argv: Sequence[str] | None = None) -> int:
    """Run Shoal as a process of its own; answers the exit code."""
    code = cli.main(argv)
    gc.freeze()  # the process ends: nothing is looked through for garbage once more, which takes 0.1 s
    return code


__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
