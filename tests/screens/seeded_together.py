"""Every row and card of chats together in each of its states, in two made-up chats."""

from __future__ import annotations

from store import events as ev
from store.clock import ManualClock
from store.log import Batch
from tests.screens.fakes import FakeServices

LOGIN, NOTES, CARDS = "c_together_login", "c_together_notes", "c_together_cards"


def other(chat: str, title: str) -> ev.ChatName:
    return ev.ChatName(id=chat, title=title)


def together(services: FakeServices) -> None:
    """Write them, a minute before now."""
    clock: ManualClock = services.clock
    now = clock.now_ms()
    minute = 60_000
    listed = ev.ChatsListed(
        look_id="l_together",
        working=1,
        needs_you=1,
        chats=(
            ev.OtherChat(
                id=NOTES,
                title="Fix the login",
                state="working",
                doing="editing files",
                doing_since=now - 3 * minute,
                same_folder=True,
                files=("src/auth.ts",),
                more_files=2,
            ),
            ev.OtherChat(id=CARDS, title="Release notes", state="needs-you", same_folder=True),
            ev.OtherChat(id="c_x", title="Nightly run", state="idle", last_active=now - 5 * 3_600_000, folder="~/ops"),
            ev.OtherChat(id="c_y", title="東京の旅 plans with a very long title that goes on and on", state="stopped"),
        ),
    )
    held = "I'm about to touch auth.ts; hold the deploy?"
    cards: list[ev.Event] = [
        message("to", "waiting", "The schema changed: read it again before you go on."),
        message("to", "read", "Tests pass on my side."),
        message("to", "refused", "Ready when you are.", why="it turns messages from other chats away"),
        message("from", "held", held),
        message("from", "dismissed", "Never mind."),
        message("from", "waiting", "It made the same change twice.", stop=True),
    ]
    waits: list[ev.Event] = [
        wait("w_1", "ci", "CI on main", parts=("passed", "passed", "running", "waiting"), status="4 checks, 1 running"),
        wait("w_2", "chat", "“Fix the login”", status="editing files", chat=NOTES, tell=True),
        wait("w_3", "url", "example.com/status", state="done", status="example.com has the words now", tone="good"),
        wait("w_4", "task", "the task “Smoke test”", state="timed-out", status="waiting for room", tone="bad"),
        wait("w_5", "time", "60 minutes", state="stopped", status="you stopped it"),
        wait("w_6", "ci", "CI on old", state="failed", status="There is no such repository", tone="bad"),
        wait("w_7", "chat", "“Release notes”", state="done", status="needs you", headline="“Release notes” needs you"),
    ]
    ran = ev.TaskStep(at=now - 2 * minute, label="Ran make smoke")
    steps = (ran, ev.TaskStep(at=now - minute, label="Read log.txt"))
    room = ev.TaskWaiting(reason="room", words="Waiting for room: 4 tasks are working", can_start_now=True)
    asking = ev.TaskAsking(permission_id="p_t", summary="Run  git push origin main", tool="run_command")
    tasks: list[ev.Event] = [
        ev.Task(task_id="k_1", title="Smoke test", state="running", current="Running make smoke", steps=steps, rev=1),
        ev.Task(task_id="k_2", title="Docs", state="queued", waiting=room, rev=1),
        ev.Task(task_id="k_3", title="Push", state="needs-you", asking=asking, rev=1),
        ev.Task(
            task_id="k_4",
            title="Changelog",
            state="done",
            summary="12 entries, oldest first.",
            started_at=now - 4 * minute,
            ended_at=now - minute,
            rev=2,
        ),
        ev.Task(task_id="k_5", title="Old branches", state="interrupted", rev=2),
        ev.Task(task_id="k_6", title="Flaky test", state="failed", error="It failed three times.", rev=2),
        ev.Task(task_id="k_7", title="Audit", state="unverified", summary="I found nothing odd.", rev=2),
        ev.Task(task_id="k_8", title="Cleanup", state="stopped", rev=2),
    ]
    for chat, title, events in (
        (LOGIN, "Together", [listed, *cards]),
        (NOTES, "Waits", waits),
        (CARDS, "Tasks", tasks),
    ):
        created = ev.ChatCreated(title=title, folder="~/web")
        said = ev.UserMessage(message_id=f"m_{chat}", text="Work together.")
        services.store.commit_sync(Batch.of(chat, created, said, *events))
    for n, (title, *more) in enumerate(
        [("Smoke test", ev.TurnStarted(turn_id="r_smoke")), ("Changelog",), ("Flaky test",)]
    ):
        origin = ev.Origin(kind="task", name="Tasks", ref=f"k_{n}", chat=CARDS)
        services.store.commit_sync(Batch.of(f"c_task_{n}", ev.ChatCreated(title=title, origin=origin), *more))
    for n in range(3):
        origin = ev.Origin(kind="routine", name="Nightly report", ref="nightly")
        run = ev.ChatCreated(title="Nightly report", origin=origin, created=now - n * 86_400_000)
        put_away = [ev.ChatArchived(archived=True)] if n else []
        services.store.commit_sync(Batch.of(f"c_run_{n}", run, *put_away))


_N = iter(range(1_000_000))


def message(direction: str, state: str, text: str, *, why: str | None = None, stop: bool = False) -> ev.ChatMessage:
    name = other(NOTES, "Fix the login") if direction == "to" else other(CARDS, "Release notes")
    body = {"message_id": f"m_card_{next(_N)}", "direction": direction, "other": name, "text": text, "state": state}
    return ev.ChatMessage.model_validate({**body, "why": why, "stop": stop})


def wait(
    id_: str,
    kind: str,
    title: str,
    *,
    state: str = "watching",
    status: str = "",
    tone: str | None = None,
    parts: tuple[str, ...] = (),
    chat: str | None = None,
    tell: bool = False,
    headline: str | None = None,
) -> ev.Wait:
    from tests.screens.seeded import NOW

    made = [{"name": f"check {n}", "state": s} for n, s in enumerate(parts)]
    note = {"wait_id": id_, "kind": kind, "title": title, "state": state, "status": status, "tone": tone, "parts": made}
    url = "https://example.com/status" if kind in ("url", "ci") else None
    clocked = url is not None and state == "watching"
    times: dict[str, int | None] = {"next_check_at": NOW + 40_000} if clocked else {}
    times |= {
        "started_at": NOW - 360_000,
        "deadline": NOW + 3_600_000,
        "ended_at": None if state == "watching" else NOW,
    }
    whole = {**note, **times, "url": url, "chat": chat, "tell": tell, "wakes": True, "headline": headline}
    return ev.Wait(wait_id=id_, wait=ev.WaitNote.model_validate(whole))
