"""The file of the settings: read whatever is in it, found again line by line, written whole or not at all."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.paths import Home
from store.ids import new_id
from store.limits import SETTINGS_BYTES, SETTINGS_PROBLEMS
from store.text import safe_text


class SettingsError(Exception):
    """One sentence: a setting that can't be read or saved, and what to do."""


def read(path: Path, problems: list[str]) -> str:
    """The file's text; "" when there is none or it can't be used."""
    try:
        with path.open("rb") as file:
            raw = file.read(SETTINGS_BYTES + 1)
        mode = path.stat().st_mode
    except FileNotFoundError:
        return ""
    except IsADirectoryError:
        problems.append("settings.toml is a folder, so the defaults are used; put a file there.")
        return ""
    except OSError as error:
        why = error.strerror or "it failed"
        problems.append(f"settings.toml couldn't be read ({why}), so the defaults are used; look at its permissions.")
        return ""
    if len(raw) > SETTINGS_BYTES:
        problems.append("settings.toml is larger than 1 MB, so the defaults are used; is it the right file?")
        return ""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        problems.append("settings.toml isn't UTF-8 text, so the defaults are used; save it as UTF-8.")
        return ""
    if re.search(r"^\s*api_key\s*=", text, re.M) and mode & 0o077 and os.name == "posix":
        problems.append("settings.toml holds a key and others can read it: run chmod 600 on it.")
    return text


def parse(text: str, problems: list[str]) -> tuple[dict[str, Any], dict[str, int]]:
    """The file's data, and the line of each dotted key. A line with a mistake is left out, so the others hold."""
    lines = text.replace("\r\n", "\n").split("\n")
    for _ in range(SETTINGS_PROBLEMS):
        try:
            data = tomllib.loads("\n".join(lines))
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"line (\d+)", str(error))
            number = min(int(found[1]), len(lines)) if found else len(lines)
            while number > 1 and not lines[number - 1].strip():
                number -= 1  # the end of the file stands for the line that wasn't closed
            key = re.match(r"\s*([\w.\"'-]+)\s*=?", lines[number - 1])
            what = f"`{word(key[1])}`" if key else "this line"
            problems.append(f"settings.toml, line {number}: {what} has a mistake in it, so it isn't used.")
            lines[number - 1] = ""
            continue
        except RecursionError:
            break
        return data, _line_numbers(lines)
    problems.append("settings.toml has too many mistakes, so the defaults are used.")
    return {}, {}


def _line_numbers(lines: list[str]) -> dict[str, int]:
    table = ""
    numbers: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            table = ".".join(path_of(header[1]))
            numbers.setdefault(table, number)
        elif pair := re.match(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""", line):
            path = ".".join(path_of(pair[1]))
            numbers.setdefault(f"{table}.{path}" if table else path, number)
    return numbers


def path_of(key: str) -> Iterator[str]:
    for found in re.finditer(r"""\s*(?:"([^"]*)"|'([^']*)'|([^.]+))\s*(?:\.|$)""", key):
        yield (found[1] or found[2] or found[3] or "").strip()


def word(text: str) -> str:
    return safe_text(text, one_line=True, limit=60)


def write(home: Home, text: str) -> None:
    """Written beside and renamed, 0600: a reader sees the old file or the new one, never a mix."""
    beside = home.settings.with_name(f".{new_id('settings')}.toml")
    try:
        home.ensure()
        descriptor = os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(home.settings)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise SettingsError(f"settings.toml couldn't be saved ({error.strerror or 'it failed'}).") from error
