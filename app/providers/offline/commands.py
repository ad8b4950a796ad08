"""Commands that name a chat or a time: tell, wait for, stop, remember, in the background; pure.

A command counts only when what it names is there: "stop Fix the login" is one, "stop using emojis" isn't.
"""

from __future__ import annotations

import re
from typing import Any

from app.providers.offline.intent import PAST, Intent
from app.providers.offline.titles import Named, Titles, anywhere, at_start

_I = re.IGNORECASE
_IS = re.IGNORECASE | re.DOTALL
_TASK_TITLE_WORDS, _TASK_TITLE_CHARS = 8, 80

_REMEMBER = re.compile(
    r"(?:(?:always )?remember|don'?t (?:ever )?forget|(?:do not|never) forget|(?:keep|bear) in mind"
    r"|(?:make|take|keep) (?:a|another) (?:mental |quick )?note|note down|note to self"
    r"|note for later|note|memori[sz]e|save this|for the record|for (?:future|later) reference"
    r"|(?:jot|write) down(?=\s*(?:that\b|:))|(?:just )?(?:so )?you(?: remember(?=\s*[:,])| know(?=\s*:)))"
    r"\b\s*(?:for later|for me)?"
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
    r"|(?:(?:while|whilst) [^,]{1,60},\s*)?in the background|as a background task|background(?: task)?\s*:"
    r"|(?:start|run|make|create|launch|begin|do|open|add|kick off|set (?:up|off)|spin up|fire off)"
    r" (?:a |an |another |the )?(?:new )?(?:background (?:task|job)|(?:task|job) in the background)"
    r"(?: to| that| for| which)?)"
    r"[\s,:;–—-]*(?:please\b|pls\b)?[\s,:;–—-]*(\S.*)",
    _IS,
)
_TASK_AMID = re.compile(
    r"((?:check|look|search|find|watch|compare|sort|test|build|run|do|go)\b.*?),?\s+in the background,?\s+(\S.*)", _IS
)
_TASK_AFTER = re.compile(
    r"(\S+\s.*?)[,\s]+in the background(?: please)?(?:,?\s+(?:while|whilst|until|till|so)\b.*)?[.!]?", _IS
)


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
    r"(?:wait|hold on|hang on|hold off|hold|sit tight)\s+(?:for|until|till|on)\s+"
    r"|(?:don'?t|do not)\s+(?:\w+\s+){1,4}?(?:until|till|before)\s+"
    r"|(?:let me know|(?:tell|ping|notify|remind|alert|nudge|text|message|buzz|wake) me|say so|shout"
    r"|(?:give|drop|send) me a (?:\w+[ -]?){1,2}|(?:come|get) back(?: to me)?|go on|carry on|continue)\s+"
    r"(?:when|once|as soon as|after|the moment)\s+"
    r"|(?:once|when|as soon as|after)\s+(?=.+\b(?:finish\w*|done|ends?|stops?|stopped|ready|complete\w*)\b[\s,]+"
    r"(?:let|tell|ping|notify|say|go|carry|continue|then|please|do|start|run))",
    _I,
)
_IS_OVER = re.compile(
    r"(?:'s|\s+(?:is|are|has|have|gets))?(?:\s+(?:all|been|fully|finally))?"
    r"\s+(?:done|over|ready|finish\w*|end(?:s|ed)|stop(?:s|ped)|complete\w*|through)\b",
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
    if named := at_start(rest, titles, _IS_OVER):
        return Intent("wait", "wait_for", {"kind": "chat", "chat": named.chat}, named=named)
    return Intent("unknown-chat", about=rest) if _says_chat(rest) else None


_STOP = re.compile(
    r"(?:(?P<sure>stop|halt|abort|kill|interrupt|pause)|cancel|end|call off|shut down)\s+(?:what(?:ever)?\s+)?"
    r"(?:the reply (?:in|of)\s+|working (?:on|in)\s+)?",
    _I,
)
_MAKE_STOP = re.compile(r"(?:make|have|tell|ask)\s+(\S.*?)\s+(?:to\s+)?(?:stop|halt|abort|end)\b[.!]?", _I)
_STOP_END = re.compile(
    r"(?:'s reply|\s+(?:is doing|now|right now|please|immediately|until|because|since|as|it|for)\b|\s*[,.!:;–—-]|\s*$)",
    _I,
)
_STOP_BARE = re.compile(r"\s*(?:[,.!;–—]|$|\s(?:please|now|right now)\b)", _I)
_STOP_IT = re.compile(
    r"(.+?)\s*[,.;!:–—-]\s*(?:(?:so|and|please|just|you can|then)\s+)*"
    r"(?:stop|halt|cancel|abort|kill|end|pause)\s+(?:it|that|that one|this one)\b[\s.!]*(?:(?:please|now)[\s.!]*)*",
    _IS,
)
_STOP_FILLER = re.compile(r"(?:'s reply|is doing|now|right now|please|because|since|as|[\s,.!:–—-])+", _I)


def stop(asked: str, titles: Titles) -> Intent | None:
    """ "Stop X", "make X stop", "I don't need X any more, stop it"."""
    if match := _MAKE_STOP.fullmatch(asked):
        rest, named = match.group(1), at_start(match.group(1), titles)
        if named and not rest[named.end :].strip(" .!"):
            return _stopping(named, "")
    if not (match := _STOP.match(asked)):
        told = _STOP_IT.fullmatch(asked)
        named = anywhere(told.group(1), titles) if told else None
        return _stopping(named, told.group(1)) if told and named else None
    rest = asked[match.end() :]
    # "Cancel the dinner" may be said of a dinner; "stop the deploy" of nothing but the chat.
    if named := at_start(rest, titles, _STOP_BARE if match.group("sure") else None):
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
    r"(?:tell|message|ask|inform|notify|remind|let|write to|text|mention to|explain to"
    r"|(?:give|send|drop)(?=\s.*\s(?:a (?:quick |short )?(?:note|line|message|heads[- ]?up|shout)\b|word\b))"
    r"|(?:send|drop|leave|write) (?:a |this |the )?(?:quick |short )?(?:(?:message|note|line|word) )?(?:to|for)"
    r"|pass (?:this|it|that)?\s*(?:on )?to|forward (?:this|it|that) to|say to|reply to|answer)\s+(?=\S)",
    _I,
)
_LINK_WORDS = re.compile(
    r"[\"”'»]?\s*(?:[:,–—-]\s*)?"
    r"(?:know\b\s*|(?:a (?:quick |short )?(?:note|line|message|heads[- ]?up|shout)|word)\b\s*)?"
    r"(?:(?:that|to|saying(?: that)?)\s+|about it\s*[:,-]\s*)?(?:[:–—-]\s*)?",
    _I,
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
