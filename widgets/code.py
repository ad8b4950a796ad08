"""Code as pieces: coloured by kind of word where the language is known, plain else."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from .line import Piece

COLOURED_CHARS: Final = 8_000  # longer code stays plain


@lru_cache(256)
def _coloured(text: str, language: str) -> tuple[Piece, ...] | None:
    # only once a fence names a language: the import is slow; pygments has no stubs
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.token import Token  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    kinds = ((Token.Comment, "muted"), (Token.Keyword, "word"), (Token.String, "string"), (Token.Number, "accent"))
    out: list[Piece] = []
    for kind, value in lexer.get_tokens(text):
        style = next((name for parent, name in kinds if kind in parent), "")
        if out and out[-1][1] == style:
            out[-1] = (out[-1][0] + value, style)
        else:
            out.append((value, style))
    return tuple(out)


def code_pieces(text: str, language: str = "") -> list[Piece]:
    """The code as pieces, letter for letter."""
    if language and len(language) < 30 and len(text) <= COLOURED_CHARS:
        pieces = _coloured(text, language.lower())
        if pieces is not None and "".join(part for part, _ in pieces) == text:
            return list(pieces)
    return [(text, "")]
