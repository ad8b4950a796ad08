"""Chats out to a file and in from one, each said in one sentence."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from app.guard import secrets
from store.errors import StoreError
from store.text import safe_name

if TYPE_CHECKING:
    from app.screens.deck_base import DeckBase

Form = Literal["md", "json", "html"]
_ENDS: dict[str, Form] = {"md": "md", "markdown": "md", "json": "json", "jsonl": "json", "html": "html", "htm": "html"}


def where(argument: str, title: str, folder: str) -> tuple[Form, Path]:
    """The form and file of `/export [md|json|html] [FILE]`; the file's ending may say the form."""
    first, _, rest = argument.strip().partition(" ")
    form = _ENDS.get(first.lower())
    name = rest.strip() if form else argument.strip()
    if form is None:
        form = _ENDS.get(Path(name).suffix.lstrip(".").lower(), "md")
    if not name:
        plain = re.sub(r"[^\w\- ]+", "", safe_name(title) or "chat").strip().replace(" ", "-").lower()[:60] or "chat"
        name = f"{plain}.{'jsonl' if form == 'json' else form}"
    path = Path(name).expanduser()
    return form, path if path.is_absolute() else Path(folder or ".").expanduser() / path


async def export_chat(deck: DeckBase, chat: str, argument: str) -> None:
    """Write a chat to a new file; one that is there is never written over."""
    summary = deck.store.summary(chat)
    if summary is None:
        return
    form, path = where(argument, summary.title, summary.folder)
    try:
        await deck.store.read(_write, deck, chat, form, path)
    except FileExistsError:
        deck.say(f"There is a file {path.name} already; give another name.", "warning")
    except OSError as error:
        deck.say(f"{path.name} couldn't be written ({error.strerror or 'it failed'}).", "error")
    except StoreError as error:
        deck.say(str(error), "error")
    else:
        deck.say(f"Written to {path}")


def _write(deck: DeckBase, chat: str, form: Form, path: Path) -> None:
    from store.export import exported

    summary = deck.store.summary(chat)
    if summary is None:
        return
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        events = list(deck.store.events(chat=chat))
        file.writelines(exported(summary, events, form, secrets.clean))


async def import_file(deck: DeckBase, argument: str) -> None:
    """Take in a file; the index follows by itself."""
    from store.importers.run import ImportFailed
    from store.importers.run import import_file as run

    if deck.readonly:
        deck.say("Nothing can be saved here, so nothing was imported.", "error")
        return
    path = _path(argument)
    deck.say(f"Importing {path.name}…")
    project = deck.services.settings.folder or os.getcwd()
    try:
        report = await deck.store.read(lambda: run(deck.store, path, project=project, clean=secrets.clean))
    except (ImportFailed, StoreError) as error:
        deck.say(str(error), "error")
        return
    deck.chats = {s.id: s for s in await deck.store.read(deck.store.summaries)}
    deck.refresh_list()
    deck.refresh_words()
    deck.say(report.sentence())


def _path(argument: str) -> Path:
    return Path(argument.strip().strip("'\"")).expanduser()
