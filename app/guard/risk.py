"""The policy of Auto: the worst case of a step, as a score. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.guard import hazards
from app.guard.commands import Parsed
from app.guard.downloads import FETCHERS
from app.guard.hazards import Kind, Risk, Step
from app.guard.targets import Where
from app.guard.unwrap import INTERPRETERS

__all__ = ["ASKS_FROM", "Assessment", "Kind", "Risk", "assess", "score"]

ASKS_FROM: Final = 3
OWN_PROGRAM: Final = frozenset(("shoal", "shoal.py"))


def score(risk: Risk, *, read_outside: bool) -> int:
    """Harm (severe 2, moderate 1) + lasting (1) + the chat read something from outside (1)."""
    return risk.harm + risk.lasting + read_outside


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a command could do at worst. `own`: it reaches for Shoal's own files or powers, which is refused."""

    risks: tuple[Risk, ...] = ()
    own: bool = False

    def worst(self) -> Risk | None:
        """The gravest risk; the first of equals."""
        return max(self.risks, key=lambda r: (r.whole, r.harm + r.lasting, r.harm), default=None)

    @property
    def whole(self) -> Risk | None:
        """A risk that no mode lifts."""
        return next((r for r in self.risks if r.whole), None)


def assess(parsed: Parsed, where: Where, begins: str = "") -> Assessment:
    """Judge every part of a command, in the order they would run; `begins`: the folder it starts in."""
    risks: list[Risk] = []
    own = False
    cwds: tuple[str, ...] = (begins or where.folder,)
    downloads = False
    secrets = any(hazards.reads_secrets(Step(p, where, cwds, False, False)) for p in parsed.parts if p.argv)
    for part in parsed.parts:
        if not part.argv:
            continue
        step = Step(part, where, cwds, downloads, secrets)
        own = (
            own
            or _is_own(part.name, part.argv)
            or any(where.is_own(w, cwds) for w in dict.fromkeys(_paths(part.argv, part.writes, part.reads)))
        )
        risks.extend(hazards.of(step))
        downloads = downloads or part.name in FETCHERS
        if part.name in ("cd", "pushd", "chdir"):
            cwds = _moved(cwds, step, where)
    if any(_is_bomb(part.argv) for part in parsed.parts):
        risks.append(Risk("disrupt", "start programs without end", 2, True))
    if parsed.unread:
        risks.append(Risk("remote-code", "run something that can't be read through", 2, True))
    return Assessment(tuple(dict.fromkeys(risks)), own)


def _paths(*groups: tuple[str, ...]) -> Iterator[str]:
    for group in groups:
        for word in group:
            if len(word) > 1:
                yield word
            for piece in re.split(r"[=:,@'\"() ]", word) if len(word) < 4000 else ():
                if "/" in piece or piece.startswith("~"):
                    yield piece


def _moved(cwds: tuple[str, ...], step: Step, where: Where) -> tuple[str, ...]:
    """The folders the command may be in after a `cd`: it may also have failed."""
    to = (step.words() or ["~"])[0]
    found = [where.absolute(to, cwd) for cwd in cwds]
    return tuple(dict.fromkeys([*cwds, *(posixpath.normpath(f) if f else "/" for f in found)]))[-6:]


def _is_own(name: str, argv: tuple[str, ...]) -> bool:
    """Whether it is Shoal, started by its name or through an interpreter or a runner of packages."""
    if name in OWN_PROGRAM:
        return True
    if name not in INTERPRETERS and name not in ("pipx", "uv"):
        return False
    run = [word for word in argv[1:] if not word.startswith("-") and word not in ("run", "tool")][:1]
    return any(word.rsplit("/", 1)[-1] in OWN_PROGRAM for word in run)


def _is_bomb(argv: tuple[str, ...]) -> bool:
    return argv[:1] == (":",) and len(argv) == 1
