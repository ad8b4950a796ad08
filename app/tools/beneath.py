"""Opening files so that a link, a race or a name can't lead elsewhere: judged by what was opened, not by its name."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
import urllib.parse
from dataclasses import dataclass
from functools import cache

from app.tools.bounds import Bounds
from store.limits import PATH_CHARS
from store.text import safe_text

NO_FOLDER = "This chat has no work folder, so a path must be given whole."
NOT_A_PATH = "That isn't a path: {why}."
ELSEWHERE = "“{path}” leads to another place than was looked at just before; it may have been changed meanwhile."
UNKNOWN_PLACE = "This system doesn't tell where “{path}” leads, so it isn't opened."
NOT_ALLOWED = "“{path}” lies outside the work folder, and nobody allowed it."

_OPENAT2 = 437  # on every architecture
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_TRIES = 8  # the kernel answers EAGAIN when a folder is renamed while it looks
_SAFE = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW if sys.platform != "win32" else 0


class Refused(Exception):
    """A file that isn't opened; the sentence says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Place:
    """Where a given path leads: `path` whole and without links; `inside` from the work folder, None outside it."""

    given: str
    path: str
    inside: str | None
    root: str

    @property
    def shown(self) -> str:
        """The name for people: short inside the folder, whole outside."""
        return safe_text(self.inside if self.inside is not None else self.path, one_line=True) or "."


def locate(folder: str, given: str) -> Place:
    """Where a path leads now. Nothing is opened, and it need not exist. Raises Refused."""
    name = _plain(given)
    if not os.path.isabs(name):
        if not folder:
            raise Refused(NO_FOLDER)
        name = os.path.join(folder, name)
    root = os.path.realpath(folder) if folder else ""
    try:
        path = os.path.realpath(name)
    except (OSError, ValueError) as error:
        raise Refused(NOT_A_PATH.format(why=type(error).__name__)) from None
    return Place(given, path, inside(root, path), root)


def inside(root: str, path: str) -> str | None:
    """`path` from `root`, "" for the root itself; None when it lies outside."""
    if not root:
        return None
    if path == root:
        return ""
    start = root.rstrip("/") + "/"
    return path[len(start) :] if path.startswith(start) else None


def _plain(given: str) -> str:
    """A path as given by a model: `~`, `file:` and doubled slashes are understood."""
    if not given or len(given) > PATH_CHARS:
        raise Refused(NOT_A_PATH.format(why="it is empty" if not given else "it is too long"))
    if given[:5].lower() == "file:":
        given = urllib.parse.unquote(given[5:])
        given = "/" + given.lstrip("/") if given.startswith("/") else given
    if "\0" in given:
        raise Refused(NOT_A_PATH.format(why="it has a NUL in it"))
    try:
        os.fsencode(given)
    except UnicodeError:
        raise Refused(NOT_A_PATH.format(why="it has half a character in it")) from None
    return os.path.expanduser(given) if given.startswith("~") else given


def open_at(place: Place, flags: int, bounds: Bounds, *, mode: int = 0, rest: str | None = None) -> int:
    """A descriptor of exactly that place, or of a parent of it (`rest`, from the root or whole).

    Raises Refused when it leads elsewhere, and OSError as `open` does.
    """
    target = place.inside if place.inside is not None else place.path
    target = target if rest is None else rest
    fd = _open(place.root if place.inside is not None else None, target, flags | _SAFE, mode)
    try:
        where = whereabouts(fd)
        expected = os.path.join(place.root, target) if place.inside is not None else target
        if where is None and not openat2_works():
            raise Refused(UNKNOWN_PLACE.format(path=place.shown))
        if where is not None:
            off = inside(place.root, where) is None if place.inside is not None else where != expected
            if off:
                raise Refused(ELSEWHERE.format(path=place.shown))
            if why := bounds.within(place.root).never(where, write=bool(flags & (os.O_WRONLY | os.O_RDWR))):
                raise Refused(why)
        return fd
    except BaseException:
        os.close(fd)
        raise


def open_file(place: Place, bounds: Bounds) -> tuple[int, os.stat_result]:
    """A regular file for reading. Raises Refused in words for everything else."""
    try:
        fd = open_at(place, os.O_RDONLY, bounds)
    except OSError as error:
        raise Refused(in_words(place, error)) from None
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise Refused(f"“{place.shown}” is {kind_of(found.st_mode)}, not a file that can be read.")
    if found.st_nlink > 1 and _is_own(found, bounds):
        os.close(fd)
        raise Refused(bounds.never(bounds.own[0]) or "")
    return fd, found


def open_folder(place: Place, bounds: Bounds, rest: str | None = None) -> int:
    """A folder's descriptor. Raises Refused."""
    try:
        return open_at(place, os.O_RDONLY | os.O_DIRECTORY, bounds, rest=rest)
    except NotADirectoryError:
        raise Refused(f"“{place.shown}” isn't a folder.") from None
    except OSError as error:
        raise Refused(in_words(place, error)) from None


def in_words(place: Place, error: OSError) -> str:
    """One sentence for what the system answered."""
    match error.errno:
        case errno.ENOENT:
            return f"There is no “{place.shown}”."
        case errno.EACCES | errno.EPERM:
            return f"“{place.shown}” may not be opened: the system doesn't permit it."
        case errno.ELOOP | errno.EXDEV:
            return ELSEWHERE.format(path=place.shown)
        case errno.ENXIO:
            return f"“{place.shown}” is a pipe or socket, not a file that can be read."
        case errno.ENAMETOOLONG:
            return NOT_A_PATH.format(why="a name in it is too long")
        case errno.ENOTDIR:
            return f"“{place.shown}” can't be: a part of it is a file, not a folder."
        case errno.ENOSPC | errno.EDQUOT:
            return "The disk is full; nothing was changed."
    return f"“{place.shown}” can't be opened: {os.strerror(error.errno or 0)}."


def kind_of(mode: int) -> str:
    """What a thing on disk is, in words."""
    for test, words in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISLNK, "a link"),
    ):
        if test(mode):
            return words
    return "a file" if stat.S_ISREG(mode) else "something else"


def whereabouts(fd: int) -> str | None:
    """The path of what a descriptor is open on; None where the system doesn't say."""
    if sys.platform == "darwin":
        import fcntl

        with contextlib.suppress(OSError):
            return os.fsdecode(fcntl.fcntl(fd, 50, bytes(1024)).rstrip(b"\0"))  # F_GETPATH
        return None
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return None


def _is_own(found: os.stat_result, bounds: Bounds) -> bool:
    """Whether a file with several names is one of Shoal's own under another."""
    for own in bounds.own:
        with contextlib.suppress(OSError), os.scandir(own) as entries:
            if any(e.inode() == found.st_ino and os.path.samestat(e.stat(), found) for e in entries):
                return True
    return False


# -- the system call


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _open(root: str | None, target: str, flags: int, mode: int) -> int:
    """Beneath `root`; or the whole path `target`, no part of which may be a link."""
    if not openat2_works():
        return os.open(os.path.join(root, target) if root is not None else target, flags, mode)
    if root is None:
        return _openat2(-100, target, flags, mode, _NO_MAGICLINKS | _NO_SYMLINKS)
    root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _openat2(root_fd, target or ".", flags, mode, _NO_MAGICLINKS | _BENEATH)
    finally:
        os.close(root_fd)


def _openat2(at: int, path: str, flags: int, mode: int, resolve: int) -> int:
    how = _How(flags, mode if flags & os.O_CREAT else 0, resolve)
    libc = _libc()
    name = os.fsencode(path)
    for _ in range(_TRIES):
        fd = int(libc.syscall(_OPENAT2, at, name, ctypes.byref(how), ctypes.sizeof(how)))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def openat2_works() -> bool:
    """Whether the kernel (5.6 on) has it, and no sandbox keeps it away."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.close(_openat2(-100, "/", os.O_RDONLY | os.O_CLOEXEC, 0, _NO_MAGICLINKS))
    except OSError:
        return False
    return True
