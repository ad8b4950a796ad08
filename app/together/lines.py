"""Notes that come by themselves: which lines a step hears of other chats (ADR 0134; decisions 27–29)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from app.guard.may import is_yours, may_look
from app.guard.quoting import host_line
from app.ports import Joining, Turn, TurnContext
from app.together.snapshot import Snapshot, Working, real, same_place, within
from app.tools.beneath import Place
from app.tools.toolbox import context_of
from store.events import Joined
from store.limits import NAME_IN_LINE_CHARS, NOTES_A_TURN
from store.log import Store
from store.models import ChatSummary
from store.text import safe_name

CHANGES = (
    "another of the person's chats is changing files in this folder right now: “{title}” (chat {chat}){file}. "
    "Keep to your own files, and read one again before you change it.{look}"
)
RUNS = (
    "another of the person's chats, “{title}” (chat {chat}), is running commands in this folder. If yours would "
    "clash with them, wait for it or say so"
)
BOTH = (
    "“{title}” (chat {chat}) and this reply have both changed {file}{where}: read it again before changing it further"
)
LOOK = " list_chats shows what it does"
EDITED = (
    "{path} was changed by another of the person's chats, “{title}” (chat {chat}), which is still working{where}. "
    "Nothing was changed; read it first, then make your change to what is there now."
)
ELSEWHERE = " in another worktree"


@dataclass(slots=True)
class Said:
    """What one turn was told; at most four lines, each chat and each shared file once."""

    changes: set[str] = field(default_factory=set)
    runs: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    lines: int = 0


def notes(
    me: Working,
    others: Sequence[Working],
    said: Said,
    *,
    own: Sequence[str] = (),
    lists: bool = True,
    clean: Callable[[str], str] = str,
) -> list[str]:
    """The lines this step hears, new things only. Pure but for links that are followed; `said` is kept up.

    `clean` takes secrets out of titles and file names, before they are cut.
    """
    lines: list[str] = []
    for other in others:
        if me.chat.place != other.chat.place:
            continue  # on another computer: nothing there can be the same file
        chat = other.chat.id
        both = [path for path in dict.fromkeys(me.files) if path in other.files and path not in said.files]
        again = worktree_twins(me, other) if set(me.files) - said.files and other.files else set()
        twins = [p for p in me.files if p in again and p not in said.files and p not in both]
        for path, where in [*((p, "") for p in both), *((p, ELSEWHERE) for p in twins)]:
            said.files.add(path)
            file = shown(path, me.chat, clean)
            lines.append(BOTH.format(title=_title(other, clean), chat=chat, file=file, where=where))
        if not same_place(me.chat, other.chat, own):
            continue
        inside = [p for p in (*other.files, *other.shared) if _here(p, me.chat)]
        if chat not in said.changes and (inside or other.chat.family in ("edit", "ship")):
            said.changes.add(chat)
            file = f", changing {shown(inside[-1], me.chat, clean)}" if inside else ""
            lines.append(CHANGES.format(title=_title(other, clean), chat=chat, file=file, look=LOOK if lists else ""))
        elif chat not in said.changes | said.runs and other.chat.family in ("run", "verify"):
            said.runs.add(chat)
            lines.append(RUNS.format(title=_title(other, clean), chat=chat))
    lines = lines[: max(0, NOTES_A_TURN - said.lines)]
    said.lines += len(lines)
    return lines


def _here(path: str, chat: ChatSummary) -> bool:
    """Whether a whole path lies in the chat's folder, or in the folder that holds it."""
    folder = real(chat.folder)
    return within(path, folder) or within(folder, os.path.dirname(path))


def worktree_twins(me: Working, other: Working) -> set[str]:
    """My changed files whose namesake the other changed in another worktree of the same repository (decisions 28)."""
    mine, its = worktree(me.chat.folder), worktree(other.chat.folder)
    if mine is None or its is None or mine[1] != its[1] or mine[0] == its[0]:
        return set()
    names = {os.path.relpath(p, its[0]) for p in other.files if within(p, its[0])}
    return {p for p in me.files if within(p, mine[0]) and os.path.relpath(p, mine[0]) in names}


def worktree(folder: str) -> tuple[str, str] | None:
    """The top of the git worktree a folder lies in, and the repository all its worktrees share."""
    at = real(folder) if folder else ""
    while at and at != os.path.dirname(at):
        git = os.path.join(at, ".git")
        if os.path.isdir(git):
            return at, real(git)
        if os.path.isfile(git):
            try:
                with open(git, encoding="utf-8", errors="replace") as file:
                    told = file.read(4096).strip().removeprefix("gitdir:").strip()
            except OSError:
                return None
            inside = real(os.path.join(at, told))  # …/.git/worktrees/NAME
            common = os.path.dirname(os.path.dirname(inside))
            return at, common
        at = os.path.dirname(at)
    return None


def line_name(title: str) -> str:
    """Another chat's title as plain words in a line of Shoal's."""
    return safe_name(title, NAME_IN_LINE_CHARS)


def _title(other: Working, clean: Callable[[str], str]) -> str:
    return line_name(clean(other.chat.title))


def shown(path: str, chat: ChatSummary, clean: Callable[[str], str] = str) -> str:
    """A changed file as this chat would call it; a path that nothing can be read into."""
    folder = real(chat.folder) if chat.folder else ""
    inside = os.path.relpath(path, folder) if folder and within(path, folder) else path
    return safe_name(clean(inside), NAME_IN_LINE_CHARS)


class Notes:
    """Implements `app.ports.Inbox`: a cursor a turn, silent once it is to end."""

    def __init__(self, store: Store, snapshot: Snapshot, clean: Callable[[str], str], own: Sequence[str] = ()) -> None:
        self._store = store
        self._snapshot = snapshot
        self._clean = clean
        self._own = own
        self._said: dict[str, tuple[str, Said]] = {}  # chat → (turn, what it was told)
        store.listen_deleted(self._gone)

    def _gone(self, chat: str) -> None:
        self._said.pop(chat, None)

    async def take(self, turn: Turn, step: int) -> Joining:
        """The lines for this step; none for a chat with someone else's words in it."""
        me = self._store.summary(turn.chat)
        if turn.stop.is_set() or me is None or not is_yours(me):
            return Joining()
        others = [w for w in self._snapshot.working() if w.chat.id != turn.chat]
        if not others:
            return Joining()
        known = self._said.get(turn.chat)
        if known is None or known[0] != turn.turn_id:
            known = self._said[turn.chat] = (turn.turn_id, Said())
        lists = may_look(context_of(self._store, turn)) is None
        lines = notes(self._snapshot.of(me), others, known[1], own=self._own, lists=lists, clean=self._clean)
        return Joining(tuple(Joined(kind="note", text=host_line(line)) for line in lines))


class EditWatch:
    """What `FileDesk` asks before an edit: whether another running reply changed the file since it was read."""

    def __init__(self, store: Store, snapshot: Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot
        self.noted: Callable[[TurnContext, Place], None] = snapshot.noted

    async def why_not(self, ctx: TurnContext, place: Place) -> str | None:
        """The sentence for the model, or None."""
        me = self._store.summary(ctx.chat)
        if me is None or not is_yours(me):
            return None
        other, where = self._snapshot.changed_by(ctx, place.path, me.place), ""
        if other is None:
            other, where = self._twin(ctx, place, me), ELSEWHERE
        if other is None:
            return None
        path = shown(real(place.path), me)
        return EDITED.format(path=path, title=line_name(other.chat.title), chat=other.chat.id, where=where)

    def _twin(self, ctx: TurnContext, place: Place, me: ChatSummary) -> Working | None:
        """The reply that changed the namesake in another worktree of the repository."""
        mine = worktree(me.folder)
        path = real(place.path)
        if mine is None or not within(path, mine[0]):
            return None
        name = os.path.relpath(path, mine[0])
        for other in self._snapshot.working():
            beside = other.chat.id != ctx.chat and other.chat.place == me.place
            its = worktree(other.chat.folder) if beside else None
            if its is not None and its[1] == mine[1] and its[0] != mine[0]:
                twin = os.path.join(its[0], name)
                if twin in other.files and self._snapshot.newer(ctx, twin, path):
                    return other
        return None
