"""`shoal doctor`: where everything lies and whether it is whole; `--repair` makes anew what can be made anew."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.cli import BROKEN, version
from app.cli.context import Context, cleaner, opened
from app.cli.doctor_search import explorer_words, figures, pace_words
from app.cli.failures import code_of
from app.guard import secrets
from app.settings import documented
from store.clock import SystemClock
from store.errors import StoreBroken, StoreError
from store.limits import CATCH_UP_WAIT_SECONDS, IMPORT_INDEX_SECONDS
from store.text import safe_text


def arguments(parser: argparse.ArgumentParser) -> None:
    """`--json`, `--repair`."""
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--settings", action="store_true", help="every setting, its value and what it means")
    parser.add_argument("--repair", action="store_true", help="mend the store's look-ups and rebuild the search index")


def run(args: argparse.Namespace) -> int:
    """Look (or mend, then look): 3 when the store is broken, 1 when a repair failed, 4 when another Shoal works."""
    context = opened(args.set, quiet=True)
    done: list[str] = []
    if args.repair:
        done = _repair(context)
    report = _look(context)
    report["repaired"] = done
    clean = cleaner(context.settings)
    if args.json:
        print(json.dumps(_filtered(report, clean), ensure_ascii=False))
    else:
        for label, words in (*_lines(report), *(_settings(report) if args.settings else ())):
            print(f"{label:<10}{safe_text(clean(words), one_line=True, limit=1_000)}")
    return BROKEN if report["store"].get("broken") else 0


def _repair(context: Context) -> list[str]:
    """What was done, in sentences. Raises StoreError (StoreHeld: another Shoal has the home)."""
    from store.log import Store
    from store.search import SearchService

    context.home.ensure()
    store = Store.open(context.home.root)
    try:
        done = list(store.notices)
        if wrong := store.verify():
            store.rebuild_derived(wrong)
            done.append(f"The look-ups of {len(wrong)} chats were made anew from their events.")
        search = SearchService(store, context.home.index, spans=secrets.spans, spans_version=secrets.SHAPES_VERSION)
        search.start_sync()
        try:
            asyncio.run(_rebuild(search))
            status = search.status()
        finally:
            search.close_sync()
        if status.state == "ready":
            done.append(f"The search index was rebuilt: {status.indexed:,} lines.")
        else:
            raise StoreError(status.words or "The search index couldn't be rebuilt.")
    finally:
        store.close()
    return done


async def _rebuild(search: Any) -> None:
    await search.repair()
    await search.caught_up(IMPORT_INDEX_SECONDS)


# -- looking


def _look(context: Context) -> dict[str, Any]:
    home = context.home
    places = {"home": home.root, "store": home.store, "index": home.index, "settings": home.settings, "logs": home.logs}
    store, index, counts = _store(context)
    return {
        "version": version(),
        "python": sys.version.split()[0],
        "paths": {name: {"path": str(path), "bytes": _bytes(path)} for name, path in places.items()},
        "held": _holder(home.root),
        "store": store,
        "index": index,
        "counts": counts,
        "disk": {"free_bytes": _free(home.root)},
        "terminal": _terminal(),
        "problems": list(context.problems),
        "routines": _routines(context),
        "sandbox": asyncio.run(_sandbox(context)),
        "settings": [
            {"key": key, "value": _shown(context.settings, key), "default": _plain(default), "means": words}
            for key, default, words in documented(engine=context.settings.explorer.engine)
        ],
    }


def _holder(root: Path) -> str | None:
    """Who has the home open for writing, in words."""
    from store.lock import HomeLock

    return HomeLock(root).holder() if root.is_dir() else None


def _store(context: Context) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    from app.history.explorer.record import RUNS
    from store.log import Store
    from store.search import SearchService

    nothing: dict[str, Any] = {"state": "none", "words": "Nothing was said yet."}
    if not context.home.store.exists():
        return {"ok": True, "words": "There is no store yet; the first start makes it."}, nothing, {}
    try:
        store = Store.open(context.home.root, readonly=True)
    except StoreError as error:
        return {"ok": False, "broken": isinstance(error, StoreBroken), "words": str(error)}, nothing, {}
    try:
        wrong = store.verify()
        chats = store.summaries()
        counts = {
            "chats": len(chats),
            "messages": sum(c.messages for c in chats),
            "events": store.last_id(),
            "imported": sum(c.origin is not None and c.origin.kind == "import" for c in chats),
            "archived": sum(c.archived_at is not None for c in chats),
            "private": sum(c.private for c in chats),
        }
        words = f"The look-ups of {len(wrong)} chats disagree with their events; run shoal doctor --repair."
        told = {"ok": not wrong, "words": words if wrong else "Every event was read; all is whole."}
        search = SearchService(store, context.home.index, spans=secrets.spans, spans_version=secrets.SHAPES_VERSION)
        search.start_sync()
        try:
            asyncio.run(search.caught_up(CATCH_UP_WAIT_SECONDS))
            status, pace = search.status(), asdict(search.pace())
        finally:
            search.close_sync()
        index: dict[str, Any] = {
            "state": status.state,
            "indexed": status.indexed,
            "to_index": status.to_index,
            "words": status.words,
            "waiting": status.to_index - status.indexed,
            "bytes": _bytes(context.home.index) or 0,
            "pace": pace,
        }
        index["explorer"] = figures(store.states_under(RUNS).values())
        return told, index, counts
    except StoreError as error:
        return {"ok": False, "broken": code_of(error) == BROKEN, "words": str(error)}, nothing, {}
    finally:
        store.close()


async def _sandbox(context: Context) -> str:
    """Whether commands run in a sandbox here, in words."""
    from app.tools.shell.sandbox import Sandbox

    sandbox = Sandbox(switched_on=context.settings.commands.sandbox == "auto")
    return "run in a sandbox (bubblewrap)." if await sandbox.ready() else sandbox.words


def _routines(context: Context) -> list[str]:
    """Each routine with the next time it runs, or why it doesn't."""
    from app.tasks.routines import BAD_SCHEDULE, previous_and_next
    from store.clock import iso

    out = []
    for name, routine in context.settings.routines.items():
        try:
            _, following = previous_and_next(routine.schedule, SystemClock().now_ms())
            out.append(f"{name} · {'next ' + iso(following) if routine.on and following else 'off'}")
        except ValueError:
            out.append(BAD_SCHEDULE.format(name=name))
    return out


def _bytes(path: Path) -> int | None:
    try:
        if path.is_dir():
            return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
        return path.stat().st_size
    except OSError:
        return None


def _free(root: Path) -> int | None:
    there = next((p for p in (root, *root.parents) if p.exists()), None)
    try:
        return shutil.disk_usage(there).free if there else None
    except OSError:
        return None


def _terminal() -> dict[str, Any]:
    size = shutil.get_terminal_size((0, 0))
    names = ("TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "TMUX", "SSH_TTY")
    return {
        "is_terminal": sys.stdout.isatty(),
        "columns": size.columns,
        "rows": size.lines,
        "encoding": sys.stdout.encoding,
        "environment": {name: os.environ[name] for name in names if name in os.environ},
    }


def _shown(settings: Any, key: str) -> Any:
    """A setting's value; a key itself is never shown."""
    value = settings
    for part in key.split("."):
        value = getattr(value, part)
    return _plain(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "get_secret_value"):
        return "(set)"
    if isinstance(value, dict):
        return {name: _plain(below) for name, below in value.items()}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return list(value) if isinstance(value, tuple) else value


def _filtered(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {name: _filtered(below, clean) for name, below in value.items()}
    return [_filtered(below, clean) for below in value] if isinstance(value, list) else value


def _lines(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Shoal", f"{report['version']}, Python {report['python']}"
    for name, place in report["paths"].items():
        size = "not there yet" if place["bytes"] is None else f"{place['bytes'] / 1e6:,.1f} MB"
        yield name, f"{place['path']} · {size}"
    index, terminal = report["index"], report["terminal"]
    yield "checked", report["store"]["words"]
    yield "search", index["words"] or f"{index['state']} · {index['indexed']:,} lines"
    if "pace" in index:
        yield "index", pace_words(index)
    if index.get("explorer", {}).get("runs"):
        yield "explorer", explorer_words(index["explorer"])
    for words in report["routines"]:
        yield "routine", words
    yield "commands", report["sandbox"]
    yield "counts", ", ".join(f"{n:,} {what}" for what, n in report["counts"].items()) or "nothing yet"
    if report["disk"]["free_bytes"] is not None:
        yield "disk", f"{report['disk']['free_bytes'] / 1e9:,.1f} GB free"
    kind = (
        f"{terminal['columns']}×{terminal['rows']}, {terminal['encoding']}" if terminal["is_terminal"] else "none here"
    )
    yield "terminal", f"{kind} {terminal['environment'].get('TERM', '')}"
    yield "in use", report["held"] or "by nobody else"
    for label in ("problems", "repaired"):
        for words in report[label]:
            yield label.removesuffix("s"), words


def _settings(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for setting in report["settings"]:
        yield "setting", f"{setting['key']} = {json.dumps(setting['value'], ensure_ascii=False)} · {setting['means']}"
