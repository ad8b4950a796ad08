"""Event rows read from a damaged file page by page, where the way to them through the table is broken.

Only leaves of tables are looked at, and only records with the shape of an event count. Since events are never changed,
an old copy of a page can't say anything wrong. The format is sqlite.org/fileformat2.html, sections 1.6 and 2.1.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = 4096  # what every store is made with
LEAF = 13
COLUMNS = 9
LONGEST = 1024 * 1024  # longer bodies are blobs
INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # serial type -> bytes


def event_rows(path: Path) -> Iterator[tuple[Any, ...]]:
    """Rows as `SELECT id, chat, seq, at, type, v, row, body, blob FROM event` gives them, in no order."""
    if path.stat().st_size < PAGE:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for page in range(len(data) // PAGE):
            yield from _rows_of_page(data, page)


def _rows_of_page(data: mmap.mmap, page: int) -> Iterator[tuple[Any, ...]]:
    base = page * PAGE
    head = base + (100 if page == 0 else 0)
    if data[head] != LEAF:
        return
    for n in range(min(int.from_bytes(data[head + 3 : head + 5], "big"), PAGE // 4)):
        at = head + 8 + 2 * n
        try:
            row = _row(data, base + int.from_bytes(data[at : at + 2], "big"))
        except (IndexError, ValueError):
            continue  # a torn cell: the others of the page may be whole
        if row is not None:
            yield row


def _row(data: mmap.mmap, at: int) -> tuple[Any, ...] | None:
    length, at = _varint(data, at)
    id_, at = _varint(data, at)
    record = _payload(data, at, length)
    size, here = _varint(record, 0)
    kinds: list[int] = []
    while here < size:
        kind, here = _varint(record, here)
        kinds.append(kind)
    if len(kinds) != COLUMNS or kinds[0] != 0:
        return None
    values: list[Any] = [id_]
    here = size
    for kind in kinds[1:]:
        value, here = _value(record, here, kind)
        values.append(value)
    return tuple(values)


def _payload(data: mmap.mmap, at: int, length: int) -> bytes:
    """The record's bytes, gathered from its overflow pages too."""
    if length > LONGEST:
        raise ValueError
    most, least = PAGE - 35, (PAGE - 12) * 32 // 255 - 23
    local = length
    if length > most:
        local = least + (length - least) % (PAGE - 4)
        local = local if local <= most else least
    parts = [data[at : at + local]]
    following = int.from_bytes(data[at + local : at + local + 4], "big")
    left = length - local
    while left > 0:
        start = (following - 1) * PAGE
        if following < 1 or start + PAGE > len(data):
            raise ValueError
        parts.append(data[start + 4 : start + 4 + min(left, PAGE - 4)])
        following = int.from_bytes(data[start : start + 4], "big")
        left -= PAGE - 4
    return b"".join(parts)


def _varint(data: bytes | mmap.mmap, at: int) -> tuple[int, int]:
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9


def _value(record: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    if kind in INTEGERS:
        size = INTEGERS[kind]
        return int.from_bytes(record[at : at + size], "big", signed=True), at + size
    if kind >= 13 and kind % 2:
        size = (kind - 13) // 2
        if at + size > len(record):
            raise ValueError
        return record[at : at + size].decode(), at + size
    raise ValueError
