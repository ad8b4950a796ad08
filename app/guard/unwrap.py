"""Programs that run other programs, and what they would run: a table, and one function over it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_SHELL_NAMES = "sh bash dash zsh ksh fish ash mksh csh tcsh"
_RUNNERS = """python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php lua luajit tclsh expect osascript
    pwsh powershell awk gawk mawk nawk env xargs sudo doas su ssh eval source . exec make irb ipython julia rscript"""
SHELLS: Final = frozenset(_SHELL_NAMES.split())
INTERPRETERS: Final = SHELLS | frozenset(_RUNNERS.split())

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """`valued`: options that take the next word; `skip`: words before the program (a time, a lock file)."""

    valued: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False  # NAME=value words stand before the program


def _w(valued: str = "", skip: int = 0, assigns: bool = False) -> _Wrapper:
    return _Wrapper(frozenset(valued.split()), skip, assigns)


WRAPPERS: Final[dict[str, _Wrapper]] = {
    "sudo": _w("-u -g -p -C -h -r -t -T -U -D -R --user --group --prompt --host --chdir --chroot", assigns=True),
    "doas": _w("-u -C -a"),
    "run0": _w("-u --user"),
    "pkexec": _w("--user"),
    "env": _w("-u -C -S --unset --chdir --split-string", assigns=True),
    "nice": _w("-n --adjustment"),
    "ionice": _w("-c -n -p -P -u --class --classdata"),
    "chrt": _w("-T -P -D", skip=1),
    "taskset": _w("", skip=1),
    "nohup": _w(),
    "time": _w("-f -o --format --output"),
    "timeout": _w("-k -s --kill-after --signal", skip=1),
    "stdbuf": _w("-i -o -e --input --output --error"),
    "setsid": _w(),
    "setpriv": _w(),
    "unbuffer": _w(),
    "command": _w(),
    "builtin": _w(),
    "exec": _w("-a"),
    "busybox": _w(),
    "toybox": _w(),
    "watch": _w("-n -q --interval"),
    "xargs": _w("-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-lines --replace"),
    "parallel": _w("-j -a -S --jobs --arg-file"),
    "flock": _w("-w -E --timeout", skip=1),
    "strace": _w("-e -o -p -s -u -E"),
    "ltrace": _w("-e -o -p -s -u"),
    "gdb": _w("-ex -x"),
    "chroot": _w("--userspec --groups", skip=1),
    "unshare": _w("-S -G -R -w"),
    "nsenter": _w("-t -S -G"),
    "systemd-run": _w("-u -p -E --unit --property --setenv"),
    "caffeinate": _w("-t -w"),
    "proxychains": _w("-f"),
    "proxychains4": _w("-f"),
    "torsocks": _w(),
    "dbus-run-session": _w(),
    "fakeroot": _w(),
    "firejail": _w(),
    "bwrap": _w(),
    "npx": _w("-p --package"),
    "direnv": _w("", skip=1),
    "uvx": _w("--from --with"),
    "entr": _w(),
    "then": _w(),
    "do": _w(),
}
_TEXTS: Final = {"su": ("-c", "--command"), "script": ("-c", "--command"), "runuser": ("-c", "--command")}
_FIND_RUNS: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))


def inner_of(argv: tuple[str, ...]) -> Iterator[str | tuple[str, ...]]:
    """What a program would run: the text of a command, or its words. At most a few; nothing for most programs."""
    name = argv[0].rsplit("/", 1)[-1] if argv else ""
    if name in SHELLS:
        yield from _shell(argv)
    elif name == "eval" and len(argv) > 1:
        yield " ".join(argv[1:])
    elif name == "trap" and len(argv) > 1 and not argv[1].startswith("-"):
        yield argv[1]
    elif name == "ssh":
        yield from _ssh(argv)
    elif name == "find" or name == "fd" or name == "fdfind":
        yield from _find(argv)
    elif name in _TEXTS:
        yield from _after(argv, _TEXTS[name])
    elif name == "git":
        yield from _git(argv)
    elif name in ("docker", "podman") and len(argv) > 3 and argv[1] in ("run", "exec"):
        yield from _last_words(argv[2:])
    elif name in WRAPPERS:
        yield from _wrapped(argv, WRAPPERS[name], name)


def _shell(argv: tuple[str, ...]) -> Iterator[str]:
    for at, word in enumerate(argv[1:], 1):
        if word in ("--command",) or (re.match(r"-[a-zA-Z]*c", word) and not word.startswith("--")):
            if at + 1 < len(argv):
                rest = [w for w in argv[at + 1 :] if not re.match(r"-[a-zA-Z]+\Z", w)]
                yield rest[0] if rest else argv[at + 1]
            return
        if not word.startswith(("-", "+")):
            return


def _after(argv: tuple[str, ...], options: tuple[str, ...]) -> Iterator[str]:
    for at, word in enumerate(argv):
        if word in options and at + 1 < len(argv):
            yield argv[at + 1]
        elif word.startswith("--command="):
            yield word.partition("=")[2]


def _ssh(argv: tuple[str, ...]) -> Iterator[str]:
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] == "-o" and at + 1 < len(argv) and "command" in argv[at + 1].lower():
            yield argv[at + 1].partition("=")[2] or argv[at + 1]
        at += 2 if argv[at] in ("-o", "-p", "-i", "-l", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-E", "-W") else 1
    if at + 1 < len(argv):
        yield " ".join(argv[at + 1 :])


def _find(argv: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    runs = _FIND_RUNS if argv[0].endswith("find") and not argv[0].endswith("fdfind") else ("-x", "-X", "--exec")
    for at, word in enumerate(argv):
        if word in runs:
            rest = argv[at + 1 :]
            end = next((i for i, w in enumerate(rest) if w in (";", "+")), len(rest))
            if rest[:end]:
                yield rest[:end]


def _git(argv: tuple[str, ...]) -> Iterator[str | tuple[str, ...]]:
    """Aliases with `!`, and the commands that run one for every commit or module."""
    for at, word in enumerate(argv):
        if word == "-c" and at + 1 < len(argv) and "=!" in argv[at + 1]:
            yield argv[at + 1].partition("=!")[2]
        elif word in ("--exec", "-x", "--tree-filter", "--index-filter", "foreach") and at + 1 < len(argv):
            yield argv[at + 1]
        elif word == "run" and at + 1 < len(argv) and argv[at - 1] == "bisect":
            yield argv[at + 1 :]


def _last_words(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A container's command can't be told from its options' values: every tail that starts like a shell is read."""
    for at, word in enumerate(words):
        if word.rsplit("/", 1)[-1] in INTERPRETERS:
            yield words[at:]
            return


def _wrapped(argv: tuple[str, ...], wrapper: _Wrapper, name: str) -> Iterator[str | tuple[str, ...]]:
    at, skip = 1, wrapper.skip
    while at < len(argv):
        word = argv[at]
        if word == "--":
            at += 1
            break
        if name == "env" and word in ("-S", "--split-string") and at + 1 < len(argv):
            yield " ".join(argv[at + 1 :])
            return
        if name == "env" and word.startswith(("-S", "--split-string=")):
            yield word.removeprefix("--split-string=").removeprefix("-S")
            return
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in wrapper.valued else 1
        elif wrapper.assigns and _ASSIGNMENT.match(word):
            at += 1
        elif skip:
            skip, at = skip - 1, at + 1
        else:
            break
    rest = argv[at:]
    if not rest:
        return
    if name in ("watch", "parallel", "entr") and (len(rest) == 1 or " " in rest[0]):
        yield " ".join(rest)
    elif rest != argv:
        if len(rest) > 1 and name == "flock" and rest[0] == "-c":
            yield rest[1]
        else:
            yield rest
