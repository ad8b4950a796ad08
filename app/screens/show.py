"""From summaries and live signals to the words on title lines, the header and the strip."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from store.limits import CHAIN_MESSAGES, CHAIN_REPLIES
from store.models import ChatSummary
from store.together import Chain
from widgets.line import Piece
from widgets.marks import NEEDS_YOU, WORKING, lasted, tokens


def short_folder(folder: str) -> str:
    """A folder as people write it: the home as ~, a long one by its end."""
    if not folder:
        return ""
    home = str(Path.home())
    if folder == home or folder.startswith(home + "/"):
        folder = "~" + folder[len(home) :]
    if len(folder) <= 24:
        return folder
    return "…/" + "/".join(folder.rstrip("/").split("/")[-2:])[-22:]


def counts(chats: Iterable[ChatSummary]) -> tuple[int, int]:
    """(how many work, how many need the person)."""
    working = needs = 0
    for chat in chats:
        working += chat.status == "running"
        needs += chat.status == "awaiting-permission"
    return working, needs


def header(working: int, needs: int, notice: str = "") -> list[Piece]:
    """The left of the header: the name, what works, what needs the person."""
    out: list[Piece] = [(" Shoal", "title"), ("   ", "")]
    if working:
        out += [(f"{WORKING} ", "accent"), (f"{working} working", "")]
    if needs:
        one = "needs you" if needs == 1 else "need you"
        out += [(" · " if working else "", "muted"), (f"{NEEDS_YOU} ", "warn"), (f"{needs} {one}", "strong")]
    if not working and not needs:
        out.append(("all quiet", "muted"))
    if notice:
        out += [("   ", ""), (notice, "warn")]
    return out


@dataclass(frozen=True, slots=True)
class Again:
    """A request failed and is tried again at `until_ms`."""

    why: str
    until_ms: int

    def words(self, now_ms: int) -> str:
        """Why, and how long it is yet."""
        left = -(-(self.until_ms - now_ms) // 1000)
        return f"{self.why} · again in {left} s" if left > 0 else f"{self.why} · trying again"


def doing(chat: ChatSummary, now_ms: int, live: str | Again = "") -> str:
    """What the reply is doing, and for how long (or how long it waits yet); "" when none is running."""
    if chat.turn_id is None or chat.status == "awaiting-permission":
        return ""
    if isinstance(live, Again):
        return live.words(now_ms)
    words = live or chat.doing or "Working…"
    since = chat.doing_since or chat.last_active
    past = now_ms - since
    return f"{words} {lasted(past)}" if past >= 1000 else words


def chain(of: Chain | None) -> str:
    """A chain of messages for a column's foot: its bounds, and what it used; "" when there is none."""
    if of is None:
        return ""
    words = [f"chain {of.messages}/{CHAIN_MESSAGES} messages", f"{of.replies}/{CHAIN_REPLIES} replies"]
    used = of.input_tokens + of.output_tokens
    words += [tokens(used)] * bool(used) + [f"${of.cost_usd:.2f}"] * bool(of.cost_usd)
    return " · ".join(words)


def hint(chat: ChatSummary, readonly: bool, asks: int, waiting: str = "", queued: int = 0) -> str:
    """What the empty message box says; `waiting`: what a let-go wait waits for; `queued`: messages not sent yet."""
    if readonly:
        return "read only: nothing can be saved, so nothing can be sent"
    if chat.origin is not None and chat.origin.kind == "import":
        return "imported, so read only · F8 k carries on in a new chat"
    if asks:
        return "Tab to answer above, or write"
    if chat.turn_id is not None:
        return "write: it waits until this reply ends"
    if queued:
        return "⏎ sends what waits, or write"
    if waiting:
        return f"waiting for {waiting}; you can keep chatting"
    return "write, or / for commands" if chat.messages else "write your first message, or / for commands"
