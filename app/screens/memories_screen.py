"""What is remembered: read in full, kept or refused, forgotten, brought back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from app import commands as cmd
from app.keys import BY_ID, show
from app.screens.activity_screen import Went
from app.screens.bindings import bindings
from app.screens.confirm import Confirm
from app.screens.following import Following
from app.screens.host import Host
from app.screens.posting import Posting
from app.screens.say import say
from app.screens.watched import WatchedTasks
from store.errors import StoreError
from store.limits import MEMORY_CHARS, QUERY_CHARS
from store.memory import Memory, ranked
from store.text import safe_text
from widgets.bar import Bar
from widgets.marks import age, ago, count
from widgets.memory_list import MemoryList, Remembered
from widgets.names import title_of

if TYPE_CHECKING:
    from app.services import Services

BESIDE_FROM: Final = 100  # cells of the window from which the memory stands beside the list
LINE_CHARS: Final = 200
EVENTS: Final = ("memory.saved", "memory.forgotten", "memory.decided")
KINDS: Final = {"preference": "preference", "person": "about a person", "project": "about a project", "fact": "fact"}
NOTHING: Final = (
    "Nothing is remembered yet.\n\n"
    "Say “remember that …” in a chat, and it stands here. Only your own words teach; each save shows in its chat, "
    "with Undo."
)
NO_SUCH: Final = "Nothing like that is remembered."
FORGET: Final = "Forget this memory?"
GONE_CHAT: Final = "a chat that was deleted"
NO_CHAT: Final = "The chat it came from was deleted."
NONE_LAST: Final = "Nothing was forgotten here that could be brought back."


class MemoriesScreen(ModalScreen[Went | None]):
    """The list with the selected memory beside or under it; Enter reads it alone."""

    app: Host
    AUTO_FOCUS = "MemoryList"

    BINDINGS = [*bindings("memories"), Binding("escape", "leave", show=False)]

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services, self._store, self._clock = services, services.store, services.clock
        self._tasks = WatchedTasks(lambda error: self.app.fault(error))
        self._posting = Posting(services.session, self._tasks, lambda words: say(self.app, words, "error"))
        self._all: list[Memory] = []
        self._shown: dict[str, Memory] = {}
        self._last = ""  # the memory that was forgotten last, here

    def compose(self) -> ComposeResult:
        """Box, count, list and memory, keys."""
        with Vertical(id="memories"):
            with Horizontal(id="asked"):
                yield Input(placeholder="Words in it", id="words", compact=True)
            yield Bar(id="status")
            with Container(id="found"):
                yield MemoryList(id="list")
                with VerticalScroll(id="reading"):
                    yield Static(id="memory")
            yield Bar(id="keys")

    def on_mount(self) -> None:
        """Read them, and follow."""
        self.query_one("#memories").border_title = Content("Memories")
        self._say_keys()
        self._fit()
        self._refresh()
        self._tasks.spawn(Following(self._services.session.bus, EVENTS, self._refresh).run(), "following")

    def on_resize(self) -> None:
        """Beside each other, or one under the other."""
        self._fit()

    def _fit(self) -> None:
        self.set_class(self.app.size.width < BESIDE_FROM, "-narrow")
        self._say_keys()

    def _say_keys(self) -> None:
        """Only what can be done now."""
        reading, memory = self.has_class("-reading"), self._memory
        words: list[tuple[str, str]] = []
        if memory is not None:
            waits = memory.state == "pending"
            words += [("↑↓", "scroll")] if reading else [("↑↓", "move"), (self._key("choose"), "read")]
            words += [(self._key("keep"), "keep")] if waits else []
            words += [(self._key("forget"), "refuse" if waits else "forget"), (self._key("chat"), "its chat")]
        words += [(self._key("undo"), "bring back")] if self._last else []
        words += [(self._key("words"), "words")] if self._all and not reading else []
        words += [("Esc", "back to the list" if reading else "close")]
        self.query_one("#keys", Bar).say([p for k, w in words for p in ((f" {k}", "key"), (f" {w}  ", "muted"))])

    def _key(self, name: str) -> str:
        id_ = f"memories.{name}"
        return show(self.app.keymap.get(id_, BY_ID[id_].keys))

    # -- reading

    def _refresh(self) -> None:
        self._tasks.spawn(self._read(), "memories")

    async def _read(self) -> None:
        try:
            found = await self._store.read(self._services.memories.all)
        except StoreError as error:
            say(self.app, str(error), "error")
            return
        if self.is_attached:
            self._all = [m for m in found if m.state != "forgotten"]
            self._show()

    def _show(self) -> None:
        words = self.query_one(Input).value[:QUERY_CHARS].strip()
        found = ranked(words, self._all, self._clock.now_ms()) if words else sorted(self._all, key=lambda m: -m.at)
        found.sort(key=lambda m: m.state != "pending")  # stable: what waits comes first
        self._shown = {m.id: m for m in found}
        self.query_one(MemoryList).show([self._line(m) for m in found])
        waits = sum(m.state == "pending" for m in self._all)
        said = count(len(self._all), "memory", "memories") if not words else f"{len(found)} of {len(self._all):,}"
        said = said if self._all else ""
        left = [(f" {said}", "muted")]
        left += [(f" · {waits} {'waits' if waits == 1 else 'wait'} for you", "warn")] if waits else []
        self.query_one("#status", Bar).say(left)
        self._show_memory()

    def _line(self, memory: Memory) -> Remembered:
        words = safe_text(memory.content, one_line=True, limit=LINE_CHARS)
        when = age(memory.at, self._clock.now_ms())
        return Remembered(memory.id, words, f"{memory.kind} · {when}", memory.state == "pending")

    @property
    def _memory(self) -> Memory | None:
        """The selected one."""
        return self._shown.get(str(self.query_one(MemoryList).selected))

    def _show_memory(self) -> None:
        memory = self._memory
        pane = self.query_one("#memory", Static)
        self.set_class(memory is None, "-empty")
        if memory is None:
            self.set_class(False, "-reading")
        self._say_keys()
        if memory is None:
            if self.query_one(MemoryList).has_focus:
                self.query_one("#reading").focus()
            pane.update(Content.styled(NO_SUCH if self._all else NOTHING, "$foreground-muted"))
            return
        facts = f"{KINDS[memory.kind]} · {ago(memory.at, self._clock.now_ms())} · from {self._from(memory)}"
        state = ("Waits for your yes · ", "$text-warning") if memory.state == "pending" else ("", "")
        words = safe_text(memory.content, limit=MEMORY_CHARS)
        pane.update(Content.assemble(state, (facts, "$foreground-muted"), "\n\n", words))

    def _from(self, memory: Memory) -> str:
        summary = self._store.summary(memory.chats[0]) if memory.chats else None
        if summary is None:
            return GONE_CHAT
        return f"“{title_of(summary.title)}”"

    @on(MemoryList.Moved)
    def _moved(self, event: MemoryList.Moved) -> None:
        event.stop()
        self._show_memory()
        self.query_one("#reading").scroll_home(animate=False)

    @on(MemoryList.Chosen)
    def _clicked(self, event: MemoryList.Chosen) -> None:
        event.stop()
        self._show_memory()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(MemoryList).moved = False
        self._show()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._read_alone(False)

    # -- keys

    def action_choose(self) -> None:
        """Read the selected one alone, or back."""
        self._read_alone(not self.has_class("-reading") and self._memory is not None)

    def _read_alone(self, alone: bool) -> None:
        self.set_class(alone, "-reading")
        self.query_one("#reading" if alone or self._memory is None else "#list").focus()
        self._say_keys()

    def action_words(self) -> None:
        """To the box, or back to the list."""
        box, here = self.query_one(Input), self.query_one(Input).has_focus
        self._read_alone(False)
        if not here:
            box.focus()

    def action_keep(self) -> None:
        """Keep one that waits."""
        memory = self._memory
        if memory is not None and memory.state == "pending":
            self._decide(memory, "keep", "Kept")

    def action_forget(self) -> None:
        """Refuse one that waits; forget one that is kept, after a question."""
        memory = self._memory
        if memory is None:
            return
        if memory.state == "pending":
            self._decide(memory, "forget", f"Refused · {self._key('undo')} brings it back")
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._decide(memory, "forget", f"Forgotten · {self._key('undo')} brings it back")

        words = safe_text(memory.content, one_line=True, limit=LINE_CHARS)
        self.app.push_screen(Confirm(FORGET, words, yes="Forget", danger=True), answered)

    def action_undo(self) -> None:
        """Bring back the one that was forgotten last."""
        if not self._last:
            say(self.app, NONE_LAST)
            return
        made = cmd.DecideMemory(memory=self._last, action="undo")
        self._last = ""
        self._posting.post(made, lambda _: self._done("It is back"))

    def _decide(self, memory: Memory, action: str, words: str) -> None:
        made = cmd.DecideMemory.model_validate({"memory": memory.id, "action": action})

        def done(_: object) -> None:
            if action == "forget":
                self._last = memory.id
            self._done(words)

        self.query_one(MemoryList).moved = True  # so that its neighbour is selected when it goes
        self._posting.post(made, done)

    def _done(self, words: str) -> None:
        say(self.app, words)
        if self.is_attached:
            self._refresh()  # where every chat of it is gone no event tells of it

    def action_chat(self) -> None:
        """Go to the chat that learned it, at that line."""
        memory = self._memory
        if memory is None:
            return
        here = next((chat for chat in memory.chats if self._store.summary(chat) is not None), None)
        if here is None:
            say(self.app, NO_CHAT)
        else:
            self.dismiss(Went(here, memory.id))

    def action_leave(self) -> None:
        """Back to the list, else close."""
        if self.has_class("-reading"):
            self._read_alone(False)
        elif self.query_one(Input).has_focus and self.query_one(Input).value:
            self.query_one(Input).value = ""
            self._read_alone(False)
        else:
            self.dismiss(None)

    async def on_unmount(self) -> None:
        """Nothing goes on after it."""
        await self._tasks.close()
