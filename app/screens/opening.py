"""Opening an address of a message: shown whole first, and only for a yes; nothing is looked up before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.screens.confirm import Confirm
from app.screens.picker import Choice, Picker
from widgets.links import real_address

if TYPE_CHECKING:
    from app.screens.deck_base import DeckBase


def offer(deck: DeckBase, addresses: Sequence[str]) -> None:
    """Ask whether to open the address; with several, which one first."""
    if len(addresses) == 1:
        _ask(deck, addresses[0])
        return
    picker = Picker("Open which address?", [Choice(address, address) for address in addresses])
    deck.app.push_screen(picker, lambda picked: _ask(deck, picked) if picked else None)


def _ask(deck: DeckBase, address: str) -> None:
    host = urlsplit(address).hostname or ""
    odd = "\n\nThis host is written in letters that may look like others." if "xn--" in host else ""
    question = Confirm(
        "Open this address in the browser?", f"{address}\n\nHost: {host}{odd}", yes="Open", no="Cancel", danger=True
    )
    deck.app.push_screen(question, lambda yes: deck.run_later(_open(deck, address)) if yes else None)


async def _open(deck: DeckBase, address: str) -> None:
    """In the browser, from a worker thread; http and https only."""
    import webbrowser

    if real_address(address) != address:
        deck.say("Only http and https addresses can be opened.", "warning")
        return
    try:
        opened = await asyncio.to_thread(webbrowser.open, address)
    except (OSError, webbrowser.Error):
        opened = False
    if not opened:
        deck.say("No browser could be started here; copy the address instead.", "warning")
