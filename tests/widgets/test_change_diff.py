"""An opened change shows its lines, cut with a sentence, harmless whatever is in them."""

from __future__ import annotations

from textual.containers import VerticalScroll
from widget_host import NOW, Host

from store import events as ev
from store.limits import DIFF_FILES
from store.models import FileDiff
from store.rows import ChangeRow
from widgets.rows import Change
from widgets.rows.change_row import READING, UNDONE, UNREAD

FILE = ev.FileChange(path="src/auth.ts", change="changed", added=1, removed=1)
DIFF = FileDiff("src/auth.ts", ("@@ -1,2 +1,2 @@", " one", "-two", "+2"))


def shown(row: Change, width: int = 60) -> list[str]:
    return [line.plain for line in row.lines(width)]


def opened(model: ChangeRow, *diffs: FileDiff) -> Change:
    row = Change(model)
    row.opened = True
    row.diffs = {diff.path: diff for diff in diffs} if diffs else None
    return row


async def test_opening_a_change_asks_for_its_diff_and_shows_it() -> None:
    row = Change(ChangeRow("c", NOW, 1, "", (FILE,)))
    async with Host(VerticalScroll(row)).run_test() as pilot:
        row.focus()
        await pilot.press("enter")
        assert [m.key for m in pilot.app.sent(Change.WantDiff)] == ["c"]  # type: ignore[attr-defined]
        assert any(READING in text for text in shown(row))
        row.set_diffs([DIFF])
        await pilot.pause()
        assert shown(row)[1:6] == [
            "    edited src/auth.ts  +1 −1",
            "      @@ -1,2 +1,2 @@",
            "      one",
            "    − two",
            "    + 2",
        ]
        await pilot.press("enter")
        assert len(shown(row)) == 1


def test_added_and_removed_lines_read_without_colour_and_have_it() -> None:
    row = opened(ChangeRow("c", NOW, 1, "", (FILE,)), DIFF)
    styles = {line.plain.strip(): line.pieces[-1][1] for line in row.lines(60)}
    assert (styles["− two"], styles["+ 2"]) == ("bad", "good")


def test_the_lines_keep_their_indentation() -> None:
    row = opened(ChangeRow("c", NOW, 1, "", (FILE,)), FileDiff("src/auth.ts", ("+    deep", "+\ttab")))
    assert [text for text in shown(row) if "+ " in text and "edited" not in text] == ["    +     deep", "    +     tab"]


def test_what_has_no_lines_is_said_in_words() -> None:
    row = opened(ChangeRow("c", NOW, 1, "", (FILE,)), FileDiff("src/auth.ts", note="It is a PNG picture, not text"))
    assert "      It is a PNG picture, not text" in shown(row)


def test_an_undone_change_says_that_its_lines_are_not_in_the_files() -> None:
    assert f"    {UNDONE}" in shown(opened(ChangeRow("c", NOW, 1, "", (FILE,), undone=True), DIFF))


async def test_a_long_diff_shows_its_beginning_and_enter_on_the_last_line_shows_more() -> None:
    row = Change(ChangeRow("c", NOW, 1, "", (FILE,)))
    async with Host(VerticalScroll(row)).run_test() as pilot:
        row.focus()
        await pilot.press("enter")
        row.set_diffs([FileDiff("src/auth.ts", tuple(f"+line {n}" for n in range(100)))])
        assert "    … 40 more lines · Enter shows more" in shown(row)
        row.choose("more")
        await pilot.pause()
        assert not any("more lines" in text for text in shown(row))
        assert "    + line 99" in shown(row)


def test_more_files_than_are_shown_are_counted() -> None:
    files = tuple(ev.FileChange(path=f"f{n}", change="created") for n in range(DIFF_FILES + 3))
    row = opened(ChangeRow("c", NOW, 1, "", files), DIFF)
    row._share = 8
    assert "    … and 3 more files" in shown(row)


async def test_a_diff_that_cannot_be_read_says_so() -> None:
    row = Change(ChangeRow("c", NOW, 1, "", (FILE,)))
    async with Host(row).run_test() as pilot:
        row.focus()
        await pilot.press("enter")
        row.set_diffs(None)
        assert f"    {UNREAD}" in shown(row)


def test_lines_of_a_file_are_never_markup_nor_hide_their_direction() -> None:
    row = opened(ChangeRow("c", NOW, 1, "", (FILE,)), FileDiff("src/auth.ts", ("+[red]x[/red]", "+a\u202eb")))
    assert "    + [red]x[/red]" in shown(row)
    assert "    + a⟨RLO⟩b" in shown(row)
