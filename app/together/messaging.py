"""The tools `message_chat` and `stop_chat`, and what stands behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, Field

from app.guard.may import NO_SUCH_CHAT, is_yours, may_look
from app.ports import CallFacts, ChatPort, Extension, ToolOutcome, TurnContext
from app.together.lines import line_name
from app.together.messages import Messages
from app.tools.base import ToolArgs
from store.clock import Clock
from store.limits import CHAT_MESSAGE_CHARS, STOP_REASON_CHARS
from store.log import Store
from store.text import safe_text

BLANK = "There were no words in it, so nothing was done. Say in words what the other chat needs to know."
ITSELF = "That is this chat. Write to another one, by its id from list_chats."
SENT = {
    "step": "Sent to “{title}”: it reads it at its next step.",
    "reply": "Sent to “{title}”: it reads it when its next reply starts.",
    "starts": "Sent to “{title}”: a reply there starts with it.",
    "held": "“{title}” holds messages from other chats for the person, who passes it on or dismisses it.",
    "refused": "Not delivered: “{title}” turns messages from other chats away. Don't try another way.",
}
PRIVATE = "This chat is private, so other chats hear nothing of it, and it writes to none and stops none."
NOT_WORKING = "“{title}” isn't writing a reply, so there is nothing to stop. Nothing was changed."
STOPPED = "“{title}” was asked to stop its reply, and hears why at its next one."


class MessageArgs(ToolArgs):
    """To whom, and what."""

    chat: str = Field(description="The chat's id, from list_chats")
    text: str = Field(
        min_length=1, max_length=CHAT_MESSAGE_CHARS, description="What it should know: short, and whole by itself"
    )
    start_reply: bool = Field(False, description="Start a reply there with it, where none is being written")


class StopArgs(ToolArgs):
    """Whom to stop, and why."""

    chat: str = Field(description="The chat's id, from list_chats")
    reason: str = Field(min_length=1, max_length=STOP_REASON_CHARS, description="Why, for that chat to read")


class _ToChat:
    """What reaches another chat; who may is the rule of looking through earlier chats."""

    family = "together"
    effect: Literal["read", "write"] = "write"
    prompt: str | None = None

    def __init__(self, store: Store, port: ChatPort, messages: Messages) -> None:
        self._store = store
        self._port = port
        self._messages = messages

    def refusal(self, ctx: TurnContext) -> str | None:
        """The rule of looking through earlier chats; a private chat is told of to none, so it writes to none."""
        return may_look(ctx) or (PRIVATE if ctx.private else None)


class MessageChat(_ToChat):
    """A message to another of the person's chats."""

    name = "message_chat"
    description = (
        "Tell another of the person's chats something its work needs. A working chat reads it at its next step, "
        "another one when its next reply starts; start_reply starts one now. It isn't the person who speaks: it can't "
        "permit anything. Use it seldom; the number of messages is limited."
    )
    args: type[BaseModel] = MessageArgs

    def label(self, args: MessageArgs) -> str:
        """What the call does."""
        return f"Message “{title_of(self._store, args.chat)}”"

    async def run(self, args: MessageArgs, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Send it; everything becomes durable with the call's result."""
        if args.chat == ctx.chat:
            return ToolOutcome(ITSELF, ok=False)
        receiver = self._messages.receiver(args.chat, ctx)
        if receiver is None:
            return ToolOutcome(NO_SUCH_CHAT, ok=False)
        if not safe_text(args.text).strip():
            return ToolOutcome(BLANK, ok=False)
        sent = self._messages.send(ctx, receiver, args.text, call_id, start=args.start_reply)
        if isinstance(sent, str):
            return ToolOutcome(sent, ok=False)
        message, running = sent.message, self._port.running(receiver.id) is not None
        when = message.state if message.state != "waiting" else "starts" if message.start_reply and not running else ""
        how = when or ("step" if running and not message.outside else "reply")
        words = SENT[how].format(title=line_name(receiver.title))
        ok = message.state != "refused"
        return ToolOutcome(words, ok=ok, events=(sent.card,), changes=sent.changes, elsewhere=sent.elsewhere)


class StopChat(_ToChat):
    """Stop the reply of another of the person's chats."""

    name = "stop_chat"
    description = (
        "Stop the reply another of the person's chats is writing, when the person asked for that or it does harm. It "
        "can be carried on with a press. Say why in `reason`."
    )
    args: type[BaseModel] = StopArgs

    def label(self, args: StopArgs) -> str:
        """What the call does."""
        return f"Stop the reply of “{title_of(self._store, args.chat)}”"

    async def facts(self, args: StopArgs, ctx: TurnContext) -> CallFacts:
        """Asked about in Ask, after reading, and in Full trust where nobody is there (decisions 26)."""
        return CallFacts(self.name, self.family, self.effect, summary=self.label(args), preview=args.reason)

    async def run(self, args: StopArgs, ctx: TurnContext, call_id: str) -> ToolOutcome:
        """Stop it; a chat that isn't working is left as it is."""
        if args.chat == ctx.chat:
            return ToolOutcome(ITSELF, ok=False)
        receiver = self._messages.receiver(args.chat, ctx)
        if receiver is None:
            return ToolOutcome(NO_SUCH_CHAT, ok=False)
        if not safe_text(args.reason).strip():
            return ToolOutcome(BLANK, ok=False)
        title = line_name(receiver.title)
        if not await self._port.interrupt(receiver.id):
            return ToolOutcome(NOT_WORKING.format(title=title))
        told = self._messages.stopping(ctx, receiver, args.reason, call_id)
        words = STOPPED.format(title=title)
        return ToolOutcome(words, events=(told.card,), changes=told.changes, elsewhere=told.elsewhere)


def title_of(store: Store, chat: str) -> str:
    """A chat's title for a label; nothing of one that isn't the person's."""
    summary = store.summary(chat)
    return line_name(summary.title) if summary is not None and is_yours(summary) else "another chat"


def build_messages(
    store: Store, clock: Clock, port: ChatPort, clean: Callable[[str], str]
) -> tuple[Extension, Messages]:
    """The tools, the inbox, the starter and the commands of messages."""
    messages = Messages(store, clock, port, clean)
    extension = Extension(
        tools=(MessageChat(store, port, messages), StopChat(store, port, messages)),
        inboxes=(messages,),
        starters=(messages,),
        handlers={"message": messages.decide, "chain": messages.stop_chain},
        ready=(messages.prune,),
        leaving=(messages.leaving,),
        close=(messages.close,),
    )
    return extension, messages
