"""From words to chats on one connection: candidates, scores, groups. The one core of palette, tools and explorer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from store import db, grouping, query, ranking
from store.index import WHO_CODE, ChatEntry, Sizes
from store.limits import AND_ENOUGH_CHATS, OR_BUDGET, PALETTE_NEWEST
from store.models import Match, Who


@dataclass(frozen=True, slots=True)
class Filters:
    """Which lines may be found; `only` and `without` are chat numbers of the index file."""

    after: int | None = None
    before: int | None = None
    who: Who | None = None
    only: frozenset[int] | None = None
    without: frozenset[int] = frozenset()

    def sql(self) -> str:
        """Conditions on `m`; every value is a number of ours."""
        out = ""
        if self.after is not None:
            out += f" AND m.at >= {int(self.after)}"
        if self.before is not None:
            out += f" AND m.at < {int(self.before)}"
        if self.who is not None:
            out += f" AND m.who = {WHO_CODE[self.who]}"
        if self.only is not None:
            out += f" AND m.chat IN ({','.join(str(n) for n in sorted(self.only))})"
        if self.without:
            out += f" AND m.chat NOT IN ({','.join(str(n) for n in sorted(self.without))})"
        return out


@dataclass(slots=True)
class Retrieved:
    """Chats best first, and what was done to find them."""

    chats: list[grouping.FoundChat] = field(default_factory=list)
    groups: list[query.Group] = field(default_factory=list)  # what to mark
    match: Match = "none"
    total: int = 0
    capped: bool = False
    read_as: list[tuple[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # words that are nowhere
    scored_as: list[str] = field(default_factory=list)  # the words behind each line's `finds`


@dataclass(slots=True)
class Core:
    """Runs queries on one connection; not for two threads at once."""

    conn: db.Connection
    enhanced: bool  # the query syntax with AND and parentheses
    sizes: Sizes
    by_no: Mapping[int, ChatEntry]
    stopped: bool = False  # by the time limit

    # -- MATCH expressions

    def all_of(self, groups: Iterable[query.Group]) -> str:
        """Lines that have every group."""
        alternatives = [" OR ".join(f.match() for f in g.forms) for g in groups]
        return " AND ".join(f"({a})" for a in alternatives) if self.enhanced else " ".join(alternatives)

    def any_of(self, essential: Iterable[query.Group], groups: Iterable[query.Group]) -> str:
        """Lines that have an essential group; the others are there so that matchinfo reports them."""
        must = " OR ".join(f.match() for g in essential for f in g.forms)
        may = " OR ".join(f.match() for g in groups for f in g.forms)
        return f"({must}) AND ({may})" if self.enhanced else f"{must} {may}"

    # -- candidates

    def candidates(
        self, match: str, scorer: ranking.Scorer, idf_of: Callable[[int], list[float]], filters: Filters, limit: int
    ) -> tuple[list[grouping.Found], list[float]]:
        """The newest `limit` lines of a MATCH expression, scored."""
        rows = self.conn.execute(
            f"SELECT f.docid, m.chat, m.pos, m.who, matchinfo(f, '{ranking.MATCHINFO}') "
            f"FROM f CROSS JOIN msg m ON m.id = f.docid WHERE f MATCH ?{filters.sql()} ORDER BY f.docid DESC LIMIT ?",
            (match, limit),
        ).fetchall()
        lines, average, finds = scorer.rows([r[4] for r in rows])
        idfs = idf_of(lines)
        found: list[grouping.Found] = []
        weights = [ranking.WHO_WEIGHT[w] for w in ("you", "assistant", "them", "step")]
        for (docid, chat, pos, who, _), (length, tfs) in zip(rows, finds, strict=True):
            score = ranking.bm25(length, average, tfs, idfs) * weights[who]
            found.append(grouping.Found(docid, chat, pos, who, length, tfs, score))
        return found, idfs

    def exact(self, groups: Sequence[query.Group], filters: Filters, limit: int = PALETTE_NEWEST) -> Retrieved:
        """Lines with every group of the query, the newest `limit` of them ranked."""
        if not groups or any(g.df == 0 for g in groups):
            return Retrieved(groups=list(groups))
        phrases = [(i, f.weight) for i, g in enumerate(groups) for f in g.forms]
        scorer = ranking.Scorer(phrases, len(groups))
        found, idfs = self.candidates(self.all_of(groups), scorer, lambda n: self._idfs(n, groups), filters, limit)
        chats = grouping.group(found, idfs, self.sizes)
        return Retrieved(
            chats,
            list(groups),
            "exact" if found else "none",
            len(found),
            len(found) >= limit,
            scored_as=[g.typed for g in groups],
        )

    def relaxed(self, groups: Sequence[query.Group], filters: Filters, budget: int = OR_BUDGET) -> Retrieved:
        """Lines with some of the groups: candidates come from the rarest ones, as many as the budget allows."""
        by_df = sorted((g for g in groups if g.df), key=lambda g: g.df)
        if not by_df:
            return Retrieved(groups=list(groups))
        essential: list[query.Group] = []
        spent = 0
        for g in by_df:
            if essential and spent + g.df > budget:
                break
            essential.append(g)
            spent += g.df
        left_out: list[tuple[int, float] | None] = [None for g in essential for _ in g.forms]
        phrases = left_out + [(i, f.weight) for i, g in enumerate(by_df) for f in g.forms]
        scorer = ranking.Scorer(phrases, len(by_df))
        match = self.any_of(essential, by_df)
        found, idfs = self.candidates(match, scorer, lambda n: self._idfs(n, by_df), filters, budget)
        chats = grouping.group(found, idfs, self.sizes)
        return Retrieved(
            chats,
            by_df,
            "close" if found else "none",
            len(found),
            len(found) >= budget,
            missing=[g.typed for g in groups if not g.df],
            scored_as=[g.typed for g in by_df],
        )

    @staticmethod
    def _idfs(lines: int, groups: Sequence[query.Group]) -> list[float]:
        return [ranking.idf(lines, g.df) for g in groups]

    def newest_chats(self, filters: Filters) -> list[tuple[int, int]]:
        """(chat number, lines) of the chats with lines that pass the filters, newest line first."""
        rows = self.conn.execute(
            f"SELECT m.chat, count(*) FROM msg m WHERE 1{filters.sql()} GROUP BY m.chat ORDER BY max(m.at) DESC"
        )
        return [(no, n) for no, n in rows]

    # -- the one path

    def run(self, parsed: query.Parsed, filters: Filters, *, typing: bool) -> Retrieved:
        """Every word first; some of the words where that gives fewer than 8 chats (not while typing)."""
        groups = query.groups(self.conn, parsed.pieces)
        content = [g for g in groups if not g.stop] or groups
        first = Retrieved(groups=content, capped=True)
        try:
            first = self.exact(content, filters)
            if typing or len(first.chats) >= AND_ENOUGH_CHATS or len(content) == 0:
                return first
            return _merged(first, self.relaxed(_single(self.conn, content), filters))
        except db.OperationalError:
            if not self.stopped:
                raise
            return replace(first, capped=True)


def _single(conn: db.Connection, groups: Sequence[query.Group]) -> list[query.Group]:
    """For the relaxed search a phrase counts by its words (a quoted one stays whole)."""
    out: dict[str, query.Group] = {}
    for g in groups:
        if g.words and not g.quoted and g.forms[0].terms == g.words and " " not in g.typed and len(g.words) > 1:
            for word in g.words:
                out.setdefault(word, query.word_group(conn, word, word))
        else:
            out.setdefault(g.typed.casefold(), g)
    kept = [
        g for g in out.values() if not g.stop and (len(g.typed) > 1 or not g.typed.isalpha() or not g.typed.isascii())
    ]
    return kept or list(out.values())


def _merged(first: Retrieved, loose: Retrieved) -> Retrieved:
    """Chats with a line that has every word come first."""
    if not first.chats:
        return loose
    if not loose.chats:
        return first
    whole = {c.no for c in first.chats}
    chats = [c for c in loose.chats if c.no in whole] + [c for c in loose.chats if c.no not in whole]
    return replace(loose, chats=chats, match="exact")
