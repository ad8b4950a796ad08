"""`edit_file`: one text of a file replaced by another, exactly."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from app.ports import CallFacts, ToolOutcome, TurnContext
from app.tools.beneath import Refused
from app.tools.files.desk import FileArgs, FileTool, refused, short
from app.tools.files.editing import SAME, around, counted, replaced
from app.tools.files.kinds import kind_of_all, shown
from app.tools.files.write_file import MASKED, NOT_TEXT, encoded, masked, write
from store.limits import EDIT_FILE_BYTES, PATH_CHARS, READ_FILE_LINE_CHARS

DESCRIPTION = (
    "Replace a text in a file by another. old_text must be in the file exactly once, spaces and line ends included, "
    "unless replace_all is set. Read the file first; don't copy the line numbers."
)
NOT_THERE = "There is no “{path}” to edit; use write_file to make it."


class Args(FileArgs):
    """Which file, and what in it."""

    path: str = Field(min_length=1, max_length=PATH_CHARS, description="The file, from the work folder or whole.")
    old_text: str = Field(max_length=EDIT_FILE_BYTES, description="The text to replace, exactly as in the file.")
    new_text: str = Field(max_length=EDIT_FILE_BYTES, description="What comes in its place.")
    replace_all: bool = Field(False, description="Replace every place where it is.")


class EditFile(FileTool):
    """Implements `Tool`."""

    name = "edit_file"
    description = DESCRIPTION
    args: type[BaseModel] = Args
    effect: Literal["read", "write"] = "write"

    def label(self, args: Args) -> str:
        """Edited src/auth.ts."""
        return f"Edited {short(args.path)}"

    async def facts(self, args: Args, ctx: TurnContext) -> CallFacts:
        """Which file it edits, and the lines that go and come."""
        gone = [f"-{line}" for line in args.old_text.split("\n")]
        come = [f"+{line}" for line in args.new_text.split("\n")]
        every = ["(everywhere in the file)"] if args.replace_all else []
        return self._desk.facts(self, args, args.path, ctx, "\n".join([*every, *gone, *come]))

    async def run(self, args: Args, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Compare, replace, write, with the file's lock held."""
        if mask := masked(args.new_text) or masked(args.old_text):
            return refused(MASKED.format(mask=mask))
        if args.old_text == args.new_text:
            return refused(SAME)
        try:
            place = self._desk.place(args, args.path, ctx, write=True)
        except Refused as no:
            return refused(no.sentence)

        def new(now: bytes | None) -> tuple[bytes, str]:
            if now is None:
                raise Refused(NOT_THERE.format(path=place.shown))
            kind = kind_of_all(now)
            if kind.encoding is None:
                raise Refused(NOT_TEXT.format(path=place.shown, words=kind.words))
            text = kind.decode(now)
            edit = replaced(text, args.old_text, args.new_text, every=args.replace_all, path=place.shown)
            if isinstance(edit, str):
                raise Refused(edit)
            added, removed = counted(text, edit.text)
            places = f" in {edit.times:,} places" if edit.times > 1 else ""
            near = around(edit.text, edit.at, len(args.new_text))
            body = [f"{number:>6}\t{shown(line[:READ_FILE_LINE_CHARS])}" for number, line in near]
            head = f"Edited {place.shown}{places}: +{added:,} −{removed:,} lines."
            return encoded(kind, edit.text, now, place), "\n".join([head, *body])

        return await write(self._desk, ctx, call_id, self.label(args), place, new)
