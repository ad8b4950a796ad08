"""The passwords: their names, never their values; add, remove, and the passphrase where there is no keyring."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from app.guard.vault import VaultState
from app.guard.vault_places import VaultProblem
from app.keys import BY_ID, show
from app.screens.ask_secret import AskSecret, Field
from app.screens.bindings import bindings
from app.screens.confirm import Confirm
from app.screens.host import Host
from app.screens.say import say
from app.screens.watched import WatchedTasks
from store.limits import VAULT_NAME_CHARS
from store.text import safe_name
from widgets.bar import Bar
from widgets.marks import count
from widgets.name_list import NameList

if TYPE_CHECKING:
    from app.services import Services

WHERE: Final = {
    "keyring": "kept by the system's keyring",
    "passphrase": "in an encrypted file, behind your passphrase",
    "key-file": "in an encrypted file; its key lies beside it",
    "new": "",
}
LOOKING: Final = "Looking…"
NOTHING: Final = (
    "No password is kept.\n\nA chat hands one to a command by its name and never sees it: “use the deploy key”.\n\n"
    "[{key}] adds one."
)
LOCKED: Final = "The passwords are locked.\n\n[{key}] unlocks them for this run of Shoal."
SET_TITLE: Final = "A passphrase for the passwords"
SET_DETAIL: Final = "It is asked once in each run of Shoal. Where it is forgotten, the passwords are lost."
FIRST_DETAIL: Final = (
    "Passwords go into an encrypted file here; no keyring of the system is used. With a passphrase only you open it. "
    "Left empty, its key lies beside it, for every program of yours to read."
)
NOT_ALIKE: Final = "The two aren't the same."
ADD_DETAIL: Final = "Chats see the name, never the password."
NO_NAME: Final = "It needs a name."
READ_ONLY: Final = "Nothing can be saved here, so the passwords can't be changed."
Take = Callable[[Sequence[str]], Awaitable[str | None]]


class PasswordsScreen(ModalScreen[None]):
    """Everything slow (a keyring, the passphrase's stretching) happens off the screen's thread."""

    app: Host
    AUTO_FOCUS = "NameList"
    BINDINGS = [*bindings("passwords"), Binding("escape", "leave", show=False)]

    def __init__(self, services: Services, *, unlock: bool = False) -> None:
        super().__init__()
        self._vault, self._readonly = services.vault, services.store.readonly
        self._tasks = WatchedTasks(lambda error: self.app.fault(error))
        self._state: VaultState | None = None
        self._trouble = ""
        self._unlock_at_once = unlock

    def compose(self) -> ComposeResult:
        """Where they lie, the names, the keys."""
        with Vertical(id="passwords"):
            yield Bar(id="status")
            yield NameList(id="list")
            yield Static(id="words")
            yield Bar(id="keys")

    def on_mount(self) -> None:
        """Look."""
        self.query_one("#passwords").border_title = Content("Passwords")
        self._show()
        self._refresh()

    # -- how it stands

    def _refresh(self) -> None:
        self._tasks.spawn(self._look(), "vault")

    async def _look(self) -> None:
        try:
            self._state, self._trouble = await self._vault.state(), ""
        except VaultProblem as problem:
            self._state, self._trouble = None, str(problem)
        if not self.is_attached:
            return
        self._show()
        unlock, self._unlock_at_once = self._unlock_at_once, False
        if unlock and self._state is not None and self._state.locked:
            self.action_unlock()

    def _show(self) -> None:
        state = self._state
        names = state.names if state is not None else ()
        listing, words = self.query_one(NameList), self.query_one("#words", Static)
        listing.show(names)
        listing.display, words.display = bool(names), not names
        words.update(Content.styled(self._words(), "$text-error" if self._trouble else "$foreground-muted"))
        where = WHERE[state.kind] if state is not None and not state.locked else ""
        said = [count(len(names), "password")] if names else []
        self.query_one("#status", Bar).say([(" " + " · ".join([*said, *([where] if where else [])]), "muted")])
        self._say_keys()
        if names and not self.query_one(NameList).has_focus and self.is_current:
            listing.focus()

    def _words(self) -> str:
        state = self._state
        if state is None:
            return f"{self._trouble}\n\n[{self._key('unlock')}] looks again." if self._trouble else LOOKING
        return (LOCKED if state.locked else NOTHING).format(key=self._key("unlock" if state.locked else "add"))

    def _say_keys(self) -> None:
        """Only what can be done now."""
        state = self._state
        words: list[tuple[str, str]] = []
        if state is None and self._trouble:
            words.append((self._key("unlock"), "look again"))
        elif state is not None and state.locked:
            words.append((self._key("unlock"), "unlock"))
        elif state is not None:
            words += [(self._key("add"), "add")]
            words += [(self._key("remove"), "remove")] if state.names else []
            if state.kind != "keyring":
                words.append((self._key("passphrase"), "another passphrase" if self._has_passphrase else "passphrase"))
            words += [(self._key("lock"), "lock")] if self._has_passphrase else []
        words.append(("Esc", "close"))
        self.query_one("#keys", Bar).say([p for k, w in words for p in ((f" {k}", "key"), (f" {w}  ", "muted"))])

    def _key(self, name: str) -> str:
        id_ = f"passwords.{name}"
        return show(self.app.keymap.get(id_, BY_ID[id_].keys))

    @property
    def _has_passphrase(self) -> bool:
        return self._state is not None and self._state.kind == "passphrase"

    def _open(self) -> VaultState | None:
        """The vault, where it can be changed; says why it can't."""
        if self._readonly:
            say(self.app, READ_ONLY, "error")
            return None
        state = self._state
        if state is not None and state.locked:
            self.action_unlock()
            return None
        return state

    # -- keys

    def action_add(self) -> None:
        """A name and a value; before the very first one, whether there shall be a passphrase."""
        state = self._open()
        if state is not None and state.kind == "new":
            self._ask_passphrase(FIRST_DETAIL, may_be_empty=True, then=self._ask_password)
        elif state is not None:
            self._ask_password()

    def _ask_password(self) -> None:
        fields = (Field("Name", hidden=False, most=VAULT_NAME_CHARS), Field("Password"))
        self._ask("Add a password", fields, self._put, detail=ADD_DETAIL)

    async def _put(self, values: Sequence[str]) -> str | None:
        name, value = values
        if not name.strip():
            return NO_NAME
        names = self._state.names if self._state is not None else ()
        same = next((n for n in names if n.casefold() == " ".join(name.split()).casefold()), None)
        if same is not None and not await self._agreed(same):
            return f"“{safe_name(same)}” is as it was; give this one another name."
        await self._vault.put(name, value)
        say(self.app, f"Kept as “{safe_name(same or ' '.join(name.split()))}”")
        return None

    async def _agreed(self, name: str) -> bool:
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        question = Confirm(f"Replace the password “{safe_name(name)}”?", yes="Replace", danger=True)
        self.app.push_screen(question, lambda yes: answer.set_result(bool(yes)))
        return await answer

    def action_remove(self) -> None:
        """Remove the selected one, after a question."""
        state = self._open()
        selected = self.query_one(NameList).selected
        if state is None or not isinstance(selected, str) or selected not in state.names:
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._tasks.spawn(self._remove(selected), "remove")

        question = f"Remove the password “{safe_name(selected)}”?"
        self.app.push_screen(
            Confirm(question, "It can't be brought back.", yes="Remove", danger=True),
            answered,
        )

    async def _remove(self, name: str) -> None:
        try:
            await self._vault.remove(name)
        except VaultProblem as problem:
            say(self.app, str(problem), "error")
            return
        say(self.app, f"“{safe_name(name)}” is removed")
        self._refresh()

    def action_unlock(self) -> None:
        """Ask for the passphrase; where the vault doesn't answer, look again."""
        state = self._state
        if state is None:
            self._refresh()
        elif state.locked:
            self._ask("Unlock the passwords", (Field("Passphrase"),), self._unlock, does="unlocks them")

    async def _unlock(self, values: Sequence[str]) -> str | None:
        await self._vault.unlock(values[0])
        return None

    def action_passphrase(self) -> None:
        """Give the file a passphrase, or another one."""
        state = self._open()
        if state is not None and state.kind != "keyring":
            self._ask_passphrase(SET_DETAIL)

    def _ask_passphrase(
        self, detail: str, *, may_be_empty: bool = False, then: Callable[[], None] | None = None
    ) -> None:
        async def take(values: Sequence[str]) -> str | None:
            if values[0] != values[1]:
                return NOT_ALIKE
            if values[0] or not may_be_empty:
                await self._vault.set_passphrase(values[0])
            return None

        self._ask(SET_TITLE, (Field("Passphrase"), Field("The same again")), take, detail=detail, then=then)

    def action_lock(self) -> None:
        """From now on the passphrase is wanted again."""
        if self._has_passphrase and self._state is not None and not self._state.locked:
            self._tasks.spawn(self._lock(), "lock")

    async def _lock(self) -> None:
        try:
            await self._vault.lock()
        except VaultProblem as problem:
            say(self.app, str(problem), "error")
        self._refresh()

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)

    def _ask(
        self,
        title: str,
        fields: Sequence[Field],
        take: Take,
        *,
        detail: str = "",
        does: str = "keeps it",
        then: Callable[[], None] | None = None,
    ) -> None:
        async def told(values: Sequence[str]) -> str | None:
            try:
                return await take(values)
            except VaultProblem as problem:
                return str(problem)

        def done(yes: bool | None) -> None:
            if yes and then is not None:
                then()
            self._refresh()

        self.app.push_screen(AskSecret(title, fields, told, detail=detail, does=does), done)

    async def on_unmount(self) -> None:
        """Nothing goes on after it."""
        await self._tasks.close()
