"""Reading: what is no text (T09), how text is encoded (T10), long files and lines."""

from __future__ import annotations

import os
import socket
import time
import tracemalloc
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.tools.files.kinds import kind_of
from store.limits import READ_FILE_LINE_CHARS
from tests.tools.hands import Hands, put


async def test_lines_come_with_their_numbers_and_a_place_to_go_on(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "a.txt", "".join(f"line {i}\n" for i in range(1, 101)))
    text = await hands.text("read_file", path="a.txt", offset=41, limit=10)
    assert text.startswith("    41\tline 41\n")
    assert "    50\tline 50" in text
    assert "go on with offset=51" in text
    assert "of 100" in text
    assert "There is more" not in await hands.text("read_file", path="a.txt", offset=91)


async def test_a_start_past_the_end_and_an_empty_file_are_said(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "a.txt", "one\ntwo")
    put(hands.work, "empty", "")
    done = await hands("read_file", path="a.txt", offset=9)
    assert not done.ok
    assert "only 2 lines" in done.text
    assert "is empty" in await hands.text("read_file", path="empty")


async def test_pipes_sockets_devices_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    os.mkfifo(hands.work / "pipe")
    (hands.work / "folder").mkdir()
    begun = time.monotonic()
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(hands.work)
        server.bind("sock")
        os.chdir(here)
        for name, words in (("pipe", "a pipe"), ("folder", "a folder"), ("sock", "pipe or socket")):
            done = await hands("read_file", path=name)
            assert not done.ok
            assert words in done.text
            assert not (await hands("write_file", path=name, content="x")).ok
    assert time.monotonic() - begun < 2


async def test_an_unreadable_file_is_refused_in_words(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "locked", "x").chmod(0)
    done = await hands("read_file", path="locked")
    assert not done.ok or os.geteuid() == 0


async def test_five_gigabytes_are_told_within_two_seconds_and_little_memory(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    with (hands.work / "huge.log").open("wb") as out:
        out.write(b"first\n" * 200_000)
        out.truncate(5 * 1024**3)
    tracemalloc.start()
    begun = time.monotonic()
    text = await hands.text("read_file", path="huge.log", limit=5)
    taken = time.monotonic() - begun
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 4  # tracing memory makes it slower
    assert peak < 50 * 1024**2
    assert "     5\tfirst" in text
    assert "There is more" in text


async def test_one_line_of_fifty_megabytes_is_cut_in_bounded_memory(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "line", b"x" * 50_000_000)
    tracemalloc.start()
    text = await hands.text("read_file", path="line")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 1024**2
    assert len(text) < READ_FILE_LINE_CHARS + 200
    assert "49,998,000 more" in text or "more" in text


async def test_a_file_that_grows_while_it_is_read_is_read_as_long_as_it_was(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    path = put(hands.work, "log", "old\n" * 100_000)
    with path.open("a") as out:
        reading = hands("read_file", path="log", limit=3)
        out.write("new\n" * 100_000)
        done = await reading
    assert done.ok


async def test_encodings_are_said_and_shown_right(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    words = "héllo wörld\r\nsecond line\r\n"
    for name, data, said in (
        ("u16", words.encode("utf-16"), "UTF-16"),
        ("u16be", b"\xfe\xff" + words.encode("utf-16-be"), "UTF-16"),
        ("u16bare", words.encode("utf-16-le"), "UTF-16"),
        ("latin", words.encode("latin-1"), "Latin-1"),
        ("bom", b"\xef\xbb\xbf" + words.encode(), "byte order mark"),
    ):
        put(hands.work, name, data)
        text = await hands.text("read_file", path=name)
        assert said in text.split("\n")[0], name
        assert "     1\théllo wörld\n     2\tsecond line" in text, name


async def test_binary_files_are_named_not_shown(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "p.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))
    put(hands.work, "noise", bytes(range(256)) * 40)
    assert "a PNG picture" in await hands.text("read_file", path="p.png")
    assert "binary data" in await hands.text("read_file", path="noise")


async def test_mixed_line_ends_count_as_editors_count_and_controls_are_visible(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "mix", b"one\r\ntwo\nthree\rfour\x1b[31m\0 end\x0cpage")
    text = await hands.text("read_file", path="mix")
    assert "     4\tfour␛[31m␀ end␌page" in text
    assert not any(ord(c) < 32 and c not in "\n\t" for c in text)


async def test_a_crlf_on_the_edge_of_two_parts_is_one_line_end(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "edge", b"a" * 65_535 + b"\r\n" + b"b\r\n")
    assert "     2\tb" in await hands.text("read_file", path="edge")


@given(st.binary(max_size=400))
def test_any_bytes_are_some_kind_and_text_comes_back_the_same(data: bytes) -> None:
    kind = kind_of(data, whole=True)
    if kind.encoding in ("utf-8", "latin-1"):
        assert kind.encode(kind.decode(data), data) == data


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs", "Cc"]), max_size=20)),
    st.sampled_from(["\n", "\r\n"]),
)
async def test_line_numbers_are_right_for_any_text(lines: list[str], end: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        hands = Hands(Path(folder))
        lines = [line or "x" for line in lines]
        put(hands.work, "t", end.join([*lines, "end"]))
        text = await hands.text("read_file", path="t")
        body = [line for line in text.split("\n") if not line.startswith("[Shoal")]
        assert [line.split("\t", 1)[0].strip() for line in body] == [str(i + 1) for i in range(len(lines) + 1)]
