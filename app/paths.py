"""The one place that knows folders."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path


def worktrees_of(root: Path) -> Path:
    """Where tasks get worktrees of their own: beside Shoal's folder, which tools don't write in."""
    return root.with_name(f"{root.name}-worktrees")


@dataclass(frozen=True, slots=True)
class Home:
    """Where everything of one Shoal lies; `SHOAL_HOME` moves all of it."""

    root: Path

    @classmethod
    def default(cls) -> Home:
        """`$SHOAL_HOME`, or the system's place for data."""
        given = os.environ.get("SHOAL_HOME")
        return cls(Path(given).expanduser() if given else user_data_path("shoal", appauthor=False))

    @property
    def store(self) -> Path:
        """The store: the log and its tables."""
        return self.root / "store.db"

    @property
    def blobs(self) -> Path:
        """Big bodies, by their hash."""
        return self.root / "blobs"

    @property
    def index(self) -> Path:
        """The derived search index; may be deleted at any time."""
        return self.root / "index"

    @property
    def settings(self) -> Path:
        """settings.toml."""
        return self.root / "settings.toml"

    @property
    def memories(self) -> Path:
        """A Markdown file each memory."""
        return self.root / "memories"

    @property
    def vault(self) -> Path:
        """Names of passwords, and their values where the system keeps none."""
        return self.root / "vault"

    @property
    def lock(self) -> Path:
        """Held by the one writer."""
        return self.root / "writer.lock"

    @property
    def logs(self) -> Path:
        """Diagnostic logs and crash files."""
        return self.root / "logs"

    @property
    def imports(self) -> Path:
        """Files dropped here are offered for import."""
        return self.root / "import"

    def ensure(self) -> None:
        """Make the folder (0700)."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
