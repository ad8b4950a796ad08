"""From words to chats on one connection: candidates, scores, groups. The one core of palette, tools and explorer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from operator import mul
from typing import Any

from store import asking, dates, db, fuzzy, grouping, query, ranking, repair, retrieved, words
from store.asking import Ask
from store.index import WHO_CODE, ChatEntry, Sizes
from store.limits import AND_ENOUGH_CHATS, FEW_CHATS, OR_BUDGET, PALETTE_NEWEST
from store.models import Who
from store.places import Places
from store.retrieved import Retrieved

_INFO = f"matchinfo(f, '{ranking.MATCHINFO}')"


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
class Core:
    """Runs queries on one connection; not for two threads at once."""

    conn: db.Connection
    enhanced: bool  # the query syntax with AND and parentheses
    sizes: Sizes
    by_no: Mapping[int, ChatEntry]
    speakers: Collection[str] = frozenset()  # folded words of the names of people who wrote
    typos: Callable[[], fuzzy.Typos | None] = lambda: None
    weights: ranking.Weights = ranking.PRODUCT
    stopped: bool = False  # by the time limit
    places: Places | None = None  # of the lines of this file

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

    def _ranked(
        self,
        ask: Ask,
        groups: list[query.Group],
        filters: Filters,
        limit: int,
        days: Sequence[dates.Named] = (),
    ) -> Retrieved:
        """The newest `limit` lines that are asked for, ranked."""
        named = {t for g in groups for f in g.forms for t in f.terms if t in self.speakers} if self.speakers else set()
        more = (", m.at" if days else "") + (", m.name" if named else "")  # a column costs, over thousands of rows
        limits = self._limits(filters)
        candidates = None
        if self.places is not None and self.places.whole and not (limits or more):
            short = asking.looked_up(groups, self.places.beginnings, 2 * limit, self.all_of) if ask.every else None
            candidates = self._by_places(short or ask, limit)
            ask = short if short and candidates is not None else ask
        if candidates is None:
            candidates = self._candidates(ask.match, limits, limit, more)
        if not candidates:
            return Retrieved(groups=groups)
        docids, blobs, chats, places, who, lengths, *asked_for = candidates
        finds = ranking.Finds(blobs, ask.phrases, ask.also)
        idfs = [ranking.idf(finds.lines, g.df, clipped=self.weights.clipped) for g in groups]
        if days:
            idfs.append(_said_then(finds, [max(d.nearness(at) for d in days) for at in asked_for[0]]))
        scores = ranking.line_scores(finds, lengths, idfs, self.weights)
        of_who = self.weights.who
        scores = list(map(mul, scores, map(of_who.__getitem__, who)))
        theirs: list[bool] = []
        if named:
            names = asked_for[-1]
            by_them = {n for n in set(names) if n and not named.isdisjoint(words.tokens(n))}
            theirs = [n in by_them for n in names]
            more_by = 1.0 + self.weights.speaker
            scores = [s * more_by if own else s for s, own in zip(scores, theirs, strict=True)]
        lines = grouping.Lines(docids, chats, places, scores, finds)
        found = grouping.group(lines, idfs, self.sizes, self.weights)
        naming = frozenset(i for i, g in enumerate(groups) if not named.isdisjoint(t for f in g.forms for t in f.terms))
        return Retrieved(
            found, lines, groups, idfs, "exact", len(docids), len(docids) >= limit, theirs=theirs, naming=naming
        )

    def _by_places(self, ask: Ask, limit: int) -> Sequence[Sequence[Any]] | None:
        """Columns of the newest lines: id, matchinfo, chat, place, who, words; None where not all are in memory."""
        assert self.places is not None
        rows = self.conn.execute(
            f"SELECT docid, {_INFO} FROM f WHERE f MATCH ? ORDER BY docid DESC LIMIT ?",
            (ask.match, -1 if ask.beginning else limit),
        ).fetchall()
        if not rows:
            return ()
        docids, blobs = zip(*rows, strict=True)
        if docids[0] >= self.places.end:
            return None
        if ask.beginning:
            has = self.places.beginnings.among(docids, ask.beginning)
            docids, blobs = tuple(compress(docids, has))[:limit], tuple(compress(blobs, has))[:limit]
        return (docids, blobs, *self.places.of(docids)) if docids else ()

    def _candidates(self, match: str, limits: str, limit: int, more: str) -> Sequence[Sequence[Any]]:
        """The same, and what else is asked for, by joining the table of lines."""
        rows = self.conn.execute(
            f"SELECT f.docid, {_INFO}, m.chat, m.pos, m.who, m.len{more} "
            f"FROM f CROSS JOIN msg m ON m.id = f.docid WHERE f MATCH ?{limits} ORDER BY f.docid DESC LIMIT ?",
            (match, limit),
        ).fetchall()
        return tuple(zip(*rows, strict=True))

    def _limits(self, filters: Filters) -> str:
        """The filters as conditions; for a single chat also between which ids its lines are: others are skipped."""
        if filters.only is None or len(filters.only) != 1:
            return filters.sql()
        (no,) = filters.only
        low, high = self.conn.execute("SELECT min(id), max(id) FROM msg WHERE chat=?", (no,)).fetchone()
        return f"{filters.sql()} AND f.docid BETWEEN {int(low or 0)} AND {int(high or 0)}"

    def exact(self, groups: Sequence[query.Group], filters: Filters, limit: int = PALETTE_NEWEST) -> Retrieved:
        """Lines with every group of the query, the newest `limit` of them ranked."""
        if not groups or any(g.df == 0 for g in groups):
            return Retrieved(groups=list(groups))
        groups = query.lean(groups)
        return self._ranked(Ask(self.all_of(groups), asking.phrases_of(groups), every=True), groups, filters, limit)

    def relaxed(
        self,
        groups: Sequence[query.Group],
        filters: Filters,
        budget: int = OR_BUDGET,
        days: Sequence[dates.Named] = (),
    ) -> Retrieved:
        """Lines with some of the groups: candidates come from the rarest ones, as many as the budget allows."""
        by_df = sorted((g for g in groups if g.df), key=lambda g: g.df)
        missing = [g.typed for g in groups if not g.df]
        if not by_df:
            return Retrieved(groups=list(groups), missing=missing)
        essential: list[query.Group] = []
        spent = 0
        for g in by_df:
            if essential and spent + g.df > budget:
                break
            essential.append(g)
            spent += g.df
        twice = [None for g in essential for _ in g.forms]  # they come again among all
        ask = Ask(self.any_of(essential, by_df), [*twice, *asking.phrases_of(by_df)])
        found = self._ranked(ask, by_df, filters, budget, days)
        return replace(found, match="close" if found.chats else "none", missing=missing)

    def judged(self, pieces: Sequence[query.Piece], filters: Filters, limit: int = PALETTE_NEWEST) -> Retrieved:
        """Without the vocabulary's counts: the newest lines with every word, else with some, ranked by rank_bm25."""
        groups = [query.Group(p.typed, (query.Form(p.terms),), 0, unspaced=p.unspaced) for p in pieces]
        for match, how in ((self.all_of(groups), "exact"), (" OR ".join(g.forms[0].match() for g in groups), "close")):
            rows = self.conn.execute(
                "SELECT docid, chat, pos, -rank_bm25(info) FROM (SELECT f.docid, m.chat, m.pos, "
                "matchinfo(f, 'pcnalx') AS info FROM f CROSS JOIN msg m ON m.id = f.docid "
                f"WHERE f MATCH ?{filters.sql()} ORDER BY f.docid DESC LIMIT ?)",
                (match, limit),
            ).fetchall()
            if rows:
                docids, chats, places, scores = zip(*rows, strict=True)
                lines = grouping.Lines(docids, chats, places, list(scores), ranking.Finds([], []))
                found = grouping.group(lines, [], self.sizes, ranking.REFERENCE)
                return Retrieved(found, lines, groups, [], "exact" if how == "exact" else "close", len(rows))
        return Retrieved(groups=groups)

    def has_counts(self) -> bool:
        """Whether the vocabulary is there; it isn't while it is being made."""
        try:
            return self.conn.execute("SELECT 1 FROM vocab LIMIT 1").fetchone() is not None
        except db.OperationalError as error:
            if "vocab" not in str(error):
                raise
            return False

    def newest_chats(self, filters: Filters) -> list[tuple[int, int]]:
        """(chat number, lines) of the chats with lines that pass the filters, newest line first."""
        rows = self.conn.execute(
            f"SELECT m.chat, count(*) FROM msg m WHERE 1{filters.sql()} GROUP BY m.chat ORDER BY max(m.at) DESC"
        )
        return [(no, n) for no, n in rows]

    # -- the one path

    def run(self, parsed: query.Parsed, filters: Filters, *, typing: bool) -> Retrieved:
        """Every word first; then, unless keys still arrive, some of the words, then what words may have meant.

        A word that nobody said is read as what it may mean at once: without that nothing has every word.
        """
        if not self.has_counts():
            return self.judged(parsed.pieces, filters)
        groups = query.groups(self.conn, parsed.pieces)
        content = [g for g in groups if not g.stop] or groups
        found = Retrieved(groups=content, capped=True)
        try:
            content, read_as = repair.unknown(content, self.conn, self.typos)
            found = replace(self.exact(content, filters), read_as=read_as)
            if found.chats and read_as:
                found = replace(found, match="close")
            if (
                typing
                or not content
                or self._as_many(AND_ENOUGH_CHATS, found, filters, lambda f: self.exact(content, f))
            ):
                return found
            days = dates.named(parsed.text)
            single = query.singly(self.conn, content, days)
            if single != content or len(content) > 1 or days:
                found = retrieved.merged(found, self.relaxed(single, filters, days=days))
            if not read_as and not self._as_many(
                FEW_CHATS,
                found,
                filters,
                lambda f: retrieved.merged(self.exact(content, f), self.relaxed(single, f, days=days)),
            ):
                wider, read_as = repair.rare(single, self.conn, self.typos)
                if read_as:
                    found = retrieved.after(found, replace(self.relaxed(wider, filters, days=days), read_as=read_as))
        except db.OperationalError:
            if not self.stopped:
                raise
            found = replace(found, capped=True)
        return retrieved.of_another(retrieved.or_nothing(found), parsed)

    def _as_many(self, most: int, found: Retrieved, filters: Filters, again: Callable[[Filters], Retrieved]) -> bool:
        """Whether so many chats were found, counting those left out: a search without them takes the same path."""
        if len(found.chats) >= most or not filters.without:
            return len(found.chats) >= most
        return len(again(replace(filters, without=frozenset())).chats) >= most


def _said_then(finds: ranking.Finds, near: list[float]) -> float:
    """Adds a column for being said then; answers what it weighs, by how few of the candidates were."""
    finds.columns.append(near)
    return ranking.idf(finds.lines, finds.lines * (sum(near) + 1.0) / (len(near) + 1.0))
