"""The numbers of chats together, tasks and room, as they were decided: a change of one is a decision, not an edit."""

from __future__ import annotations

from typing import Any

import pytest

from store import limits

DECIDED: dict[str, Any] = {
    "LISTED_CHATS": 12,
    "LISTED_RECENT_DAYS": 3,
    "NOTES_A_TURN": 4,
    "CHAIN_MESSAGES": 8,
    "CHAIN_REPLIES": 4,
    "CHAIN_PAIR_MESSAGES": 3,
    "MESSAGES_WAITING": 5,
    "MESSAGE_REPEAT_MS": 10 * 60 * 1000,
    "CHAT_MESSAGE_CHARS": 4_000,
    "WAITS_A_CHAT": 4,
    "WAITS_MOST": 32,
    "WAIT_TITLE_CHARS": 160,
    "WAIT_STATUS_CHARS": 300,
    "WAIT_PARTS": 40,
    "WAIT_PART_CHARS": 120,
    "WAIT_TEXT_CHARS": 200,
    "WAIT_MINUTES_MOST": 1_440,
    "WAIT_MINUTES": {
        "process": (30, 30),
        "ci": (60, 360),
        "url": (60, 1_440),
        "time": (1, 1_440),
        "chat": (60, 1_440),
        "task": (60, 1_440),
    },
    "WAIT_HELD_MINUTES": 2,
    "WAIT_PACE_GROWTH": 1.6,
    "WAIT_PACE_JITTER": 0.15,
    "WAIT_PACES": {"ci": (15, 120), "ci-open": (90, 300), "url": (30, 300)},
    "WAIT_LOOK_SECONDS": 30,
    "WAIT_NUDGE_SECONDS": 0.25,
    "WAIT_CHECK_SECONDS": 5,
    "WAIT_REPLY_CHARS": 800,
    "TASK_TITLE_CHARS": 120,
    "TASK_TITLE_ASKED_CHARS": 80,
    "TASK_INSTRUCTIONS_CHARS": 8_000,
    "TASK_PARTS": 6,
    "TASK_STEPS": 12,
    "TASK_OPERATIONS_TOLD": 50,
    "TASK_CURRENT_CHARS": 240,
    "TASK_SUMMARY_CHARS": 4_000,
    "TASK_EVENT_SUMMARY_CHARS": 600,
    "TASK_ERROR_CHARS": 1_000,
    "TASK_NOTE_CHARS": 300,
    "TASKS_TOLD": 50,
    "ROOM_MOST": 12,
    "ROOM_LEAST": 2,
    "ROOM_START_NOW_EXTRA": 2,
    "ROOM_SETTLING_SECONDS": 60,
    "ROOM_MORE_AFTER_WAITING": 1.25,
    "ROOM_PATIENCE_SECONDS": 90,
    "ROOM_PAUSE_SECONDS": 20,
    "ROOM_PAUSE_MOST_SECONDS": 120,
    "ROOM_PAUSE_LEAST_SECONDS": 5,
    "ROOM_RECOVERY_SECONDS": 30,
    "ROOM_RECOVERY_SLOT_SECONDS": 10,
    "ROOM_CALM_SECONDS": 120,
    "PERMISSION_UNATTENDED_SECONDS": 3_600,
}


@pytest.mark.parametrize("name", DECIDED)
def test_it_is_as_it_was_decided(name: str) -> None:
    assert getattr(limits, name) == DECIDED[name]
