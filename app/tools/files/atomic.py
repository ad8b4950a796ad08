"""Writing whole files: beside, fsynced, renamed; nothing is ever half written or written through a link."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat

from app.tools.beneath import ELSEWHERE, Place, Refused, in_words, kind_of, open_file, whereabouts
from app.tools.bounds import Bounds
from app.tools.files.desk import CHANGED, stat_of
from app.tools.files.read_file import read_rest
from store.limits import EDIT_FILE_BYTES

BESIDE = ".shoal-"  # the start of the name of what is written beside
READ_ONLY = "“{path}” is read-only; make it writable first if it is to be changed."
TOO_LARGE = "“{path}” is larger than {most} MB, so it isn't written or edited whole; use a command instead."
_counter = itertools.count(1)


def current(place: Place, bounds: Bounds) -> tuple[bytes, os.stat_result] | None:
    """What a file holds now; None: it isn't there. Raises Refused for what isn't a file that may be replaced."""
    try:
        found = os.lstat(place.path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(in_words(place, error)) from None
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"“{place.shown}” is {kind_of(found.st_mode)}, not a file that can be written.")
    if not found.st_mode & 0o222:
        raise Refused(READ_ONLY.format(path=place.shown))
    fd, found = open_file(place, bounds)
    try:
        data = read_rest(fd, EDIT_FILE_BYTES + 1)
    finally:
        os.close(fd)
    if len(data) > EDIT_FILE_BYTES:
        raise Refused(TOO_LARGE.format(path=place.shown, most=EDIT_FILE_BYTES // 1024**2))
    return data, found


def replace(
    place: Place, data: bytes, bounds: Bounds, expect: os.stat_result | None, mode: int | None = None
) -> os.stat_result:
    """Put `data` there, whole or not at all; `expect` is what must still be there (None: nothing).

    A new file gets `mode` or the usual one. Raises Refused when something else is there now, and OSError.
    """
    folder, name = open_parent(place, bounds, make=True)
    beside = f"{BESIDE}{os.getpid()}-{next(_counter)}"
    try:
        out = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder)
        try:
            with os.fdopen(out, "wb") as file:
                _like(file.fileno(), expect, mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _put(folder, beside, name, place, expect)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise
        os.fsync(folder)
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    finally:
        os.close(folder)


def remove(place: Place, bounds: Bounds, expect: os.stat_result) -> None:
    """Take a file away, if it still is the one expected. Raises Refused and OSError."""
    folder, name = open_parent(place, bounds, make=False)
    try:
        if stat_of(os.stat(name, dir_fd=folder, follow_symlinks=False)) != stat_of(expect):
            raise Refused(CHANGED.format(path=place.shown))
        os.unlink(name, dir_fd=folder)
        os.fsync(folder)
    finally:
        os.close(folder)


def open_parent(place: Place, bounds: Bounds, *, make: bool) -> tuple[int, str]:
    """A descriptor of the folder a place lies in, walked without any link, and its name there.

    With `make`, missing folders are made. Raises Refused and OSError.
    """
    if why := bounds.never(place.path, write=True):
        raise Refused(why)
    path, name = os.path.split(place.path)
    top = place.root if place.inside is not None else "/"
    parts = [p for p in os.path.relpath(path, top).split("/") if p not in (".", "")]
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(top, flags)
    try:
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o777, dir_fd=fd)
            below = os.open(part, flags, dir_fd=fd)
            os.close(fd)
            fd = below
        where = whereabouts(fd)
        if where is not None and where != path:
            raise Refused(ELSEWHERE.format(path=place.shown))
    except BaseException:
        os.close(fd)
        raise
    return fd, name


def _like(fd: int, expect: os.stat_result | None, mode: int | None) -> None:
    """The same permissions, and where possible the same owner."""
    if expect is not None:
        if (expect.st_uid, expect.st_gid) != (os.getuid(), os.getgid()):
            with contextlib.suppress(OSError):
                os.fchown(fd, expect.st_uid, expect.st_gid)
        os.fchmod(fd, stat.S_IMODE(expect.st_mode))
    elif mode is not None:
        os.fchmod(fd, mode & 0o777)


def _put(folder: int, beside: str, name: str, place: Place, expect: os.stat_result | None) -> None:
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        now = None
    if (stat_of(now) if now else None) != (stat_of(expect) if expect else None):
        raise Refused(CHANGED.format(path=place.shown))
    if expect is None:
        try:  # a link can't take the place of what came there just now
            os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            raise Refused(CHANGED.format(path=place.shown)) from None
        except OSError:
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)  # a disk without hard links
        else:
            os.unlink(beside, dir_fd=folder)
        return
    os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
