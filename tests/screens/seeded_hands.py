"""A made-up chat that worked on files and left commands running, with what it changed."""

from __future__ import annotations

from dataclasses import replace

from app.tools.passwords import TOLD_LOCKED
from store import events as ev
from store.log import Batch, NewEvent
from store.memory import Memory
from store.models import FileDiff
from tests.screens.fakes import FakeServices

HANDS = "c_hands"
MINUTE = 60_000
AUTH = FileDiff(
    "src/auth.ts",
    (
        "@@ -41,5 +41,7 @@ export function session(res: Response) {",
        "   res.cookie('sid', id, {",
        "     httpOnly: true,",
        "-    sameSite: 'strict',",
        "+    // the callback comes from another site",
        "+    sameSite: 'lax',",
        "+    secure: true,",
        "     path: '/',",
        "   })",
    ),
)
TEST = FileDiff("test/auth.test.ts", ("+test('the callback keeps the session', async () => {", "+  …", "+})"))
LOGO = FileDiff("public/logo.png", note="It is a PNG picture, not text, so there are no lines to show")


MEMORIES = (
    Memory("y_1", "preference", "Likes short answers; code first, then the words.", 40),
    Memory("y_2", "person", "Ana looks after the deploys; ask her before a Friday release.", 9 * 24 * 60),
    Memory(
        "y_3",
        "project",
        "The web project keeps sessions, not tokens. Tokens were tried in March and dropped: the callback of the "
        "sign-in page comes from another site, and Safari drops a strict cookie there.\n\nThe test that keeps it so is "
        "test/auth.test.ts.",
        3 * 60,
    ),
    Memory("y_4", "fact", "The office network blocks port 4000.", 2, "pending"),
)


def remembered(services: FakeServices) -> None:
    """Some memories, one of which waits; each learned in the chat so many minutes ago."""
    now = services.clock.now_ms()
    kept = [replace(m, at=now - m.at * MINUTE, chats=(HANDS,)) for m in MEMORIES]
    services.store.commit_sync(Batch(changes=[m.keep() for m in kept]))
    services.memories.changed("y_1")


def command(call: str, label: str) -> ev.ToolStarted:
    return ev.ToolStarted(call_id=call, name="run_command", label=label, effect="write", family="command")


def hands(services: FakeServices) -> None:
    """Write it, ending a minute before now."""
    now = services.clock.now_ms()
    files = (
        ev.FileChange(path="src/auth.ts", change="changed", added=3, removed=1, before="b", after="a"),
        ev.FileChange(path="test/auth.test.ts", change="created", added=3, removed=0, after="c"),
        ev.FileChange(path="public/logo.png", change="changed", before="d", after="e"),
    )
    events: list[tuple[int, ev.Event]] = [
        (90, ev.ChatCreated(title="Let the login through", folder="~/web")),
        (89, ev.UserMessage(message_id="m_h1", text="The login loops on Safari. Please fix it.")),
        (88, ev.ProcessStarted(process_id="pr_1", command="npm run dev -- --port 4000", folder="~/web")),
        (70, ev.ProcessStarted(process_id="pr_2", command="npm test -- --watch", folder="~/web")),
        (61, ev.ProcessEnded(process_id="pr_2", exit_code=1)),
        (6, command("t_h1", "Ran npm test -- auth")),
        (6, ev.ToolFinished(call_id="t_h1", status="error", output="2 failed", duration_ms=12_000)),
        (5, command("t_h2", "Ran npm run lint")),
        (5, ev.ToolFinished(call_id="t_h2", status="success", output="ok", duration_ms=900)),
        (3, ev.FilesChanged(change_id="fc_h1", label="Edited 3 files", files=files)),
        (2, ev.Notice(notice_id="vault-t_1", text=TOLD_LOCKED, level="warning", code=ev.VAULT_LOCKED)),
        (1, ev.AssistantDone(message_id="m_h2", text="The cookie is `lax` now, and a test keeps it so.")),
    ]
    services.store.commit_sync(Batch([NewEvent(HANDS, event, now - back * MINUTE) for back, event in events]))
    remembered(services)
    services.session.diffed["fc_h1"] = [AUTH, TEST, LOGO]
