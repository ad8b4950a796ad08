"""Reading somebody's file: encodings, lengths and broken lines (faults I01, I02, I03, I08, I10)."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.importers.lines import CUT_MARK, FileState, Shortener, Unreadable, parse_line, read_lines


def lines_of(path: Path, raw: bytes) -> list[bytes | None]:
    path.write_bytes(raw)
    return list(read_lines(path, FileState()))


@pytest.mark.parametrize(
    "raw",
    [
        '{"a":"é"}\n{"b":1}\n'.encode(),
        '\ufeff{"a":"é"}\r\n{"b":1}'.encode(),
        '\ufeff{"a":"é"}\n{"b":1}\n'.encode("utf-16-le"),
        '\ufeff{"a":"é"}\r\n{"b":1}\n'.encode("utf-16-be"),
        gzip.compress('{"a":"é"}\n{"b":1}\n'.encode()),
    ],
    ids=["utf-8", "bom and crlf", "utf-16-le", "utf-16-be", "gzip"],
)
def test_every_encoding_gives_the_same_objects(tmp_path: Path, raw: bytes) -> None:
    parsed = [parse_line(line or b"null") for line in lines_of(tmp_path / "f", raw) if line]
    assert parsed == [{"a": "é"}, {"b": 1}]


def test_latin_1_nul_and_lone_surrogates_become_valid_text() -> None:
    found = parse_line(b'{"a":"caf\xe9 \x00 \\ud83d x \\ud83d\\ude00"}')
    assert found is not None
    assert found["a"] == "caf\ufffd \x00 \ufffd x 😀"
    found["a"].encode()


@pytest.mark.parametrize(
    "line",
    [
        b"null",
        b"[]",
        b"42",
        b'{"a":',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":1,"a":2}',
        b'{"a":' + b"9" * 400 + b"}",
        b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b'{"a":' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"a":' * 10_000,
        b'{"' + b"k" * 5_000_000 + b'":1}',
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_usable_object_is_unreadable_and_nothing_worse(line: bytes) -> None:
    with pytest.raises(Unreadable):
        parse_line(line)


def test_blank_lines_are_nothing() -> None:
    assert parse_line(b"") is None and parse_line(b" \r") is None


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_break_the_reading_of_a_line(raw: bytes) -> None:
    try:
        parse_line(raw)
    except Unreadable:
        pass


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(JSON, st.booleans(), st.integers(1, 9), st.integers(0, 40))
def test_a_shortened_line_stays_json_with_only_its_long_strings_cut(
    value: object, ascii_only: bool, step: int, most: int
) -> None:
    raw = json.dumps({"v": value}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    short = Shortener(string_bytes=most, line_bytes=1_000_000)
    for at in range(0, len(raw), step):
        short.feed(raw[at : at + step])
    result = short.result()
    assert result is not None
    got = json.loads(result.decode("utf-8", "replace"), strict=False)
    if most >= len(raw):
        assert got == json.loads(raw)
    assert len(result) <= len(raw) + raw.count(b'"') * len(CUT_MARK) * 6


def test_the_text_of_a_line_of_100_mb_is_cut_with_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    size = 100 if os.environ.get("SHOAL_SOAK") else 24
    with path.open("wb") as file:
        file.write(b'{"text":"')
        for _ in range(size):
            file.write(b"word \\n " * 131_072)
        file.write(b'","seq":7}\n{"next":1}\n')
    parsed = [parse_line(line or b"null") for line in read_lines(path, FileState())]
    assert parsed[0] and parsed[0]["seq"] == 7 and parsed[0]["text"].endswith(CUT_MARK)
    assert parsed[1] == {"next": 1}


def test_a_packed_file_that_is_cut_or_unpacks_to_too_much_gives_what_came_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = gzip.compress(b"".join(b'{"a":%d}\n' % (n * 7919) for n in range(50_000)))
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])
    state = FileState()
    assert list(read_lines(tmp_path / "cut.gz", state)) and "damaged" in state.cut
    monkeypatch.setattr("store.importers.lines.IMPORT_UNPACKED_BYTES", 1_000_000)
    monkeypatch.setattr("store.importers.lines.IMPORT_CHUNK_BYTES", 65_536)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b'{"a":1}\n' * 1_000_000))
    state = FileState()
    assert len(list(read_lines(tmp_path / "bomb.gz", state))) < 200_000 and "unpacks" in state.cut
