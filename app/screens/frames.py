"""Joins what all chats say between two paints: one flush a frame for every column, at most 12 a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from store.events import AssistantDone, Stored
from store.limits import FRAMES_A_SECOND
from store.rows import SaidRow

if TYPE_CHECKING:
    from app.session.bus import Bus, Lagged, Live

COVERED_SECONDS = 1.0  # between two frames under another screen: typing there comes first
Key = tuple[str, str]  # chat, message id


@dataclass(slots=True)
class Streaming:
    """The text so far of one message that streams; `at` is when it began, in ms."""

    chat: str
    message_id: str
    text: str = ""
    thinking: str = ""
    torn: bool = False  # a delta was lost: the text must be asked for

    def add(self, kind: str, offset: int, delta: str) -> None:
        """Take a delta; one that doesn't follow on marks the message torn."""
        now = self.thinking if kind == "thinking" else self.text
        if offset > len(now):
            self.torn = True
            return
        now = now[:offset] + delta
        if kind == "thinking":
            self.thinking = now
        else:
            self.text = now

    def row(self, at: int, seq: int) -> SaidRow:
        """As a row of the transcript."""
        return SaidRow(self.message_id, at, seq, "assistant", self.text, thinking=self.thinking, live=True)


@dataclass(slots=True)
class Frame:
    """What happened since the last frame."""

    events: list[Stored] = field(default_factory=list)
    streams: dict[Key, Streaming] = field(default_factory=dict)
    signals: list[Live] = field(default_factory=list)
    lagged: int | None = None  # the log is to be read again; the id is the newest event then

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not (self.events or self.streams or self.signals or self.lagged is not None)


class Frames:
    """Reads the bus; `draw` gets a frame at most `fps` times a second, and less often while the deck is `covered`.

    `heal` gives a torn message's text so far.
    """

    def __init__(
        self,
        bus: Bus,
        draw: Callable[[Frame], None],
        heal: Callable[[str], SaidRow | None],
        fps: float = FRAMES_A_SECOND,
        covered: Callable[[], bool] = lambda: False,
    ) -> None:
        self._bus, self._draw, self._heal = bus, draw, heal
        self._gap = 1 / fps
        self._covered = covered
        self._frame = Frame()
        self._streams: dict[Key, Streaming] = {}
        self._next = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        subscription = self._bus.subscribe()
        try:
            async for item in subscription:
                self._take(item)
                if self._timer is None:
                    self._timer = loop.call_later(max(0.0, self._next - loop.time()), self._flush, loop)
        finally:
            subscription.close()
            if self._timer is not None:
                self._timer.cancel()

    def catch_up(self) -> None:
        """Draw what waits now: the deck is uncovered."""
        if self._timer is not None:
            self._timer.cancel()
            self._flush(asyncio.get_running_loop())

    def streaming(self, chat: str) -> Streaming | None:
        """The message that streams in a chat now, as far as it was heard."""
        return next((s for s in self._streams.values() if s.chat == chat), None)

    def _take(self, item: Stored | Live | Lagged) -> None:
        if isinstance(item, Stored):
            self._frame.events.append(item)
            if isinstance(item.event, AssistantDone):
                key = (item.chat, item.event.message_id)
                self._streams.pop(key, None)
                self._frame.streams.pop(key, None)
        elif (last := getattr(item, "last_id", None)) is not None:
            self._frame.lagged = int(last)
            self._streams.clear()
            self._frame.streams.clear()
        else:
            self._live(item)  # type: ignore[arg-type]  # the third of three kinds

    def _live(self, item: Live) -> None:
        if item.kind != "delta":
            self._frame.signals.append(item)
            return
        data = item.data
        key = (item.chat, str(data["message_id"]))
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = Streaming(*key)
        stream.add(str(data.get("kind", "text")), int(data.get("offset", 0)), str(data.get("delta", "")))
        self._frame.streams[key] = stream

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._next = loop.time() + (COVERED_SECONDS if self._covered() else self._gap)
        frame, self._frame = self._frame, Frame()
        for key, stream in list(frame.streams.items()):
            if stream.torn:
                self._mend(key, stream)
        if not frame.empty:
            self._draw(frame)

    def _mend(self, key: Key, stream: Streaming) -> None:
        row = self._heal(stream.chat)
        if row is None or row.key != stream.message_id:
            self._streams.pop(key, None)  # it ended meanwhile; its event is on the way
            return
        stream.text, stream.thinking, stream.torn = row.text, row.thinking, False
