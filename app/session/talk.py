"""What is said in a chat: send, stop, retry, the queue, forwarded words, answers, and the title after it."""

from __future__ import annotations

import logging
from typing import Any

from app import commands as cmd
from app.assistant import titles
from app.assistant.boundary import was_paused
from app.guard import taint
from app.ports import Start, Trigger, Turn, WireError
from app.session import queue, recovery
from app.session.desk import Desk, refuse
from store import events as ev
from store.errors import StoreError
from store.ids import CHAIN, MESSAGE, TURN, new_id
from store.limits import QUEUE_MOST, TITLE_EVENTS
from store.log import Change
from store.models import ChatSummary
from store.state import KeepState
from store.together import Chain, Put

log = logging.getLogger("shoal.session")

NOT_OPEN = "That question isn't open any more."
NOTHING_TO_RETRY = "The last reply ended well, so there is nothing to try again."
NOTHING_SAID = "Nothing was said in this chat yet."
WORKING = "A reply is being written; stop it first."
QUEUE_FULL = f"{QUEUE_MOST} messages wait already; let a reply end first."
ONLY_SPACES = '"text" has nothing in it.'
BY_PERSON = frozenset({"person", "retry", "ask"})
WORDS_ONLY = ("offline", "scripted")  # models that write no titles


class Talk:
    """Turns begin here, and what follows them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._titling: set[str] = set()

    def titling(self, chat: str | None = None) -> bool:
        """Whether a title is being written, for this chat or any."""
        return bool(self._titling) if chat is None else chat in self._titling

    # -- commands

    async def clear(self, command: cmd.Clear) -> dict[str, Any]:
        """What was said so far no longer goes to the model; refused while a reply is being written."""
        desk, chat = self._desk, command.chat
        async with desk.lock(chat):
            desk.open_chat(chat)
            if desk.runner.turn(chat) is not None:
                refuse("busy", WORKING)
            return {"last_id": await desk.write(chat, ev.ContextCleared(compact_id=new_id(MESSAGE)))}

    async def send(self, command: cmd.Send) -> dict[str, Any]:
        """The person's words: a turn now, or a place in the queue while one runs."""
        desk, chat = self._desk, command.chat
        if not command.text.strip():
            refuse("bad-command", ONLY_SPACES)
        async with desk.lock(chat):
            summary = desk.open_chat(chat)
            if desk.runner.turn(chat) is not None:
                pushed = queue.push(queue.read(desk.store, chat), command.text, attended=command.attended)
                if pushed is None:
                    return refuse("busy", QUEUE_FULL)
                waiting, new = pushed
                last_id = await self._keep_queue(chat, waiting)
                return {"chat": chat, "message_id": new.message_id, "queued": True, "last_id": last_id}
            message_id = new_id(MESSAGE)
            said = queue.Waiting(message_id, command.text)
            last_id = await self._begin(summary, _by_person("person" if command.attended else "ask"), said)
            return {"chat": chat, "message_id": message_id, "queued": False, "last_id": last_id}

    async def retry(self, command: cmd.Retry) -> dict[str, Any]:
        """The last turn once more, without saying anything twice."""
        desk, chat = self._desk, command.chat
        async with desk.lock(chat):
            summary = desk.open_chat(chat)
            if desk.runner.turn(chat) is not None:
                refuse("busy", WORKING)
            if summary.last_outcome is None and summary.turn_id is None:
                refuse("not-allowed", NOTHING_SAID)
            if summary.last_outcome == "success" and summary.turn_id is None and not await self._paused(chat):
                refuse("not-allowed", NOTHING_TO_RETRY)
            return {"chat": chat, "last_id": await self._begin(summary, _by_person("retry"), None)}

    async def _paused(self, chat: str) -> bool:
        """Whether the last reply was paused: "Carry on" is the same as trying again."""
        return was_paused(await self._desk.store.read(self._desk.store.since_turn, chat))

    async def stop(self, command: cmd.Stop) -> dict[str, Any]:
        """Ask the turn to end."""
        desk = self._desk
        summary, turn = desk.chat(command.chat), desk.runner.turn(command.chat)
        ended = turn is not None and summary.turn_id != turn.turn_id  # its end is durable and told already
        return {"stopping": not ended and await desk.stop(command.chat)}

    async def answer(self, command: cmd.Answer) -> dict[str, Any]:
        """Answer a question, once."""
        self._desk.chat(command.chat)
        if not await self._desk.asks.answer(command.chat, command.permission, command.decision):
            refuse("gone", NOT_OPEN)
        return {"permission": command.permission, "decision": command.decision}

    async def forward(self, command: cmd.Forward) -> dict[str, Any]:
        """Someone else's words: the mark first, in the same batch; no turn starts."""
        desk, chat = self._desk, command.chat
        if not command.text.strip() or not command.name.strip():
            refuse("bad-command", '"name" and "text" must have something in them.')
        async with desk.lock(chat):
            summary = desk.open_chat(chat)
            message_id = new_id(MESSAGE)
            marks = [
                ev.Taint(source=s) for s in taint.new_sources(summary.taints, [taint.source("person", command.name)])
            ]
            said = ev.ForwardedMessage(message_id=message_id, name=command.name, text=command.text)
            last_id = await desk.write(chat, *marks, *_back(summary), said)
        return {"message_id": message_id, "last_id": last_id}

    async def set_queue(self, command: cmd.SetQueue) -> dict[str, Any]:
        """The queue as the person edited it."""
        chat = command.chat
        async with self._desk.lock(chat):
            summary = self._desk.open_chat(chat)
            if len(command.texts) > QUEUE_MOST:
                refuse("bad-command", f'"texts" may hold {QUEUE_MOST} messages at most.')
            waiting = queue.replaced(queue.read(self._desk.store, chat), command.texts)
            if not (command.go and waiting and self._desk.runner.turn(chat) is None):
                return {"last_id": await self._keep_queue(chat, waiting)}
            first, rest = waiting[0], waiting[1:]
            start = _by_person("person" if first.attended else "ask")
            last_id = await self._begin(summary, start, first, queue.keep(chat, rest))
            self._tell_queue(chat, rest)
            return {"last_id": last_id}

    # -- turns

    async def _keep_queue(self, chat: str, waiting: queue.Queue) -> int:
        last_id = await self._desk.write(chat, changes=[queue.keep(chat, waiting)])
        self._tell_queue(chat, waiting)
        return last_id

    def _tell_queue(self, chat: str, waiting: queue.Queue) -> None:
        self._desk.bus.signal(chat, "queue", {"texts": [w.text for w in waiting]})

    async def start_due(self, chat: str) -> None:
        """Start the reply that is due, where none runs; a chat that is going or gone has none."""
        desk = self._desk
        async with desk.lock(chat):
            summary = None if chat in desk.deleting else desk.store.summary(chat)
            if summary is None or desk.runner.turn(chat) is not None:
                return
            start = desk.due(chat)
            if start is not None:
                await self._begin(summary, start, None)

    async def _begin(self, summary: ChatSummary, start: Start, said: queue.Waiting | None, *also: Change) -> int:
        """Commit the send batch and start the turn; `last_id` before it. The chat's lock is held."""
        desk, chat = self._desk, summary.id
        if summary.turn_id is not None:  # a turn whose end couldn't be written
            await recovery.recover_chat(desk.store, chat)
        turn, events, changes = self._turn_of(summary, start, said)
        last_id = await desk.write(chat, *events, changes=[*changes, *also], kind="send")
        desk.runner.start(turn)
        return last_id

    async def follow(self, turn: Turn, outcome: ev.Outcome) -> Turn | None:
        """After a turn: the title, then the next of the queue (only after a good end)."""
        desk, chat = self._desk, turn.chat
        await self._title(turn, outcome)
        async with desk.lock(chat):
            summary = None if chat in desk.deleting else desk.store.summary(chat)
            waiting = queue.read(desk.store, chat) if summary and outcome == "success" else ()
            # after a stop what waits to be sent stays; a message or an ended wait starts once nothing runs
            start = (
                _by_person("person" if waiting[0].attended else "ask")
                if waiting
                else desk.due(chat)
                if outcome != "interrupted"
                else None
            )
            if summary is None or start is None:
                desk.runner.forget(chat)
                return None
            following, events, changes = self._turn_of(summary, start, waiting[0] if waiting else None)
            if waiting:
                changes = [*changes, queue.keep(chat, waiting[1:])]
            desk.runner.next(following)
            await desk.write(chat, *events, changes=changes, kind="send")
            if waiting:
                self._tell_queue(chat, waiting[1:])
            return following

    def _turn_of(
        self, summary: ChatSummary, start: Start, said: queue.Waiting | None
    ) -> tuple[Turn, list[ev.Event], list[Change]]:
        """The turn that starts, and the events and changes of its send batch (decisions 23)."""
        changes = list(start.changes)
        chain = start.chain or summary.chain
        if chain is None or start.trigger in BY_PERSON:  # what the person starts opens a chain of its own
            chain = new_id(CHAIN)
            changes.append(Put(Chain(chain, self._desk.clock.now_ms(), summary.id)))
            if self._desk.store.state(summary.id, recovery.RESUME) is not None:  # the person went on instead
                changes.append(KeepState(summary.id, recovery.RESUME, None))
        turn = Turn(
            summary.id,
            new_id(TURN),
            summary.model,
            summary.mode,
            start.trigger,
            attended=summary.origin is None and start.attended,
            chain=chain,
            message_id=said.message_id if said else None,
        )
        started = ev.TurnStarted(
            turn_id=turn.turn_id,
            trigger=start.trigger,
            mode=turn.mode,
            model=turn.model,
            place=turn.place,
            chain=chain,
            attended=turn.attended,
            message_id=turn.message_id,
        )
        words = [ev.UserMessage(message_id=said.message_id, text=said.text)] if said else []
        return turn, [*_back(summary), *words, started], changes

    # -- the title

    async def _title(self, turn: Turn, outcome: ev.Outcome) -> None:
        desk, chat = self._desk, turn.chat
        summary = desk.store.summary(chat)
        if summary is None or chat in desk.deleting or (summary.title and summary.title_by != "words"):
            return
        by_model = outcome == "success" and turn.model.partition(":")[0] not in WORDS_ONLY
        if summary.title and not by_model:
            return
        events = [
            s.event for s in await desk.store.read(lambda: list(desk.store.events(chat=chat, limit=TITLE_EVENTS)))
        ]
        said = next((e.text for e in events if isinstance(e, ev.UserMessage)), "")
        answered = next((e.text for e in events if isinstance(e, ev.AssistantDone) and e.text), "")
        good = sum(isinstance(e, ev.TurnCompleted) and e.outcome == "success" for e in events)
        if by_model and answered and good == 1:
            self._titling.add(chat)
            desk.runner.tasks.spawn(self._title_by_model(turn, said, answered))
        elif not summary.title:
            await self._give_title(chat, titles.from_words(said), "words")

    async def _title_by_model(self, turn: Turn, said: str, answered: str) -> None:
        title = ""
        try:
            wire = self._desk.wires.wire(turn.model)
            title = await titles.by_model(wire, turn.model, said, answered, turn.chat)
            await self._give_title(turn.chat, title or titles.from_words(said), "model" if title else "words")
        except (WireError, StoreError) as error:
            log.info("no title for %s: %s", turn.chat, type(error).__name__)
        finally:
            self._titling.discard(turn.chat)

    async def _give_title(self, chat: str, title: str, by: str) -> None:
        summary = self._desk.store.summary(chat)
        if title and summary is not None and summary.title_by != "person" and chat not in self._desk.deleting:
            await self._desk.write(chat, ev.TitleChanged.model_validate({"title": title, "by": by}))


def _back(summary: ChatSummary) -> list[ev.Event]:
    """Writing in an archived chat brings it back."""
    return [ev.ChatArchived(archived=False)] if summary.archived_at is not None else []


def _by_person(trigger: Trigger) -> Start:
    return Start(trigger, attended=trigger != "ask")
