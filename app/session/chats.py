"""Chats as wholes: new, archive, rename, pin, delete, fork, options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app import commands as cmd
from app.session import lifecycle
from app.session.desk import Desk, before, refuse
from app.settings import model_problem
from store import events as ev
from store.ids import CHAT, new_id
from store.log import Batch
from store.models import ChatSummary

NO_MESSAGE = "There is no such message in this chat."
NOT_EMPTY = "A chat can be made private only while nothing was said in it."
ABOVE = "A task may do no more than the chat it came from, whose mode is {mode}."
NOTHING_SET = "Nothing to set: give mode, model, inbound or private."


class Chats:
    """Everything that isn't talk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def new(self, command: cmd.NewChat) -> dict[str, Any]:
        """A new chat with the defaults where the command is silent."""
        _check_model(command.model or None)
        chat, defaults = new_id(CHAT), self._desk.defaults
        folder = command.folder if command.folder is not None else defaults.folder
        created = ev.ChatCreated(
            title=" ".join(command.title.split()),
            folder=_whole_path(folder),
            mode=command.mode or defaults.mode,
            model=command.model or defaults.model,
            private=command.private,
        )
        return {"chat": chat, "last_id": await self._desk.write(chat, created)}

    async def archive(self, command: cmd.Archive) -> dict[str, Any]:
        """Out of the list, or back; a working chat carries on."""
        self._desk.chat(command.chat)
        return await self._wrote(command.chat, ev.ChatArchived(archived=command.archived))

    async def rename(self, command: cmd.Rename) -> dict[str, Any]:
        """The person's title, which nothing replaces."""
        self._desk.chat(command.chat)
        title = " ".join(command.title.split())
        if not title:
            refuse("bad-command", '"title" has nothing in it.')
        return await self._wrote(command.chat, ev.TitleChanged(title=title, by="person"))

    async def pin(self, command: cmd.Pin) -> dict[str, Any]:
        """Pinned after the others, or unpinned."""
        summary = self._desk.chat(command.chat)
        order = summary.pinned or 1 + max((s.pinned for s in self._desk.store.summaries()), default=0)
        return await self._wrote(command.chat, ev.ChatPinned(pinned=order if command.pinned else 0))

    async def delete(self, command: cmd.Delete) -> dict[str, Any]:
        """Stop its turn, then remove it for ever."""
        desk, chat = self._desk, command.chat
        desk.chat(chat)
        last_id = desk.store.last_id()
        desk.deleting.add(chat)
        try:
            for last in (False, True):  # a send that was just being written may still start a turn
                await desk.stop(chat)
                await desk.runner.wait(chat)
                async with desk.lock(chat):
                    if last or desk.runner.turn(chat) is None:
                        for leaving in desk.leaving:
                            await leaving(chat)
                        await desk.store.delete(chat)
                        break
        finally:
            desk.deleting.discard(chat)
        return {"last_id": last_id}

    async def fork(self, command: cmd.Fork) -> dict[str, Any]:
        """A new chat that carries on from a message."""
        desk = self._desk
        source = desk.chat(command.chat)
        events = await desk.store.read(lambda: list(desk.store.events(chat=source.id)))
        part = lifecycle.upto(events, command.message)
        if part is None:
            return refuse("bad-command", NO_MESSAGE)
        chat, new = lifecycle.fork(source, part, command.message, model=desk.defaults.model)
        return {"chat": chat, "last_id": before(await desk.store.commit(Batch(new)))}

    async def set(self, command: cmd.SetOptions) -> dict[str, Any]:
        """What the person set; holds from the chat's next step on."""
        desk = self._desk
        async with desk.lock(command.chat):
            summary = desk.open_chat(command.chat)
            given = command.model_dump(include={"mode", "model", "inbound", "private"}, exclude_none=True)
            if not given:
                refuse("bad-command", NOTHING_SET)
            _check_model(command.model)
            self._check_mode(summary, command.mode)
            if command.private is not None and command.private != summary.private and summary.messages:
                refuse("not-allowed", NOT_EMPTY)
            done = await self._wrote(command.chat, ev.OptionsChanged.model_validate(given))
        if command.mode == "full":
            await desk.asks.trusted(command.chat)
        return done

    def _check_mode(self, summary: ChatSummary, mode: ev.Mode | None) -> None:
        """A task never has more power than the chat it came from."""
        origin = summary.origin
        parent = self._desk.store.summary(origin.chat or "") if origin and origin.kind == "task" else None
        if mode is not None and parent is not None and ev.MODES.index(mode) > ev.MODES.index(parent.mode):
            refuse("not-allowed", ABOVE.format(mode=parent.mode))

    async def _wrote(self, chat: str, event: ev.Event) -> dict[str, Any]:
        return {"last_id": await self._desk.write(chat, event)}


def _check_model(model: str | None) -> None:
    """A name that no provider can have is refused now, not when the first message is answered."""
    problem = model_problem(model) if model is not None else None
    if problem is not None:
        refuse("bad-command", problem)


def _whole_path(folder: str) -> str:
    """The folder as a whole path without links; it need not exist."""
    return str(Path(folder).expanduser().resolve()) if folder else ""
