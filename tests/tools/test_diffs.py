"""What a change set did to a file, in lines or in a sentence."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from app.tools.diffs import AFTER_GONE, BEFORE_GONE, EMPTY, NO_ROOM, SAME, TOO_LARGE, TOO_MANY, diff_of
from store.events import FileChange
from store.limits import DIFF_FILE_BYTES

CHANGED = FileChange(path="a.txt", change="changed")
MADE = FileChange(path="a.txt", change="created")
GONE = FileChange(path="a.txt", change="deleted")


def test_a_changed_line_stands_between_its_neighbours() -> None:
    found = diff_of(CHANGED, b"one\ntwo\nthree\n", b"one\n2\nthree\n", 100)
    assert found.lines == ("@@ -1,3 +1,3 @@", " one", "-two", "+2", " three")
    assert found.note == ""


def test_a_made_file_is_all_new_and_a_deleted_one_all_gone() -> None:
    assert diff_of(MADE, None, b"a\nb\n", 100).lines == ("+a", "+b")
    assert diff_of(GONE, b"a\nb\n", None, 100).lines == ("-a", "-b")


def test_what_is_not_text_is_said_in_words() -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(40)
    found = diff_of(CHANGED, picture, picture + b"x", 100)
    assert found.lines == () and found.note == "It is a PNG picture, not text, so there are no lines to show"


def test_a_large_file_and_too_many_changed_lines_are_said_in_words() -> None:
    assert diff_of(CHANGED, b"a", b"b" * (DIFF_FILE_BYTES + 1), 100).note == TOO_LARGE
    after = b"".join(b"b%d\n" % i for i in range(1_200))
    same = b"".join(b"%d\n" % (i % 120) for i in range(24_000))  # each line two hundred times
    assert diff_of(CHANGED, b"x\n" + same + b"y\n", b"z\n" + same + b"w\n", 5_000).note == TOO_MANY
    assert len(diff_of(MADE, None, after, 5_000).lines) == 1_200  # nothing is compared


def test_two_small_changes_far_apart_in_a_large_file_are_shown_and_quickly() -> None:
    before = "".join(f"line {i}\n" for i in range(30_000))
    after = before.replace("line 500\n", "x\n").replace("line 29000\n", "y\n")
    began = time.perf_counter()
    found = diff_of(CHANGED, before.encode(), after.encode(), 100)
    assert time.perf_counter() - began < 2
    assert [line for line in found.lines if line[0] in "@+-"] == [
        "@@ -498,7 +498,7 @@",
        "-line 500",
        "+x",
        "@@ -28998,7 +28998,7 @@",
        "-line 29000",
        "+y",
    ]


@given(st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30))
def test_the_lines_are_those_of_a_unified_diff(before: list[str], after: list[str]) -> None:
    sides = ["".join(f"{line}\n" for line in side) for side in (before, after)]
    found = diff_of(CHANGED, sides[0].encode(), sides[1].encode(), 1_000).lines
    patched: list[str] = []
    at = 0
    for line in found:  # carried out, the diff makes the one out of the other
        if line.startswith("@@"):
            start, _, many = line.split()[1][1:].partition(",")
            begin = int(start) - (0 if many == "0" else 1)
            patched += before[at:begin]
            at = begin
        elif line[0] in " -":
            assert before[at] == line[1:]
            at += 1
        if line[0] in " +" and not line.startswith("@@"):
            patched.append(line[1:])
    if before and after:
        assert patched + before[at:] == after


def test_a_side_that_is_not_kept_is_said() -> None:
    assert diff_of(CHANGED, None, b"b", 100).note == BEFORE_GONE
    assert diff_of(CHANGED, b"a", None, 100).note == AFTER_GONE


def test_a_long_diff_is_cut_and_says_how_much_is_missing() -> None:
    found = diff_of(MADE, None, b"line\n" * 30, 10)
    assert len(found.lines) == 10 and found.note == "… 20 more lines of this file aren't shown"
    assert diff_of(MADE, None, b"line\n", 0).note == NO_ROOM


def test_no_changed_line_is_said() -> None:
    assert diff_of(CHANGED, b"a\n", b"a\r\n", 100).note == SAME
    assert diff_of(MADE, None, b"", 100).note == EMPTY


def test_control_characters_of_a_file_are_visible() -> None:
    assert diff_of(MADE, None, b"a\x1b[31mb\n", 100).lines == ("+a␛[31mb",)


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 50))
def test_any_two_sides_give_lines_or_words_and_no_control_character(before: bytes, after: bytes, room: int) -> None:
    found = diff_of(CHANGED, before, after, room)
    assert found.lines or found.note
    assert len(found.lines) <= room
    assert not any(ord(c) < 32 and c != "\t" for line in found.lines for c in line)
