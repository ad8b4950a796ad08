"""What every command starts with: its words parsed, the home, the settings, the log."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from app.cli import BROKEN, USAGE
from app.cli.failures import CliError, say
from app.paths import Home
from app.settings import SERVERS, Settings, load
from store.clock import Clock, ManualClock, SystemClock


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Usage: exit 2."""
        print(f"{self.prog}: {message}; `{self.prog} --help` says more.", file=sys.stderr)
        raise SystemExit(USAGE)


def parsed(
    name: str, words: str, arguments: Callable[[argparse.ArgumentParser], None], argv: Sequence[str]
) -> argparse.Namespace:
    """The command's arguments; `set` has the settings given beside it."""
    parser = Parser(prog=f"shoal {name}", description=words[0].upper() + words[1:] + ".", allow_abbrev=False)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting for this run")
    arguments(parser)
    return parser.parse_args(argv)


@dataclass(frozen=True, slots=True)
class Context:
    """The home and the settings of this run."""

    home: Home
    settings: Settings
    problems: tuple[str, ...]


def opened(words: Sequence[str], *, quiet: bool = False, writes: bool = False) -> Context:
    """The context; problems of the settings are said on the error stream unless `quiet`.

    A command that `writes` makes the home, so that its log has a place from the first start on.
    """
    from app.diagnostics import start_log

    home = Home.default()
    if home.root.exists() and not home.root.is_dir():
        raise CliError(f"“{home.root}” isn't a folder, so no chats can be in it; set SHOAL_HOME to a folder.", BROKEN)
    settings, problems = load(home, words)
    if writes:
        with contextlib.suppress(OSError):  # said in words when the store is opened
            home.ensure()
    if home.root.is_dir():
        start_log(home, cleaner(settings))
    for problem in () if quiet else problems:
        say(problem)
    return Context(home, settings, tuple(problems))


def cleaner(settings: Settings) -> Callable[[str], str]:
    """Hides secrets by their shape, and every provider key there is, in the settings or the environment."""
    from app.guard.redactor import Redactor
    from app.guard.secrets import clean
    from app.providers.endpoints import PRESETS

    names = {name for preset in PRESETS for name in preset.key_envs}
    names |= {part.key_env for part in map(settings.providers.__getattribute__, SERVERS) if part.key_env}
    known = Redactor([*settings.providers.given_keys(), *(os.environ[n] for n in names if n in os.environ)])
    return lambda text: clean(known.clean(text))


def clock_of(environ: Any) -> Clock:
    """The one clock: moved by hand where SHOAL_CLOCK=manual."""
    return ManualClock() if environ.get("SHOAL_CLOCK") == "manual" else SystemClock()


def folder(given: str | None) -> str | None:
    """A `--project` as a resolved folder; CliError when there is none."""
    if given is None:
        return None
    path = Path(given).expanduser()
    if not path.is_dir():
        raise CliError(f"there is no folder “{given}”.", USAGE)
    return str(path.resolve())
