"""What the person asks for, read from their words and the real titles of their chats; pure.

Order matters: what is said to Shoal itself, then commands that name a chat or a time, then the list of chats, then what
is asked of a named chat, then a search, which is harmless and shows its work.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from app.providers.offline import commands, manners
from app.providers.offline.dates import Days, days_of
from app.providers.offline.intent import PAST, Intent, word_set
from app.providers.offline.titles import Titles, anywhere, at_start
from app.providers.offline.words import query_of, straight, tokens, without_opener

_NEWEST_DAYS = 31
CHATS = 8  # as many as search_chats gives
DECIDED = "decided agreed"  # what is looked for when only a decision was asked for

_I = re.IGNORECASE
_PLEASE_AT_END = re.compile(r"[\s,]+(?:please|pls|plz|thanks|thank you)\s*[.!]*$", _I)
_DECISION = re.compile(
    r"\b(?:decid\w*|decision\w*|agree[ds]?|settled?|chose|chosen|choose|pick(?:ed)?|went with|go with|plan(?:ned)?)\b",
    _I,
)
_CONTEXT = re.compile(
    r"\b(?:plan|steps?|list|recipe|instructions?|schedule|itinerary|agenda|same|like (?:we|last)|how did)\b", _I
)


def recognise(text: str, titles: Titles = (), today: dt.date | None = None) -> Intent:
    """The one reading of the person's words; the same for the same words, titles and day."""
    plain = " ".join(straight(text).split())
    asked = _PLEASE_AT_END.sub("", without_opener(plain))
    if intent := manners.about_itself(asked):
        return intent
    for reading in (
        commands.remember,
        commands.recall,
        commands.task,
        commands.wait,
        commands.stop,
        commands.message,
        _list,
    ):
        if intent := reading(asked, titles):
            return intent
    return manners.small_talk(plain, asked) or _past(asked or plain, text, titles, today)


_ANCHOR = word_set("chats conversations columns threads chat column conversation everyone everybody")
_BUSY = word_set("running working busy active streaming")
_DOING = _ANCHOR | word_set("list doing status going open needs waiting")
_ASKING = word_set("else anything which who anyone")
_LISTING = (
    _DOING
    | _BUSY
    | word_set(
        """show see view display what any everything is are the my our all of other others do up to now right currently
        still state in on at me us need for there happening happened you have i got how many a tell give about every
        each overview across does that s whats what's moment or and can please pls one ones idle finished done stuck
        asking question permission attention them with"""
    )
    | _ASKING
)
_IS_IT_DOING = re.compile(
    r"\W*(?:what(?:'s| is)?|how(?:'s| is)?|is)\W+"
    r"(?:doing|up to|going|getting on|still (?:running|working)|running|working|busy|done|finished|ready)"
    r"(?: (?:now|right now|yet|on))?\W*"
)


_OVER = r"\s*(?:still )?(?:finished|finish|ended|done|ready|running|working|busy|stopped|idle)(?: yet| now)?\W*"


def _list(asked: str, titles: Titles) -> Intent | None:
    words = [word.lower() for word in tokens(asked)]
    if words and all(word in _LISTING for word in words):
        busy = any(word in _BUSY for word in words)
        anchored = len(words) > 1 and any(word in _ANCHOR for word in words) and any(word in _DOING for word in words)
        if anchored or (busy and any(word in _ASKING for word in words)):
            return Intent("list", "list_chats", {"which": "working" if busy else "all"})
    still = re.match(r"(?:is|has|did)\s+", asked, _I)
    named = at_start(asked[still.end() :], titles) if still else None
    if named and re.fullmatch(_OVER, asked[still.end() + named.end :] if still else "", _I):
        return Intent("list", "list_chats", {"which": "all"}, named=named)
    if named := anywhere(asked, titles):
        rest = f"{asked[: named.start]} {asked[named.end :]}".lower()
        if _IS_IT_DOING.fullmatch(rest):
            return Intent("list", "list_chats", {"which": "all"}, named=named)
    return None


_READING = word_set(
    """end ended ends ending start started begin began begun stop stopped leave left off open read go continue catch
    caught happened happen happening recap whats about use same way do copy like me show point part where said words
    exactly chat again from quote status latest progress far along news"""
)


def _past(asked: str, text: str, titles: Titles, today: dt.date | None) -> Intent:
    named = anywhere(asked, titles)
    rest = asked if named is None else f"{asked[: named.start]} {asked[named.end :]}"
    days, named_day = days_of(rest, today) if today is not None else None, ""
    if days is not None:
        timeless = rest.replace(days.words, " ", 1)
        if not query_of(timeless):
            rest = timeless
        elif not days.relative:  # the search knows days and months by name
            rest, named_day, days = timeless, f" {days.words}", None
        elif PAST.search(rest) or named:
            rest = timeless
        else:
            days = None
    decision, context = bool(_DECISION.search(rest)), bool(_CONTEXT.search(rest))
    args: dict[str, Any]
    if named is not None:
        query = query_of(rest, _READING) or (DECIDED if decision else "")
        if not query:
            return Intent("read", "read_chat", {"chat": named.chat}, named.title, named=named)
        args = {"query": query + named_day, "chat": named.chat}
        return Intent("search", "search_chats", args, query, decision, context, named, days)
    query = query_of(rest)
    if PAST.search(asked) and not query_of(rest, _READING):
        query = DECIDED if decision else ""
        if not query and days is None and today is not None:  # "continue where we left off": the newest chats
            days = Days("", (today - dt.timedelta(days=_NEWEST_DAYS)).isoformat())
    if not query and days is None:
        query = " ".join(tokens(text)[:6]) or " ".join(text.split())[:100]
    args = {"query": query + named_day, "limit": CHATS}
    if days is not None:
        args |= {"after": days.after} | ({"before": days.before} if days.before else {})
    return Intent("search", "search_chats", args, query, decision, context, None, days)
