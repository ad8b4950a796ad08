"""The files of an index folder: index-N.db, of which the newest whole one counts, and building-N.db meanwhile."""

from __future__ import annotations

import os
from pathlib import Path


class IndexFiles:
    """Names, order and removal; a file that is still open on this system goes at the next start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def newest(self) -> Path | None:
        """The index file that counts; None where there is none."""
        return next(reversed(self._all()), None)

    def next(self) -> tuple[Path, Path]:
        """Where to build the next one, and its name once it is whole."""
        newest = self.newest()
        number = int(newest.stem[6:]) + 1 if newest else 1
        beside = self._folder / f"building-{number}.db"
        self.remove(beside)
        return beside, self._folder / f"index-{number}.db"

    def tidy(self) -> None:
        """Remove what was left half built, and all but the newest."""
        for path in [*self._folder.glob("building-*"), *self._all()[:-1]]:
            self.remove(path)

    def set_aside(self, path: Path) -> None:
        """Keep one damaged file, to look at."""
        os.replace(path, self._folder / "damaged.db")
        self.remove(path)

    def remove(self, path: Path) -> None:
        """Remove a file with what SQLite keeps beside it."""
        for name in (path.name, path.name + "-wal", path.name + "-shm", path.name + "-journal"):
            try:
                (self._folder / name).unlink(missing_ok=True)
            except OSError:
                continue

    def _all(self) -> list[Path]:
        found = [p for p in self._folder.glob("index-*.db") if p.stem[6:].isdigit()]
        return sorted(found, key=lambda p: int(p.stem[6:]))
