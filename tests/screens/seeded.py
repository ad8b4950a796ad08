"""A home full of made-up chats, always the same: for screenshots, snapshots and a look by eye."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.settings import Settings
from store import events as ev
from store.clock import ManualClock
from store.log import Batch, NewEvent
from store.rows import SaidRow
from tests.screens.fakes import FakeServices, fake_services

NOW = int(dt.datetime(2026, 9, 24, 14, 6, tzinfo=dt.UTC).timestamp() * 1000)
CHECKS = (
    ("How far is the build?", "Compiling: 310 of 412 files, no warning so far."),
    ("Did the cache help?", "Yes. It took 2 min 10 s; the last one without it took 7 min."),
    ("And the flaky test?", "`test_upload` passed twice and failed once. I marked it for a look and went on."),
    ("Who else is waiting?", "Nobody; the queue is empty."),
)
MINUTE, DAY = 60_000, 86_400_000


@dataclass
class Seeder:
    """Writes events at chosen times, with ids that are the same in every run."""

    services: FakeServices
    ids: Iterator[int]

    def id(self, prefix: str) -> str:
        return f"{prefix}_{next(self.ids):016d}"

    def chat(self, title: str, at: int, *events: ev.Event, step: int = MINUTE, **created: object) -> str:
        chat = self.id("c")
        first = ev.ChatCreated.model_validate({"title": title, "folder": "~/web", **created})
        batch = [NewEvent(chat, first, at)]
        batch += [NewEvent(chat, event, at + step * i) for i, event in enumerate(events)]
        self.services.store.commit_sync(Batch(batch))
        return chat

    def you(self, text: str) -> ev.UserMessage:
        return ev.UserMessage(message_id=self.id("m"), text=text)

    def them(self, name: str, text: str) -> ev.UserMessage:
        return ev.UserMessage(message_id=self.id("m"), text=text, author=name, them=True)

    def answer(self, text: str) -> ev.AssistantDone:
        return ev.AssistantDone(message_id=self.id("m"), text=text)

    def ran(
        self, name: str, label: str, output: str = "ok", ms: int = 400, status: ev.ToolStatus = "success"
    ) -> list[ev.Event]:
        call = self.id("t")
        return [
            ev.ToolStarted(call_id=call, name=name, label=label, input={"of": label}),
            ev.ToolFinished(call_id=call, status=status, output=output, duration_ms=ms),
        ]


@dataclass
class Seeded:
    services: FakeServices
    login: str
    notes: str
    deploy: str
    venue: str
    venue_line: str


def seeded(root: Path, settings: Settings | None = None) -> Seeded:
    """The home; three chats are busy."""
    services = fake_services(root, settings, ManualClock(NOW))
    s = Seeder(services, itertools.count(1))
    venue, venue_line = _older(s)
    login = _login(s)
    notes = _notes(s, venue, venue_line)
    deploy = _deploy(s)
    return Seeded(services, login, notes, deploy, venue, venue_line)


def _older(s: Seeder) -> tuple[str, str]:
    line = s.you("the venue in Lisbon fell through, the boathouse wants a deposit we can't get back")
    venue = s.chat(
        "Venue research",
        NOW - 12 * DAY,
        s.them("Ana", "How about somewhere near the river?"),
        line,
        s.answer("I'll look at two others: the old mill and the Barn. Both are free on the 6th of June."),
        s.them("Ana", "The Barn is free on the 6th"),
        s.you("ok, let's go with the Barn"),
        origin={"kind": "import", "name": "Telegram"},
    )
    s.chat(
        "Lisbon release",
        NOW - 12 * DAY - 3 * MINUTE,
        s.you("Where do we hold the launch? The venue for the Lisbon launch is the old mill, I think."),
        s.answer("Yes: the old mill, from 6 pm. The notes follow one form: one line per change, no names."),
        s.you("We moved the Lisbon venue to June. Same form as before: one line per change, no names."),
    )
    wedding = s.chat(
        "Wedding planning",
        NOW - 3 * DAY,
        s.you("Make a list of what is still open for the wedding."),
        s.answer("Still open:\n\n- the band\n- the seating plan\n- who picks up Grandma"),
    )
    s.services.store.commit_sync(Batch.of(wedding, ev.ChatPinned(pinned=1)))
    s.chat(
        "Auth rework",
        NOW - 2 * DAY,
        s.you("Sessions or tokens for the admin area?"),
        s.answer("Sessions. Tokens were tried and dropped: they couldn't be taken back."),
    )
    photos = s.id("r")
    s.chat(
        "Import photos",
        NOW - DAY,
        s.you("Sort the photos of the trip by day."),
        ev.TurnStarted(turn_id=photos),
        ev.TurnCompleted(turn_id=photos, outcome="error", error="The server answered 529 (overloaded), four times."),
    )
    for n in range(14):
        chat = s.chat(f"Old matter {n + 1}", NOW - (40 + n) * DAY, s.you(f"An old question, number {n + 1}."))
        s.services.store.commit_sync(Batch.of(chat, ev.ChatArchived()))
    return venue, line.message_id


def _login(s: Seeder) -> str:
    return s.chat(
        "Fix the login",
        NOW - 4 * MINUTE,
        s.you("The login redirect loops on Safari."),
        ev.TurnStarted(turn_id=s.id("r"), model="openai:gpt-5"),
        *s.ran("read_files", "Read src/auth.ts, src/session.ts"),
        *s.ran("run", "Ran npm test -- auth", "1 failed, 41 passed", 12_000, "error"),
        s.answer(
            "The cookie is set with `SameSite=Strict`, so the callback arrives without it. "
            "I'll change it to **Lax** and add a test."
        ),
        *s.ran("edit", "Edited src/auth.ts  +3 −1", "@@ -12 +12 @@"),
        ev.ToolStarted(call_id=s.id("t"), name="edit", label="Writing a test…"),
        step=8_000,
        model="openai:gpt-5",
    )


def _notes(s: Seeder, venue: str, venue_line: str) -> str:
    found = (
        ev.LookChat(
            id=venue,
            title="Lisbon release",
            last_active=NOW - 12 * DAY,
            lines=(
                ev.LookLine(
                    message=venue_line,
                    who="you",
                    text="Same form as before: one line per change, no names.",
                    marks=((0, 9),),
                ),
            ),
        ),
        ev.LookChat(id=venue, title="Auth rework", archived=True, last_active=NOW - 2 * DAY, lines=()),
    )
    return s.chat(
        "Release notes",
        NOW - MINUTE,
        s.you("Write notes for 2.4, same form as the Lisbon release."),
        ev.TurnStarted(turn_id=s.id("r")),
        ev.ChatsLooked(look_id=s.id("l"), action="search", query="release notes", chats=found),
        ev.Taint(source=ev.TaintSource(kind="app", label="your chat “Venue research”")),
        ev.PermissionRequested(
            permission_id=s.id("p"),
            tool_name="run",
            input={"command": "git log v2.3..HEAD --oneline"},
            summary="Run  git log v2.3..HEAD --oneline",
            detail="in ~/web",
            taint="This chat read things in your chat “Venue research”",
            lasting=True,
        ),
        step=9_000,
        mode="ask",
    )


def _deploy(s: Seeder) -> str:
    long = [s.you(CHECKS[n // 2 % 4][0]) if n % 2 == 0 else s.answer(CHECKS[n // 2 % 4][1]) for n in range(440)]
    turn, message = s.id("r"), s.id("m")
    chat = s.chat(
        "Watch the deploy",
        NOW - 26 * MINUTE,
        *long,
        s.you("Tell me when it is green."),
        ev.TurnStarted(turn_id=turn),
        step=3_000,
        folder="~/ops",
    )
    so_far = "Four checks, one still running:\n\n1. lint: passed\n2. unit tests: passed\n3. build: passed\n4. smoke: "
    s.services.session.live[chat] = SaidRow(
        message, NOW, 1 << 40, "assistant", so_far + "running for 6 minutes", live=True
    )
    return chat
