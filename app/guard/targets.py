"""Where a path in a command leads, judged by its words alone: the folder, outside it, everything, or nobody knows."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import fnmatchcase

_TEMP = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/dev/shm/")
_DEVICES = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/stdin"))


class Place(IntEnum):
    """How much is lost when it is: later is worse."""

    NOWHERE = 0
    INSIDE = 1
    TEMP = 2
    OUTSIDE = 3
    UNKNOWN = 4
    WHOLE = 5  # a home, the work folder, a disk


@dataclass(frozen=True, slots=True)
class Where:
    """The folder a command begins in, the home, and Shoal's own folders; resolved."""

    folder: str = ""
    home: str = ""
    own: tuple[str, ...] = ()

    def absolute(self, word: str, cwd: str) -> str | None:
        """The path, links not followed; None when the shell alone knows it."""
        word = re.sub(r"\$\{?HOME\}?(?=/|\Z)", self.home or "~", word)
        word = re.sub(r"\$\{?PWD\}?(?=/|\Z)|\$\(pwd\)|`pwd`", cwd, word)
        if word == "~" or word.startswith("~/"):
            word = (self.home or "/home/unknown") + word[1:]
        elif word.startswith("~"):
            return "/home/" + word[1:]
        if "$" in word or "`" in word or word.startswith(("<(", ">(")):
            return None
        return posixpath.normpath(posixpath.join(cwd or "/nowhere", word))

    def place(self, word: str, cwds: Iterable[str]) -> Place:
        """The worst place that a word may name, from any of the folders the command may be in; braces are opened."""
        words = [word, *re.split(r"[{},]+", word)] if "{" in word and "," in word else [word]
        return max((self._place(one, cwd) for one in words if one for cwd in cwds), default=Place.UNKNOWN)

    def _place(self, word: str, cwd: str) -> Place:
        path = self.absolute(word, cwd)
        if path is None:
            return Place.UNKNOWN
        if path in _DEVICES:
            return Place.NOWHERE
        path = path.replace("//", "/")
        base = path
        while base != "/" and re.fullmatch(r"[*.?{},\[\]!]+", base.rsplit("/", 1)[-1]):  # everything in it
            base = base.rsplit("/", 1)[0] or "/"
        if self._is_whole(base):
            return Place.WHOLE
        if self.folder and within(path, self.folder):
            return Place.INSIDE
        if path.startswith(_TEMP):
            return Place.TEMP
        return Place.WHOLE if path.startswith("/dev/") else Place.OUTSIDE

    def _is_whole(self, path: str) -> bool:
        if path == "/" or (path.count("/") == 1) or re.fullmatch(r"/(?:home|Users|mnt|media|Volumes)/[^/]+", path):
            return True
        return any(root and (within(root, path) or _fits(root, path)) for root in (self.folder, self.home, *self.own))

    def is_own(self, word: str, cwds: Iterable[str]) -> bool:
        """Whether a word leads into one of Shoal's own folders."""
        for cwd in cwds:
            path = self.absolute(word, cwd)
            if path is None:
                continue
            named = path.casefold()
            if any(within(named, own.casefold()) or _fits(own.casefold(), named, in_it=True) for own in self.own):
                return True
        return False


def _fits(root: str, pattern: str, *, in_it: bool = False) -> bool:
    """Whether a shell pattern may be filled in with a folder or one that holds it (`in_it`: or what lies in it)."""
    if not any(char in pattern for char in "*?["):
        return False
    names, parts = root.split("/"), pattern.split("/")
    if in_it and len(parts) < len(names):
        return False  # a folder above it alone says nothing of what is done in it
    hidden = any(n.startswith(".") and not p.startswith((".", "[")) for n, p in zip(names, parts, strict=False))
    return not hidden and (in_it or len(parts) <= len(names)) and all(map(fnmatchcase, names, parts))


def within(path: str, folder: str) -> bool:
    """Whether a normal path is a folder or in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
