"""Lines of somebody's file as JSON objects: any encoding, any length, in bounded memory; a bad line never ends it."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from store.limits import (
    IMPORT_CHUNK_BYTES,
    IMPORT_JSON_DEPTH,
    IMPORT_KEY_CHARS,
    IMPORT_LINE_BYTES,
    IMPORT_LONG_STRING_BYTES,
    IMPORT_NUMBER_DIGITS,
    IMPORT_UNPACKED_BYTES,
)

CUT_MARK = " … [cut: the rest was too long to import]"
_CUT_BYTES = json.dumps(CUT_MARK)[1:-1].encode()
_SPECIAL = re.compile(rb'["\\]')
_REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.S)
_LONE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Unreadable(Exception):
    """This line can't be used; it is skipped and counted."""


@dataclass(slots=True)
class FileState:
    """How far the reading is, and whether the file ended early (`cut` says why, in words)."""

    done: int = 0
    total: int = 0
    cut: str = ""


def read_lines(path: Path, state: FileState) -> Iterator[bytes | None]:
    """The file's lines without their ends, as UTF-8; None for one that is too long even when its strings are cut.

    Plain or gzip; UTF-8 or UTF-16 with a mark. Raises OSError only when the file can't be opened.
    """
    with path.open("rb") as raw:
        state.total = path.stat().st_size
        yield from _split(_utf8(_chunks(raw, state)))


def _chunks(raw: IO[bytes], state: FileState) -> Iterator[bytes]:
    packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    read = gzip.GzipFile(fileobj=raw).read1 if packed else raw.read  # read1 gives what came before the damage
    unpacked = 0
    while True:
        try:
            chunk = read(IMPORT_CHUNK_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            state.cut = "the packed file is damaged or ends too early"
            return
        except OSError as error:
            state.cut = f"the file couldn't be read to its end ({error.strerror or 'it failed'})"
            return
        if not chunk:
            return
        unpacked += len(chunk)
        if packed and unpacked > IMPORT_UNPACKED_BYTES:
            state.cut = f"it unpacks to more than {IMPORT_UNPACKED_BYTES >> 30} GB"
            return
        state.done = raw.tell()
        yield chunk


def _utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(chunks, b"")
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        yield decoder.decode(first).encode("utf-8", "replace")
        for chunk in chunks:
            yield decoder.decode(chunk).encode("utf-8", "replace")
    else:
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks


def _split(chunks: Iterator[bytes]) -> Iterator[bytes | None]:
    pending = bytearray()
    short: Shortener | None = None
    for chunk in chunks:
        start = 0
        if short is not None:
            end = chunk.find(b"\n")
            short.feed(chunk if end < 0 else chunk[:end])
            if end < 0:
                continue
            yield short.result()
            short, start = None, end + 1
        last = chunk.rfind(b"\n", start)
        if last < 0:
            pending += chunk[start:]
        else:
            pending += chunk[start:last]
            yield from bytes(pending).split(b"\n")
            pending = bytearray(chunk[last + 1 :])
        if len(pending) > IMPORT_LINE_BYTES:
            short = Shortener()
            short.feed(bytes(pending))
            pending.clear()
    if short is not None:
        yield short.result()
    elif pending:
        yield bytes(pending)


class Shortener:
    """Makes a very long JSON line short enough to parse: strings past the limit are cut, with a mark."""

    def __init__(self, string_bytes: int = IMPORT_LONG_STRING_BYTES, line_bytes: int = IMPORT_LINE_BYTES) -> None:
        self._out = bytearray()
        self._most = string_bytes
        self._line = line_bytes
        self._inside = False
        self._length = 0  # of the string so far; past the limit nothing more of it is kept
        self._held = b""  # an escape that a chunk's border cut

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        data, at = self._held + chunk, 0
        self._held = b""
        while at < len(data):
            if self._inside and self._length > self._most:
                at = cast(re.Match[bytes], _REST_OF_STRING.match(data, at)).end()
                if at == len(data) - 1 and data[at] == 0x5C:
                    self._held = data[at:]
                    return
                if at == len(data):
                    return
            found = _SPECIAL.search(data, at)
            self._keep(data[at : found.start() if found else len(data)])
            if found is None:
                return
            at = found.start()
            if data[at] == 0x22:
                self._quote()
                at += 1
                continue
            length = 6 if data[at + 1 : at + 2] == b"u" else 2
            if at + length > len(data):
                self._held = data[at:]
                return
            self._keep(data[at : at + length], whole=True)
            at += length

    def _quote(self) -> None:
        if self._inside and self._length > self._most:
            self._append(_CUT_BYTES)
        self._append(b'"')
        self._inside, self._length = not self._inside, 0

    def _keep(self, piece: bytes, *, whole: bool = False) -> None:
        if not self._inside:
            self._append(piece)
            return
        room = self._most - self._length
        self._length += len(piece)
        if room >= len(piece):
            self._append(piece)
        elif room > 0 and not whole:
            self._append(piece[:room].decode("utf-8", "ignore").encode())

    def _append(self, piece: bytes) -> None:
        if len(self._out) <= self._line:
            self._out += piece

    def result(self) -> bytes | None:
        """The shortened line, or None when it is still too long."""
        return bytes(self._out) if len(self._out) <= self._line else None


# -- JSON


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs) or any(len(key) > IMPORT_KEY_CHARS for key in out):
        raise Unreadable
    return out


def _number(make: Callable[[str], Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        if len(text) > IMPORT_NUMBER_DIGITS:
            raise Unreadable
        return make(text)

    return parse


def _constant(_: str) -> Any:
    raise Unreadable


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_int=_number(int),
    parse_float=_number(float),
    parse_constant=_constant,
    strict=False,  # raw control characters inside strings are read, and made harmless where they are shown
)


def parse_line(line: bytes) -> dict[str, Any] | None:
    """The line's object; None for a blank line. Raises Unreadable for anything else, however it is broken."""
    if not line.strip(b" \t\r\0"):
        return None
    if line.count(b"[") + line.count(b"{") > IMPORT_JSON_DEPTH and _depth(line) > IMPORT_JSON_DEPTH:
        raise Unreadable
    try:
        value = _DECODER.decode(line.decode("utf-8", "replace").strip("\ufeff \t\r\n"))
    except (ValueError, RecursionError) as error:
        raise Unreadable from error
    if not isinstance(value, dict):
        raise Unreadable
    return cast(dict[str, Any], mended(value)) if _ESCAPED_SURROGATE.search(line) else value


def mended(value: Any) -> Any:
    """The value with lone surrogates replaced, so that it can be stored as UTF-8."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [mended(v) for v in value]
    if isinstance(value, dict):
        return {mended(k): mended(v) for k, v in value.items()}
    return value


def _depth(line: bytes) -> int:
    depth = deepest = 0
    for found in re.finditer(rb'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', line, re.S):
        mark = found[0]
        if mark in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in b"]}":
            depth -= 1
    return deepest
