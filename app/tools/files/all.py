"""The file tools, in the order in which they are offered."""

from __future__ import annotations

from app.tools.base import Tool
from app.tools.files.desk import FileDesk
from app.tools.files.edit_file import EditFile
from app.tools.files.list_files import GlobFiles, ListFiles
from app.tools.files.read_file import ReadFile
from app.tools.files.search_files import SearchFiles
from app.tools.files.write_file import WriteFile


def file_tools(desk: FileDesk) -> list[Tool]:
    """All of them, over one desk."""
    return [
        ReadFile(desk),
        WriteFile(desk),
        EditFile(desk),
        ListFiles(desk),
        GlobFiles(desk),
        SearchFiles(desk),
    ]
