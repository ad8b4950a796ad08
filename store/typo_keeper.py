"""Keeps the typo index beside the index file: loaded when first needed, built anew on a thread of its own."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from store import db, fuzzy

AT_ONCE: Final = 3_000  # words; so few are built where they are asked for, in a tenth of a second
_REST_SECONDS: Final = 0.05  # between slices of a long build, so that the screen keeps its share


class TypoKeeper:
    """One typo index for the current index file. `use`, `refresh` and `add` are called by the index's writer only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._typos: fuzzy.Typos | None = None
        self._looked = False  # whether a saved one was looked for
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = False

    def use(self, path: Path) -> None:
        """Another index file counts from now on."""
        with self._lock:
            if path.stem != self._name:
                self._name, self._typos, self._looked = path.stem, None, False

    def get(self) -> fuzzy.Typos | None:
        """The typo index; None while there is none."""
        with self._lock:
            if self._typos is None and not self._looked and self._name:
                self._looked = True
                self._typos = fuzzy.load(self._path(), self._name)
            return self._typos

    def add(self, counted: Mapping[str, int]) -> None:
        """Words of new lines."""
        if self._typos is not None:
            self._typos.add(counted)

    def forget(self) -> None:
        """Lines were taken out for good: what was built may hold their words."""
        with self._lock:
            self._typos, self._looked = None, True
        with contextlib.suppress(OSError):
            self._path().unlink(missing_ok=True)

    def refresh(self, path: Path, conn: db.Connection) -> None:
        """Build it where there is none or much came since; a big one on its own thread, while the old one answers."""
        self.use(path)
        typos = self.get()
        if (typos is not None and not typos.grown()) or (self._thread is not None and self._thread.is_alive()):
            return
        words = fuzzy.eligible(conn)
        if len(words) <= AT_ONCE:
            self._take(fuzzy.build(words), self._name)
            return
        self._thread = threading.Thread(target=self._build, args=(words, self._name), name="index-typos", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Give up what is being built."""
        self._stopping = True
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _build(self, words: list[tuple[str, int]], name: str) -> None:
        built = fuzzy.build(words, self._rested)
        self._take(built, name)
        if built is not None:
            with contextlib.suppress(OSError):  # it will be built again
                fuzzy.save(built, self._path(), name)

    def _rested(self) -> bool:
        time.sleep(_REST_SECONDS)
        return self._stopping

    def _take(self, built: fuzzy.Typos | None, name: str) -> None:
        with self._lock:
            if built is not None and name == self._name:
                if self._typos is not None:
                    built.add({t: n for t, n in self._typos.fresh.items() if not built.has(t)})
                self._typos = built

    def _path(self) -> Path:
        return self._folder / "typos.bin"
