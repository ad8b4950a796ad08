"""Activity: what was done in every chat, read from the logs newest first; nothing of it is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from app.session.lifecycle import is_import
from store import events as ev
from store import fuzzy, words
from store.limits import ACTIVITY_EVENTS, ACTIVITY_PAGE, ACTIVITY_WORDS_CHARS, QUERY_CHARS
from store.log import Store
from store.models import ChatSummary
from store.rows import HIDDEN_TOOLS
from store.text import safe_name, safe_text

ActivityKind = Literal[
    "looks", "commands", "files", "pages", "asks", "outside", "messages", "waits", "tasks", "memories"
]
READ_AT_ONCE: Final = 500

# what changes an entry that is there already
ENDINGS: Final = ("tool.finished", "permission.resolved", "turn.completed")
# which events each kind of entry is read from
KINDS: Final[Mapping[ActivityKind, tuple[str, ...]]] = {
    "looks": ("chats.looked", "chats.listed", "history.explored"),
    "commands": ("tool.started", "process.started", "process.ended"),
    "files": ("files.changed", "files.restored"),
    "pages": ("tool.started",),
    "asks": ("permission.requested",),
    "outside": ("taint",),
    "messages": ("forwarded.message", "chat.message"),
    "waits": ("wait",),
    "tasks": ("task",),
    "memories": ("memory.saved", "memory.forgotten", "memory.decided"),
}
_FAMILIES: Final[Mapping[str, ActivityKind]] = {"command": "commands", "password": "commands", "web": "pages"}
_ANSWERS: Final[Mapping[str | None, str]] = {
    None: "waits for you",
    "allow": "you allowed it",
    "allow-always": "you always allow it",
    "deny": "you said no",
    "expired": "not answered",
}
_OUTCOMES: Final[Mapping[str, str]] = {"error": "failed", "unknown": "may have run"}
_BAD: Final = frozenset({*_OUTCOMES.values(), "failed"})
_EXIT: Final = "exit code "
_ENDS: Final = {"stopped": "stopped", "limit": "stopped at its limit", "closed": "ended with Shoal"}
_CHANGES: Final = {"created": "Made", "changed": "Edited", "deleted": "Deleted"}
# rows a transcript shows, where an entry has none of its own
_SHOWN: Final = frozenset({"chats.looked", "forwarded.message", "user.message", "assistant.done"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was done. `row`: where it stands in its chat. Everything is filtered and harmless."""

    id: int
    chat: str
    title: str
    row: str
    at: int
    kind: ActivityKind
    words: str
    note: str = ""  # what became of it
    waits: bool = False  # for the person
    private: bool = False
    bad: bool = False  # it failed


@dataclass(frozen=True, slots=True)
class ActivityPage:
    """Entries, newest first; `before` reads on from there, None: there is nothing earlier."""

    entries: tuple[Entry, ...] = ()
    before: int | None = None


class Activity:
    """Reads pages of it, on a worker thread."""

    def __init__(self, store: Store, clean: Callable[[str], str]) -> None:
        self._store = store
        self._clean = clean

    async def page(
        self, before: int | None = None, kind: ActivityKind | None = None, words_: str = "", limit: int = ACTIVITY_PAGE
    ) -> ActivityPage:
        """Up to `limit` entries of a kind (None: all) that have the words, earlier than `before`.

        At most so many events are looked through at once, so a page may have few entries and still a `before`.
        """
        return await self._store.read(self._page, before, kind, words_, limit)

    def _page(self, before: int | None, kind: ActivityKind | None, words_: str, limit: int) -> ActivityPage:
        types = KINDS[kind] if kind else tuple(dict.fromkeys(t for found in KINDS.values() for t in found))
        wanted = asked(words_)
        out: list[Entry] = []
        for _ in range(max(1, ACTIVITY_EVENTS // READ_AT_ONCE)):
            events = self._store.events_of_types(types, before, READ_AT_ONCE)
            for stored in events:
                before = stored.id
                entry = self._entry(stored)
                if entry is not None and kind in (None, entry.kind) and has(entry, wanted):
                    out.append(entry)
                    if len(out) >= limit:
                        return ActivityPage(tuple(out), before)
            if len(events) < READ_AT_ONCE:
                return ActivityPage(tuple(out))
        return ActivityPage(tuple(out), before)

    # -- one entry

    def _entry(self, stored: ev.Stored) -> Entry | None:
        summary = self._store.summary(stored.chat)
        if summary is None or is_import(summary) or _copied(stored, summary):
            return None
        told = self._told(stored)
        if told is None:
            return None
        kind, said, note = told
        row = stored.event.row() or self._row_near(stored)
        title = safe_name(self._clean(summary.title))
        waits = note == _ANSWERS[None]
        bad = note in _BAD or note.startswith(_EXIT)
        return Entry(stored.id, stored.chat, title, row, stored.at, kind, said, note, waits, summary.private, bad)

    def _told(self, stored: ev.Stored) -> tuple[ActivityKind, str, str] | None:  # noqa: PLR0911 - one match
        """An event as (kind, words, what became of it); None for plain looking around."""
        match stored.event:
            case ev.ChatsLooked() as e:
                return "looks", self._look(e), ""
            case ev.ChatsListed() as e:
                return "looks", self._line(_listed(e)), ""
            case ev.HistoryExplored() as e if e.state == "pending":
                return "looks", self._line(f"Explored your history for “{e.query}”"), self._explored(stored)
            case ev.ChatMessage() | ev.Wait() | ev.Task():
                return self._kept_current(stored)
            case ev.ToolStarted() as e if e.family in _FAMILIES and (e.effect == "write" or e.family == "web"):
                return _FAMILIES[e.family], self._line(e.label or e.name), self._outcome(stored)
            case ev.ProcessStarted() as e:
                return "commands", self._line(f"Left running: {e.command}"), ""
            case ev.ProcessEnded() as e:
                return "commands", self._line(f"No longer running: {self._command(stored)}"), _ended(e)
            case ev.FilesChanged() as e:
                return "files", self._line(_changed(e)), ""
            case ev.FilesRestored() as e:
                return "files", self._line(_restored(e)), ""
            case ev.PermissionRequested() as e:
                return "asks", self._line(_question(e)), self._answer(stored)
            case ev.Taint() as e:
                head = "Someone else's words" if e.source.kind == "person" else "Read from outside"
                return "outside", self._line(f"{head}: {e.source.label}"), ""
            case ev.ForwardedMessage() as e:
                return "messages", self._line(f"You put in {e.name}'s words: {e.text}"), ""
            case ev.MemorySaved() | ev.MemoryForgotten() | ev.MemoryDecided():
                return self._memory(stored)
        return None

    def _outcome(self, stored: ev.Stored) -> str:
        """How a call ended; that it runs, while its reply does."""
        found = (s.event for s in self._store.events_of_row(stored.chat, stored.event.row() or ""))
        ended = next((e.status for e in found if isinstance(e, ev.ToolFinished)), None)
        if ended is None:
            summary = self._store.summary(stored.chat)
            return "running" if summary is not None and summary.turn_id else ""
        return _OUTCOMES.get(ended, "")

    def _explored(self, stored: ev.Stored) -> str:
        last = self._store.events_of_row(stored.chat, stored.event.row() or "")[-1].event
        return last.state if isinstance(last, ev.HistoryExplored) else ""

    def _kept_current(self, stored: ev.Stored) -> tuple[ActivityKind, str, str] | None:
        """A message, a wait or a task: once, where it began, with how it stands now."""
        events = self._store.events_of_row(stored.chat, stored.event.row() or "")
        if not events or events[0].id != stored.id:
            return None
        match events[-1].event:
            case ev.ChatMessage() as e:
                who = f"To “{e.other.title}”" if e.direction == "to" else f"From “{e.other.title}”, another chat"
                head = who if not e.stop else f"{who}, stopping a reply"
                note = _ANSWERS[None] if e.state == "held" and e.direction == "from" else e.state
                return "messages", self._line(f"{head}: {e.text}"), note
            case ev.Wait() as e:
                note = {"watching": "still waiting", "timed-out": "gave up"}.get(e.wait.state, e.wait.state)
                return "waits", self._line(f"Waited for {e.wait.title}"), note
            case ev.Task() as e:
                return "tasks", self._line(f"Task: {e.title}"), _ANSWERS[None] if e.state == "needs-you" else e.state
        return None

    def _look(self, look: ev.ChatsLooked) -> str:
        if look.action == "read":
            title = look.chats[0].title if look.chats else ""
            return self._line(f"Read your chat “{title}”" if title else "Read one of your chats")
        return self._line(
            f"Looked through your chats for “{look.query}”" if look.query else "Looked through your chats"
        )

    def _memory(self, stored: ev.Stored) -> tuple[ActivityKind, str, str]:
        event = stored.event
        content = getattr(event, "content", "") or self._remembered(stored)
        if isinstance(event, ev.MemorySaved):
            waits = event.pending and not self._decided(stored)
            head = "Wants to remember" if event.pending else "Remembered"
            return "memories", self._line(f"{head}: {content}"), _ANSWERS[None] if waits else ""
        kept = isinstance(event, ev.MemoryDecided) and event.decision == "keep"
        return "memories", self._line(f"{'Kept' if kept else 'Forgot'}: {content}"), ""

    def _remembered(self, stored: ev.Stored) -> str:
        found = (s.event for s in self._store.events_of_row(stored.chat, stored.event.row() or ""))
        return next((e.content for e in found if isinstance(e, ev.MemorySaved)), "a memory")

    def _decided(self, stored: ev.Stored) -> bool:
        later = (s for s in self._store.events_of_row(stored.chat, stored.event.row() or "") if s.seq > stored.seq)
        return any(isinstance(s.event, ev.MemoryDecided | ev.MemoryForgotten) for s in later)

    def _command(self, stored: ev.Stored) -> str:
        found = (s.event for s in self._store.events_of_row(stored.chat, stored.event.row() or ""))
        return next((e.command for e in found if isinstance(e, ev.ProcessStarted)), "a process")

    def _answer(self, stored: ev.Stored) -> str:
        found = (s.event for s in self._store.events_of_row(stored.chat, stored.event.row() or ""))
        decision = next((e.decision for e in found if isinstance(e, ev.PermissionResolved)), None)
        return _ANSWERS.get(decision, str(decision))

    def _row_near(self, stored: ev.Stored) -> str:
        """Where something without a row of its own stands: at its call, else at the next thing shown."""
        call = stored.event.call_id if isinstance(stored.event, ev.Taint) else None
        if call is not None:
            made = (s.event for s in self._store.events_of_row(stored.chat, call))
            if any(isinstance(e, ev.ToolStarted) and e.name not in HIDDEN_TOOLS for e in made):
                return call
        after = self._store.events(after=stored.id, chat=stored.chat, limit=20)
        return next((s.event.row() or "" for s in after if s.event.type in _SHOWN), "")

    def _line(self, text: str) -> str:
        """Filtered whole, then cut."""
        return safe_text(self._clean(text), one_line=True, limit=ACTIVITY_WORDS_CHARS)


def _copied(stored: ev.Stored, summary: ChatSummary) -> bool:
    """Whether a fork took it over: it was done in the other chat."""
    return summary.forked_from is not None and stored.at < summary.created_at


def _listed(event: ev.ChatsListed) -> str:
    """As its row says it (ADR 0134)."""
    counts = [f"{event.working} working"] if event.working else []
    counts += [f"{event.needs_you} need{'s' if event.needs_you == 1 else ''} you"] if event.needs_you else []
    words = " · ".join(counts or ["none working" if event.chats else "there are no others"])
    return f"Checked on your other chats · {words}"


def _question(event: ev.PermissionRequested) -> str:
    what = " ".join(event.preview.split())
    head = event.summary or event.tool_name
    return f"Asked: {head}" + (f" · {what}" if what and what not in head else "")


def _changed(event: ev.FilesChanged) -> str:
    if event.label:
        return event.label
    kinds = {f.change for f in event.files}
    names = ", ".join(f.path for f in event.files[:3])
    more = f" and {len(event.files) - 3} more" if len(event.files) > 3 else ""
    return f"{_CHANGES[kinds.pop()] if len(kinds) == 1 else 'Changed'} {names or 'files'}{more}"


def _restored(event: ev.FilesRestored) -> str:
    head = "Undid changes of" if event.direction == "undo" else "Did changes again in"
    more = f" and {len(event.files) - 3} more" if len(event.files) > 3 else ""
    return f"{head} {', '.join(event.files[:3]) or 'files'}{more}"


def _ended(event: ev.ProcessEnded) -> str:
    if event.reason != "exited":
        return _ENDS[event.reason]
    return "ended" if not event.exit_code else f"{_EXIT}{event.exit_code}"


# -- the search box


def asked(text: str) -> list[str]:
    """The words somebody looks for, folded."""
    return list(dict.fromkeys(words.tokens(text[:QUERY_CHARS])))


def has(entry: Entry, wanted: Sequence[str]) -> bool:
    """Whether every word is in the entry: as a beginning, in another form, or nearly."""
    if not wanted:
        return True
    text = f"{entry.words} {entry.title} {entry.note}"
    found = {*words.tokens(text), *words.extra(text).split()}
    stems = {words.stem(token) for token in found}
    return all(_meant(word, found, stems) for word in wanted)


def _meant(word: str, found: set[str], stems: set[str]) -> bool:
    if words.stem(word) in stems or any(token.startswith(word) for token in found):
        return True
    if words.UNSPACED.search(word):
        return all(pair in found for pair in words.pairs(word)[:-1] or words.pairs(word))
    allowed = fuzzy.edits_allowed(word)
    return bool(allowed) and any(fuzzy.distance(word, token, allowed) <= allowed for token in found)
