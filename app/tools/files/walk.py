"""Walking a folder: links aren't followed, ignored and generated folders are left out, races lead nowhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from app.tools.beneath import Place, Refused, open_folder
from app.tools.bounds import Bounds
from store.limits import WALK_ENTRIES

SKIPPED: Final = frozenset({".git", ".hg", ".svn", "node_modules"})


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, folder or link; `path` from the place that is walked."""

    path: str
    kind: str  # file, folder, link, other
    size: int
    mtime_ns: int


@dataclass(slots=True)
class Walk:
    """One walk. `cut`: it ended before everything was seen, and why."""

    place: Place
    bounds: Bounds
    stop: Callable[[], bool]
    seconds: float
    ignored: bool = False  # whether what .gitignore names is walked too
    depth: int | None = None
    cut: str = ""
    unread: int = 0
    _seen: int = 0
    _until: float = field(default=0.0)

    def entries(self) -> Iterator[Entry]:
        """Everything below, folder by folder in the order of names."""
        self._until = time.monotonic() + self.seconds
        base = self.place.inside if self.place.inside is not None else self.place.path
        todo: list[tuple[str, int, tuple[Ignore, ...]]] = [("", 1, ())]
        while todo:
            rel, depth, rules = todo.pop()
            try:
                fd = open_folder(self.place, self.bounds, os.path.join(base, rel) if rel else base)
            except Refused:
                if not rel:
                    raise
                self.unread += 1
                continue
            try:
                found, rules = self._folder(fd, rel, rules)
            finally:
                os.close(fd)
            below: list[tuple[str, int, tuple[Ignore, ...]]] = []
            for entry in found:
                if self._over():
                    return
                yield entry
                name = entry.path.rpartition("/")[2]
                if entry.kind == "folder" and name not in SKIPPED and (self.depth is None or depth < self.depth):
                    below.append((entry.path, depth + 1, rules))
            todo.extend(reversed(below))

    def _folder(self, fd: int, rel: str, rules: tuple[Ignore, ...]) -> tuple[list[Entry], tuple[Ignore, ...]]:
        if not self.ignored and (rule := Ignore.read(fd, rel)):
            rules = (*rules, rule)
        out: list[Entry] = []
        with os.scandir(fd) as entries:
            for entry in entries:
                path = f"{rel}/{entry.name}" if rel else entry.name
                try:
                    stat = entry.stat(follow_symlinks=False)
                    folder = entry.is_dir(follow_symlinks=False)
                    kind = (
                        "link" if entry.is_symlink() else "folder" if folder else "file" if entry.is_file() else "other"
                    )
                except OSError:
                    continue
                whole = os.path.join(self.place.path, path)
                if self.bounds.never(whole) is None and not any(rule.names(path, folder) for rule in rules):
                    out.append(Entry(path, kind, stat.st_size, stat.st_mtime_ns))
        return sorted(out, key=lambda e: e.path), rules

    def _over(self) -> bool:
        self._seen += 1
        if self._seen > WALK_ENTRIES:
            self.cut = f"only the first {WALK_ENTRIES:,} names were looked at"
        elif self._seen % 64 == 0 and time.monotonic() > self._until:
            self.cut = f"it took longer than {self.seconds:g} seconds"
        elif self._seen % 64 == 0 and self.stop():
            self.cut = "it was stopped"
        return bool(self.cut)


class Ignore:
    """The .gitignore of one folder."""

    def __init__(self, text: str, rel: str) -> None:
        from pathspec import GitIgnoreSpec

        self._start = f"{rel}/" if rel else ""
        self._spec = GitIgnoreSpec.from_lines(text.splitlines()[:5_000])

    @classmethod
    def read(cls, folder: int, rel: str) -> Ignore | None:
        """The rules of an open folder; None where there are none that can be read."""
        try:
            fd = os.open(".gitignore", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            return None
        try:
            text = os.read(fd, 256 * 1024).decode("utf-8", "replace")
            return cls(text, rel) if text.strip() else None
        except (OSError, ValueError):
            return None
        finally:
            os.close(fd)

    def names(self, path: str, folder: bool) -> bool:
        """Whether the rules leave the path out."""
        return self._spec.match_file(path[len(self._start) :] + ("/" if folder else ""))
