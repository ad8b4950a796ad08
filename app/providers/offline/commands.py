"""Commands that name a chat or a time: tell, wait for, stop, remember, in the background; pure.

A command counts only when what it names is there: "stop Fix the login" is one, "stop using emojis" isn't.
"""

from __future__ import annotations

import re
from typing import Any

from app.providers.offline.intent import PAST, Intent
from app.providers.offline.titles import Named, Titles, at_start

_I = re.IGNORECASE
_IS = re.IGNORECASE | re.DOTALL
_TASK_TITLE_WORDS, _TASK_TITLE_CHARS = 8, 80

_REMEMBER = re.compile(
    r"(?:remember|don't forget|do not forget|keep in mind|bear in mind|make a note|take a note|note down|note to self"
    r"|note for later|note|memori[sz]e|save this|for the record)\b\s*(?:for later|for me)?"
    r"\s*(?:that\b|this\s*:|:|,|-|–|—)?\s*(\S.*)",
    _IS,
)
_BARE_NOTE = re.compile(r"(?:note|for the record)\b(?!\s*(?:that\b|:|,|to self|for later|down))", _I)
_NOT_TO_KEEP = re.compile(r"(?:when|what|how|who|where|which|why|the time|our|us|last|if|whether|about)\b", _I)


def remember(asked: str, titles: Titles) -> Intent | None:
    """ "Remember that …", not "remember when we …?"."""
    match = _REMEMBER.fullmatch(asked)
    if not match or asked.endswith("?") or _BARE_NOTE.match(asked):
        return None
    kept = match.group(1).strip()
    if _NOT_TO_KEEP.match(kept) or len(kept.split()) < 2:
        return None
    return Intent("remember", "remember", {"text": kept})


_RECALL = re.compile(
    r"(?:tell me )?(?:what|everything) (?:(?:do|can|have|did|all) )*you (?:have )?"
    r"(?:remember(?:ed)?|know|memori[sz]ed?|noted?)"
    r"(?: so far)?(?: about (?:me|myself))(?: so far)?"
    r"|what (?:have|did) you (?:remember(?:ed)?|memori[sz]ed?)(?: so far)?"
    r"|(?:what(?:'s| is| are)|show(?: me)?|list|open|see)(?: all)?(?: (?:in|of))?(?: (?:my|your|the))? memor(?:y|ies)"
    r"|what (?:did|have) i (?:ask(?:ed)?|tell|told) you to remember",
    _I,
)


def recall(asked: str, titles: Titles) -> Intent | None:
    """ "What do you remember about me?", "list my memories": those, not the chats ("remember when we …" asks those)."""
    return Intent("recall", "recall") if _RECALL.fullmatch(asked.rstrip(" ?.!")) else None


_TASK = re.compile(
    r"(?:(?:run|do|start|try|handle|work on)(?: this| that| it| the following)?,? (?:as|in|on) (?:a |the )?"
    r"background(?: task)?"
    r"|in the background|as a background task|background(?: task)?\s*:"
    r"|(?:start|run|make|create|launch|begin) (?:a |another |the )?(?:new )?background (?:task|job)"
    r"(?: to| that| for| which)?)"
    r"[\s,:;–—-]*(?:please\b|pls\b)?[\s,:;–—-]*(\S.*)",
    _IS,
)
_TASK_AMID = re.compile(
    r"((?:check|look|search|find|watch|compare|sort|test|build|run|do|go)\b.*?),?\s+in the background,?\s+(\S.*)", _IS
)
_TASK_AFTER = re.compile(r"(\S+\s.*?)[,\s]+in the background(?: please)?[.!]?", _IS)


def task(asked: str, titles: Titles) -> Intent | None:
    """ "In the background, …"."""
    if asked.endswith("?"):
        return None
    match = _TASK.fullmatch(asked)
    if not match and not PAST.search(asked):
        match = _TASK_AFTER.fullmatch(asked) or _TASK_AMID.fullmatch(asked)
    if not match:
        return None
    work = " ".join(group.strip() for group in match.groups())
    title = " ".join(work.split()[:_TASK_TITLE_WORDS])[:_TASK_TITLE_CHARS]
    return Intent("task", "start_background_task", {"title": title[:1].upper() + title[1:], "instructions": work})


_SPAN = (
    r"(?:(\d{1,4}|an?|one|two|three|five|ten|fifteen|twenty|thirty|half an)\s*"
    r"(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b)"
)
_WAIT_TIME = re.compile(
    rf"(?:wait|sleep|pause|hold on)\s+(?:for\s+)?(?:another\s+)?{_SPAN}.*"
    rf"|(?:remind|wake|tell|ping) me (?:again )?in {_SPAN}.*"
    rf"|set (?:a|an|the) (?:timer|alarm|reminder) (?:for|in|of) {_SPAN}.*",
    _IS,
)
_WAIT_HEAD = re.compile(
    r"(?:wait|hold on|hang on|hold)\s+(?:for|until|till|on)\s+"
    r"|(?:let me know|tell me|ping me|notify me|remind me|say so|go on|carry on|continue)\s+"
    r"(?:when|once|as soon as|after)\s+"
    r"|(?:once|when|as soon as|after)\s+(?=.+\b(?:finish\w*|done|ends?|stops?|stopped|ready|complete\w*)\b[\s,]+"
    r"(?:let|tell|ping|notify|say|go|carry|continue|then|please|do|start|run))",
    _I,
)
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "five": 5, "ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30,
    "half an": 0.5,
}  # fmt: skip


def wait(asked: str, titles: Titles) -> Intent | None:
    """ "Wait for X", "let me know when X is done", "wait 20 minutes"."""
    if re.fullmatch(r"(?:wait|hold on) an? (?:sec|second|minute|moment|bit)\b.*", asked, _IS):
        return None  # a manner of speaking
    if match := _WAIT_TIME.fullmatch(asked):
        amount, unit = (group.lower() for group in match.groups() if group)
        minutes = float(_NUMBERS.get(amount) or amount) * {"s": 1 / 60, "m": 1, "h": 60}[unit[0]]
        whole = int(minutes) if minutes == int(minutes) else round(minutes, 2)
        return Intent("wait", "wait_for", {"kind": "time", "minutes": whole})
    if not (head := _WAIT_HEAD.match(asked)):
        return None
    rest = asked[head.end() :]
    if named := at_start(rest, titles):
        return Intent("wait", "wait_for", {"kind": "chat", "chat": named.chat}, named=named)
    return Intent("unknown-chat", about=rest) if _says_chat(rest) else None


_STOP = re.compile(
    r"(?:stop|halt|cancel|abort|kill|end|interrupt|pause)\s+(?:what(?:ever)?\s+)?"
    r"(?:the reply (?:in|of)\s+|working (?:on|in)\s+)?",
    _I,
)
_MAKE_STOP = re.compile(r"(?:make|have|tell|ask)\s+(\S.*?)\s+(?:to\s+)?(?:stop|halt|abort|end)\b[.!]?", _I)
_STOP_END = re.compile(
    r"(?:'s reply|\s+(?:is doing|now|right now|please|immediately|until|because|since|as|it|for)\b|\s*[,.!:;–—-]|\s*$)",
    _I,
)
_STOP_FILLER = re.compile(r"(?:'s reply|is doing|now|right now|please|because|since|as|[\s,.!:–—-])+", _I)


def stop(asked: str, titles: Titles) -> Intent | None:
    """ "Stop X", "make X stop"."""
    if match := _MAKE_STOP.fullmatch(asked):
        rest, named = match.group(1), at_start(match.group(1), titles)
        if named and not rest[named.end :].strip(" .!"):
            return _stopping(named, "")
    if not (match := _STOP.match(asked)):
        return None
    rest = asked[match.end() :]
    if named := at_start(rest, titles):
        after = rest[named.end :]
        if not _STOP_END.match(after):
            return None  # "cancel the dinner reservation" isn't about a chat called “Dinner”
        filler = _STOP_FILLER.match(after)
        return _stopping(named, after[filler.end() :] if filler else after)
    return Intent("unknown-chat", about=rest) if _says_chat(rest) else None


def _stopping(named: Named, why: str) -> Intent:
    args: dict[str, Any] = {"chat": named.chat, "reason": why.strip() or "The person asked for it."}
    return Intent("stop", "stop_chat", args, named=named)


_MESSAGE = re.compile(
    r"(?:tell|message|ask|inform|notify|remind|let|write to|text|send (?:a |this |the )?(?:message )?to"
    r"|pass (?:this|it|that)?\s*(?:on )?to|forward (?:this|it|that) to|say to|reply to|answer)\s+(?=\S)",
    _I,
)
_LINK_WORDS = re.compile(
    r"[\"”'»]?\s*(?:[:,–—-]\s*)?(?:know\b\s*)?(?:(?:that|to)\s+|about it\s*[:,-]\s*)?(?:[:–—-]\s*)?", _I
)

_ADDRESSED = re.compile(
    r"\s*[:,–—-]|\s+(?:that|to|know|about|if|whether|what|when|where|who|which|why|how|the|a|an|we|i|it|my|our|there|not"
    r"|please|this)\b",
    _I,
)


def message(asked: str, titles: Titles) -> Intent | None:
    """ "Tell X that …"; "tell me …" isn't one."""
    match = _MESSAGE.match(asked)
    if not match:
        return _spoken_to(asked, titles)
    rest = asked[match.end() :]
    if re.match(r"(?:me|us|you|myself)\b", rest, _I):
        return None
    named = at_start(rest, titles)
    if named is None:
        return Intent("unknown-chat", about=rest) if _says_chat(rest) else None
    after = rest[named.end :]
    if " " not in rest[: named.end].strip() and not _ADDRESSED.match(after):
        return None  # "tell dinner guests that …" isn't said to a chat called “Dinner”
    link = _LINK_WORDS.match(after)
    words = (after[link.end() :] if link else after).strip()
    if not words:
        return None
    return Intent("message", "message_chat", {"chat": named.chat, "text": words}, named=named)


def _spoken_to(asked: str, titles: Titles) -> Intent | None:
    """ "Fix the login: please add tests"."""
    named = at_start(asked, titles)
    if named is None or not named.whole or not (after := re.match(r"\s*:\s+(\S.*)", asked[named.end :], re.DOTALL)):
        return None
    return Intent("message", "message_chat", {"chat": named.chat, "text": after.group(1).strip()}, named=named)


def _says_chat(rest: str) -> bool:
    """Whether the words name a chat that isn't there ("the Paris chat that …")."""
    return bool(re.match(r"(?:the|my|our)\s+(?!other\b|old\b|last\b)(?:\S+\s+){1,4}?chat\b", rest, _I))
