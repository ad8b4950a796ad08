"""What a work folder held, on the disk of Shoal's home: contents in one file, and a journal of what is where.

A kill leaves both, so that the next start can still tell what a command changed; a normal end removes them.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

from store.ids import CHANGE, new_id

FOLDER: Final = "shadows"  # in Shoal's home

Signature = tuple[int, int, int, int]  # size, mtime, ctime, inode


@dataclass(slots=True)
class Known:
    """A file as it was last seen, and where its content lies."""

    signature: Signature
    mode: int
    sha: bytes
    start: int
    size: int


@dataclass(slots=True)
class Left:
    """What a kill left of one folder. `until`: when it was last known to be watched, in ns."""

    root: str
    data: Path
    journal: Path
    until: int
    known: dict[str, Known] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    begun: bool = False  # a whole look was taken


class Pack:
    """One folder's kept contents; its methods block, and aren't called side by side."""

    def __init__(self, home: Path, root: str) -> None:
        folder = home / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        name = folder / new_id(CHANGE)
        self._data_path, self._journal_path = name.with_suffix(".pack"), name.with_suffix(".jsonl")
        self._data: BinaryIO = self._data_path.open("x+b")
        self._journal: TextIO = self._journal_path.open("x", encoding="ascii")
        self._tell({"root": root})

    @property
    def closed(self) -> bool:
        """Whether it is gone."""
        return self._data.closed

    def add(self, path: str, data: bytes, signature: Signature, mode: int, sha: bytes) -> Known:
        """Keep a content."""
        start = self._data.seek(0, os.SEEK_END)
        self._data.write(data)
        known = Known(signature, mode, sha, start, len(data))
        self.told(path, known)
        return known

    def told(self, path: str, known: Known | None) -> None:
        """A file's stat changed alone, or (None) it is gone."""
        self._tell({"p": path} if known is None else {
            "p": path, "g": known.signature, "m": known.mode, "h": known.sha.hex(), "o": known.start, "n": known.size,
        })  # fmt: skip

    def content(self, known: Known) -> bytes:
        """What was kept."""
        self._data.seek(known.start)
        return self._data.read(known.size)

    def size(self) -> int:
        """Bytes on the disk."""
        return self._data.seek(0, os.SEEK_END)

    def looked(self, apart: Iterable[str]) -> None:
        """A look is whole: a kill from here on finds all of it."""
        self._tell({"apart": sorted(apart)})
        self.flush()

    def flush(self) -> None:
        """Hand everything to the system, which keeps it when this process is killed."""
        self._data.flush()
        self._journal.flush()

    def beat(self) -> None:
        """Still watched: what changes much later than the last beat was changed by nobody here."""
        with contextlib.suppress(OSError):
            os.utime(self._journal_path)

    def close(self) -> None:
        """Let the contents go."""
        self._data.close()
        self._journal.close()
        for path in (self._data_path, self._journal_path):
            path.unlink(missing_ok=True)

    def _tell(self, line: dict[str, Any]) -> None:
        self._journal.write(json.dumps(line) + "\n")


def left(home: Path) -> list[Left]:
    """What killed runs left in a home that nobody else has open now."""
    return [found for path in sorted((home / FOLDER).glob("*.jsonl")) if (found := _read(path)) is not None]


def clear(home: Path) -> None:
    """Remove it."""
    for path in (home / FOLDER).glob("*"):
        with contextlib.suppress(OSError):
            path.unlink()


def _read(journal: Path) -> Left | None:
    out = Left("", journal.with_suffix(".pack"), journal, journal.stat().st_mtime_ns)
    for line in journal.read_text(encoding="ascii", errors="replace").splitlines():
        try:
            said = json.loads(line)
            if "root" in said:
                out.root = str(said["root"])
            elif "apart" in said:
                out.apart, out.begun = set(said["apart"]), True
            elif "h" in said:
                size, mtime, ctime, inode = said["g"]
                signature = (size, mtime, ctime, inode)
                out.known[said["p"]] = Known(signature, said["m"], bytes.fromhex(said["h"]), said["o"], said["n"])
            else:
                out.known.pop(said["p"], None)
        except (ValueError, KeyError, TypeError):  # the kill came within this line
            continue
    return out if out.root and out.begun else None
