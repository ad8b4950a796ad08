"""The verdict on one call: pure, from what the call would do and what the chat is. No text of anybody's lowers it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from app.guard import addresses, reasons, risk
from app.guard.commands import Parsed, parse
from app.guard.counts import Counts
from app.guard.permissions import key_of
from app.guard.places import runs_or_configures
from app.guard.readonly import read_only
from app.guard.taint import has_person
from app.guard.targets import Where, within
from app.ports import CallFacts
from store.events import Mode, Origin, TaintSource
from store.limits import COMMANDS_KEPT_PARSED, PARSED_COMMAND_CHARS

READS_OUT: Final = "read outside the work folder"
RUNS: Final = "change a file that runs or configures something"
WRITES_OUT: Final = "change a file outside the work folder"
# Families whose own rules say when they ask, and the few tools that never do (decisions 16).
NEVER_ASK: Final = frozenset(("message_chat", "remember", "recall", "wait_for", "list_chats"))
_RUN: Final = re.compile(
    r"(?:(?:please|now|then|just|and|ok|yes|can you|could you|go ahead and),?\s+)*"
    r"(?:run|execute|do|use|type)(?:\s+(?:this|the command|exactly|again))?\s*[:,]?\s*",
    re.I,
)
_ENDS: Final = re.compile(r"[`\"']?\s*(?:[.!,;]|\Z|please|now)", re.I)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a chat is at the moment of a call. `words`: the person's own, of this turn's lead-up, and nothing else."""

    mode: Mode
    taints: tuple[TaintSource, ...] | None = ()  # None: it can't be told
    origin: Origin | None = None
    attended: bool = True
    words: tuple[str, ...] = ()
    said: tuple[str, ...] = ()  # all that the person said in this chat (hosts they named)
    allowed: frozenset[str] = frozenset()  # keys of "Always allow"
    folder: str = ""  # the chat's work folder
    home: str = ""
    own: tuple[str, ...] = ()  # Shoal's own folders
    counts: Counts = field(default_factory=Counts)

    @property
    def read_outside(self) -> bool:
        """Whether anything in the chat came from outside."""
        return self.taints is None or bool(self.taints)

    @property
    def person(self) -> bool:
        """Whether someone else's words are in it, or may be."""
        return self.taints is None or has_person(self.taints)


@dataclass(frozen=True, slots=True)
class Allowed:
    """Go ahead."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Not in any mode; the sentence goes to the model."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Question:
    """Ask the person. `reason`: why to look twice; `detail`: what it could do; `key`: what "always" would allow."""

    reason: str
    detail: str = ""
    key: str | None = None
    once: bool = False
    risk: risk.Risk | None = None
    words_may_lift: bool = False
    full_allows: bool = field(default=False, compare=False)


Verdict = Allowed | Refused | Question


@dataclass(frozen=True, slots=True)
class _Call:
    """A call with what was found out about it once."""

    facts: CallFacts
    now: Situation
    parsed: Parsed | None
    found: risk.Assessment


def judge(facts: CallFacts, now: Situation) -> Verdict:
    """What is to happen with a call, in this mode, after what this chat read."""
    parsed, found = None, risk.Assessment()
    if facts.command is not None:
        where = Where(now.folder or facts.folder, now.home, now.own)
        begins = facts.folder or now.folder
        if len(facts.command) <= PARSED_COMMAND_CHARS:
            parsed, found = read_through(facts.command, where, begins)
        else:  # not worth keeping: it isn't taken apart
            parsed = parse(facts.command)
            found = risk.assess(parsed, where, begins)
    call = _Call(facts, now, parsed, found)
    refused = _refused(call)
    if refused is not None:
        return Refused(refused)
    verdict = _asks(call)
    if isinstance(verdict, Question) and now.mode != "full":
        full = _asks(_Call(facts, replace(now, mode="full"), parsed, found))
        return replace(verdict, full_allows=isinstance(full, Allowed))
    return verdict


@lru_cache(maxsize=COMMANDS_KEPT_PARSED)
def read_through(command: str, where: Where, begins: str) -> tuple[Parsed, risk.Assessment]:
    """A command's parts and risks. Kept for the next look at the same one: a call is judged up to three times, and
    its parts never change; the mode, the marks and the words, which do, are no part of it.
    """
    parsed = parse(command)
    return parsed, risk.assess(parsed, where, begins)


def _refused(call: _Call) -> str | None:
    """What no mode and no card lifts, and Read only."""
    facts, now = call.facts, call.now
    if facts.never is not None:
        return facts.never
    paths = (*facts.paths, *facts.outside)
    if call.found.own or any(within(p.casefold(), own.casefold()) for p in paths for own in now.own):
        return reasons.OWN
    if facts.effect == "write" and now.mode == "plan":
        return reasons.PLAN
    return now.counts.refusal()


def _asks(call: _Call) -> Verdict:
    facts, now = call.facts, call.now
    if (asked := _in_every_mode(call)) is not None:
        return asked
    if facts.consent:
        return _unless_allowed(call, "do something that always asks")
    if now.mode == "full" and not _asks_in_full(call):
        return _outside_in_full(call)
    stops = facts.name == "stop_chat" and now.mode == "full"
    about_to = _sink(call) if now.read_outside or stops else None
    if about_to is not None:
        return _unless_allowed(call, about_to)
    if now.mode == "ask" and facts.effect == "write" and facts.name not in NEVER_ASK:
        return _unless_allowed(call, "make a change")
    if facts.outside:
        return _unless_allowed(call, READS_OUT if facts.effect == "read" else _written(call))
    if facts.family == "password" and facts.effect == "write":
        return _unless_allowed(call, "use a password")
    return _by_risk(call)


def _in_every_mode(call: _Call) -> Question | None:
    """What no mode lifts but a card: everything of somewhere deleted at once, or too much of one thing."""
    if call.found.whole is not None:
        return _question(call, call.found.whole.words, worst=call.found.whole, once=True)
    if (many := call.now.counts.question()) is None:
        return None
    asked = _question(call, "go on doing so", worst=call.found.worst(), once=True)
    return replace(asked, detail=f"{many} {asked.detail}".strip())


def _outside_in_full(call: _Call) -> Verdict:
    """Full trust keeps files in the work folder, too.

    The issue: files stay inside it "unless a card that shows the full resolved path was allowed", without a mode that
    is spared. Conch's "never asks" (conch-behaviour §2.11) stands below it, and decisions 15 takes from Conch only
    what Full trust does after something was read. "Always allow" makes it one card for a path and tool.
    """
    facts = call.facts
    if facts.family != "files" or all(within(path, call.now.folder) for path in facts.outside):
        return Allowed()
    return _unless_allowed(call, READS_OUT if facts.effect == "read" else WRITES_OUT)


def _asks_in_full(call: _Call) -> bool:
    """Where nobody is there or someone else's words are: after reading, and before another chat is stopped."""
    unwatched = call.now.person or not call.now.attended
    return unwatched and (call.now.read_outside or call.facts.name == "stop_chat")  # decisions 26


def _by_risk(call: _Call) -> Verdict:
    """Auto: the score, and what hides from a reader."""
    now, worst = call.now, call.found.worst()
    if call.parsed is None or (now.read_outside and _only_looks(call)):
        return Allowed()
    if call.parsed.odd:
        return _unless_allowed(call, "run a command that hides part of itself")
    if worst is None or risk.score(worst, read_outside=now.read_outside) < risk.ASKS_FROM:
        return Allowed()
    if not now.read_outside and now.attended and plainly_asked(call.facts.command or "", now.words):
        return Allowed()
    verdict = _unless_allowed(call, worst.words)
    return replace(verdict, words_may_lift=True) if isinstance(verdict, Question) else verdict


def _sink(call: _Call) -> str | None:
    """What the call is about to do that asks once something from outside was read (decisions 15, 16; SEC §2.3)."""
    facts = call.facts
    if call.parsed is not None:
        if _only_looks(call):
            return None
        worst = call.found.worst()
        return f"run a command that would {worst.words}" if worst else "run a command"
    if facts.url is not None and (facts.effect == "read" or facts.family == "web"):
        return _address(facts.url, call.now.said)
    if facts.carries_out:
        return "send words out of this computer"
    if facts.effect == "read" or facts.name in NEVER_ASK:
        return READS_OUT if facts.outside else None
    if facts.family == "files" and facts.paths:
        if facts.outside:
            return _written(call)
        running = next((p for p in facts.paths if runs_or_configures(_from(p, call.now.folder or facts.folder))), None)
        return RUNS if running else None
    return _SINKS.get(facts.family, "do something that leaves this chat")


def _written(call: _Call) -> str:
    """What writing there means: the files' own desk also names places in the folder that start by themselves."""
    inside = bool(call.now.folder) and all(within(path, call.now.folder) for path in call.facts.outside)
    return RUNS if inside else WRITES_OUT


def _only_looks(call: _Call) -> bool:
    """Whether every part of the command is on the read-only list, and it begins inside the work folder."""
    begins, folder = call.facts.folder or call.now.folder, call.now.folder
    return call.parsed is not None and read_only(call.parsed) and (not folder or within(begins, folder))


_SINKS: Final = {
    "command": "change what runs",
    "task": "start a task or let it go on",
    "together": "act on another chat",
    "memory": "change what is remembered",
    "password": "use a password",
    "files": "change files",
}


def _from(path: str, folder: str) -> str:
    """The part of a path that the chat's folder doesn't say already."""
    return path[len(folder) :].lstrip("/") if folder and within(path, folder) else path


def _address(url: str, said: Sequence[str]) -> str | None:
    why = addresses.carries(url)
    if why is not None and not (why.endswith("port") and addresses.named(url, said)):
        return f"fetch a page, and {why}"
    return None if addresses.named(url, said) else "fetch a page from a host that you didn't name"


def _unless_allowed(call: _Call, about_to: str) -> Verdict:
    """A question, unless "Always allow" was said of exactly this (never with someone else's words in the chat)."""
    question = _question(call, about_to, worst=call.found.worst())
    if question.key is not None and question.key in call.now.allowed:
        return Allowed()
    return question


def _question(call: _Call, about_to: str, *, worst: risk.Risk | None, once: bool = False) -> Question:
    facts, now = call.facts, call.now
    once = once or facts.once or now.person
    key = None if once else key_of(facts, call.parsed)
    detail = []
    if worst is not None:
        detail.append(f"It would {worst.words}{', which can’t be undone' if worst.lasting else ''}.")
    elif about_to in (READS_OUT, WRITES_OUT, RUNS) and not now.read_outside:  # else the reason says it
        detail.append(f"It would {about_to}.")
    if call.parsed is not None and call.parsed.odd:
        detail.append(f"The command has {'; '.join(call.parsed.odd)}.")
    reason = reasons.caution(now.taints, about_to) if now.read_outside else ""
    return Question(reason, " ".join(detail), key, key is None, worst)


def plainly_asked(command: str, words: Sequence[str]) -> bool:
    """Whether the person's own words say to run exactly this command: it alone, or after "run", with no "not" near."""
    wanted = " ".join(command.split())
    if len(wanted) < 3:
        return False
    for text in words:
        flat = " ".join(text.split())
        if flat.strip("`\"'.! ") == wanted:
            return True
        for found in re.finditer(re.escape(wanted), flat):
            before, after = flat[: found.start()], flat[found.end() :]
            sentence = re.split(r"[.!?;\n]\s+", before)[-1].rstrip("`\"' ") + " "
            if _ENDS.match(after) and _RUN.fullmatch(sentence.lstrip()):
                return True
    return False
