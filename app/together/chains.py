"""Bounds on chats that talk to each other: one chain a message of the person's, bounded in all (decisions 23). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from store.limits import CHAIN_MESSAGES, CHAIN_PAIR_MESSAGES, CHAIN_REPLIES, MESSAGE_REPEAT_MS, MESSAGES_WAITING
from store.together import Chain, SentMessage

REPEATED: Final = (
    "The same words went to this chat less than ten minutes ago, so they weren't sent again. Stop here and tell the "
    "person."
)
TOO_MANY_WAIT: Final = (
    f"{MESSAGES_WAITING} messages wait for this chat already, so this one wasn't sent. Stop here and tell the person."
)
PAIR_FULL: Final = (
    f"This chat sent {CHAIN_PAIR_MESSAGES} messages to that one since the person last wrote, which is the most. Stop "
    "here and tell the person what is left to say."
)
CHAIN_FULL: Final = (
    f"{CHAIN_MESSAGES} messages went between chats since the person last wrote, which is the most. Stop here and tell "
    "the person where things stand."
)
REPLIES_FULL: Final = (
    f"{CHAIN_REPLIES} replies were started by messages since the person last wrote, which is the most, so this wasn't "
    "sent. Send it without start_reply, or stop and tell the person."
)
STOPPED: Final = "The person stopped this chain of messages, so nothing more of it is sent. Stop here."


@dataclass(frozen=True, slots=True)
class Wanted:
    """A message somebody wants to send."""

    sender: str
    receiver: str
    text: str
    start_reply: bool
    at: int  # epoch ms


def folded(text: str) -> str:
    """The words as the repeat rule compares them: white space folded."""
    return " ".join(text.split())


def refusal(wanted: Wanted, chain: Chain, sent: Sequence[SentMessage]) -> str | None:
    """Why the message isn't sent, or None (CB §4.6, in its order).

    `sent`: what was accepted or refused between these two chats lately, of this chain, or waits for the receiver;
    more does no harm. Reasons of a stop don't count.
    """
    said = [m for m in sent if not m.stop]
    words = folded(wanted.text)
    pair = [m for m in said if m.sender == wanted.sender and m.receiver == wanted.receiver]
    if any(m.words == words and wanted.at - m.at < MESSAGE_REPEAT_MS for m in pair):
        return REPEATED
    if chain.stopped:
        return STOPPED
    if sum(m.receiver == wanted.receiver and m.state in ("waiting", "held") for m in said) >= MESSAGES_WAITING:
        return TOO_MANY_WAIT
    if sum(m.chain == chain.id and m.state != "refused" for m in pair) >= CHAIN_PAIR_MESSAGES:
        return PAIR_FULL
    if chain.messages >= CHAIN_MESSAGES:
        return CHAIN_FULL
    if wanted.start_reply and chain.replies >= CHAIN_REPLIES:
        return REPLIES_FULL
    return None
