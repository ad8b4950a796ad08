"""What a work folder held before: enough to tell what a command changed, and to put it back."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
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
from app.tools.pack import Known, Left, Pack, Signature
from store.limits import CHANGE_FILE_BYTES, CHANGE_FOLDER_BYTES, CHANGE_FOLDER_FILES

BUILT: Final = SKIPPED | {
    "build", "dist", "out", "target", "__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", ".gradle", ".next",
    ".nuxt", ".turbo", ".parcel-cache", ".svelte-kit", ".cache", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".hypothesis", "coverage", "htmlcov", ".nyc_output", "bower_components", ".terraform", "obj", "_build",
}  # fmt: skip


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
class _Looked:
    """What one look at the folder found, by name and stat only."""

    files: dict[str, tuple[Signature, int]] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)  # links, devices, files too large: never compared
    folders: list[str] = field(default_factory=list)
    bytes: int = 0


class Shadow:
    """One folder. Contents lie in a file of Shoal's home, which only a kill leaves there; its methods block."""

    def __init__(self, root: str, bounds: Bounds, home: Path) -> None:
        self.root = root
        self.over = False  # past the limits: nothing is compared
        self.folders: list[str] = []
        self._bounds = bounds.within(root)
        self._home = home
        self._known: dict[str, Known] = {}
        self._apart: set[str] = set()
        self._pack = Pack(home, root)
        self._lock = threading.Lock()
        self._begun = False

    def close(self) -> None:
        """Let the kept contents go."""
        with self._lock:
            self._pack.close()

    def beat(self) -> None:
        """Still watched."""
        self._pack.beat()

    @classmethod
    def of(cls, kept: Left, bounds: Bounds, home: Path) -> Shadow:
        """A folder as a killed run knew it: the first look finds what is different since."""
        shadow = cls(kept.root, bounds, home)
        with kept.data.open("rb") as data:
            for path, known in kept.known.items():
                data.seek(known.start)
                content = data.read(known.size)
                if hashlib.sha256(content).digest() == known.sha:
                    shadow._keep(path, content, known.signature, known.mode)
                else:  # its content didn't get to the disk: nothing can be said of it
                    kept.apart.add(path)
        shadow._apart, shadow._begun = set(kept.apart), True
        return shadow

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
                self._renew()
                self._begun = False
                return []
            self.over, self.folders = False, looked.folders
            out = self._compare(looked, set(hinted))
            first, self._begun = not self._begun, True
            self._shrink()
            self._pack.looked(self._apart)
            return [] if first else out

    def note(self, path: str, data: bytes | None) -> None:
        """A file tool wrote (None: removed) this file: no later look puts it down to somebody else."""
        with self._lock:
            if self._pack.closed or not self._begun:
                return
            if data is None:
                if self._known.pop(path, None) is not None:
                    self._pack.told(path, None)
                    self._pack.flush()
                return
            try:
                found = os.lstat(os.path.join(self.root, path))
            except OSError:
                return
            if len(data) <= CHANGE_FILE_BYTES:
                self._keep(path, data, _signature(found), stat.S_IMODE(found.st_mode))
                self._pack.flush()

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
                self._pack.told(path, known)
        for path in [p for p in self._known if p not in looked.files]:
            known = self._known.pop(path)
            self._pack.told(path, None)
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
        self._known[path] = self._pack.add(path, data, signature, mode, hashlib.sha256(data).digest())

    def _kept(self, known: Known) -> bytes:
        return self._pack.content(known)

    def _shrink(self) -> None:
        """Write the kept contents anew when most of the file is no longer needed."""
        needed = sum(known.size for known in self._known.values())
        if self._pack.size() <= 2 * needed + CHANGE_FOLDER_BYTES // 4:
            return
        self._renew()

    def _renew(self) -> None:
        """What is known, in a pack of its own; whole before the old one goes."""
        fresh = Pack(self._home, self.root)
        self._known = {
            path: fresh.add(path, self._kept(known), known.signature, known.mode, known.sha)
            for path, known in self._known.items()
        }
        if self._known:
            fresh.looked(self._apart)
        self._pack.close()
        self._pack = fresh


def _look(root: str, bounds: Bounds, known: dict[str, Known]) -> _Looked | None:
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
