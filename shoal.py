"""Entry module of Shoal; in the wheel it is the package's `__init__`, beside the three floors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from app.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
