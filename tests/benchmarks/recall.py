"""Recall on the development half: chat@8, chats@8, lines, MRR, right abstention; FTS5 beside it in the same run."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from store.log import Store
from store.models import SearchAnswer, SearchQuery
from store.search import SearchService
from tests.benchmarks.corpus import RECALL_FILE, Recall, load_recall, read_recall

LIMIT = 8
ALL = 100  # for MRR
Cut = Callable[[SearchAnswer], set[str]]  # the line ids that are left after the answer was cut to 8,000 characters


def lines_shown(answer: SearchAnswer, limit: int = LIMIT) -> set[str]:
    """The ids of the lines of the first chats."""
    return {h.anchor for g in answer.groups[:limit] for h in g.hits}


def measure(service: SearchService, recall: Recall, cut: Cut | None = None, ranked: int = ALL) -> dict[str, Any]:
    """Every question as it stands, pooled; MRR over the first `ranked` chats."""
    sums: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    matches: dict[str, Counter[str]] = {"answerable": Counter(), "adversarial": Counter()}
    spent = time.process_time()
    for q in recall.questions:
        answer = service.search_sync(SearchQuery(q["text"], limit=ranked))
        weak = answer.match if answer.match != "close" or not answer.missing else "close"
        matches["answerable" if q["answerable"] else "adversarial"][weak] += 1
        if not q["answerable"] or not q["gold_messages"]:
            continue
        got = score(q, [g.chat.id for g in answer.groups], lines_shown(answer))
        if cut is not None:
            got["line_cut"] = score(q, [], cut(answer))["line"]
        sums.update(got)
        kinds.setdefault(q["category"], Counter()).update(got)
    spent = time.process_time() - spent
    n = sums.pop("n")
    out: dict[str, Any] = {k: round(v / n, 4) for k, v in sums.items()}
    out |= {"questions": n, "ms_per_question": round(spent * 1000 / max(len(recall.questions), 1), 2)}
    out["by_kind"] = {
        k: {"n": c["n"], "chat@8": round(c["chat@8"] / c["n"], 3), "line": round(c["line"] / c["n"], 3)}
        for k, c in kinds.items()
    }
    for kind, c in matches.items():
        total = max(sum(c.values()), 1)
        out[f"{kind}_none"] = round(c["none"] / total, 3)
        out[f"{kind}_weak"] = round((c["none"] + c["close"]) / total, 3)
    return out


def score(question: dict[str, Any], chats: list[str], lines: set[str]) -> dict[str, float]:
    """One question's share of each figure."""
    gold_chats, gold = set(question["gold_chats"]), set(question["gold_messages"])
    top = set(chats[:LIMIT])
    return {
        "n": 1,
        "chat@8": float(bool(top & gold_chats)),
        "chats@8": len(top & gold_chats) / max(len(gold_chats), 1),
        "line": len(lines & gold) / len(gold),
        "mrr": next((1 / (i + 1) for i, c in enumerate(chats) if c in gold_chats), 0.0),
    }


def measure_fts5(recall: Recall) -> dict[str, Any]:
    """SQLite's own ranking with the words joined by OR: the same figures."""
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE f USING fts5(text, tokenize='unicode61 remove_diacritics 2')")
    where: list[tuple[str, str]] = []
    for chat, messages in recall.messages.items():
        for m in messages:
            photo = f" [photo: {m['image']}]" if m.get("image") else ""
            conn.execute("INSERT INTO f(rowid, text) VALUES (?,?)", (len(where), f"{m['name']}: {m['text']}{photo}"))
            where.append((chat, m["id"]))
    sums: Counter[str] = Counter()
    for q in recall.questions:
        if not q["answerable"] or not q["gold_messages"]:
            continue
        words = set("".join(c if c.isalnum() else " " for c in q["text"].lower()).split())
        match = " OR ".join(f'"{w}"' for w in sorted(words))
        chats: dict[str, list[str]] = {}
        for (rowid,) in conn.execute("SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank", (match,)):
            chat, message = where[rowid]
            chats.setdefault(chat, []).append(message)
        shown = {m for c in list(chats)[:LIMIT] for m in chats[c][:3]}
        sums.update(score(q, list(chats), shown))
    n = sums.pop("n")
    return {k: round(v / n, 4) for k, v in sums.items()} | {"questions": n}


def opened(folder: Path, recall: Recall) -> tuple[Store, SearchService]:
    """A store with the file's chats, and a service that has indexed them."""
    store = Store.open(folder)
    load_recall(store, recall)
    service = SearchService(store, folder / "index", spans=lambda _: [], spans_version=1)
    service.start_sync()
    service._indexer.wait(120)
    return store, service


def run() -> list[dict[str, Any]]:
    """The recall part of the benchmark."""
    if not RECALL_FILE.exists():
        return [{"bench": "recall", "skipped": "the recall file isn't beside the repository"}]
    recall = read_recall()
    with tempfile.TemporaryDirectory() as folder:
        store, service = opened(Path(folder), recall)
        ours = measure(service, recall, cut_hook())
        service.close_sync()
        store.close()
    bars = {"chat@8": 0.943, "line": 0.669, "mrr": 0.778}
    passed = all(ours[k] >= v for k, v in bars.items())
    return [
        {"bench": "recall", "engine": "shoal", **ours, "bars": bars, "passed": passed},
        {"bench": "recall", "engine": "fts5", **measure_fts5(recall)},
    ]


def cut_hook() -> Cut:
    """What `search_chats` leaves of the first chats within its 8,000 characters."""
    from app.history.answers import found_of
    from app.history.budget import fit_search

    def cut(answer: SearchAnswer) -> set[str]:
        found = found_of(replace(answer, groups=answer.groups[:LIMIT]), lambda text: text, query_most=200)
        return {line.message for chat in fit_search(found).chats for line in chat.lines}

    return cut
