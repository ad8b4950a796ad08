"""The command line: `main` finds the command and imports only its file. Errors are one sentence on the error stream.

Exit codes: 0, 1 failed, 2 usage, 3 store broken, 4 held by another Shoal, 5 a question nobody was there to answer.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "ask": "one turn: print the assistant's answer",
    "search": "find lines in all chats",
    "explore": "explore the earlier chats of a project for one question",
    "import": "take in chats from a file",
    "export": "write a chat out",
    "doctor": "look after the data: where it lies, whether it is whole",
    "redact": "hide secrets in what comes on standard input",
    "headless": "JSON lines in and out, for scripts and tests",
}
MODULES = {"import": "import_", "export": "export"}  # where a command's name can't be a module's
FAILED, USAGE, BROKEN, HELD, UNANSWERED = 1, 2, 3, 4, 5

HELP = """\
usage: shoal [--set KEY=VALUE]... [COMMAND] [...]

Many AI chats side by side in one terminal. Without a command the screen opens.

commands:
{commands}

options:
  --set KEY=VALUE   a setting for this run, such as --set model=offline (`shoal doctor --settings` lists all)
  --version         the version
  --help            this; `shoal COMMAND --help` says more

SHOAL_HOME moves all data. SHOAL_MODEL picks the model of new chats.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run Shoal with these words (default: the process's own); answers the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(words)
        sys.stdout.flush()  # a full disk is met here, not when the process ends
        return code
    except KeyboardInterrupt:
        print("shoal: stopped.", file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # whoever read our output has what it wanted
        _drop_output()
        return 0
    except Exception as error:  # noqa: BLE001 - the last net: one sentence for the person, the rest in a file
        from app.cli.failures import said

        if isinstance(error, OSError) and error.filename is None:
            _drop_output()
        return said(error)


def _drop_output() -> None:
    """What is still to be written goes nowhere, so that the end of the process doesn't try it again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # a stream without a descriptor has no such end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(words: list[str]) -> int:
    settings: list[str] = []
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("--help", "-h"):
            print(HELP.format(commands="\n".join(f"  {n:<16}  {w}" for n, w in COMMANDS.items())), end="")
            return 0
        if word == "--version":
            print(f"shoal {version()}")
            return 0
        if word.startswith("--set="):
            settings.append(word[6:])
        elif word == "--set" and words:
            settings.append(words.pop(0))
        else:
            return _usage("--set needs KEY=VALUE" if word == "--set" else f"there is no option {word[:40]!r}")
    if not words:
        return _screen(settings)
    name = words.pop(0)
    if name not in COMMANDS:
        return _usage(f"there is no command {name[:40]!r}")
    module = import_module(f"app.cli.{MODULES.get(name, name)}")
    from app.cli.context import parsed

    try:
        args = parsed(name, COMMANDS[name], module.arguments, words)
    except SystemExit as end:  # argparse's way to say help or usage
        return int(end.code or 0)
    args.set = [*settings, *args.set]
    return int(module.run(args))


def _usage(what: str) -> int:
    print(f"shoal: {what}; `shoal --help` lists what there is.", file=sys.stderr)
    return USAGE


def _screen(words: list[str]) -> int:
    """The program on screen."""
    gc.disable()  # until the first paint: nothing of what starting makes is garbage
    from app import tui
    from app.cli.context import opened

    context = opened(words, quiet=True, writes=True)
    return tui.run(context.home, context.settings, context.problems)


def version() -> str:
    """This Shoal's version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as of

    try:
        return of("shoal-chats")
    except PackageNotFoundError:  # a checkout that isn't installed
        return _version_here()


def _version_here() -> str:
    """The version in the checkout's pyproject.toml; "0" where there is none."""
    import tomllib
    from pathlib import Path

    try:
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
        return str(project["project"]["version"])
    except (OSError, ValueError, KeyError):
        return "0"
