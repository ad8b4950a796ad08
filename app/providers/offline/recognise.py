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
    wish = _wish(plain, asked)
    if intent := commands.remember(wish, titles) or commands.recall(asked, titles) or commands.task(wish, titles):
        return intent
    for reading in (
        commands.wait,
        commands.stop,
        commands.message,
        _list,
        _read,
    ):
        if intent := reading(asked, titles):
            return intent
    return manners.small_talk(plain, asked) or _past(asked or plain, text, titles, today)


_REQUEST = re.compile(r"\b(?:can|could|would|will) you\b", _I)
_THAT_THING = re.compile(r"that (?!my\b|our\b|i\b|we\b)(?:\S+ ){1,3}(?:we|i|you)\b", _I)
_RECALLS = re.compile(r"remember\b(?!\s*(?:that\b|:))", _I)


def _wish(plain: str, asked: str) -> str:
    """A request without its question mark ("can you make a note that …?"), but not "can you remember the name …?"."""
    opener = plain[: len(plain) - len(asked)] if plain.endswith(asked) else plain
    if not asked.endswith("?") or not _REQUEST.search(opener):
        return asked
    if _RECALLS.match(asked) or _THAT_THING.match(asked.partition(" ")[2]):
        return asked
    return asked.rstrip(" ?")


_ANCHOR = word_set("chats conversations columns threads chat column conversation everyone everybody")
_BUSY = word_set("running working busy active streaming")
_DOING = _ANCHOR | word_set("list doing status going open needs waiting")
_ASKING = word_set("else anything which who who's whos anyone any")
_OF_CHATS = word_set("ones who who's whos everything everyone all")  # with what is asked of chats, only they are meant
_STATE = word_set("status overview doing going update")
_ENDED = word_set("finished done idle ready stuck")
_WHICH = word_set("which who who's whos anyone")
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
    | _OF_CHATS
    | word_set("quick short brief update already so far yet run along coming getting hows been")
)
_IS_IT_DOING = re.compile(
    r"\W*(?:what(?:'s| is)?|how(?:'s| is)?|is)\W+"
    r"(?:doing|up to|going|getting on|still (?:running|working)|running|working|busy|done|finished|ready)"
    r"(?: (?:now|right now|yet|on))?\W*"
)


_OVER = re.compile(
    r"\s*(?:(?:still|already|all|nearly|almost) )?(?:finished|finish|ended|done|ready|running|working|busy|stopped|idle"
    r"|stuck|going|doing|up to|waiting|(?:getting|coming|going|moving) (?:on|along|ahead))"
    r"(?: (?:yet|now|right now|already|with it|on it|so far))?\W*$",
    _I,
)
_STATE_OF = re.compile(r"(?:is|has|did|(?:what|how)(?:'s|s| is| has| did))\s+", _I)


def _list(asked: str, titles: Titles) -> Intent | None:
    words = [word.lower() for word in tokens(asked)]
    if words and all(word in _LISTING for word in words):
        busy = any(word in _BUSY for word in words)
        anchored = len(words) > 1 and any(word in _ANCHOR for word in words) and any(word in _DOING for word in words)
        asks = any(word in _STATE for word in words) or (set(words) & _ENDED and set(words) & _WHICH)
        of_chats = len(words) > 1 and any(word in _OF_CHATS for word in words) and asks
        if anchored or of_chats or (busy and any(word in _ASKING for word in words)):
            return Intent("list", "list_chats", {"which": "working" if busy else "all"})
    still = _STATE_OF.match(asked)
    named = at_start(asked[still.end() :], titles, _OVER) if still else None
    if still and named and _OVER.fullmatch(asked[still.end() + named.end :]):
        return Intent("list", "list_chats", {"which": "all"}, named=named)
    if named := anywhere(asked, titles):
        rest = f"{asked[: named.start]} {asked[named.end :]}".lower()
        if _IS_IT_DOING.fullmatch(rest):
            return Intent("list", "list_chats", {"which": "all"}, named=named)
    return None


_SHOW = re.compile(
    r"(?:read|show|open|pull up|bring up|summari[sz]e|recap)\s+(?:me |us )?(?:out )?"
    r"|(?:catch me up on|fill me in on|what's in|what is in|have a look at|look at)\s+"
    r"|(?:give me |show me )?(?:the |a )?(?:quick |short |brief )?"
    r"(?:gist|summary|recap|overview|rundown|essence|contents?)\s+(?:of|from|on)\s+",
    _I,
)
_THAT_IS_ALL = re.compile(r"[\s.!?]*$")


def _read(asked: str, titles: Titles) -> Intent | None:
    """ "Read me the kitchen one", "the gist of “Budget”"."""
    if not (head := _SHOW.match(asked)):
        return None
    named = at_start(asked[head.end() :], titles)
    if named is None or not _THAT_IS_ALL.match(asked[head.end() + named.end :]):
        return None
    # "Show me dinner" may be about any dinner; "the dinner", "“Dinner”" and a title of several words are the chat.
    if named.whole and named.end == len(named.title) and " " not in named.title:
        return None
    return Intent("read", "read_chat", {"chat": named.chat}, named.title, named=named)


_READING = word_set(
    """end ended ends ending start started begin began begun stop stopped leave left off open read go continue catch
    caught happened happen happening recap whats about use same way do copy like me show point part where said words
    exactly chat again from quote status latest progress far along news gist pull
    pulled bring brought follow approach method manner essence rundown overview recap skim basis based reuse apply
    repeat pretty main points"""
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
