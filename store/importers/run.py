"""Runs an import: whole chats, each message once, in bounded memory; run again, it adds only what is new."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from store import events as ev
from store.errors import ChatGone
from store.events import Event, TaintSource
from store.ids import import_prefix, imported_id, new_id
from store.importers.base import Format, Head, ImportFailed, Said, Times
from store.importers.lines import FileState, Unreadable, parse_line, read_lines
from store.importers.locomo import Locomo
from store.importers.shoal_events import ShoalExport
from store.limits import IMPORT_BATCH_CHARS, IMPORT_HELD_CHARS, IMPORT_HELD_CHATS, TAINT_LABEL_CHARS
from store.log import Batch, NewEvent, Store
from store.models import ChatSummary
from store.text import safe_name

Clean = Callable[[str], str]
_TRIES = 1_000  # so many lines are looked at to tell what a file is


@dataclass(slots=True)
class Report:
    """What an import did. `deleted`: chats that were deleted here and stay so."""

    program: str = ""
    chats: int = 0
    new_chats: int = 0
    messages: int = 0
    known: int = 0  # lines that were here before
    unreadable: int = 0
    deleted: int = 0
    cut: str = ""
    done: int = 0  # bytes
    total: int = 0

    def sentence(self) -> str:
        """What happened, for the person."""
        if self.messages:
            words = f"Imported {_count(self.messages, 'message')} in {_count(self.chats, 'chat')} from {self.program}"
        else:
            words = "Nothing new was imported" if self.known or self.deleted else "There was nothing to import"
        if self.known:
            words += f"; {_count(self.known, 'line')} here before"
        if self.deleted:
            words += f"; {_count(self.deleted, 'chat')} deleted here before, left out"
        if self.unreadable:
            words += f"; {_count(self.unreadable, 'line')} couldn't be read"
        return f"{words}; {self.cut}." if self.cut else f"{words}."


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


Progress = Callable[[Report], None]


@dataclass(slots=True)
class _Held:
    head: Head | None = None
    said: dict[object, Said] = field(default_factory=dict)  # by order or row, see Format.by_order
    chars: int = 0


def import_file(
    store: Store,
    path: Path,
    *,
    project: str = "",
    clean: Clean = lambda text: text,
    progress: Progress | None = None,
) -> Report:
    """Take a file in. `project` is the folder of chats that name none; `clean` filters what marks say.

    Raises ImportFailed with one sentence when the file can't be opened or isn't of a known form; what StoreError
    stops it keeps the whole chats that are in.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ImportFailed(f"“{safe_name(path.name)}” isn't a file; save what you want to import in one.")
    times = Times(store.clock)
    run = _Run(store, (ShoalExport(times), Locomo(times)), project, clean, path.name, progress)
    try:
        return run.read(path)
    except FileNotFoundError:
        raise ImportFailed(f"There is no file “{safe_name(path.name)}”; look at its name and folder.") from None
    except IsADirectoryError:
        raise ImportFailed(f"“{safe_name(path.name)}” is a folder; give one file of it.") from None
    except OSError as error:
        raise ImportFailed(f"“{safe_name(path.name)}” can't be opened ({error.strerror or 'it failed'}).") from None


class _Run:
    def __init__(
        self,
        store: Store,
        formats: tuple[Format, ...],
        project: str,
        clean: Clean,
        file: str,
        progress: Progress | None,
    ) -> None:
        self._store = store
        self._formats = formats
        self._format: Format | None = None
        self._project = project
        self._clean = clean
        self._file = safe_name(clean(file))
        self._progress = progress
        self._held: dict[str, _Held] = {}
        self._heads: dict[str, Head | None] = {}  # of chats already written
        self._parts: dict[str, tuple[set[str | None], int]] = {}  # what is in of chats written in parts
        self._counted: set[str] = set()  # chats that something was written to
        self._chars = 0
        self.report = Report()

    def read(self, path: Path) -> Report:
        """The whole file."""
        state, looked = FileState(), 0
        for raw in read_lines(path, state):
            try:
                line = None if raw is None else parse_line(raw)
                if raw is None or (line is not None and not self._take(line)):
                    raise Unreadable
            except Unreadable:
                self.report.unreadable += 1
                looked += 1
                if self._format is None and looked >= _TRIES:
                    break
            if self._chars > IMPORT_HELD_CHARS or len(self._held) > IMPORT_HELD_CHATS:
                self._write(self._chars // 2, len(self._held) // 2)
            if self._progress and state.done != self.report.done:
                self.report.done, self.report.total = state.done, state.total
                self._progress(self.report)
        if self._format is None and self.report.unreadable:
            raise ImportFailed(
                f"“{self._file}” isn't a file Shoal can import: give Shoal's own export (`shoal export --format json`) "
                "or a file of the LoCoMo benchmark's form."
            )
        self._write(0, 0)
        self.report.cut = state.cut
        return self.report

    def _take(self, line: dict[str, Any]) -> bool:
        if self._format is None:
            self._format = next((f for f in self._formats if f.knows(line)), None)
            if self._format is None:
                return False
            self.report.program = self._format.program
        if not self._format.knows(line):
            return False
        item = self._format.take(line)
        if item is None:
            return True
        held = self._held.pop(item.chat, None) or _Held(self._heads.get(item.chat))
        self._held[item.chat] = held  # the newest last: the others are written first
        if isinstance(item, Head):
            held.head = held.head or item
        elif (key := item.order if self._format.by_order else item.event.row()) in held.said:
            self.report.known += 1
        else:
            held.said[key] = item
            held.chars += item.chars
            self._chars += item.chars
        return True

    # -- writing

    def _write(self, chars: int, chats: int) -> None:
        """Write held chats, the longest untouched first, until at most so much is held."""
        batch: list[tuple[str, list[NewEvent]]] = []
        size = 0
        while self._held and (self._chars > chars or len(self._held) > chats):
            own, held = next(iter(self._held.items()))
            del self._held[own]
            self._chars -= held.chars
            if events := self._events(own, held):
                batch.append((own, events))
                size += held.chars
            self._heads[own] = held.head
            if size > IMPORT_BATCH_CHARS:
                self._commit(batch)
                batch, size = [], 0
        if batch:
            self._commit(batch)

    def _commit(self, batch: list[tuple[str, list[NewEvent]]]) -> None:
        try:
            self._store.commit_sync(Batch([e for _, events in batch for e in events], kind="import"))
        except ChatGone:
            if len(batch) == 1:
                self.report.deleted += 1
                return
            for one in batch:
                self._commit([one])
            return
        for own, events in batch:
            self.report.chats += own not in self._counted
            self._counted.add(own)
            self.report.new_chats += isinstance(events[0].event, ev.ChatCreated)
            self.report.messages += sum(_is_message(e.event) for e in events)

    def _events(self, own: str, held: _Held) -> list[NewEvent]:
        form = self._format
        assert form is not None  # nothing is held before the format is known
        chat = imported_id(import_prefix(form.source), own)
        summary = self._store.summary(chat)
        said = sorted(held.said.values(), key=lambda s: s.order)
        if summary is not None:
            said = self._fresh(form, own, chat, said)
        messages = sum(_is_message(s.event) for s in said)
        if not said or (summary is None and not messages):
            return []
        events = [] if summary else [self._created(form, own, chat, held.head, said)]
        if events and held.head and held.head.persons_title:
            events.append(NewEvent(chat, ev.TitleChanged(title=held.head.created.title), events[0].at))
        events += [NewEvent(chat, e, said[0].at) for e in self._marks(form, said, summary)]
        events += [NewEvent(chat, self._filtered(s.event), s.at) for s in said]
        events += [NewEvent(chat, e, said[-1].at) for e in _closing(said)]
        added = ev.ImportAdded(
            import_id=new_id("n"),
            program=form.program,
            file=self._file,
            messages=messages,
            through=max(s.order for s in said) if form.by_order else None,
        )
        known_time = any(s.at for s in said) or (summary is not None and summary.last_active)
        events.append(NewEvent(chat, added, None if known_time else 0))
        return events

    def _created(self, form: Format, own: str, chat: str, head: Head | None, said: list[Said]) -> NewEvent:
        created = head.created if head else ev.ChatCreated(origin=ev.Origin(kind="import", name=form.program, ref=own))
        if not created.folder and self._project:
            created = created.model_copy(update={"folder": self._project})
        return NewEvent(chat, created, (head.at if head else 0) or _first_at(said))

    def _filtered(self, event: Event) -> Event:
        if not isinstance(event, ev.Taint):
            return event
        label = safe_name(self._clean(event.source.label), TAINT_LABEL_CHARS)
        return ev.Taint(source=TaintSource(kind=event.source.kind, label=label))

    def _fresh(self, form: Format, own: str, chat: str, said: list[Said]) -> list[Said]:
        """What of `said` isn't in the chat yet."""
        rows, through = self._parts.get(own) or self._known(chat)
        fresh = [s for s in said if (s.order > through if form.by_order else s.event.row() not in rows)]
        self.report.known += len(said) - len(fresh)
        if own in self._heads:  # it comes in parts: what is in isn't read from the store each time
            rows.update(() if form.by_order else (s.event.row() for s in fresh))
            self._parts[own] = (rows, max([through, *(s.order for s in fresh)]))
        return fresh

    def _known(self, chat: str) -> tuple[set[str | None], int]:
        rows: set[str | None] = set()
        through = -1
        for stored in self._store.events(chat=chat):
            rows.add(stored.event.row())
            if isinstance(stored.event, ev.ImportAdded) and stored.event.through is not None:
                through = max(through, stored.event.through)
        return rows, through

    def _marks(self, form: Format, said: list[Said], summary: ChatSummary | None) -> Iterator[Event]:
        """What the chat read, before its words: the program, and everyone else who speaks in it."""
        wanted = [TaintSource(kind="app", label=form.taint)]
        for event in (s.event for s in said):
            who = event.author if isinstance(event, ev.UserMessage) and event.them else None
            if isinstance(event, ev.UserMessage) and event.them and not who:
                who = "someone else"
            if isinstance(event, ev.ForwardedMessage):
                who = event.name
            if who:
                wanted.append(TaintSource(kind="person", label=safe_name(self._clean(who), TAINT_LABEL_CHARS)))
        had = set(summary.taints if summary else ()) | {s.event.source for s in said if isinstance(s.event, ev.Taint)}
        for source in dict.fromkeys(wanted):
            if source not in had:
                yield ev.Taint(source=source)


def _is_message(event: Event) -> bool:
    return isinstance(event, ev.UserMessage | ev.ForwardedMessage | ev.AssistantDone)


def _first_at(said: list[Said]) -> int:
    return next((s.at for s in said if s.at), 0)


def _closing(said: list[Said]) -> Iterator[Event]:
    """A result for every call the file leaves open."""
    open_calls = {s.event.call_id: None for s in said if isinstance(s.event, ev.ToolStarted)}
    for event in (s.event for s in said):
        if isinstance(event, ev.ToolFinished):
            open_calls.pop(event.call_id, None)
    for call_id in open_calls:
        yield ev.ToolFinished(call_id=call_id, status="unknown", output="The exported chat doesn't say how this ended.")


__all__ = ["ImportFailed", "Report", "import_file"]
