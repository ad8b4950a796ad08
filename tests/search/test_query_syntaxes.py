"""One MATCH text in two syntaxes: SQLite's enhanced one, run, and the standard one, read here by its documented rules.

In the standard syntax (python.org's build for Windows) there is no AND and there are no parentheses: words side by side
must all be there, and OR binds tighter than that.
"""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from store import index, query
from store.models import SearchQuery
from store.projection import SaidLine
from store.retrieve import Core
from tests.search.conftest import Home, no_spans

WORDS = ["heron", "herons", "mill", "milk", "river", "rivers", "old", "town"]


def filled(path: Path, texts: list[str]) -> Core:
    conn = index.create(path)
    entry = index.ChatEntry(1, "c1")
    ready = [index.prepare(SaidLine(f"m{i}", "you", None, 0, i, t), no_spans) for i, t in enumerate(texts)]
    conn.execute("BEGIN")
    index.write(conn, ((entry, p) for p in ready), 1)
    index.count_terms(conn, ready)
    conn.execute("COMMIT")
    return Core(conn, index.has_enhanced_syntax(), index.Sizes({1: entry}), {1: entry})


def standard(match: str, texts: list[str]) -> set[int]:
    """The lines that a match in the standard syntax finds: implicit AND of ORs of quoted phrases."""
    parts = re.findall(r'"([^"]*)"|(\S+)', match)
    assert all(phrase or word == "OR" for phrase, word in parts), f"not in the standard syntax: {match}"
    all_of: list[list[str]] = []
    joins = False
    for phrase, word in parts:
        if word == "OR":
            joins = True
        elif joins:
            all_of[-1].append(phrase)
            joins = False
        else:
            all_of.append([phrase])
    return {i for i, t in enumerate(texts, 1) if all(any(has(t, phrase) for phrase in any_of) for any_of in all_of)}


def has(text: str, phrase: str) -> bool:
    words, wanted = text.split(), phrase.rstrip("*").split()
    for at in range(len(words) - len(wanted) + 1):
        *whole, last = words[at : at + len(wanted)]
        if whole == wanted[:-1] and (last.startswith(wanted[-1]) if phrase.endswith("*") else last == wanted[-1]):
            return True
    return False


@pytest.mark.parametrize("how", ["all", "any"])
def test_both_syntaxes_find_the_same_lines(tmp_path: Path, how: str) -> None:
    rng = random.Random(12)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 6))) for _ in range(60)]
    core = filled(tmp_path / "i.db", texts)
    other = replace(core, enhanced=False)
    found = 0
    for a, b in itertools.permutations(["heron", "mil", "rivers", '"old town"', "town-mill", "zeppelin"], 2):
        groups = query.groups(core.conn, query.parse(f"{a} {b}").pieces)
        if how == "all":
            matches = core.all_of(groups), other.all_of(groups)
        else:
            matches = core.any_of(groups[:1], groups), other.any_of(groups[:1], groups)
        rows = {r[0] for r in core.conn.execute("SELECT docid FROM f WHERE f MATCH ?", (matches[0],))}
        assert rows == standard(matches[1], texts), (a, b)
        found += len(rows)
    assert found > 100
    core.conn.close()


def test_the_standard_syntax_has_neither_and_nor_parentheses(home: Home) -> None:
    home.chat("c1", "the heron stood by the mill", "herons and a river")
    service = home.service()
    groups = query.groups(service._tools._seats[0].core().conn, query.parse("heron mills river").pieces)
    core = replace(service._tools._seats[0].core(), enhanced=False)
    for match in (core.all_of(groups), core.any_of(groups[:1], groups)):
        assert "AND" not in match and not set(match) & set("()")
    assert service.search_sync(SearchQuery("heron mill ")).match == "exact"


def test_which_syntax_this_sqlite_has_is_found_out_by_asking_it() -> None:
    from store import db

    conn = db.connect_nothing()
    options = {r[0] for r in conn.execute("PRAGMA compile_options")}
    conn.close()
    if not any(o.startswith("OMIT_COMPILEOPTION") for o in options) and options:
        assert index.has_enhanced_syntax() == ("ENABLE_FTS3_PARENTHESIS" in options)
