"""The rows of chats together: what each says in each state, and what its letters do."""

from __future__ import annotations

from typing import Any

import pytest
from widget_host import NOW, Host, drawn

from store import events as ev
from store.clock import ManualClock
from store.limits import CARD_DEAF_SECONDS
from store.rows import MessageRow, OtherChatsRow, TaskRow, WaitRow
from widgets.rows import ActingRow, ChatMessageCard, OtherChatsLook, TaskCard, WaitingRow, task_card, waiting_row

ASKING = {"permission_id": "p", "summary": "Run x"}
PARTS = ({"name": "a", "state": "failed"}, {"name": "b", "state": "passed"})


def card(direction: str = "from", state: str = "held", text: str = "Hold the deploy?", **more: Any) -> MessageRow:
    body = {"message_id": "m", "direction": direction, "other": {"id": "c_2", "title": "Release notes"}, "text": text}
    return MessageRow("m", NOW, 1, ev.ChatMessage.model_validate({**body, "state": state, **more}))


def waits(state: str = "watching", kind: str = "ci", **more: Any) -> WaitRow:
    body = {"wait_id": "w", "kind": kind, "title": "CI on main", "state": state, "started_at": NOW, "ended_at": NOW}
    return WaitRow("w", NOW, 1, ev.WaitNote.model_validate({**body, **more}))


def task(state: str = "running", **more: Any) -> TaskRow:
    return TaskRow("k", NOW, 1, ev.Task.model_validate({"task_id": "k", "title": "Smoke", "state": state, **more}))


def shown(row: Any, width: int = 76) -> str:
    return "\n".join(line.plain.rstrip() for line in row.lines(width))


def test_a_list_counts_and_opens_to_its_chats() -> None:
    chats = (
        ev.OtherChat(
            id="c_1",
            title="Fix the login",
            state="working",
            doing="editing files",
            doing_since=NOW - 180_000,
            same_folder=True,
            files=("src/auth.ts", "b"),
            more_files=1,
        ),
        ev.OtherChat(id="c_2", title="Notes", state="needs-you", same_folder=True),
    )
    row = OtherChatsLook(OtherChatsRow("l", NOW, 1, 1, 1, chats))
    assert shown(row) == "▸ Checked on your other chats · 1 working · 1 needs you"
    row.press = lambda: None  # type: ignore[method-assign]
    row.opened, row.version = True, 9
    assert shown(row).splitlines()[1:] == [
        "    ● Fix the login · editing files · 3 min · Changing auth.ts +2",
        "    ◆ Notes · needs you · same folder",
    ]
    narrow = shown(row, 38)
    assert " ".join(narrow.split()).endswith("Changing auth.ts +2 ◆ Notes · needs you · same folder")  # nothing is cut
    assert [line.target for line in row.lines(38)][-3:] == ["0", "0", "1"]
    assert not OtherChatsLook(OtherChatsRow("l", NOW, 1)).can_focus


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (card("to", "waiting"), ["To “Release notes”", "waiting"]),
        (card("from", "read"), ["From “Release notes” · another chat, not you", "read"]),
        (card("to", "refused", why="it turns messages away"), ["not delivered: it turns messages away"]),
        (card("from", "held"), ["◆ held for you", "[p] Pass it on", "[x] Dismiss"]),
        (card("from", "dismissed"), ["dismissed"]),
        (card("from", "waiting", stop=True), ["stopped this reply"]),
    ],
)
def test_each_state_of_a_message_is_in_words(row: MessageRow, says: list[str]) -> None:
    text = shown(ChatMessageCard(row))
    assert all(words in text for words in says) and "┃ Hold the deploy?" in text
    held = row.message is not None and row.message.state == "held"
    assert ("[p]" in text) == held  # only what waits for the person is loud


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            waits(wakes=True, tell=True),
            ["Waiting for CI on main", "you can keep chatting", "you'll be told", "[s] Stop"],
        ),
        (waits("done", tone="good", status="4 checks, all passed"), ["Waited for", "all passed"]),
        (waits("timed-out"), ["Gave up waiting for"]),
        (waits("stopped"), ["Stopped waiting for"]),
        (waits("failed"), ["Couldn't watch"]),
        (
            waits(parts=({"name": "a", "state": "failed"}, {"name": "b", "state": "passed"})),
            ["✗✓", "2 checks, 1 failed"],
        ),
        (waits(kind="chat"), ["watching live"]),
    ],
)
def test_each_state_of_a_wait_is_in_words(row: WaitRow, says: list[str]) -> None:
    text = shown(WaitingRow(row))
    assert all(words in text for words in says)
    assert row.wait is not None and ("[c] Check now" in text) == (
        row.wait.state == "watching" and row.wait.kind == "ci"
    )


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (task(current="Running make"), ["● Working", "Running make", "[s] Stop"]),
        (task("queued"), ["○ Waiting for room", "[g] Start now"]),
        (
            task("needs-you", asking={"permission_id": "p", "summary": "Run x"}),
            ["◆ Needs your OK", "Run x", "[a] Allow"],
        ),
        (task("done", summary="All good."), ["✓ Done", "All good."]),
        (task("unverified"), ["Needs a look"]),
        (task("failed", error="No."), ["Didn't finish", "No."]),
        (task("stopped"), ["◌ Stopped"]),
        (task("interrupted"), ["Interrupted by a restart", "[r] Resume"]),
    ],
)
def test_each_state_of_a_task_is_in_words(row: TaskRow, says: list[str]) -> None:
    text = shown(TaskCard(row))
    assert all(words in text for words in says)


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ({"retry_at": 120_500}, "It waits · trying again in 20 s"),
        ({"expected_at": 100_000 + 180_000}, "It waits · likely in about 3 min"),
        ({"expected_at": 100_000 + 29_000}, "It waits"),
        ({"retry_at": 99_000, "expected_at": 160_000}, "It waits · likely in about 1 min"),
        ({}, "It waits"),
    ],
)
def test_a_task_that_waits_says_when_it_begins_as_far_as_that_is_known(
    times: dict[str, int], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_card, "SYSTEM", ManualClock(100_000))
    why = ev.TaskWaiting(reason="provider", words="It waits", **times)  # type: ignore[arg-type]
    lines = [line.strip() for line in shown(TaskCard(task("queued", waiting=why.model_dump()))).splitlines()]
    assert says in lines


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (waits(next_check_at=140_500), "next look in 40 s"),
        (waits(next_check_at=100_500), "looking now"),
        (waits(kind="chat", next_check_at=140_500), "watching live"),
    ],
)
def test_a_wait_says_when_it_looks_next(row: WaitRow, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_row, "SYSTEM", ManualClock(100_000))
    assert says in shown(WaitingRow(row))


def test_a_chat_that_needs_the_person_is_in_the_headline_and_said_once() -> None:
    text = shown(WaitingRow(waits("done", "chat", status="needs you", headline="“Fix login” needs you")))
    assert text.splitlines()[0].strip().startswith("“Fix login” needs you") and text.count("needs you") == 1


async def test_letters_act_only_on_the_focused_row_and_past_its_grace() -> None:
    row = ChatMessageCard(card())
    async with Host(row).run_test() as pilot:
        host = pilot.app
        row.focus()
        await pilot.press("p", "enter", "space")
        assert host.sent(ActingRow.Acted) == []  # type: ignore[attr-defined]
        await pilot.pause(CARD_DEAF_SECONDS + 0.1)
        await pilot.press("s", "r", "a", "enter", "space")
        assert host.sent(ActingRow.Acted) == []  # type: ignore[attr-defined]
        await pilot.press("p", "i", "o")
        assert [m.action for m in host.sent(ActingRow.Acted)] == ["pass-on", "inbound", "open"]  # type: ignore[attr-defined]
        row.show(card(state="read"))
        await pilot.press("x")
        assert len(host.sent(ActingRow.Acted)) == 3  # type: ignore[attr-defined]


async def test_a_click_on_a_word_does_what_its_letter_does() -> None:
    row = TaskCard(task("queued"))
    async with Host(row).run_test(size=(80, 20)) as pilot:
        await pilot.pause(CARD_DEAF_SECONDS + 0.1)
        lines = drawn(row)
        y = next(n for n, line in enumerate(lines) if "[s]" in line)
        await pilot.click(row, offset=(lines[y].index("Start now") + 1, y))
        assert [m.action for m in pilot.app.sent(ActingRow.Acted)] == ["start-now"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [10, 20, 38, 80])
def test_any_width_and_any_text_stays_in_its_cells(width: int) -> None:
    from rich.cells import cell_len

    text = "東京の旅 \x1b[31m‮ plans " * 9
    rows: list[Any] = [
        ChatMessageCard(card(text=text)),
        WaitingRow(waits(title=text[:160], status=text)),
        TaskCard(task("needs-you", asking={"permission_id": "p", "summary": text})),
    ]
    for row in rows:
        for line in row.lines(width):
            assert cell_len(line.plain) <= max(width, 4) or line.quiet
            assert "\x1b" not in line.plain and "‮" not in line.plain
