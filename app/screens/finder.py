"""What Ctrl+K shows for what was typed: chats by title, lines, this chat, actions; and one true sentence about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from app.keys import KEYS, Key, show
from app.screens import filters, titles
from app.screens.filters import Filtered
from app.screens.titles import TitleHit
from store.clock import Clock
from store.limits import QUERY_CHARS
from store.models import ChatSummary, SearchAnswer, SearchQuery
from store.text import fold

if TYPE_CHECKING:
    from store.search import SearchService

RECENT: Final = 6
GROUPS: Final = 20
ACTIONS_EMPTY: Final = ("chat.new", "chat.new-column", "settings.open", "help.open")
ACTIONS_TYPED: Final = 4
_DECKS: Final = frozenset({"app", "deck", "leader"})  # the other places' actions are of their own screens
_NOT_ACTIONS: Final = frozenset({"search.open", "leader", "app.close"})


@dataclass(frozen=True, slots=True)
class Found:
    """Everything to show for one state of the search box. `answer` is None while it is still being looked for."""

    typed: str
    filtered: Filtered
    recent: tuple[ChatSummary, ...] = ()
    titles: tuple[TitleHit, ...] = ()
    answer: SearchAnswer | None = None
    actions: tuple[Key, ...] = ()

    @property
    def words(self) -> str:
        """The query without its filters."""
        return self.filtered.words


class Finder:
    """Puts the pieces together; knows nothing of widgets."""

    def __init__(self, search: SearchService, chats: Callable[[], Sequence[ChatSummary]], clock: Clock) -> None:
        self._search, self._chats, self._clock = search, chats, clock

    def at_once(self, typed: str) -> Found:
        """What needs no index: recent chats, titles, actions."""
        filtered = filters.read(typed[:QUERY_CHARS], self._clock.now_ms(), self._chats)
        if not filtered.words:
            recent = [c for c in self._chats() if c.archived_at is None and c.messages and filtered.fits(c)][:RECENT]
            return Found(typed, filtered, recent=tuple(recent), actions=actions(""))
        hits = titles.find(filtered.words, (c for c in self._chats() if filtered.fits(c)))
        return Found(typed, filtered, titles=tuple(hits), actions=actions(filtered.words))

    async def look(self, found: Found, *, typing: bool) -> Found:
        """With the lines as well. `typing`: keys are still arriving (narrower and quicker)."""
        f = found.filtered
        if not f.words and not f.any:
            return found
        query = SearchQuery(
            f.words,
            GROUPS,
            f.after,
            f.before,
            f.who,
            f.chat,
            f.project,
            typing=typing and bool(f.words),
            among=f.chats,
        )
        return replace(found, answer=await self._search.search(query))


def actions(words: str) -> tuple[Key, ...]:
    """The actions whose words hold every word typed; a few useful ones when nothing is."""
    if not words:
        by_id = {k.id: k for k in KEYS}
        return tuple(by_id[i] for i in ACTIONS_EMPTY)
    typed = fold(words).split()
    able = [k for k in KEYS if k.action and k.where in _DECKS and k.id not in _NOT_ACTIONS]
    fits = [k for k in able if all(_begins(w, fold(f"{k.words} {k.id.replace('.', ' ')}")) for w in typed)]
    return tuple(fits[:ACTIONS_TYPED])


def _begins(word: str, text: str) -> bool:
    return any(part.startswith(word) for part in text.replace("-", " ").split())


def sentence(found: Found, keymap: Mapping[str, str], chats: int) -> str:
    """The status line: one true thing. `chats`: how many have something said in them."""
    answer = found.answer
    if found.filtered.problem:
        return found.filtered.problem
    if not found.words and not found.filtered.any:
        every = "every line of them is found as you type"
        return f"{_count(chats, 'chat')}; {every}" if chats else "Nothing was said yet; later every line is found here"
    if answer is None:
        return "Looking…"
    if answer.broken:
        repair = show(keymap.get("search.repair", "f6"))
        return f"{answer.broken} · {repair} repairs it"
    if answer.match == "too-short":
        return "" if found.titles else "One more letter is needed"
    behind = _behind(answer)
    if answer.match == "none":
        advice = "try without the filters, or fewer words" if found.filtered.any else "try fewer words, or part of one"
        said = f"Nothing matches “{found.words[:40]}”; {advice}"
        return f"Nothing yet · {behind}" if behind else said
    lines = f"{answer.total:,}{'+' if answer.capped else ''}"
    chats_found = len(answer.groups) + answer.hidden
    shown = f"{lines} {'message' if answer.total == 1 else 'messages'} in {_count(chats_found, 'chat')}"
    if answer.hidden:
        shown += f", {len(answer.groups)} shown"
    if answer.match == "close":
        words = list(dict.fromkeys(b for _, b in answer.read_as))[:3]
        showing = f"showing {', '.join(f'“{word}”' for word in words)}" if words else "showing what comes close"
        shown = f"None matches exactly; {showing} · {shown}"
    if answer.cut:
        shown += " · only the first 400 characters are looked for"
    return f"{shown} · {behind}" if behind else shown


def _behind(answer: SearchAnswer) -> str:
    if not answer.catching_up:
        return ""
    if not answer.to_index:
        return "still indexing"
    return f"still indexing: {answer.indexed:,} of {answer.to_index:,} lines"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word if number == 1 else word + 's'}"
