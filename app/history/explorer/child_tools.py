"""The child's three tools as its engine is told of them: exactly search, read and submit."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from app.history.explorer.report import Submission
from app.ports import ToolSpec
from app.tools.base import ToolArgs
from store.limits import EXPLORER_QUERY_CHARS

SEARCH, READ, SUBMIT = "search_chats", "read_chat", "submit_report"
SEARCH_WORDS: Final = (
    "Search the person's other chats of this project. Give a few distinctive words that were probably said; call it "
    "again with other words. Each result is a candidate with an id and the passage that matched."
)
READ_WORDS: Final = (
    "Read the lines around a candidate, or (current_chat) what came before this reply in the chat you work for, "
    "beginning with what was summarised away there."
)
SUBMIT_WORDS: Final = (
    "Give your report, once. Name evidence only by candidate ids; dates, titles and quotes are filled in for you. "
    "Where passages disagree, put both into a conflict. With no relevant passage submit no findings."
)


class SearchArgs(ToolArgs):
    """What to look for."""

    query: str = Field(min_length=1, max_length=EXPLORER_QUERY_CHARS * 4, description="A few distinctive words")


class ReadArgs(ToolArgs):
    """Where to read."""

    candidate: str = Field("", max_length=64, description="A candidate's id: reads around it, or before or after it")
    direction: Literal["around", "before", "after"] = "around"
    current_chat: bool = Field(
        False, description="Read the chat you work for: how the part you can't know ended, or with `after` how it began"
    )


def specs(*, last: bool = False) -> tuple[ToolSpec, ...]:
    """Exactly three tools; in the last step only the report."""
    submit = ToolSpec(SUBMIT, SUBMIT_WORDS, Submission.model_json_schema())
    if last:
        return (submit,)
    return (
        ToolSpec(SEARCH, SEARCH_WORDS, SearchArgs.model_json_schema()),
        ToolSpec(READ, READ_WORDS, ReadArgs.model_json_schema()),
        submit,
    )
