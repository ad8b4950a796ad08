"""What the benchmarks measure on: the recall file (read beside the repository, never copied), and made-up words."""

from __future__ import annotations

import bisect
import datetime as dt
import gzip
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from store import events as ev
from store.log import Batch, Store

RECALL_FILE = Path(__file__).resolve().parents[2].parent / "shared" / "bench" / "locomo-dev.jsonl.gz"


@dataclass(slots=True)
class Recall:
    """The recall bench: chats and messages as read, and the questions."""

    chats: dict[str, dict[str, Any]] = field(default_factory=dict)
    messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    questions: list[dict[str, Any]] = field(default_factory=list)


def read_recall(path: Path = RECALL_FILE) -> Recall:
    """Read the file; its README says what the fields are."""
    out = Recall()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            if item["type"] == "chat":
                out.chats[item["id"]] = item
            elif item["type"] == "message":
                out.messages.setdefault(item["chat"], []).append(item)
            else:
                out.questions.append(item)
    return out


def load_recall(store: Store, recall: Recall) -> None:
    """Every chat with its messages, as the importer would write them: `you` is the first of the people."""
    for chat, head in recall.chats.items():
        origin = ev.Origin(kind="import", name="LoCoMo")
        batch = [ev.ChatCreated(title=f"{' and '.join(head['people'])} {head['number']}", origin=origin)]
        at = [_ms(head["started"])]
        for m in recall.messages.get(chat, []):
            photo = (ev.Attachment(kind="photo", caption=m["image"]),) if m.get("image") else ()
            batch.append(
                ev.UserMessage(
                    message_id=m["id"],
                    text=m["text"],
                    author=m["name"],
                    them=m["role"] == "them",
                    attachments=photo,
                )
            )
            at.append(_ms(m["at"]))
        commit(store, chat, batch, at)


def commit(store: Store, chat: str, events: list[Any], at: list[int]) -> None:
    """One batch with the times given."""
    from store.log import NewEvent

    store.commit_sync(Batch([NewEvent(chat, e, t) for e, t in zip(events, at, strict=True)], kind="import"))


def _ms(iso: str) -> int:
    return int(dt.datetime.fromisoformat(iso).timestamp() * 1000)


# -- made-up words


SYLLABLES = [c + v for c in (*"bcdfghjklmnprstvwz", "br", "dr", "fl", "gr", "kl", "pr", "st", "tr") for v in "aeiou"]


def made_up_words(count: int = 100_000, seed: int = 7) -> list[str]:
    """Distinct words of 3 to 12 letters, the same every time."""
    rng = random.Random(seed)
    out: dict[str, None] = {}
    while len(out) < count:
        word = "".join(rng.choices(SYLLABLES, k=rng.choice((1, 2, 2, 3, 3, 3, 4, 4, 5))))
        word += rng.choice(("", "", "n", "r", "s", "t", "l"))
        if len(word) > 2:
            out[word] = None
    return list(out)


class Zipf:
    """Texts whose words are as unevenly spread as in a language; the commonest word is in about 30 % of them."""

    def __init__(self, words: list[str], seed: int = 11, exponent: float = 1.05, shift: float = 22.0) -> None:
        self.words = words
        self._rng = random.Random(seed)
        self._sums = list(itertools.accumulate(1.0 / (i + shift) ** exponent for i in range(len(words))))

    def text(self) -> str:
        """One message: about 25 words in the middle, 38 on average."""
        length = max(1, min(400, round(self._rng.lognormvariate(3.2, 0.9))))
        total, sums, rng = self._sums[-1], self._sums, self._rng
        return " ".join([self.words[bisect.bisect(sums, rng.random() * total)] for _ in range(length)])

    def texts(self, count: int) -> Iterator[str]:
        """So many messages."""
        for _ in range(count):
            yield self.text()
