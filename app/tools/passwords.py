"""`use_password`: a value of the vault for the next command's environment; no model ever reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

from pydantic import BaseModel, Field, PrivateAttr

from app.guard.may import may_look
from app.guard.vault import HandedOut, Vault
from app.guard.vault_places import VaultLocked, VaultProblem
from app.ports import CallFacts, ToolOutcome, TurnContext
from app.tools.base import ToolArgs
from store.events import VAULT_LOCKED, Notice
from store.limits import VAULT_NAME_CHARS
from store.text import safe_name

PROMPT = """\
Passwords. The person keeps passwords and keys under names. use_password puts one in an environment variable of your
next run_command, and only of that one: use it there as $NAME. You never see a value; never print or write one, and
don't ask for it in the chat. Without a name it lists the names."""
NO_VARIABLE = '"into": a variable is letters, digits and _, such as DEPLOY_KEY. Nothing was handed out.'
NOT_THAT = '"into": {name} decides how programs run, so a password can\'t go there. Take a name of its own.'
NOT_FOR_OTHERS = (
    "Passwords are handed out only in chats that are the person's own, without someone else's words in them."
)
NONE_KEPT = "The vault is empty. The person can put a password in it; don't ask for it in the chat."
NO_SUCH = "There is no password “{name}”. {listed}"
LISTED = "The vault has: {names}."
LOCKED = (
    "The passwords are locked, so nothing was handed out. The person was shown how to unlock them: ask for nothing in "
    "the chat, and call use_password again once they say that it is done."
)
TOLD_LOCKED = "The passwords are locked, so none was handed out."
READY = "“{name}” is in ${into} for your next command, and only for that one. Its value is never shown to you."
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_TELLING: Final = re.compile(
    r"(?:PATH|HOME|SHELL|IFS|ENV|PS\d|PWD|USER|TERM|EDITOR|VISUAL|PAGER|CDPATH|MANPATH|PROMPT_COMMAND|SHELLOPTS|"
    r"TMPDIR|LANG|NODE_OPTIONS|CLASSPATH|JAVA_TOOL_OPTIONS|(?:LD|DYLD|BASH|ZDOTDIR|GIT|PYTHON|PERL|RUBY|LC|SHOAL|SSH|"
    r"XDG|MAKE|CARGO|RUSTC|GCC)(?:_\w*|[A-Z]*))\Z",
    re.IGNORECASE,
)


class UsePasswordArgs(ToolArgs):
    """Arguments of `use_password`."""

    name: str = Field("", max_length=VAULT_NAME_CHARS, description="The password's name; empty lists the names.")
    into: str = Field("PASSWORD", max_length=64, description="The environment variable of your next command.")
    _nothing: ToolOutcome | None = PrivateAttr(default=None)  # why nothing can be handed out, found before any question


class UsePassword:
    """Hands a value out: from then on it is masked wherever it comes back."""

    name = "use_password"
    description = "Hand a password of the person's vault to your next command, by name, without seeing it."
    args: type[BaseModel] = UsePasswordArgs
    family = "password"
    effect: Literal["read", "write"] = "write"
    prompt: str | None = PROMPT

    def __init__(self, vault: Vault, handed: HandedOut, clean: Callable[[str], str]) -> None:
        self._vault = vault
        self._handed = handed
        self._clean = clean

    def refusal(self, ctx: TurnContext) -> str | None:
        """Never where someone else's words are, nor in a chat that isn't the person's own."""
        return NOT_FOR_OTHERS if may_look(ctx) is not None else None

    def label(self, args: UsePasswordArgs) -> str:
        """What the call does."""
        return f"Use the password “{self._named(args)}”" if args.name.strip() else "List the names of passwords"

    async def facts(self, args: UsePasswordArgs, ctx: TurnContext) -> CallFacts:
        """For the guard: listing names changes nothing; handing out is asked by the name."""
        if not args.name.strip():
            return CallFacts(self.name, self.family, "read", self.label(args))
        args._nothing = await self._why_not(args, ctx)
        if args._nothing is not None:  # nobody is asked about what can't be
            return CallFacts(self.name, self.family, "read", self.label(args))
        preview = f"${args.into} of the next command"
        return CallFacts(self.name, self.family, "write", self.label(args), preview=preview)

    async def run(self, args: UsePasswordArgs, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Names, or one value for the next command."""
        try:
            if not args.name.strip():
                return ToolOutcome(self._listed(await self._vault.names()))
            if (nothing := args._nothing or await self._why_not(args, ctx)) is not None:
                return nothing
            value = await self._vault.get(args.name)
        except VaultProblem as error:
            return self._problem(error, ctx)
        if value is None:
            return ToolOutcome(NO_SUCH.format(name=self._named(args), listed="").strip(), ok=False)
        self._handed.hand(ctx.chat, ctx.turn_id, args.into, value)
        return ToolOutcome(READY.format(name=self._named(args), into=args.into))

    async def _why_not(self, args: UsePasswordArgs, ctx: TurnContext) -> ToolOutcome | None:
        """Why nothing can be handed out, if so; no value is looked at."""
        if not _VARIABLE.match(args.into):
            return ToolOutcome(NO_VARIABLE, ok=False)
        if _TELLING.match(args.into):
            return ToolOutcome(NOT_THAT.format(name=args.into), ok=False)
        try:
            if await self._vault.has(args.name):
                return None
            listed = self._listed(await self._vault.names())
        except VaultProblem as error:
            return self._problem(error, ctx)
        return ToolOutcome(NO_SUCH.format(name=self._named(args), listed=listed), ok=False)

    def _problem(self, error: VaultProblem, ctx: TurnContext) -> ToolOutcome:
        if not isinstance(error, VaultLocked):
            return ToolOutcome(str(error), ok=False)
        # the person is told where they look, with the key that opens it; once a turn
        told = Notice(notice_id=f"vault-{ctx.turn_id}", text=TOLD_LOCKED, level="warning", code=VAULT_LOCKED)
        return ToolOutcome(LOCKED, ok=False, events=(told,))

    def _named(self, args: UsePasswordArgs) -> str:
        return safe_name(self._clean(args.name), VAULT_NAME_CHARS)

    def _listed(self, names: list[str]) -> str:
        if not names:
            return NONE_KEPT
        return LISTED.format(names=", ".join(f"“{safe_name(self._clean(n))}”" for n in names))
