"""What a work folder held before: enough to tell what a command changed, and to put it back."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.tools.beneath import Place, Refused, open_file
from app.tools.bounds import Bounds
from app.tools.files.atomic import BESIDE
from app.tools.files.read_file import read_rest
from app.tools.files.walk import SKIPPED
from store.limits import CHANGE_FILE_BYTES, CHANGE_FOLDER_BYTES, CHANGE_FOLDER_FILES

BUILT: Final = SKIPPED | {
    "build", "dist", "out", "target", "__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", ".gradle", ".next",
    ".nuxt", ".turbo", ".parcel-cache", ".svelte-kit", ".cache", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".hypothesis", "coverage", "htmlcov", ".nyc_output", "bower_components", ".terraform", "obj", "_build",
}  # fmt: skip

Signature = tuple[int, int, int, int]  # size, mtime, ctime, inode


@dataclass(frozen=True, slots=True)
class Difference:
    """One file that isn't as it was. None: it wasn't, or isn't, there. `mode` as it was, of a new file as it is."""

    path: str  # from the folder
    before: bytes | None
    after: bytes | None
    mode: int

    def then(self, later: Difference) -> Difference | None:
        """This and a later difference of the same file as one; None when nothing is left of it."""
        if self.before == later.after:
            return None
        return Difference(self.path, self.before, later.after, self.mode)


@dataclass(slots=True)
class _Known:
    signature: Signature
    mode: int
    sha: bytes
    start: int
    size: int


@dataclass(slots=True)
class _Looked:
    """What one look at the folder found, by name and stat only."""

    files: dict[str, tuple[Signature, int]] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)  # links, devices, files too large: never compared
    folders: list[str] = field(default_factory=list)
    bytes: int = 0


class Shadow:
    """One folder. Contents lie in a nameless file of Shoal's home, gone with the process; its methods block."""

    def __init__(self, root: str, bounds: Bounds, home: Path) -> None:
        self.root = root
        self.over = False  # past the limits: nothing is compared
        self.folders: list[str] = []
        self._bounds = bounds.within(root)
        self._home = home
        self._known: dict[str, _Known] = {}
        self._apart: set[str] = set()
        self._pack = tempfile.TemporaryFile(dir=home)  # noqa: SIM115 - lives as long as the shadow
        self._lock = threading.Lock()
        self._begun = False

    def close(self) -> None:
        """Let the kept contents go."""
        with self._lock:
            self._pack.close()

    def scan(self, hinted: Iterable[str] = ()) -> list[Difference]:
        """Compare with the last look, and take what is now as known. The first look finds nothing.

        `hinted`: paths compared by content although their stat is the same.
        """
        with self._lock:
            if self._pack.closed:
                return []
            looked = _look(self.root, self._bounds, self._known)
            if looked is None:
                self.over = True
                self._known.clear()
                self._apart.clear()
                self._pack.truncate(0)
                self._begun = False
                return []
            self.over, self.folders = False, looked.folders
            out = self._compare(looked, set(hinted))
            first, self._begun = not self._begun, True
            self._shrink()
            return [] if first else out

    def note(self, path: str, data: bytes | None) -> None:
        """A file tool wrote (None: removed) this file: no later look puts it down to somebody else."""
        with self._lock:
            if self._pack.closed or not self._begun:
                return
            if data is None:
                self._known.pop(path, None)
                return
            try:
                found = os.lstat(os.path.join(self.root, path))
            except OSError:
                return
            if len(data) <= CHANGE_FILE_BYTES:
                self._keep(path, data, _signature(found), stat.S_IMODE(found.st_mode))

    def _compare(self, looked: _Looked, hinted: set[str]) -> list[Difference]:
        out: list[Difference] = []
        for path, (signature, mode) in looked.files.items():
            known = self._known.get(path)
            if known is not None and known.signature == signature and path not in hinted:
                continue
            data = self._read(path)
            if data is None:
                continue
            if known is None or hashlib.sha256(data).digest() != known.sha:
                before = self._kept(known) if known is not None else None
                if path not in self._apart:
                    out.append(Difference(path, before, data, known.mode if known else mode))
                self._keep(path, data, signature, mode)
            else:
                known.signature, known.mode = signature, mode
        for path in [p for p in self._known if p not in looked.files]:
            known = self._known.pop(path)
            if path not in looked.apart:
                out.append(Difference(path, self._kept(known), None, known.mode))
        self._apart = looked.apart
        return sorted(out, key=lambda d: d.path)

    def _read(self, path: str) -> bytes | None:
        try:
            fd, _ = open_file(Place(path, os.path.join(self.root, path), path, self.root), self._bounds)
        except Refused:
            return None
        try:
            data = read_rest(fd, CHANGE_FILE_BYTES + 1)
        except OSError:
            return None
        finally:
            os.close(fd)
        return data if len(data) <= CHANGE_FILE_BYTES else None

    def _keep(self, path: str, data: bytes, signature: Signature, mode: int) -> None:
        start = self._pack.seek(0, os.SEEK_END)
        self._pack.write(data)
        self._known[path] = _Known(signature, mode, hashlib.sha256(data).digest(), start, len(data))

    def _kept(self, known: _Known) -> bytes:
        self._pack.seek(known.start)
        return self._pack.read(known.size)

    def _shrink(self) -> None:
        """Write the kept contents anew when most of the file is no longer needed."""
        needed = sum(known.size for known in self._known.values())
        if self._pack.seek(0, os.SEEK_END) <= 2 * needed + CHANGE_FOLDER_BYTES // 4:
            return
        fresh = tempfile.TemporaryFile(dir=self._home)  # noqa: SIM115 - takes the old one's place
        for known in self._known.values():
            data = self._kept(known)
            known.start = fresh.tell()
            fresh.write(data)
        self._pack.close()
        self._pack = fresh


def _look(root: str, bounds: Bounds, known: dict[str, _Known]) -> _Looked | None:
    """Names and stats below a folder, without links; None past the limits."""
    looked = _Looked()
    todo = [""]
    while todo:
        rel = todo.pop()
        looked.folders.append(rel)
        with contextlib.suppress(OSError), os.scandir(os.path.join(root, rel)) as entries:
            for entry in entries:
                path = f"{rel}/{entry.name}" if rel else entry.name
                try:
                    found = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISDIR(found.st_mode):
                    if entry.name not in BUILT and bounds.never(os.path.join(root, path)) is None:
                        todo.append(path)
                elif not stat.S_ISREG(found.st_mode) or found.st_size > CHANGE_FILE_BYTES:
                    looked.apart.add(path)
                elif not entry.name.startswith(BESIDE) and (
                    path in known or bounds.never(os.path.join(root, path)) is None
                ):
                    looked.files[path] = (_signature(found), stat.S_IMODE(found.st_mode))
                    looked.bytes += found.st_size
                    if len(looked.files) > CHANGE_FOLDER_FILES or looked.bytes > CHANGE_FOLDER_BYTES:
                        return None
    return looked


def _signature(found: os.stat_result) -> Signature:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
